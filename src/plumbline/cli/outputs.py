"""Where does a run write, and what does it leave for the steps after it?

Outputs are refused where they would destroy something: in the bundle, on an input, twice on one place, or in place of
what is no file.
"""

import argparse
from pathlib import Path

import msgspec

from plumbline.errors import ConfigurationError, PlumblineError
from plumbline.evidence.files import read_input, real, refuse_special, write_atomically
from plumbline.evidence.seal import CHECKSUMS, MANIFEST

REPORT = "report.json"

NEW_BAR = "If the new evidence is meant to be the bar: plumbline baseline --from <report.json> --out <baseline>"


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """What `--result` holds: how the command ended, for the steps that come after it."""

    exit_code: int
    verdict: str | None = None
    run_id: str | None = None
    report_json: str | None = None
    report_md: str | None = None
    sarif: str | None = None
    bundle: str | None = None
    """The bundle's folder relative to the repository, in POSIX form."""
    label: str | None = None
    message: str | None = None
    remedy: str | None = None


def claim_result(given: Path) -> None:
    """Make the place of `--result` this run's own, before anything that can end it.

    Raises:
        ConfigurationError: it holds what no run of ours wrote there, or lies in a bundle. It is left as it is.
    """
    _claim("--result", given, "exit_code")


def prepare_outputs(arguments: argparse.Namespace) -> None:
    """See to it that no output destroys anything, and that nothing an earlier run left passes for this run's.

    What may be replaced is told by what is there, so that a configuration which cannot be read opens no way to it.

    Raises:
        ConfigurationError: a place for output lies in a bundle, is an input, is named twice, or holds something else
            than such a run writes. That place is left as it is.
    """
    summary: Path | None = getattr(arguments, "summary_file", None)
    places = {
        "--result": getattr(arguments, "result", None),
        "--sarif": arguments.sarif,
        "--summary-file": summary,
        "--out": arguments.out,
    }
    inputs = {real(given) for given in (arguments.config, arguments.baseline) if given is not None}
    seen: set[Path] = set()
    for option, given in places.items():
        if given is None:
            continue
        refuse_in_bundle(option, given)
        if real(given) in inputs | seen:
            raise ConfigurationError(f"{option}: {given} is an input of this run, or named twice")
        seen.add(real(given))
    if summary is not None:
        _refuse_to_append(summary)
    if arguments.sarif is not None:
        _claim("--sarif", arguments.sarif, "runs")


def refuse_in_bundle(option: str, given: Path) -> None:
    """Refuse a place inside a sealed bundle, whose bytes are evidence.

    Raises:
        ConfigurationError: it lies in one.
    """
    place = real(given)
    if any((folder / MANIFEST).is_file() and (folder / CHECKSUMS).is_file() for folder in (place, *place.parents)):
        raise ConfigurationError(f"{option}: {given} lies in a sealed bundle, whose bytes are the evidence")


def refuse_to_replace(option: str, given: Path, key: str) -> None:
    """Refuse to replace a file that is not empty and not JSON with `key` at its top: somebody wrote something else.

    Raises:
        ConfigurationError: it is there, or something that is no file.
    """
    refuse_special(given)
    if not given.exists():
        return
    data = read_input(given, "what lies at the place for output")
    try:
        document = msgspec.json.decode(data) if data.strip() else {key: None}
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        document = None
    if not isinstance(document, dict) or key not in document:
        raise ConfigurationError(f"{option}: {given} holds something else, which would be lost")


def _claim(option: str, given: Path, key: str) -> None:
    refuse_in_bundle(option, given)
    refuse_to_replace(option, given, key)
    try:
        given.unlink(missing_ok=True)
    except OSError as fault:
        raise ConfigurationError(f"{option}: {given} cannot be written: {fault.strerror}") from None


def _refuse_to_append(summary: Path) -> None:
    # A summary is Markdown that grows. Whatever has another name, or several, is somebody's file.
    if summary.suffix in {".json", ".jsonl", ".toml"} or (summary.parent / REPORT).is_file():
        raise ConfigurationError(f"--summary-file: {summary} is not the name of a summary, or lies beside a report")
    if summary.is_file() and summary.stat().st_nlink > 1:
        raise ConfigurationError(f"--summary-file: {summary} is another file too, by a hard link")


def result_of_refusal(error: PlumblineError, sarif: Path | None) -> Result:
    """What `--result` says of a run that gave no verdict."""
    return Result(
        exit_code=error.exit_code,
        sarif=None if sarif is None else str(real(sarif)),
        label=error.label,
        message=error.message,
        remedy=error.remedy,
    )


def write_result(path: Path, result: Result) -> None:
    """Write `--result`.

    Raises:
        ConfigurationError: the place cannot be written.
    """
    make_folder(path.parent)
    write_atomically(path, msgspec.json.format(msgspec.json.encode(result), indent=2) + b"\n")


def make_folder(folder: Path) -> None:
    """Make a folder for output.

    Raises:
        ConfigurationError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise ConfigurationError(f"{folder}: cannot be made: {fault.strerror}") from None
