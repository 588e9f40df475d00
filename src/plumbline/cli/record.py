"""What does a live target answer to these questions?

The one command that touches the world on purpose. It writes a new sealed bundle or nothing; `audit` and `gate` grade
that bundle like any other, and can reach none of this.
"""

import argparse
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType

from plumbline.canonical import SHORT_ID_LENGTH
from plumbline.cli.arguments import path
from plumbline.cli.lines import line, warn
from plumbline.errors import ConfigurationError, ExitCode, refusal_for
from plumbline.evidence.bundle import unprintable
from plumbline.record.adapters.base import Adapter
from plumbline.record.authorisation import PRODUCTION_FLAG
from plumbline.record.config import RecordingConfig, load_recording
from plumbline.record.progress import BarProgress, PlainProgress, progress
from plumbline.record.questions import MOST_PASSES, QuestionSet, Shard, load_questions
from plumbline.record.run import Options, Recorded, record, refuse_unfit
from plumbline.report.sinks import log_line

_LONGEST_NOTE = 500


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("--config", type=path, required=True, metavar="FILE", help="the target configuration")
    parser.add_argument("--questions", type=path, metavar="DIR", help="question set (default: adapter.questions)")
    parser.add_argument("--out", type=path, metavar="DIR", help="the new bundle (default: dataset.path)")
    parser.add_argument(
        "--overwrite", action="store_true", help="replace an older bundle there, once this one is whole"
    )
    parser.add_argument("--synthetic", action="store_true", help="the target is a fixture and no real service")
    parser.add_argument("--note", type=_note, metavar="TEXT", help="a remark for the manifest")
    parser.add_argument("--passes", type=_whole(1, MOST_PASSES), metavar="N", help="answers for each item (default: 1)")
    parser.add_argument("--resume", action="store_true", help="go on with an unfinished recording")
    parser.add_argument("--restart", action="store_true", help="drop an unfinished recording and begin anew")
    parser.add_argument("--shard", type=_shard, metavar="I/N", help="ask only every N-th item, from the I-th on")
    parser.add_argument("--connections", type=_whole(1, 64), metavar="N", help="conversations at once")
    parser.add_argument("--dry-run", action="store_true", help="show the first request, secrets masked; send nothing")
    parser.add_argument(
        PRODUCTION_FLAG,
        action="store_true",
        dest="production",
        help='needed where authorisation.environment = "production"',
    )


def _whole(low: int, high: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 9 and low <= int(text) <= high):
            raise argparse.ArgumentTypeError(f"must be a whole number from {low} to {high}")
        return int(text)

    return parse


def _shard(text: str) -> Shard:
    try:
        return Shard.parse(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None


def _note(text: str) -> str:
    if not text.strip() or len(text) > _LONGEST_NOTE or unprintable(text):
        raise argparse.ArgumentTypeError(f"must be 1 to {_LONGEST_NOTE} printable characters on one line")
    return text


def run(arguments: argparse.Namespace) -> int:
    """Record.

    Raises:
        IntegrityError: the question set is not what was sealed.
        ConfigurationError: something is refused, or the target failed; no bundle was written then.
    """
    if arguments.resume and arguments.restart:
        raise ConfigurationError("--resume and --restart exclude each other")
    config = load_recording(arguments.config, os.environ, questions=arguments.questions)
    for warning in config.warnings:
        warn(warning)
    out = arguments.out or config.dataset
    if out is None:
        raise ConfigurationError(f"{config.file}: without --out there must be a [dataset] that says where to record to")
    options = Options(
        out=out,
        overwrite=arguments.overwrite,
        synthetic=arguments.synthetic,
        note=arguments.note,
        passes=arguments.passes,
        resume=arguments.resume,
        restart=arguments.restart,
        shard=arguments.shard,
        connections=arguments.connections,
        production_confirmed=arguments.production,
    )
    try:
        _prepared(config, options, dry_run=arguments.dry_run)
    except Exception as fault:  # noqa: BLE001 - it is raised again, masked
        # Whatever a library put into its message, and whatever is printed of a crash: masked before anybody sees it.
        refusal = refusal_for(fault)
        if refusal.exit_code == ExitCode.INTERNAL and refusal is not fault:
            refusal.message += "\n" + "".join(traceback.format_exception(fault))
        refusal.message = config.secrets.mask(refusal.message)
        refusal.remedy = refusal.remedy and config.secrets.mask(refusal.remedy)
        raise refusal from None
    return ExitCode.PASS


def _prepared(config: RecordingConfig, options: Options, *, dry_run: bool) -> None:
    questions = load_questions(config.questions)
    for warning in questions.warnings:
        warn(warning)
    adapter = config.adapter(os.environ)
    try:
        if dry_run:
            _show_first_request(config, adapter, questions, options)
        else:
            _record(config, adapter, questions, options)
    finally:
        adapter.close()


def _show_first_request(config: RecordingConfig, adapter: Adapter, questions: QuestionSet, options: Options) -> None:
    refuse_unfit(config, adapter, questions, options)
    first = questions.question(questions.positions(options.shard)[0])
    for shown in config.secrets.mask(adapter.preview(first)).splitlines():
        print(log_line(shown))
    line("note", "a dry run: nothing was sent and nothing is written")


def _record(config: RecordingConfig, adapter: Adapter, questions: QuestionSet, options: Options) -> None:
    described = adapter.describe()
    line("target", config.target)
    line("adapter", f"{described['kind']} -> {described['endpoint']}")
    line("questions", f"{questions.name}, {len(questions.items)} items ({questions.sha256[:SHORT_ID_LENGTH]})")
    sys.stdout.flush()
    done: Recorded | None = None
    try:
        done = _recorded(config, adapter, questions, options)
        _tell(done)
        sys.stdout.flush()
    except OSError as fault:
        if done is None:
            raise
        raise ConfigurationError(
            f"{done.out}: the bundle is there, whole and sealed ({done.sha256}), and standard output cannot be written "
            f"({fault.strerror or type(fault).__name__})",
            remedy="Nothing is left to ask, and nothing has to be recorded again.",
        ) from None


def _recorded(config: RecordingConfig, adapter: Adapter, questions: QuestionSet, options: Options) -> Recorded:
    with ExitStack() as after:

        def watch(wanted: int, already: int) -> PlainProgress | BarProgress:
            shown = progress(wanted, already, sys.stderr)
            after.callback(shown.end)
            return shown

        stop = after.enter_context(_stopped_by_signals())
        return record(config, adapter, questions, options, watch, stop=stop)


def _tell(done: Recorded) -> None:
    passes = f", {done.passes} passes" if done.passes > 1 else ""
    line("recorded", f"{done.items} items{passes}" + (f", shard {done.shard}" if done.shard else ""))
    line("empty", f"{done.empty} {'turn' if done.empty == 1 else 'turns'} without an answer" if done.empty else "0")
    if done.empty >= done.items:
        warn("as many turns as there are items stayed without an answer: what is graded here is mostly silence")
    line("bundle", str(done.out))
    line("dataset", f"{done.sha256[:SHORT_ID_LENGTH]} ({done.sha256})")
    line("at", done.recorded_at)
    if done.shard:
        line("note", "one shard, which nothing grades: plumbline merge OUT SHARD... joins them")
    elif done.synthetic:
        line("note", "synthetic: says nothing about any real service")


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """An event that the first Ctrl-C, SIGTERM or SIGHUP sets; a second one ends at once."""
    stop = threading.Event()

    def handle(_number: int, _frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # which is what nohup asks for
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, handle) for number in numbers}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
