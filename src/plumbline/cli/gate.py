"""May this be merged?

The same audit as `audit`, for a build log: the verdict is the first line and the last, sockets and processes are
refused from the start, and every ending, also a refusal, leaves what later steps need.
"""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from plumbline.cli import grading, outputs
from plumbline.cli.arguments import path
from plumbline.cli.lines import warn
from plumbline.errors import ConfigurationError, PlumblineError, refusal_for
from plumbline.guard import refuse_network_and_processes
from plumbline.report.sinks import log_line


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    grading.add_arguments(parser)
    parser.add_argument("--summary-file", type=path, metavar="FILE", help="append the verdict as Markdown to this file")
    parser.add_argument(
        "--result", type=path, metavar="FILE", help="write how the gate ended, as JSON; written for refusals too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Grade behind the guard.

    Raises:
        PlumblineError: there is no verdict; the exit code says why.
    """
    refuse_network_and_processes()
    if arguments.result is not None:
        with _told():
            outputs.claim_result(arguments.result)
    try:
        outputs.prepare_outputs(arguments)
    except PlumblineError as refusal:
        # The other places are at fault, so this refusal is written to none of them.
        arguments.sarif = arguments.summary_file = None
        _leave_refusal(arguments, refusal, wrote_sarif=False)
        raise
    wrote_sarif = False
    try:
        graded = grading.grade(arguments)
        wrote_sarif = arguments.sarif is not None
        for warning in graded.report.warnings:
            warn(warning)
        grading.show(graded, gate=True)
        sys.stdout.flush()
        if arguments.summary_file is not None:
            _append(arguments.summary_file, grading.summary_of(graded, arguments))
        if arguments.result is not None:
            # Last: nothing may follow that could still end the run otherwise.
            outputs.write_result(arguments.result, grading.result_of(graded, arguments))
    except BaseException as fault:  # an interrupt too must not leave a verdict that the exit code denies
        error = refusal_for(fault)
        _leave_refusal(arguments, error, wrote_sarif=wrote_sarif)
        if error is fault:
            raise
        raise error from fault
    return graded.exit_code


@contextmanager
def _told() -> Iterator[None]:
    """A refusal over the place of `--result` itself, which can be told and not written down."""
    try:
        yield
    except PlumblineError as refusal:
        print(log_line(f"GATE: REFUSED (exit {int(refusal.exit_code)}): {refusal.label}"), flush=True)
        raise


def _append(path: Path, text: str) -> None:
    outputs.make_folder(path.parent)
    try:
        with path.open("ab") as file:
            file.write(text.encode())
    except OSError as fault:
        raise ConfigurationError(f"{path}: cannot be written: {fault.strerror}") from None


def _leave_refusal(arguments: argparse.Namespace, error: PlumblineError, *, wrote_sarif: bool) -> None:
    """Write what later steps need of a run without a verdict. Nothing here may hide the refusal itself."""
    with _warning_only(error):
        print(log_line(f"GATE: REFUSED (exit {int(error.exit_code)}): {error.label}"), flush=True)
    with _warning_only(error):
        if arguments.sarif is not None:
            grading.write_refusal_sarif(arguments, error)
            wrote_sarif = True
    with _warning_only(error):
        if arguments.summary_file is not None:
            _append(arguments.summary_file, grading.summary_of_refusal(error))
    with _warning_only(error):
        if arguments.result is not None:
            sarif = arguments.sarif if wrote_sarif else None
            outputs.write_result(arguments.result, outputs.result_of_refusal(error, sarif))


@contextmanager
def _warning_only(refusal: PlumblineError) -> Iterator[None]:
    try:
        yield
    except (PlumblineError, OSError) as fault:
        told = refusal_for(fault).message
        if told != refusal.message:  # the same fault is not told twice
            with suppress(OSError):
                warn(told)
