"""May this be merged?

The same audit as `audit`, for a build log: the verdict is the first line and the last, sockets and processes are
refused from the start, and every ending, also a refusal, leaves what later steps need.
"""

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from plumbline.cli import grading
from plumbline.cli.output import warn
from plumbline.errors import ConfigurationError, InternalError, PlumblineError
from plumbline.guard import refuse_network_and_processes
from plumbline.report.sinks import log_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    grading.add_arguments(parser)
    parser.add_argument("--summary-file", type=Path, metavar="FILE", help="append the verdict as Markdown to this file")
    parser.add_argument(
        "--result", type=Path, metavar="FILE", help="write how the gate ended, as JSON; written for refusals too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Grade behind the guard.

    Raises:
        PlumblineError: there is no verdict; the exit code says why.
    """
    refuse_network_and_processes()
    try:
        graded = grading.grade(arguments)
        for warning in graded.report.warnings:
            warn(warning)
        if arguments.summary_file is not None:
            _append(arguments.summary_file, grading.summary_of(graded, arguments))
        if arguments.result is not None:
            grading.write_result(arguments.result, grading.result_of(graded, arguments))
    except PlumblineError as error:
        _leave_refusal(arguments, error)
        raise
    except Exception as error:
        _leave_refusal(arguments, InternalError(f"{type(error).__name__}: a fault of Plumbline; nothing was measured"))
        raise
    grading.show(graded, gate=True)
    return graded.exit_code


def _append(path: Path, text: str) -> None:
    grading.make_folder(path.parent)
    try:
        with path.open("ab") as file:
            file.write(text.encode())
    except OSError as fault:
        raise ConfigurationError(f"{path}: cannot be written: {fault.strerror}") from None


def _leave_refusal(arguments: argparse.Namespace, error: PlumblineError) -> None:
    """Write what later steps need of a run without a verdict. Nothing here may hide the refusal itself."""
    print(log_line(f"GATE: REFUSED (exit {int(error.exit_code)}): {error.label}"), flush=True)
    sarif = None
    with _warning_only(error):
        if arguments.sarif is not None:
            grading.write_refusal_sarif(arguments, error)
    with _warning_only(error):
        if arguments.summary_file is not None:
            _append(arguments.summary_file, grading.summary_of_refusal(error))
    if arguments.sarif is not None and arguments.sarif.is_file():
        sarif = arguments.sarif
    if arguments.result is not None:
        with _warning_only(error):
            grading.write_result(arguments.result, grading.result_of_refusal(error, sarif))


@contextmanager
def _warning_only(refusal: PlumblineError) -> Iterator[None]:
    try:
        yield
    except PlumblineError as fault:
        if fault.message != refusal.message:  # the same fault is not told twice
            warn(fault.message)
