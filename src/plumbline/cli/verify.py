"""Is this report the one that was written?"""

import argparse
import os
from pathlib import Path

from plumbline.cli.arguments import path
from plumbline.cli.lines import line
from plumbline.errors import ConfigurationError, ExitCode, IntegrityError
from plumbline.evidence.files import read_input
from plumbline.report.document import Report, parse_report


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("report", type=path, help="a report.json, or the folder it lies in")


def run(arguments: argparse.Namespace) -> int:
    """Check a report's seal, run id and verdict, and the report.md beside it.

    Raises:
        IntegrityError: something does not match.
        ConfigurationError: the file cannot be read or is no report.
    """
    report = read_report(arguments.report)
    folder = arguments.report if arguments.report.is_dir() else arguments.report.parent
    # Whoever reads what stands on standard output must not see a verdict that the next line takes back.
    rendering = _check_markdown(folder / "report.md", report)
    line("report", str(arguments.report))
    line("verdict", report.verdict)
    line("target", report.target.name)
    line("run", report.provenance.run_id)
    line("seal", f"{report.provenance.report_sha256} matches the contents")
    line("dataset", f"{report.provenance.dataset_id} ({report.provenance.dataset_sha256})")
    if report.records is not None:
        line("records", f"{report.records.file} holds the records behind the report")
    line("markdown", rendering)
    line("note", "a seal shows that this copy is what was written; it is not a signature and names no author")
    return ExitCode.PASS


def read_report(path: Path) -> Report:
    """Read and check a written report, and the records beside it where it names them.

    Raises:
        ConfigurationError: it cannot be read or is no report.
        IntegrityError: it was changed.
    """
    if path.is_dir():
        if not (path / "report.json").is_file():
            raise ConfigurationError(
                f"{path}: no report.json lies in this folder", remedy="Name the folder of one run."
            )
        path = path / "report.json"
    report = parse_report(read_input(path, "the report"), file=str(path))
    if report.records is not None:
        _check_records(path.parent / report.records.file, report)
    return report


def _check_records(path: Path, report: Report) -> None:
    from plumbline.report.records import check_records  # noqa: PLC0415 - only a large report has them

    if not os.path.lexists(path):
        raise IntegrityError(
            f"{path}: the report names this file and it is not here",
            remedy="Keep the whole folder of a report together.",
        )
    check_records(report, read_input(path, "the records beside the report"), file=str(path))


def _check_markdown(path: Path, report: Report) -> str:
    from plumbline.report.markdown import report_markdown  # noqa: PLC0415 - only where there is something to compare

    if not os.path.lexists(path):
        return "no report.md beside it"
    found = read_input(path, "the Markdown beside the report")
    if found != report_markdown(report).encode():
        raise IntegrityError(f"{path}: it does not say what report.json says")
    return "report.md says the same"
