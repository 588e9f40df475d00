"""How does a hook speak, and how does it end?

Names come from the repository and may hold anything, so every line goes through the escape for terminals.
"""

import sys
from collections.abc import Callable
from shlex import quote

from plumbline.errors import ExitCode, PlumblineError


def say(text: str) -> None:
    """Print text, each line of it escaped."""
    for line in text.split("\n"):
        print("".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in line))


def refuse(fault: PlumblineError, *, bundle: str | None = None) -> None:
    """Print a refusal: what, where, and the one command to run."""
    head = fault.label if bundle is None else f"{fault.label}: {bundle}"
    say(f"{head}\n  {fault.message.replace(chr(10), chr(10) + '  ')}")
    if fault.remedy is not None:
        remedy = fault.remedy
        if bundle is not None:
            remedy = remedy.replace("plumbline seal <bundle>", seal_command(bundle))
        say(f"  {remedy}")


def seal_command(bundle: str) -> str:
    """The command that seals a bundle and stages the seal."""
    return f"plumbline seal {quote(bundle)} && {stage_command(bundle)}"


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

        say(f"INTERNAL ERROR\n{traceback.format_exc()}")
        return ExitCode.INTERNAL
