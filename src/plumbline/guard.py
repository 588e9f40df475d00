"""Does grading stay away from the network and from other programs?

An interpreter audit hook (PEP 578) that turns any socket or process event into a refusal. Once installed it cannot be
removed. It guards against accidents and against code that came in by mistake; it is no wall against hostile native
code, which is why the action also asks the kernel (docs/action.md says what is in force where).
"""

import sys

from plumbline.errors import InternalError

_REFUSED_PREFIXES = ("socket.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.", "winreg.", "webbrowser.")
_REFUSED = frozenset({"subprocess.Popen", "os.system", "os.startfile", "os.startfile/2", "urllib.Request"})


class GuardError(InternalError):
    """Code inside a gate tried to reach the network or to start a process (exit 5)."""


def refuse_network_and_processes() -> None:
    """Install the guard for the rest of this interpreter's life."""
    sys.addaudithook(_hook)


def _hook(event: str, _args: object) -> None:
    if event in _REFUSED or event.startswith(_REFUSED_PREFIXES):
        raise GuardError(f"{event}: a gate opens no socket and starts no process")
