"""Which harness, at which commit, grades what?

`plumbline.pin` is the one file that a developer's machine and the workflow both read. gate/plumbline-gate.sh reads it
by the same rules, because it has to know the commit before it may run anything of it; tests/gate/test_pin_rules.py
holds the two readers against each other.
"""

import re
from dataclasses import dataclass
from pathlib import Path

from plumbline.errors import ConfigurationError

COMMIT = re.compile(r"[0-9a-f]{40}")
REPOSITORY = re.compile(r"(https|ssh|file)://[!#-&(-\[\]-~]+")
_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST_LINE = 4096
_BOOLEANS = {"true": True, "false": False}
_REMEDY = "gate/README.md lists the keys; start from gate/plumbline.pin."


@dataclass(frozen=True, slots=True)
class Pin:
    """What the file says."""

    repo: str
    """URL of the harness: https, ssh or file."""
    ref: str
    """The commit, 40 lowercase hex digits."""
    config: str
    """Target configuration, relative to the consuming repository."""
    baseline: str | None = None
    """The bar, where it is not the configuration's own."""
    out: str = "plumbline-audits"
    """Where a run on a developer's machine leaves its reports."""
    require_comparable_baseline: bool = False


def read_pin(path: Path) -> Pin:
    """Read and check the pin.

    Raises:
        ConfigurationError: there is none, or a line of it is not exactly what it may be.
    """
    try:
        data = path.read_bytes()
    except OSError as fault:
        raise ConfigurationError(f"{path.name}: cannot be read: {fault.strerror}", remedy=_REMEDY) from None
    return parse_pin(data, path.name)


def parse_pin(data: bytes, name: str) -> Pin:
    """The pin in `data`.

    Args:
        data: UTF-8 lines `key = value`; `#` starts a comment; CRLF is allowed.
        name: file name for messages.

    Raises:
        ConfigurationError: unknown, repeated, empty or missing keys, or a value that is not of its kind.
    """
    values = _values(data, name)
    for key in ("repo", "ref", "config"):
        if key not in values:
            raise ConfigurationError(f"{name}: the key {key!r} is missing", remedy=_REMEDY)
    repo = values["repo"]
    if not REPOSITORY.fullmatch(repo):
        raise ConfigurationError(
            f"{name}: repo must be an https://, ssh:// or file:// URL (ssh://git@host/org/repo.git)"
        )
    if "@" in repo and not repo.startswith("ssh://"):
        raise ConfigurationError(f"{name}: repo must not hold credentials")
    if values["ref"] == "0" * 40:
        raise ConfigurationError(f"{name}: ref is still the template's; write the commit of the harness there")
    if not COMMIT.fullmatch(values["ref"]):
        raise ConfigurationError(
            f"{name}: ref must be a commit, 40 lowercase hex digits, not a branch, tag or short hash",
            remedy="A branch can move; then the same pin would mean another gate tomorrow.",
        )
    required = values.get("require_comparable_baseline", "false")
    if required not in _BOOLEANS:
        raise ConfigurationError(f"{name}: require_comparable_baseline must be exactly true or false")
    paths = {key: values[key] for key in ("config", "baseline", "out") if key in values}
    for key, value in paths.items():
        if fault := fault_in_path(value):
            raise ConfigurationError(f"{name}: {key}: {fault}")
    return Pin(repo=repo, ref=values["ref"], require_comparable_baseline=_BOOLEANS[required], **paths)


def _values(data: bytes, name: str) -> dict[str, str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise ConfigurationError(f"{name}: not UTF-8") from None
    known = ("repo", "ref", "config", "baseline", "out", "require_comparable_baseline")
    values: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        where = f"{name}:{number}"
        if len(line.encode()) > _LONGEST_LINE:
            raise ConfigurationError(f"{where}: longer than {_LONGEST_LINE} bytes")
        line = line.removesuffix("\r")  # noqa: PLW2901 - a checkout may have converted the line ends
        if any((char < " " and char != "\t") or char == "\x7f" for char in line):
            raise ConfigurationError(f"{where}: a control character")
        content = line.partition("#")[0].strip(" \t")
        if not content:
            continue
        key, equals, value = content.partition("=")
        key, value = key.strip(" \t"), value.strip(" \t")
        if not equals or not _KEY.fullmatch(key):
            raise ConfigurationError(f"{where}: not of the form key = value")
        if key not in known:
            raise ConfigurationError(f"{where}: unknown key {key!r}; known keys are {', '.join(known)}")
        if key in values:
            raise ConfigurationError(f"{where}: the key {key!r} stands there twice")
        if not value:
            raise ConfigurationError(f"{where}: {key} is empty")
        values[key] = value
    return values


def fault_in_path(path: str) -> str | None:
    """Why `path` may not name a file of the workspace, or None when it may. The file system is not asked."""
    if path.startswith("-"):
        return "a path that reads like an option"
    if path.startswith(("/", "~")) or "\\" in path or ":" in path:
        return "must be a relative path with forward slashes"
    if ".." in path.split("/"):
        return "must not leave the repository"
    if ".git" in path.lower().split("/"):
        return "must not lie in .git"
    if any(char < " " or char == "\x7f" for char in path):
        return "a control character"
    return None


def inside(root: Path, relative: str, what: str) -> Path:
    """`relative` under `root`, with no symbolic link on the way that leads out.

    Raises:
        ConfigurationError: it does not stay inside.
    """
    if fault := fault_in_path(relative):
        raise ConfigurationError(f"{what}: {fault}")
    base = root.resolve()
    if not (base / relative).resolve().is_relative_to(base):
        raise ConfigurationError(f"{what}: {relative} leads out of the repository through a symbolic link")
    return root / relative
