"""Which installed packages does the harness see, and are they the locked ones?

pip only downloads; it installs nothing. Each wheel is read once, its SHA-256 compared with the lock, and unpacked
from those same bytes into a virtual environment that lives as long as the run. So a cached wheel is worth no more
than its hash, and no installed package, `.pth` file or start-up module of the machine takes part.
"""

import configparser
import hashlib
import io
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import urlsplit
from urllib.request import url2pathname

from plumbline.errors import ConfigurationError
from plumbline.launch.machine import NETWORK, SYSTEM, chosen, is_outside, search_path

TIMEOUT_S = 900
_INDEX_SETTINGS = (
    "index-url", "extra-index-url", "no-index", "find-links", "proxy", "cert", "client-cert", "trusted-host",
    "timeout", "default-timeout", "retries",
)  # fmt: skip
"""Where wheels may come from. None of them can change which bytes are accepted, or run a program."""

_LINE = re.compile(r"([A-Za-z0-9._-]+)==\S+?(\s*;[^\\]*)?\s*\\?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\s*\\?")
# Started without site packages, so pip is given its own folder or wheel as the last place to import from.
_PIP = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); sys.argv[0] = 'pip'; "
    "runpy.run_module('pip', run_name='__main__', alter_sys=True)"
)
_LISTING = "wheels.json"


@dataclass(frozen=True, slots=True)
class Locked:
    """One line of a lock with its hashes."""

    hashes: frozenset[str]
    everywhere: bool
    """No marker: every environment holds it."""


