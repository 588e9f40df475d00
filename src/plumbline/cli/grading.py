"""How do `audit` and `gate` grade, write their files and end?

Everything the two commands share. They differ in what they print, and in that `gate` installs the guard first.
"""

import argparse
import gc
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from plumbline.audit.config import load_target
from plumbline.audit.provenance import DEFAULT_SEED, MAX_SEED
from plumbline.audit.run import Audit, run_audit
from plumbline.cli.arguments import path
from plumbline.cli.outputs import NEW_BAR, REPORT, Result, make_folder, refuse_in_bundle
from plumbline.errors import ConfigurationError, ExitCode, PlumblineError
from plumbline.evidence.files import real, write_atomically
from plumbline.evidence.seal import CHECKSUMS
from plumbline.report.build import build, has_many_records, record_lines
from plumbline.report.document import RECORDS, RecordsLink, Report, to_json
from plumbline.report.markdown import report_markdown
from plumbline.report.records import Tally
from plumbline.report.terminal import Shown, plain, rich_lines


@dataclass(frozen=True, slots=True)
class Graded:
    """A run that gave a verdict, with the files it wrote."""

    report: Report
    report_json: Path
    report_md: Path
    sarif: Path | None
    bundle: str
    """The bundle's folder relative to the repository, in POSIX form."""
    refused_comparison: bool
    """A comparison was required, and the runs are not comparable: exit 4 although there is a verdict."""

    @property
    def exit_code(self) -> ExitCode:
        """How the command ends."""
        if self.refused_comparison:
            return ExitCode.CONFIGURATION
        return ExitCode.PASS if self.report.verdict == "PASS" else ExitCode.FAIL


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments that both commands take."""
    parser.add_argument("--config", type=path, required=True, metavar="TOML", help="target configuration")
    parser.add_argument(
        "--out", type=path, default=Path("plumbline-audits"), metavar="DIR", help="where reports go (%(default)s)"
    )
    parser.add_argument(
        "--seed", type=_seed, default=DEFAULT_SEED, metavar="N", help="seed of the resampling (%(default)s)"
    )
    parser.add_argument("--baseline", type=path, metavar="FILE", help="compare with this bar, not the configured one")
    parser.add_argument(
        "--require-comparable-baseline",
        action="store_true",
        help="end with 4 when scores cannot be compared with the bar",
    )
    parser.add_argument("--sarif", type=path, metavar="FILE", help="also write the findings as SARIF 2.1.0")
    parser.add_argument(
        "--repository",
        type=path,
        metavar="DIR",
        help="root that SARIF paths are relative to (the nearest folder with a .git above the bundle)",
    )
    parser.add_argument(
        "--key",
        default="plumbline",
        metavar="NAME",
        help="name of this gate in SARIF, where a repository has several (%(default)s)",
    )


def _seed(text: str) -> int:
    if not text.isdecimal() or not text.isascii() or len(text) > len(str(MAX_SEED)) or int(text) > MAX_SEED:
        raise argparse.ArgumentTypeError(f"must be a whole number from 0 to {MAX_SEED}")
    return int(text)


def grade(arguments: argparse.Namespace, *, offline_only: bool = True) -> Graded:
    """Run the audit that the arguments ask for and write its files.

    Args:
        arguments: of the command line.
        offline_only: refuse a judge that is configured to ask a model, as a gate does.

    Raises:
        PlumblineError: there is no verdict; the exit code says why.
    """
    collecting = gc.isenabled()
    gc.disable()  # one run makes millions of values and no garbage; looking for it costs more than the grading
    try:
        return _grade(arguments, offline_only=offline_only)
    finally:
        if collecting:
            gc.enable()


def _grade(arguments: argparse.Namespace, *, offline_only: bool) -> Graded:
    target = load_target(arguments.config)
    if arguments.require_comparable_baseline and arguments.baseline is None and target.baseline is None:
        raise ConfigurationError(
            "a comparable baseline is required, and none is configured",
            remedy="Name one under [baseline] or with --baseline.",
        )
    root = bundle_root(target.dataset, arguments.repository)
    audit = run_audit(target, seed=arguments.seed, baseline_path=arguments.baseline, offline_only=offline_only)
    folder = arguments.out / audit.run_id
    refuse_in_bundle("--out", folder)
    make_folder(folder)
    report_json, report_md = folder / REPORT, folder / "report.md"
    report = build(audit, _write_records(audit, folder / RECORDS) if has_many_records(audit) else None)
    write_atomically(report_json, to_json(report))
    write_atomically(report_md, report_markdown(report).encode())
    if arguments.sarif is not None:
        make_folder(arguments.sarif.parent)
        write_atomically(arguments.sarif, _sarif_writers()[0](report, root=root, key=arguments.key))
    return Graded(
        report=report,
        report_json=report_json,
        report_md=report_md,
        sarif=arguments.sarif,
        bundle=root,
        refused_comparison=arguments.require_comparable_baseline
        and report.baseline is not None
        and not report.baseline.comparable,
    )


def _write_records(audit: Audit, path: Path) -> RecordsLink:
    tally = Tally(record_lines(audit))
    write_atomically(path, tally)
    return tally.link()


def _sarif_writers() -> tuple[Callable[..., bytes], Callable[..., bytes]]:
    try:
        from plumbline.report.sarif import refusal_sarif, sarif  # noqa: PLC0415 - sarif-om is an extra
    except ImportError as fault:
        # Installed from a checkout and never by name: the name belongs to somebody else on the public index.
        raise ConfigurationError(
            f"--sarif needs sarif-om, which is not installed ({fault.name} is missing)",
            remedy="In a checkout of Plumbline: pip install '.[sarif]'",
        ) from None
    return sarif, refusal_sarif


def write_refusal_sarif(arguments: argparse.Namespace, error: PlumblineError) -> None:
    """Write a SARIF file that says why there is no verdict, at the file that is to blame.

    Raises:
        ConfigurationError: the place cannot be written.
    """
    make_folder(arguments.sarif.parent)
    write_atomically(
        arguments.sarif,
        _sarif_writers()[1](
            error.label,
            error.message,
            exit_code=error.exit_code,
            file=_file_to_blame(arguments, error),
            key=arguments.key,
        ),
    )


def _file_to_blame(arguments: argparse.Namespace, error: PlumblineError) -> str:
    config: Path = arguments.config
    if error.exit_code == ExitCode.INTEGRITY:
        try:
            return str(PurePosixPath(bundle_root(load_target(config).dataset, arguments.repository)) / CHECKSUMS)
        except PlumblineError:
            pass  # then the configuration is all there is to point at
    return str(PurePosixPath(bundle_root(config.parent, arguments.repository)) / config.name)


def bundle_root(folder: Path, repository: Path | None) -> str:
    """A folder's POSIX path relative to the repository that holds it; without one, relative to the working folder.

    Args:
        folder: a bundle, or another folder in the repository.
        repository: the root, where it is known; otherwise the nearest parent that holds `.git`.

    Raises:
        ConfigurationError: the repository that was named does not hold the folder.
    """
    resolved = real(folder)
    if repository is not None:
        root = real(repository)
        if not resolved.is_relative_to(root):
            raise ConfigurationError(f"--repository: {repository} does not hold {folder}")
        return resolved.relative_to(root).as_posix()
    above = (root for root in (resolved, *resolved.parents) if (root / ".git").exists())
    # Outside any repository a place is told from where the command was called.
    root = next(above, real(Path.cwd()))
    return resolved.relative_to(root).as_posix() if resolved.is_relative_to(root) else resolved.name


def result_of(graded: Graded, arguments: argparse.Namespace) -> Result:
    """What `--result` says of a run that gave a verdict."""
    comparison = graded.report.baseline
    return Result(
        exit_code=graded.exit_code,
        verdict=graded.report.verdict,
        run_id=graded.report.provenance.run_id,
        report_json=str(real(graded.report_json)),
        report_md=str(real(graded.report_md)),
        sarif=None if arguments.sarif is None else str(real(arguments.sarif)),
        bundle=graded.bundle,
        label="COMPARISON REFUSED" if graded.refused_comparison else None,
        message="; ".join(comparison.refusals) if graded.refused_comparison and comparison is not None else None,
        remedy=NEW_BAR if graded.refused_comparison else None,
    )


def summary_of(graded: Graded, arguments: argparse.Namespace) -> str:
    """The job summary of a run that gave a verdict."""
    from plumbline.report.comment import CommentContext, summary_markdown  # noqa: PLC0415 - only where it is asked for

    return summary_markdown(graded.report, link=lambda _place: None, context=CommentContext(key=arguments.key))


def summary_of_refusal(error: PlumblineError) -> str:
    """The job summary of a run that gave no verdict."""
    from plumbline.report.comment import CommentContext, refusal_markdown  # noqa: PLC0415 - only where it is asked for

    return refusal_markdown(error.exit_code, error.label, error.message, error.remedy, CommentContext())


def show(graded: Graded, *, gate: bool = False) -> None:
    """Print a run: colour and a table on a terminal, plain lines that stay the same anywhere else."""
    files = [("report", str(graded.report_json)), ("markdown", str(graded.report_md))]
    if graded.sarif is not None:
        files.append(("sarif", str(graded.sarif)))
    shown = Shown(
        gate=gate,
        remedy=NEW_BAR if graded.refused_comparison else None,
        files=files,
        root=graded.bundle,
    )
    if _on_terminal():
        lines = rich_lines(graded.report, shown, width=shutil.get_terminal_size().columns)
    else:
        lines = plain(graded.report, shown)
    for line in lines:
        print(line)


def _on_terminal() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
