"""Which part was asked for, and how are its faults turned into exit codes?"""

import os
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from plumbline.errors import ExitCode, PlumblineError
from plumbline.launch.local import run_local
from plumbline.launch.steps import step
from plumbline.launch.workflow import plain

STEPS = ("resolve", "audit", "publish", "verdict")


def run(own: Path, arguments: Sequence[str]) -> int:
    """Run one step of the action, or the gate on this machine.

    Args:
        own: the checkout that this runs from.
        arguments: the part, and what follows it.

    Returns:
        The exit code; a fault of ours is 5, never 0 or 1.
    """
    part, *rest = arguments or [""]
    try:
        if part in {*STEPS, "audit-alone"} and not rest:
            return step(part, own, os.environ)
        if part == "local":
            return run_local(own, rest, os.environ)
    except PlumblineError as error:
        _tell(f"{error.label}: {error.message}", *([f"  -> {error.remedy}"] if error.remedy else []))
        return error.exit_code
    except KeyboardInterrupt:
        _tell("interrupted")
        return ExitCode.CONFIGURATION
    except Exception:  # noqa: BLE001 - a crash must never look like a verdict
        _tell(*traceback.format_exc().splitlines())
        _tell("INTERNAL ERROR: this is a fault of Plumbline; nothing was measured")
        return ExitCode.INTERNAL
    _tell(f"usage: entrypoint.py {' | '.join(STEPS)} | local ...")
    return ExitCode.USAGE


def _tell(*lines: str) -> None:
    """Say something on standard error, with nothing in it that a terminal obeys. Where it cannot be said, it is not."""
    text = "".join(f"{plain(line)}\n" for line in lines)
    if sys.stderr is None:
        return
    try:
        print(text, end="", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        # Python tries once more when it ends, and would then end with a code of its own.
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