def read_lock(text: str) -> dict[str, Locked]:
    """The lock as normalised name to what is allowed under it.

    Raises:
        ConfigurationError: a line is not what tools/lock.py writes.
    """
    lock: dict[str, Locked] = {}
    name = ""
    for number, line in enumerate(text.splitlines(), start=1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        if match := _HASH.fullmatch(content):
            if not name:
                raise ConfigurationError(f"lock, line {number}: a hash without a package")
            lock[name] = Locked(lock[name].hashes | {match[1]}, lock[name].everywhere)
        elif match := _LINE.fullmatch(content):
            name = _normal(match[1])
            everywhere = match[2] is None
            earlier = lock.get(name, Locked(frozenset(), everywhere=True))
            lock[name] = Locked(earlier.hashes, earlier.everywhere and everywhere)
        else:
            raise ConfigurationError(f"lock, line {number}: not a pinned package or a hash")
    if unhashed := sorted(name for name, locked in lock.items() if not locked.hashes):
        raise ConfigurationError(f"lock: no hash for {', '.join(unhashed)}")
    return lock


def make_environment(
    lock: Path, private: Path, *, environment: Mapping[str, str], workspace: Path, cache: Path | None = None
) -> Path:
    """Make a virtual environment with exactly the locked packages.

    Args:
        lock: the lock of the harness.
        private: folder that nobody else writes to.
        environment: the machine's variables; only those that say how to reach an index are used.
        workspace: the audited repository, from which nothing is taken.
        cache: where wheels may stay between runs, or None.

    Returns:
        The interpreter of the environment.

    Raises:
        ConfigurationError: packages are missing or are not the locked ones.
    """
    text = _read_text(lock)
    locked = read_lock(text)
    wheels = _cached(cache, text, locked)
    if wheels is None:
        folder = private / "wheels"
        folder.mkdir()
        _download(lock, folder, private, environment, workspace)
        wheels = _checked(_contents(folder), locked)
        _keep(cache, text, wheels)
    target = private / "venv"
    try:
        # Links to the interpreter where the system has them: a copied one may not find its own library.
        venv.EnvBuilder(symlinks=os.name != "nt", with_pip=False).create(target)
        site = Path(sysconfig.get_path("purelib", "venv", {"base": str(target), "platbase": str(target)}))
        for name, data in wheels.items():
            _unpack(name, data, site)
    except OSError as fault:
        raise ConfigurationError(f"{target}: cannot be made: {fault.strerror}") from None
    return target / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _read_text(lock: Path) -> str:
    try:
        return lock.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ConfigurationError(f"the harness holds no readable {lock.parent.name}/{lock.name}") from None


def _contents(folder: Path) -> dict[str, bytes]:
    try:
        # Only regular files: reading a pipe would never end.
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*.whl")) if path.is_file()}
    except OSError as fault:
        raise ConfigurationError(f"{folder}: cannot be read: {fault.strerror}") from None


def _checked(wheels: dict[str, bytes], locked: dict[str, Locked]) -> dict[str, bytes]:
    seen: set[str] = set()
    for file, data in wheels.items():
        name = _normal(file.split("-", 1)[0])
        if name not in locked or hashlib.sha256(data).hexdigest() not in locked[name].hashes:
            raise ConfigurationError(f"{file} is not in the lock")
        if name in seen:
            raise ConfigurationError(f"{name}: two wheels of one package")
        seen.add(name)
    if missing := sorted(name for name, entry in locked.items() if entry.everywhere and name not in seen):
        raise ConfigurationError(f"no wheel was had for {', '.join(missing)}")
    return wheels


def _cached(cache: Path | None, lock: str, locked: dict[str, Locked]) -> dict[str, bytes] | None:
    """The wheels of an earlier run, or None when there are none that pass."""
    if cache is None:
        return None
    folder = _cache_folder(cache, lock)
    try:
        if not (folder / _LISTING).is_file():
            return None
        listed = json.loads((folder / _LISTING).read_bytes())
        wheels = _checked(_contents(folder), locked)
    except (OSError, ValueError, RecursionError, ConfigurationError):
        return None
    return wheels if listed == sorted(wheels) else None


def _keep(cache: Path | None, lock: str, wheels: dict[str, bytes]) -> None:
    if cache is None:
        return
    folder = _cache_folder(cache, lock)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        for name, data in wheels.items():
            (fresh / name).write_bytes(data)
        (fresh / _LISTING).write_text(json.dumps(sorted(wheels)), encoding="utf-8")
        # What is found there did not pass. It is moved aside and not cleaned: it may be somebody's, behind a link.
        if os.path.lexists(folder):
            folder.rename(fresh.with_name(f"{fresh.name}.found"))
        fresh.rename(folder)
    except OSError:
        return  # a cache that cannot be written costs time, nothing else


def _cache_folder(cache: Path, lock: str) -> Path:
    digest = hashlib.sha256(lock.encode()).hexdigest()[:32]
    tag = f"{sys.implementation.cache_tag}{getattr(sys, 'abiflags', '')}-{sysconfig.get_platform()}"
    return cache / "wheels" / f"{digest}-{re.sub(r'[^A-Za-z0-9._-]', '_', tag)}"


def _download(lock: Path, folder: Path, private: Path, environment: Mapping[str, str], workspace: Path) -> None:
    built = {
        **chosen(environment, (*NETWORK, *SYSTEM), workspace),
        **pip_settings(environment, workspace),
        "PATH": search_path(environment, workspace),
        **dict.fromkeys(("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA", "TMPDIR", "TEMP", "TMP"), str(private)),
        # A configuration file may name a program to run, and pip would run it. pip_settings has read what may count.
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_KEYRING_PROVIDER": "disabled",
        "PIP_NO_INPUT": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }
    base = getattr(sys, "_base_executable", None) or sys.executable
    try:
        done = subprocess.run(  # noqa: S603 - our interpreter, arguments of our own
            [
                base, "-I", "-S", "-X", "utf8", "-B", "-c", _PIP, str(_pip()), "--quiet", "--no-cache-dir",
                "download", "--no-deps", "--require-hashes", "--only-binary", ":all:",
                "--requirement", str(lock), "--dest", str(folder),
            ],
            cwd=private,
            env=built,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=TIMEOUT_S,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise ConfigurationError(f"downloading the locked packages took more than {TIMEOUT_S} s") from None
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        raise ConfigurationError(
            f"the locked packages could not be downloaded: {'; '.join(errors) or f'pip ended with {done.returncode}'}",
            remedy="Check the network, the proxy and the index that pip is set up for.",
        )


def pip_settings(environment: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """How this machine is set up to reach an index, as variables for pip.

    Read from pip's variables and from the files that pip would read, none of them inside the workspace.

    Raises:
        ConfigurationError: a file is not one that pip could read.
    """
    found: dict[str, str] = {}
    for file in _pip_files(environment):
        if is_outside(file, workspace) and file.is_file():
            found |= _pip_file(file)
    for name in _INDEX_SETTINGS:
        if value := environment.get(_pip_variable(name)):
            found[name] = value
    return {_pip_variable(name): value for name, value in found.items() if not _leads_into(value, workspace)}


def _pip_variable(name: str) -> str:
    return f"PIP_{name.upper().replace('-', '_')}"


def _pip_files(environment: Mapping[str, str]) -> list[Path]:
    """In the order of pip: the machine's, the user's, the interpreter's, the one that a variable names."""
    named = environment.get("PIP_CONFIG_FILE", "")
    if named == os.devnull:
        return []
    home = Path(environment.get("HOME") or Path.home())
    shared = environment.get("XDG_CONFIG_DIRS") or "/etc/xdg"
    user = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    library = Path("Library", "Application Support", "pip", "pip.conf")
    files = [*(Path(folder, "pip", "pip.conf") for folder in shared.split(os.pathsep)), Path("/etc/pip.conf")]
    files += [Path("/", library), home / ".pip" / "pip.conf", user / "pip" / "pip.conf", home / library]
    return [*files, Path(sys.base_prefix, "pip.conf"), *([Path(named)] if named else [])]


def _pip_file(file: Path) -> dict[str, str]:
    parser = configparser.RawConfigParser()
    try:
        parser.read(file, encoding="utf-8")
        sections = [parser.items(name) for name in ("global", "download") if parser.has_section(name)]
    except (configparser.Error, UnicodeDecodeError) as fault:
        raise ConfigurationError(f"{file}: not a configuration of pip: {fault}") from None
    pairs = ((key.removeprefix("--").replace("_", "-"), value) for section in sections for key, value in section)
    return {key: value for key, value in pairs if key in _INDEX_SETTINGS and value}


def _leads_into(value: str, workspace: Path) -> bool:
    for word in value.split():
        path = url2pathname(urlsplit(word).path) if word.startswith("file:") else word
        # What is neither absolute nor a URL would be looked for in the private folder, where there is nothing.
        if Path(path).is_absolute() and not is_outside(Path(path), workspace):
            return True
    return False


def _pip() -> Path:
    """A folder or wheel to import pip from.

    Raises:
        ConfigurationError: this Python has none.
    """
    prefixes = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
    folders = [sysconfig.get_path("purelib", vars=prefixes), "/usr/lib/python3/dist-packages"]
    for folder in folders:
        if Path(folder, "pip", "__main__.py").is_file():
            return Path(folder)
    bundles = [Path(os.__file__).parent / "ensurepip" / "_bundled", sysconfig.get_config_var("WHEEL_PKG_DIR")]
    for bundle in filter(None, bundles):
        for wheel in sorted(Path(bundle).glob("pip-*.whl"), reverse=True):
            return wheel
    raise ConfigurationError(
        f"{sys.executable} has neither pip nor ensurepip, so the locked packages cannot be downloaded",
        remedy="Install pip for this Python (on Debian: python3-pip), or name another Python.",
    )


def _unpack(wheel: str, data: bytes, site: Path) -> None:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in archive.infolist():
                name = _place(entry.filename)
                if name is None or entry.is_dir():
                    continue
                _write(site, name, archive.read(entry))
    except (zipfile.BadZipFile, ValueError) as fault:
        raise ConfigurationError(f"{wheel} cannot be unpacked: {fault}") from None


def _write(site: Path, name: str, data: bytes) -> None:
    # Two thousand files a run: the plain calls take half the time of the comfortable ones.
    path = f"{site}/{name}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
    try:
        file = os.open(path, flags, 0o666)
    except FileNotFoundError:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, flags, 0o666)
    with open(file, "wb", buffering=0) as stream:  # noqa: PTH123 - a descriptor, not a path
        stream.write(data)


def _place(name: str) -> str | None:
    """Where a file of a wheel goes, relative to the site folder; None when it is not needed."""
    parts = PurePosixPath(name).parts
    if name.startswith("/") or "\\" in name or ".." in parts or not parts:
        raise ValueError(f"an unsafe name: {name!r}")
    if parts[0].endswith(".data"):
        return "/".join(parts[2:]) if _is_library(parts) else None
    # A .pth file may hold code that runs at every start. None of the locked packages needs one, nor its own tests and
    # type stubs, which are half of all files.
    startup = len(parts) == 1 and name.endswith(".pth")
    return None if startup or "tests" in parts or name.endswith(".pyi") else name


def _is_library(parts: Iterable[str]) -> bool:
    listed = list(parts)
    return len(listed) > 2 and listed[1] in {"purelib", "platlib"}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
