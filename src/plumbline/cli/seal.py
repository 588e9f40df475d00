"""What is this bundle's seal from now on?"""

import argparse

from plumbline.canonical import SHORT_ID_LENGTH
from plumbline.cli.arguments import path
from plumbline.cli.lines import line
from plumbline.errors import ExitCode
from plumbline.evidence.bundle import parse
from plumbline.evidence.seal import seal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("bundle", type=path, help="folder of a bundle or a question set")


def run(arguments: argparse.Namespace) -> int:
    """Write `checksums.json`. Sealing changes the dataset hash, and every later report shows it.

    What could not be graded is not sealed: a seal on a folder that is no bundle would only move the error.

    Raises:
        IntegrityError: the folder holds something that no seal may cover.
        ConfigurationError: the folder is not there, is no bundle or cannot be written; nothing is written then.
    """
    before, after = seal(arguments.bundle, check=parse)
    line("sealed", str(arguments.bundle))
    if before is not None and before != after:
        line("was", f"{before[:SHORT_ID_LENGTH]} ({before})")
    line("dataset", f"{after[:SHORT_ID_LENGTH]} ({after})")
    line("note", "unchanged" if before == after else "every later report names this dataset; commit the seal")
    return ExitCode.PASS
