"""What does a judge go by, and how far does it agree with people?

`record` asks a model for the judgments that its cache lacks. `seal-labels` binds people's labels to the answers they
are about. `calibrate` compares a judge with them.
"""

import argparse
import os
import sys
from fractions import Fraction
from pathlib import Path

from plumbline.audit.config import Target, load_target
from plumbline.cli.arguments import path
from plumbline.cli.lines import line
from plumbline.cli.outputs import refuse_in_bundle, refuse_to_replace
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.bundle import Bundle, load
from plumbline.evidence.files import read_input, real, write_atomically
from plumbline.report.sinks import log_line

_EVERY = 25
"""Judgments between two lines of progress."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="action", required=True)
    record = actions.add_parser("record", help="ask the model for every judgment that the cache lacks")
    seal = actions.add_parser("seal-labels", help="bind people's labels to the answers they are about")
    calibrate = actions.add_parser("calibrate", help="compare a judge with people's sealed labels")
    for action in (record, seal, calibrate):
        action.add_argument("--config", type=path, required=True, metavar="TOML", help="target configuration")
    for action in (seal, calibrate):
        action.add_argument("--labels", type=path, required=True, metavar="FILE", help="labels, as JSON Lines")
    calibrate.add_argument("--out", type=path, metavar="FILE", help="write the result as JSON, and as text beside it")
    calibrate.add_argument("--split", metavar="NAME", help="compare with the labels of this split only")
    calibrate.add_argument(
        "--threshold",
        type=_threshold,
        default=Fraction(1, 2),
        metavar="SCORE",
        help="the score from which the judge passes an item (0.5)",
    )


def _threshold(text: str) -> Fraction:
    whole, _, rest = text.partition(".")
    if len(text) > 10 or not (whole + rest).isascii() or not (whole + rest).isdecimal() or not whole:
        raise argparse.ArgumentTypeError("must be a decimal number above 0 and at most 1")
    value = Fraction(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError("must be above 0 and at most 1: at 0 every answer passes")
    return value


def run(arguments: argparse.Namespace) -> int:
    """Do what was asked for.

    Raises:
        PlumblineError: it could not be done; the exit code says why.
    """
    target = load_target(arguments.config)
    if arguments.action == "record":
        return _record(target)
    return _seal(arguments, target) if arguments.action == "seal-labels" else _calibrate(arguments, target)


def _record(target: Target) -> int:
    from plumbline.record.judging import fill  # noqa: PLC0415 - only this action asks anybody

    filled = fill(target, environ=os.environ, told=_tell)
    line("cache", str(filled.cache))
    line("asked", f"{filled.asked} now, {filled.recovered} taken from an interrupted recording")
    line("judgments", f"{filled.total} ({filled.sha256})")
    line("note", "read them, and commit the cache: they are what the model's scores rest on")
    return ExitCode.PASS


def _tell(done: int, of: int) -> None:
    if done % _EVERY == 0 or done == of:
        print(log_line(f"judged {done} of {of}"), file=sys.stderr)


def _seal(arguments: argparse.Namespace, target: Target) -> int:
    from plumbline.evidence.labels import read_labels, seal_labels  # noqa: PLC0415 - only these two actions read labels

    refuse_in_bundle("--labels", arguments.labels)
    bundle, file = _answered(target), arguments.labels.name
    data = seal_labels(read_input(arguments.labels, "the labels"), bundle, file=file)
    found = read_labels(data, bundle, file=file)
    write_atomically(arguments.labels, data)
    line("sealed", str(arguments.labels))
    line("labels", f"{len(found.by_item)} ({found.sha256})")
    line("dataset", f"{bundle.dataset_id} ({bundle.sha256})")
    return ExitCode.PASS


def _calibrate(arguments: argparse.Namespace, target: Target) -> int:
    from plumbline.audit.judges import make_judge, named_misses  # noqa: PLC0415 - only this action scores
    from plumbline.evidence.labels import read_labels  # noqa: PLC0415 - as above
    from plumbline.report.calibration import calibrate, lines, to_json  # noqa: PLC0415 - as above

    if arguments.out is not None:
        _check_out(arguments)
    judge = make_judge(target, offline_only=False)
    bundle = _answered(target)
    labels = read_labels(read_input(arguments.labels, "the labels"), bundle, file=arguments.labels.name)
    with named_misses(target, bundle, judge):
        found = calibrate(target.name, bundle, judge, labels, threshold=arguments.threshold, split=arguments.split)
    text = lines(found)
    if arguments.out is not None:
        write_atomically(arguments.out, to_json(found))
        write_atomically(_text_beside(arguments.out), ("\n".join(text) + "\n").encode())
    for shown in text:
        print(log_line(shown))
    return ExitCode.PASS


def _answered(target: Target) -> Bundle:
    bundle = load(target.dataset)
    if bundle.responses is None:
        raise ConfigurationError(f"{bundle.name}: this is a question set; it holds no responses to judge")
    return bundle


def _text_beside(out: Path) -> Path:
    return out.with_suffix(".txt")


def _check_out(arguments: argparse.Namespace) -> None:
    inputs = {real(arguments.config), real(arguments.labels)}
    for given in (arguments.out, _text_beside(arguments.out)):
        refuse_in_bundle("--out", given)
        if real(given) in inputs:
            raise ConfigurationError(f"--out: {given} is an input of this run")
    if arguments.out.suffix != ".json":
        raise ConfigurationError(f"--out: {arguments.out} must end in .json; the text is written beside it as .txt")
    refuse_to_replace("--out", arguments.out, "calibration_sha256")
    text = _text_beside(arguments.out)
    if text.exists() and not arguments.out.exists():
        raise ConfigurationError(f"--out: {text} holds something else, which would be lost")
