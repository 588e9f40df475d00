"""Where does a run write, and what does it leave for the steps after it?

Outputs are refused where they would destroy something: in the bundle, on an input, twice on one place, or in place of
what is no file.
"""

import argparse
from pathlib import Path

import msgspec

from plumbline.audit.config import Target, load_target
from plumbline.errors import ConfigurationError, PlumblineError
from plumbline.evidence.files import real, refuse_special, write_atomically

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


def outputs(arguments: argparse.Namespace) -> dict[str, Path]:
    """The files that a command was told to write, by option."""
    given = {"--sarif": arguments.sarif, "--result": getattr(arguments, "result", None)}
    return {option: path for option, path in given.items() if path is not None}


def prepare_outputs(arguments: argparse.Namespace) -> None:
    """See to it that no output destroys anything, and that nothing an earlier run left passes for this run's.

    Raises:
        ConfigurationError: a place for output lies in the bundle, is an input, is named twice, or holds something that
            is no file. Nothing was written then, and nothing may be.
    """
    try:
        target = load_target(arguments.config)
    except PlumblineError:
        target = None  # grading will say so; the places that are known are looked at all the same
    _refuse_overwriting(arguments, target)
    for given in outputs(arguments).values():
        refuse_special(given)
        given.unlink(missing_ok=True)


def _refuse_overwriting(arguments: argparse.Namespace, target: Target | None) -> None:
    named = [arguments.config, arguments.baseline, target.baseline if target is not None else None]
    inputs = {real(given) for given in named if given is not None}
    bundle = None if target is None else real(target.dataset)
    summary = getattr(arguments, "summary_file", None)
    places = {**outputs(arguments), **({"--summary-file": summary} if summary else {}), "--out": arguments.out}
    seen: set[Path] = set()
    for option, given in places.items():
        resolved = real(given)
        if bundle is not None and resolved.is_relative_to(bundle):
            raise ConfigurationError(f"{option}: {given} lies in the bundle, whose bytes are the evidence")
        if resolved in inputs:
            raise ConfigurationError(f"{option}: {given} is an input of this run")
        if resolved in seen:
            raise ConfigurationError(f"{option}: {given} is named twice")
        seen.add(resolved)


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
