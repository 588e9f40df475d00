"""How is a browser started so that it leaves nothing behind and listens on nothing?

It is spoken to through two pipes (`--remote-debugging-pipe`, file descriptors 3 and 4), so no port is open to other
programs of the machine. It gets a profile of its own that is removed, an environment without anybody's secrets, and a
process group that is killed whole. Works where there is `posix_spawn`: Linux and macOS.
"""

import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from plumbline.errors import ConfigurationError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
"""Where a browser is looked for on PATH, unless it is named."""

_HIGH = 64
_LOOKS = 100
_LONGEST_BASE = 40
_SWITCHES = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-breakpad",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-dev-shm-usage",
    "--disable-domain-reliability",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    "--block-new-web-contents",
    "--force-color-profile=srgb",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--hide-scrollbars",
    "--js-flags=--max-old-space-size=512",
    "--mute-audio",
    "--password-store=basic",
)
_OFFLINE = ("--proxy-server=http://127.0.0.1:9", "--proxy-bypass-list=<-loopback>")
"""Everything, loopback too, goes to a proxy at the discard port, where nobody is."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """Both ends of ours."""

    commands: int
    """File descriptor to write to."""
    answers: int
    """File descriptor to read from."""


def find(named: Path | None) -> Path:
    """The browser's program.

    Raises:
        ConfigurationError: there is none.
    """
    if named is not None:
        program = shutil.which(named)
        if program is None:
            raise ConfigurationError(f"--browser: {named} is no program that can be run")
        return Path(program)
    for name in NAMES:
        if program := shutil.which(name):
            return Path(program)
    raise ConfigurationError(
        f"there is no browser: none of {', '.join(NAMES)} is on PATH",
        remedy="Install Chromium (Debian: apt-get install chromium), or name one with --browser PATH.",
    )


@contextmanager
def started(program: Path, *, sandbox: bool, offline: bool) -> Iterator[Pipes]:
    """A running browser; when the block ends it is dead and its profile gone.

    Args:
        program: Chromium or Chrome.
        sandbox: whether it confines its renderers; it cannot do so as root.
        offline: whether no network is reachable.

    Raises:
        ConfigurationError: it cannot be started, or not with a sandbox.
    """
    if not hasattr(os, "posix_spawn"):
        raise ConfigurationError("capturing needs Linux or macOS")
    if sandbox and os.geteuid() == 0:
        raise ConfigurationError(
            "Chromium cannot confine a page when it runs as root",
            remedy="Run as another user, or, for a page that you trust or in a throw-away container: --no-sandbox",
        )
    # The browser keeps a socket there, whose path has at most 107 bytes.
    base = gettempdir() if len(os.fsencode(gettempdir())) < _LONGEST_BASE else "/tmp"  # noqa: S108 - a fresh folder in it
    with TemporaryDirectory(prefix="plumbline-capture-", dir=base, ignore_cleanup_errors=True) as profile:
        command = [
            str(program),
            *_SWITCHES,
            *(_OFFLINE if offline else ()),
            *(() if sandbox else ("--no-sandbox",)),
            f"--user-data-dir={profile}/profile",
            "about:blank",
        ]
        pid, pipes = _spawn(program, command, profile)
        try:
            yield pipes
        finally:
            os.close(pipes.commands)
            os.close(pipes.answers)
            _end(pid)


def _spawn(program: Path, command: list[str], profile: str) -> tuple[int, Pipes]:
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        **dict.fromkeys(("HOME", "TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"), profile),
    }
    theirs_in, ours_out = _high_pipe()
    ours_in, theirs_out = _high_pipe()
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_DUP2, theirs_in, 3),
        (os.POSIX_SPAWN_DUP2, theirs_out, 4),
    ]
    try:
        pid = os.posix_spawn(program, command, environment, file_actions=actions, setpgroup=0)
    except OSError as fault:
        os.close(ours_in)
        os.close(ours_out)
        raise ConfigurationError(f"{program}: cannot be started: {fault.strerror}") from None
    finally:
        os.close(theirs_in)
        os.close(theirs_out)
    os.set_blocking(ours_out, False)
    return pid, Pipes(commands=ours_out, answers=ours_in)


def _high_pipe() -> tuple[int, int]:
    """A pipe whose ends cannot be in the way of descriptors 3 and 4 of the child."""
    import fcntl  # noqa: PLC0415 - not on every system

    low = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _HIGH) for end in low]
    for end in low:
        os.close(end)
    return high[0], high[1]


def _end(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)
    # Whoever still writes into the profile must be gone before it is removed. What nobody reaps stays in the group.
    with suppress(ProcessLookupError, PermissionError):
        for _ in range(_LOOKS):
            os.killpg(pid, 0)
            time.sleep(0.02)
