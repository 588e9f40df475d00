"""What stands in a ZIP archive that anybody may have made?

Members are read into memory and never written anywhere. Newer logs of Inspect are compressed with Zstandard, which
Python reads from 3.14 on; before that the package backports.zstd does.
"""

import io
import zipfile
import zlib
from collections.abc import Callable
from types import ModuleType

from plumbline.errors import ConfigurationError
from plumbline.evidence.seal import fault_in_name
from plumbline.importers.base import ForeignFileError, Origin
from plumbline.importers.documents import MAX_BYTES

_ZSTANDARD = 93
"""The number of Zstandard in the ZIP format (APPNOTE 6.3.8, 4.4.5)."""

_KNOWN = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, _ZSTANDARD})


def members(origin: Origin, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    """Name to content of the wanted members.

    Raises:
        ForeignFileError: no sound archive, a name that is no plain path or stands twice, or more than `MAX_BYTES`.
        ConfigurationError: it needs a package that is not installed.
    """
    try:
        found = zipfile.ZipFile(io.BytesIO(origin.data)).infolist()
        reader: ModuleType = zipfile
        if any(member.compress_type == _ZSTANDARD for member in found) and not hasattr(zipfile, "ZIP_ZSTANDARD"):
            reader = _with_zstandard(origin.name)
        return _read(reader.ZipFile(io.BytesIO(origin.data)), origin.name, wanted)
    except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, ValueError, OSError, IndexError) as fault:
        raise ForeignFileError(f"{origin.name}: not a sound archive: {type(fault).__name__}") from None


def _read(archive: zipfile.ZipFile, name: str, wanted: Callable[[str], bool]) -> dict[str, bytes]:
    held: dict[str, bytes] = {}
    left = MAX_BYTES
    for member in archive.infolist():
        if fault := fault_in_name(member.filename.removesuffix("/") if member.is_dir() else member.filename):
            raise ForeignFileError(f"{name}: {member.filename!r}: {fault}")
        if not wanted(member.filename):
            continue
        if member.compress_type not in _KNOWN:
            raise ForeignFileError(f"{name}: {member.filename!r}: compression {member.compress_type} is not read")
        if member.filename in held:
            raise ForeignFileError(f"{name}: the member {member.filename!r} stands twice")
        # What a member says of its size is what the reader holds it to.
        left -= member.file_size
        if left < 0:
            raise ForeignFileError(f"{name}: {member.filename!r}: the archive unpacks to more than {MAX_BYTES} bytes")
        try:
            held[member.filename] = archive.read(member)
        except Exception as fault:  # noqa: BLE001 - each compression has errors of its own
            raise ForeignFileError(f"{name}: {member.filename!r} cannot be unpacked: {type(fault).__name__}") from None
    return held


def _with_zstandard(name: str) -> ModuleType:
    try:
        from backports.zstd import zipfile as reader  # noqa: PLC0415 - an optional package
    except ModuleNotFoundError:
        raise ConfigurationError(
            f"{name}: the archive is compressed with Zstandard, and the package backports.zstd is not installed",
            remedy="Install plumbline[import], or convert the log to JSON with Inspect itself.",
        ) from None
    return reader
