"""What does the evidence say, in a report to read?"""

import argparse
import os

from plumbline.audit.config import load_target
from plumbline.cli.grading import add_arguments, grade, show
from plumbline.cli.lines import warn
from plumbline.cli.outputs import prepare_outputs

__all__ = ["add_arguments", "run"]


def run(arguments: argparse.Namespace) -> int:
    """Grade, write the report, and print what it says.

    With a model judge in live mode the judgments that are missing are asked for first. Grading reads the cache alone.

    Raises:
        PlumblineError: there is no verdict; the exit code says why.
    """
    prepare_outputs(arguments)
    target = load_target(arguments.config)
    if target.model is not None and target.model.mode == "live":
        from plumbline.record.judging import fill  # noqa: PLC0415 - nothing else of an audit asks anybody

        fill(target, environ=os.environ)
    graded = grade(arguments, offline_only=False)
    for warning in graded.report.warnings:
        warn(warning)
    show(graded)
    return graded.exit_code
