"""How is a file read once, and written whole?"""

import os
import stat
from collections.abc import Iterable
from pathlib import Path

from plumbline.errors import ConfigurationError

# NOFOLLOW and NONBLOCK: a link or a pipe put here after the look must neither be followed nor waited for.
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)


class NotRegularError(Exception):
    """A folder, a pipe or a device stands where a file is wanted."""


def read_once(path: str | Path, *, follow: bool) -> bytes:
    """The bytes of a regular file, from one open descriptor.

    Args:
        path: the file.
        follow: whether it may be a symbolic link to one.

    Raises:
        NotRegularError: it is something else.
        OSError: it cannot be read.
    """
    if not stat.S_ISREG(os.stat(path, follow_symlinks=follow).st_mode):  # noqa: PTH116 - called for every file
        raise NotRegularError
    with open(os.open(path, _FLAGS | (0 if follow else _NO_LINK)), "rb") as file:  # noqa: PTH123 - a descriptor
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise NotRegularError
        return file.read()


def real(path: Path) -> Path:
    """`path` with every link followed, as far as that goes.

    `Path.resolve` ends a loop of links with another exception on each Python; this never raises.
    """
    return Path(os.path.realpath(path))


def read_input(path: Path, what: str) -> bytes:
    """The bytes of a file that a command was told to read.

    Raises:
        ConfigurationError: it cannot be read, or is no file.
    """
    try:
        return read_once(path, follow=True)
    except NotRegularError:
        raise ConfigurationError(f"{path}: {what} is not a file") from None
    except OSError as fault:
        raise ConfigurationError(f"{path}: {what} cannot be read: {fault.strerror}") from None


def write_atomically(path: Path, data: bytes | Iterable[bytes]) -> None:
    """Replace `path` by `data` so that a reader sees the old bytes or the new ones, never a part.

    Args:
        path: the file.
        data: its bytes, or chunks of them that are written as they come.

    Raises:
        ConfigurationError: the place cannot be written, or holds a link, a device or a folder, which would be replaced
            by a file.
    """
    refuse_special(path)
    # A name that nobody else has, and exclusive: a leftover must be neither in the way nor followed.
    partial = path.with_name(f".plumbline-{os.urandom(8).hex()}.part")
    created = False
    try:
        with partial.open("xb") as file:
            created = True
            file.writelines([data] if isinstance(data, bytes) else data)
        partial.replace(path)
    except OSError as fault:
        if created:
            # What stayed behind would be an unsealed file in the bundle.
            partial.unlink(missing_ok=True)
        raise ConfigurationError(f"{path}: cannot be written: {fault.strerror}") from None


def refuse_special(path: Path) -> None:
    """Refuse a place for output that holds something other than a regular file.

    Raises:
        ConfigurationError: it does, or no file can be there.
    """
    if not path.name:
        raise ConfigurationError(f"{path}: not the name of a file")
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    except OSError as fault:
        raise ConfigurationError(f"{path}: cannot be written: {fault.strerror}") from None
    if not stat.S_ISREG(mode):
        raise ConfigurationError(f"{path}: is no regular file, and would be replaced by one")
