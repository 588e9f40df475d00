"""Which of the machine's programs and variables may a child process of ours see?

Environments are built, never inherited: a variable reaches a child because it is named here. Programs are looked for
in folders outside the audited repository only, so that nothing it holds can stand in for git or Python.
"""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from plumbline.errors import ConfigurationError

NETWORK = (
    "http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
    "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH",
)  # fmt: skip
"""How this machine reaches the network. None of them can change what a hash accepts."""

SYSTEM = ("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "NUMBER_OF_PROCESSORS")
"""Without these no program starts on Windows."""

HOME = ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "SSH_AUTH_SOCK")

TERMINAL = ("TERM", "COLORTERM", "NO_COLOR", "COLUMNS")

_PATHS = {*HOME, *(name for name in NETWORK if "SSL" in name or "BUNDLE" in name)}
_MOST_LINKS = 64


def chosen(environment: Mapping[str, str], names: tuple[str, ...], workspace: Path | None = None) -> dict[str, str]:
    """The variables among `names` that are set; where a workspace is given, no path that leads into it."""
    return {
        name: environment[name]
        for name in names
        if environment.get(name)
        and (workspace is None or name not in _PATHS or is_outside(Path(environment[name]), workspace))
    }


def is_outside(path: Path, workspace: Path) -> bool:
    """Whether `path` is absolute and nothing on the way to it, no link's target either, lies in the workspace.

    Where a path ends is not enough: whoever owns a link on the way decides where that is.
    """
    root = workspace.resolve()
    if not path.is_absolute():
        return False
    here, ahead, links = Path(path.anchor), list(path.parts[1:]), 0
    while ahead:
        part = ahead.pop(0)
        here = here.parent if part == ".." else here / part
        if here.is_relative_to(root):
            return False
        try:
            target = here.readlink()
        except (OSError, ValueError):  # no link, or nothing there: then nothing is taken from it
            continue
        links += 1
        if links > _MOST_LINKS:
            return False
        ahead = [*target.parts[1 if target.is_absolute() else 0 :], *ahead]
        here = Path(target.anchor) if target.is_absolute() else here.parent
    return True


def search_path(environment: Mapping[str, str], workspace: Path) -> str:
    """PATH without relative entries and without any folder of the audited repository."""
    kept = [
        entry
        for entry in environment.get("PATH", os.defpath).split(os.pathsep)
        if entry and is_outside(Path(entry), workspace)
    ]
    return os.pathsep.join(kept)


def program(name: str, path: str, workspace: Path) -> str:
    """Where a program is, the first on `path` that is not a link into the workspace.

    Raises:
        ConfigurationError: it is not there.
    """
    for entry in path.split(os.pathsep):
        found = shutil.which(name, path=entry)
        if found is not None and is_outside(Path(found), workspace):
            return found
    raise ConfigurationError(f"{name} was not found on PATH outside the repository", remedy=f"Install {name}.")
