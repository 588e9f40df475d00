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


def chosen(environment: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    """The variables among `names` that are set."""
    return {name: environment[name] for name in names if environment.get(name)}


def search_path(environment: Mapping[str, str], workspace: Path) -> str:
    """PATH without relative entries and without any folder of the audited repository."""
    root = workspace.resolve()
    kept = [
        entry
        for entry in environment.get("PATH", os.defpath).split(os.pathsep)
        if Path(entry).is_absolute() and not Path(entry).resolve().is_relative_to(root)
    ]
    return os.pathsep.join(kept)


def program(name: str, path: str) -> str:
    """Where a program is.

    Raises:
        ConfigurationError: it is not there.
    """
    found = shutil.which(name, path=path)
    if found is None:
        raise ConfigurationError(f"{name} was not found on PATH outside the repository", remedy=f"Install {name}.")
    return found
