"""Which command was asked for, and with which exit code does it end?

The one place that turns errors into exit codes. Each command is a module with `add_arguments` and `run`; it is
imported only when it is asked for.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib import import_module
from keyword import iskeyword
from types import ModuleType
from typing import NoReturn

from plumbline._version import __version__
from plumbline.errors import ExitCode, PlumblineError, refusal_for

COMMANDS = {
    "validate": "check a bundle's seal and contents",
    "seal": "write a bundle's checksums",
    "audit": "grade a target's bundle and write a report",
    "gate": "the same audit, shaped for a build log, with sockets and processes refused",
    "verify": "check a written report against its own seal",
    "baseline": "cut the bar that a repository holds from a report",
    "probe": "ask a live target three neutral questions and say what is set up wrongly",
    "record": "ask a live target a question set and write a new sealed bundle",
    "merge": "join the shards of one recording into one sealed bundle",
    "capture": "render a page in a browser and seal it into a bundle",
    "import": "make a sealed bundle from another tool's results",
    "judge": "record a model judge's opinions, or compare a judge with people's",
}


class _Parser(argparse.ArgumentParser):
    def __init__(self, *args: object, **kwargs: object) -> None:
        # Abbreviated options would let a misspelling pass for another option.
        super().__init__(*args, **{**kwargs, "allow_abbrev": False})  # type: ignore[arg-type]  # passed through as given


def build_parser(command: str | None) -> argparse.ArgumentParser:
    """The parser of the whole command line; only `command`'s own arguments are filled in."""
    parser = _Parser(prog="plumbline", description="A merge gate for question-answering and RAG chat systems.")
    parser.add_argument("--version", action="version", version=f"plumbline {__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name, summary in COMMANDS.items():
        sub = subparsers.add_parser(name, help=summary, description=summary)
        if name == command:
            _module(name).add_arguments(sub)
    return parser


def _module(command: str) -> ModuleType:
    # `import` is a word of Python's own, so its module has an underscore more.
    return import_module(f"plumbline.cli.{command}{'_' if iskeyword(command) else ''}")


def main(argv: Sequence[str]) -> int:
    """Run one command.

    Returns:
        The exit code, 0 to 5. A usage error leaves through SystemExit with 2, as argparse does.
    """
    command = next((word for word in argv if word in COMMANDS), None)
    try:
        arguments = build_parser(command).parse_args(argv)
        code: int = _module(arguments.command).run(arguments)
        sys.stdout.flush()
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as fault:  # noqa: BLE001 - the last line of defence: a crash must never end with 1
        error = refusal_for(fault)
        # A refusal says all there is to say; what was never foreseen is told with where it came from.
        crash = fault.__cause__ if isinstance(fault, PlumblineError) else fault
        if error.exit_code == ExitCode.INTERNAL and crash is not None:
            import traceback  # noqa: PLC0415 - only a crash needs it

            with suppress(OSError):
                traceback.print_exception(crash)
        return refuse(error)
    return code


def refuse(error: PlumblineError) -> int:
    """Print a refusal and return its exit code."""
    from plumbline.report.sinks import log_line  # noqa: PLC0415 - only a refusal needs it

    first, *more = error.message.splitlines() or [""]
    with suppress(OSError):
        print(log_line(f"{error.label}: {first}"), file=sys.stderr)
        # Indented, so that no line of a message can pass for one that a command begins or ends with.
        for line in more:
            print(log_line(f"  {line.strip()}"), file=sys.stderr)
        if error.remedy:
            print(log_line(f"  -> {error.remedy}"), file=sys.stderr)
    return error.exit_code


def run() -> NoReturn:
    """The console script."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed before we began: say it to nobody, and keep the exit code
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - for the process's life
        elif hasattr(stream, "reconfigure"):
            # A log must not die of a character that the locale's encoding lacks.
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        code = main(sys.argv[1:])
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else ExitCode.USAGE
    sys.exit(_after_flush(code))


def _after_flush(code: int) -> int:
    """The exit code once both streams are written out: a verdict that nobody could be told is none."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            # What is left in the buffer goes nowhere, or the interpreter would end with a code of its own.
            with suppress(OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
            if code in {ExitCode.PASS, ExitCode.FAIL}:
                code = ExitCode.CONFIGURATION
    return code
