"""What does the evidence say, in a report to read?"""

import argparse

from plumbline.cli.grading import add_arguments, grade, show
from plumbline.cli.lines import warn
from plumbline.cli.outputs import prepare_outputs

__all__ = ["add_arguments", "run"]


def run(arguments: argparse.Namespace) -> int:
    """Grade, write the report, and print what it says.

    Raises:
        PlumblineError: there is no verdict; the exit code says why.
    """
    prepare_outputs(arguments)
    graded = grade(arguments)
    for warning in graded.report.warnings:
        warn(warning)
    show(graded)
    return graded.exit_code
