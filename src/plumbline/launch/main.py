"""Which part was asked for, and how are its faults turned into exit codes?"""

import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from plumbline.errors import ExitCode, PlumblineError
from plumbline.launch.local import run_local
from plumbline.launch.steps import step

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
        print(f"{error.label}: {error.message}", file=sys.stderr)
        if error.remedy:
            print(f"  -> {error.remedy}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return ExitCode.CONFIGURATION
    except Exception:  # noqa: BLE001 - a crash must never look like a verdict
        traceback.print_exc()
        print("INTERNAL ERROR: this is a fault of Plumbline; nothing was measured", file=sys.stderr)
        return ExitCode.INTERNAL
    print(f"usage: entrypoint.py {' | '.join(STEPS)} | local ...", file=sys.stderr)
    return ExitCode.USAGE
