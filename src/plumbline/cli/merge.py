"""Do these shards make one recording?"""

import argparse

from plumbline.canonical import SHORT_ID_LENGTH
from plumbline.cli.arguments import path
from plumbline.cli.lines import line
from plumbline.errors import ExitCode
from plumbline.record.shards import merge


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("out", type=path, metavar="OUT", help="the new bundle")
    parser.add_argument("shards", type=path, nargs="+", metavar="SHARD", help="folders of all shards, in any order")
    parser.add_argument("--overwrite", action="store_true", help="replace an older bundle at OUT")


def run(arguments: argparse.Namespace) -> int:
    """Join them.

    Raises:
        IntegrityError: a shard is not what was sealed.
        ConfigurationError: they are not all the shards of one recording.
    """
    merged = merge(arguments.out, arguments.shards, overwrite=arguments.overwrite)
    line("merged", f"{merged.shards} shards, {merged.items} items")
    line("empty", str(merged.empty))
    line("bundle", str(arguments.out))
    line("dataset", f"{merged.sha256[:SHORT_ID_LENGTH]} ({merged.sha256})")
    return ExitCode.PASS
