"""Which commit do these files belong to?

Git names content by its hash, so a folder can be checked without asking git: hash every file, then every folder, and
compare with the tree that the commit names. The commit in turn is checked by hashing its own bytes. Nothing that git
stores beside the content (index, attributes, filters, configuration) has a say.
"""

import hashlib
import os
import re
import stat
from collections.abc import Collection
from pathlib import Path

from plumbline.errors import ConfigurationError

_TREE_LINE = re.compile(rb"tree ([0-9a-f]{40})\n")


def object_id(kind: str, data: bytes) -> str:
    """The name that git gives to an object."""
    return hashlib.sha1(f"{kind} {len(data)}\0".encode() + data, usedforsecurity=False).hexdigest()


def tree_of_commit(commit: str, data: bytes) -> str:
    """The tree that a commit names, from the commit's own bytes.

    Raises:
        ConfigurationError: the bytes are not that commit.
    """
    match = _TREE_LINE.match(data)
    if match is None or object_id("commit", data) != commit:
        raise ConfigurationError(f"what was fetched is not commit {commit}")
    return match[1].decode()


def tree_of(folder: Path, *, executables: Collection[str] | None = None) -> str:
    """The tree that `folder` would be in git, its own `.git` left out.

    Args:
        folder: every file in it counts, ignored ones as well.
        executables: names (relative, `/`) of executable files; needed where the file system keeps no such mark.

    Raises:
        ConfigurationError: something in it is no plain file or folder, or cannot be read.
    """
    try:
        return _tree(folder, "", executables, top=True) or object_id("tree", b"")
    except OSError as fault:
        raise ConfigurationError(f"{folder}: cannot be read: {fault.strerror}") from None


def _tree(folder: Path, prefix: str, executables: Collection[str] | None, *, top: bool = False) -> str | None:
    entries: list[tuple[bytes, bytes, str]] = []
    with os.scandir(folder) as found:
        for entry in found:
            if top and entry.name == ".git":
                continue
            name = os.fsencode(entry.name)
            path = prefix + entry.name
            if entry.is_symlink():
                raise ConfigurationError(f"{path}: a symbolic link; the harness holds none")
            if entry.is_dir(follow_symlinks=False):
                inner = _tree(Path(entry.path), f"{path}/", executables)
                if inner is not None:  # git knows no empty folders
                    entries.append((name + b"/", b"40000 " + name, inner))
                continue
            mode = entry.stat(follow_symlinks=False).st_mode
            if not stat.S_ISREG(mode):
                raise ConfigurationError(f"{path}: not a regular file")
            executable = bool(mode & stat.S_IXUSR) if executables is None else path in executables
            blob = object_id("blob", Path(entry.path).read_bytes())
            entries.append((name, (b"100755 " if executable else b"100644 ") + name, blob))
    if not entries:
        return None
    # Git sorts a folder as if its name ended with a slash.
    lines = (line + b"\0" + bytes.fromhex(digest) for _, line, digest in sorted(entries))
    return object_id("tree", b"".join(lines))
