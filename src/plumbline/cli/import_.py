"""Which evidence does a file of another tool hold?"""

import argparse
import os
from pathlib import Path

from plumbline.cli.arguments import path
from plumbline.cli.lines import line
from plumbline.cli.outputs import make_folder, refuse_in_bundle
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.bundle import unprintable
from plumbline.evidence.files import read_input
from plumbline.importers.assemble import Choices, Imported, assemble
from plumbline.importers.base import FIELDS, Origin
from plumbline.importers.documents import MAX_BYTES
from plumbline.importers.registry import KINDS, importer

_LISTED = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("kind", choices=sorted(KINDS), help="which tool wrote the file")
    parser.epilog = "Kinds. " + " ".join(f"{kind}: {importer(kind).SUMMARY}." for kind in sorted(KINDS))
    parser.add_argument("file", type=path, help="what it wrote")
    parser.add_argument(
        "--out", type=path, required=True, metavar="DIR", help="folder of the new bundle; not there yet"
    )
    parser.add_argument("--name", type=_name, help="what the bundle calls itself (default: the file's name)")
    parser.add_argument("--lang", type=_name, metavar="TAG", help="language of rows that name none (BCP 47)")
    parser.add_argument("--behavior", choices=("answer", "refuse"), help="what is expected of rows that do not say")
    parser.add_argument("--only", type=_name, metavar="NAME", help="the provider or model whose answers are taken")
    parser.add_argument(
        "--map",
        type=_pair,
        action="append",
        default=[],
        metavar="FIELD=KEY",
        dest="keys",
        help=f"column, or path of keys with dots, of a field; fields are {', '.join(FIELDS)}",
    )


def run(arguments: argparse.Namespace) -> int:
    """Write a sealed bundle into a new folder and list what was not taken over.

    Raises:
        ConfigurationError: the file is not what its kind says, leaves something open, or the folder is there.
    """
    out: Path = arguments.out
    refuse_in_bundle("--out", out)
    if os.path.lexists(out):
        raise ConfigurationError(f"--out: {out} is there already, and nothing is written over it")
    data = _read(arguments.file)
    origin = Origin(arguments.file.name, data)
    if unprintable(origin.name):
        raise ConfigurationError(f"{origin.name!r}: the file's name holds characters that cannot be printed")
    keys = dict(arguments.keys)
    if len(keys) != len(arguments.keys):
        raise ConfigurationError("--map: a field is named twice")
    choices = Choices(
        kind=arguments.kind,
        lang=arguments.lang,
        behavior=arguments.behavior,
        name=arguments.name,
        only=arguments.only,
        keys=keys,
    )
    made = assemble(origin, importer(arguments.kind).read(origin), choices)
    _write(out, made)
    _tell(out, made)
    return ExitCode.PASS


def _name(text: str) -> str:
    if not text.strip() or unprintable(text):
        raise argparse.ArgumentTypeError("blank, or with characters that cannot be printed")
    return text


def _pair(text: str) -> tuple[str, str]:
    field, equals, key = text.partition("=")
    if not equals or not key or unprintable(key):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIELD=KEY")
    if field not in FIELDS:
        raise argparse.ArgumentTypeError(f"{field!r} is no field; fields are {', '.join(FIELDS)}")
    return field, key


def _read(file: Path) -> bytes:
    if file.is_file() and file.stat().st_size > MAX_BYTES:
        raise ConfigurationError(f"{file}: {file.stat().st_size} bytes, and at most {MAX_BYTES} are read")
    return read_input(file, "the file to import")


def _write(out: Path, made: Imported) -> None:
    make_folder(out.parent)
    # Whole or not at all: a folder with a part of a bundle would be in the way of the next try.
    partial = out.with_name(f".plumbline-{os.urandom(8).hex()}.part")
    try:
        partial.mkdir()
        try:
            for name, content in made.files.items():
                (partial / name).write_bytes(content)
            if os.path.lexists(out):
                raise ConfigurationError(f"--out: {out} is there already, and nothing is written over it")
            partial.rename(out)
        finally:
            if partial.is_dir():
                for name in made.files:
                    (partial / name).unlink(missing_ok=True)
                partial.rmdir()
    except OSError as fault:
        raise ConfigurationError(f"{out}: cannot be written: {fault.strerror}") from None


def _tell(out: Path, made: Imported) -> None:
    bundle = made.bundle
    line("imported", str(out))
    line("items", str(len(bundle.items)))
    if bundle.responses is None:
        line("responses", "none: this is a question set")
    else:
        line("responses", f"{len(bundle.items) - made.silent} ({made.silent} items stayed without an answer)")
    if made.repeated:
        line("passes", f"{made.repeated} items were asked more than once")
    if bundle.sources:
        line("sources", str(len(bundle.sources)))
    for key, rows in list(made.unmapped.items())[:_LISTED]:
        line("unmapped", f"{key} ({rows})")
    if len(made.unmapped) > _LISTED:
        line("unmapped", f"and {len(made.unmapped) - _LISTED} more, all in the manifest")
    line("dataset", f"{bundle.dataset_id} ({bundle.sha256})")
