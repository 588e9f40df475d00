"""How does a hook speak, and how does it end?

Names come from the repository and may hold anything. `say` prints one line and nothing in it can become a second line,
a control sequence, or a command of the workflow log that the hook may be run in.
"""

import sys
from collections.abc import Callable
from shlex import quote

from plumbline.errors import ExitCode, PlumblineError
from plumbline.report.sinks import log_line


def say(text: str) -> None:
    """Print one line."""
    print(log_line(text))


def refuse(fault: PlumblineError, *, bundle: str | None = None) -> None:
    """Print a refusal: what, where, and the one command to run."""
    say(fault.label if bundle is None else f"{fault.label}: {bundle}")
    # The names in a message of several lines are such that a seal could hold: without line breaks.
    for line in fault.message.split("\n"):
        say(f"  {line}")
    if fault.remedy is not None:
        say(f"  {fault.remedy if bundle is None else fault.remedy.replace(_SEAL, seal_command(bundle))}")


_SEAL = "plumbline seal <bundle>"


def seal_command(bundle: str) -> str:
    """The command that seals a bundle and stages the seal."""
    # A folder's name may look like an option.
    dashes = "-- " if bundle.startswith("-") else ""
    return f"plumbline seal {dashes}{quote(bundle)} && {stage_command(bundle)}"


def stage_command(bundle: str, name: str = "checksums.json") -> str:
    """The command that stages a file of a bundle."""
    return f"git add -- {quote(f'{bundle}/{name}' if bundle != '.' else name)}"


def run(work: Callable[[], ExitCode]) -> int:
    """Do the work of a hook and end with an exit code; a crash is 5, never 1."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return work()
    except PlumblineError as fault:
        refuse(fault)
        return fault.exit_code
    except Exception:  # noqa: BLE001 - the boundary of the process
        import traceback  # noqa: PLC0415 - only a crash needs it

        for line in f"INTERNAL ERROR\n{traceback.format_exc()}".splitlines():
            say(line)
        return ExitCode.INTERNAL
