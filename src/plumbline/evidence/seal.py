"""Do the bytes in a bundle match its seal, and how is a new seal made?

The seal is `checksums.json` (specification, "Integrity"): one SHA-256 per file at any depth, and one over the list.
Everything here works on `Inventory`, the files of a bundle read once, so that what was hashed is what is parsed. An
inventory comes from a folder or from a git index (the hooks); the rules are the same.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from plumbline.canonical import sha256_hex
from plumbline.errors import ConfigurationError, IntegrityError
from plumbline.evidence.files import NotRegularError, read_once, write_atomically
from plumbline.evidence.schema import CHECKSUMS_FORMAT, FORMAT_VERSION, Checksums, decode

CHECKSUMS = "checksums.json"
MANIFEST = "manifest.json"
ALGORITHM = "sha256"

_HEX = frozenset("0123456789abcdef")
_LISTED = 20
_CONVERTED = (
    "A checkout converted line endings. Put `<bundle>/** -text` into the repository's .gitattributes, check out again."
)

Inventory = Mapping[str, bytes]
"""POSIX path relative to the bundle to content; the seal itself included where there is one."""


def read_inventory(folder: Path) -> dict[str, bytes]:
    """Read every file of a bundle folder, once.

    Raises:
        ConfigurationError: the folder is not there or cannot be read.
        IntegrityError: a symbolic link, a file that is not regular, or a name no seal may hold.
    """
    if not folder.is_dir():
        raise ConfigurationError(f"{folder}: there is no such bundle folder")
    try:
        return dict(_walk(folder))
    except OSError as fault:
        raise ConfigurationError(f"{folder}: cannot be read: {fault.strerror}") from None


def _walk(folder: Path) -> Iterator[tuple[str, bytes]]:
    # A list of what is still to visit and no recursion: a deep tree must not end in a crash.
    pending = [(str(folder), "")]
    while pending:
        here, prefix = pending.pop()
        with os.scandir(here) as entries:
            ordered = sorted(entries, key=lambda entry: entry.name)
        for entry in ordered:
            name = prefix + entry.name
            if fault := fault_in_name(name):
                raise IntegrityError(f"{name!r}: {fault}")
            if entry.is_symlink():
                raise IntegrityError(
                    f"{name}: symbolic links are refused: the bytes a link points at are not sealed by this bundle",
                    remedy="Replace the link by the file itself and seal again.",
                )
            if entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, f"{name}/"))
            else:
                yield name, _read_regular(entry.path, name)


def _read_regular(path: str, name: str) -> bytes:
    try:
        return read_once(path, follow=False)
    except NotRegularError:
        raise IntegrityError(f"{name}: not a regular file") from None
    except OSError as fault:
        raise ConfigurationError(f"{name}: cannot be read: {fault.strerror}") from None


def fault_in_name(name: str) -> str | None:
    """Why `name` may not stand in a seal, or None when it may.

    A seal is line-oriented, so a line break in a name could make one file hash like two; the rest would make a name
    mean different files on different systems.
    """
    if not name:
        return "an empty name"
    if name.startswith("/"):
        return "an absolute path"
    if "\\" in name:
        return "a backslash in a name"
    if any(ord(char) < 0x20 or 0x7F <= ord(char) < 0xA0 or char in "\u2028\u2029" for char in name):
        return "a line break or control character in a name"
    if any(part in {"", ".", ".."} for part in name.split("/")):
        return "a path that is not plainly inside the bundle"
    try:
        name.encode()
    except UnicodeEncodeError:
        return "a name that is not valid UTF-8"
    return None


def digests(inventory: Inventory) -> dict[str, str]:
    """SHA-256 of every file but the seal, sorted by name."""
    return {name: sha256_hex(inventory[name]) for name in sorted(inventory) if name != CHECKSUMS}


def bundle_sha256(files: Mapping[str, str]) -> str:
    r"""The dataset hash: SHA-256 over `<name>=<hex>\n` for each file, sorted by name (specification, "Integrity")."""
    return sha256_hex("".join(f"{name}={files[name]}\n" for name in sorted(files)).encode())


def render_checksums(files: Mapping[str, str]) -> bytes:
    """The bytes of `checksums.json` for these digests."""
    document = {
        "format": CHECKSUMS_FORMAT,
        "format_version": FORMAT_VERSION,
        "algorithm": ALGORITHM,
        "files": {name: files[name] for name in sorted(files)},
        "bundle_sha256": bundle_sha256(files),
    }
    return (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()


def seal(folder: Path, check: Callable[[Inventory], object] = lambda _sealed: None) -> tuple[str | None, str]:
    """Write a new `checksums.json`.

    Args:
        folder: the bundle.
        check: is given the files as they will be under the new seal, before it is written, and may refuse them.

    Returns:
        The dataset hash that the old seal recorded (None when there was none to read) and the new one.

    Raises:
        ConfigurationError: the folder is not there or cannot be written.
        IntegrityError: the folder holds something that no seal may cover; nothing is written then.
    """
    inventory = read_inventory(folder)
    files = digests(inventory)
    if not files:
        raise ConfigurationError(f"{folder}: an empty folder is not a bundle")
    before = recorded_hash(inventory)
    rendered = render_checksums(files)
    check({**inventory, CHECKSUMS: rendered})
    write_atomically(folder / CHECKSUMS, rendered)
    return before, bundle_sha256(files)


def recorded_hash(inventory: Inventory) -> str | None:
    """The dataset hash that the present seal records, or None when there is no readable seal."""
    try:
        return read_checksums(inventory).bundle_sha256
    except IntegrityError:
        return None


def read_checksums(inventory: Inventory) -> Checksums:
    """The seal of an inventory, checked in form.

    Raises:
        IntegrityError: no seal, or one that is not exactly what the format allows.
    """
    data = inventory.get(CHECKSUMS)
    if data is None:
        raise IntegrityError(
            f"{CHECKSUMS}: there is no seal, so nothing here is verifiable evidence",
            remedy="If this is what you mean to commit: plumbline seal <bundle>"
            if MANIFEST in inventory
            else "There is no manifest.json either: is this the folder of a bundle?",
        )
    sums = decode(data, Checksums, file=CHECKSUMS, error=IntegrityError)
    if sums.format != CHECKSUMS_FORMAT or sums.format_version != FORMAT_VERSION:
        raise IntegrityError(
            f"{CHECKSUMS}: {sums.format!r} version {sums.format_version} is not {CHECKSUMS_FORMAT!r} version "
            f"{FORMAT_VERSION}"
        )
    if sums.algorithm != ALGORITHM:
        raise IntegrityError(f"{CHECKSUMS}: algorithm {sums.algorithm!r} is not {ALGORITHM!r}")
    for name, digest in sums.files.items():
        if fault := fault_in_name(name):
            raise IntegrityError(f"{CHECKSUMS}: {name!r}: {fault}")
        if name == CHECKSUMS:
            raise IntegrityError(f"{CHECKSUMS}: a seal cannot cover itself")
        if not is_digest(digest):
            raise IntegrityError(f"{CHECKSUMS}: the digest of {name} is not 64 lowercase hex digits")
    if not is_digest(sums.bundle_sha256):
        raise IntegrityError(f"{CHECKSUMS}: bundle_sha256 is not 64 lowercase hex digits")
    _refuse_uneven_layout(data)
    return sums


def _refuse_uneven_layout(data: bytes) -> None:
    if _evenly_laid_out(data):
        return
    if _evenly_laid_out(data.replace(b"\r\n", b"\n")):
        raise IntegrityError(f"{CHECKSUMS}: its line endings were converted", remedy=_CONVERTED)
    raise IntegrityError(
        f"{CHECKSUMS}: its layout is irregular, as after an edit by hand", remedy="plumbline seal <bundle>"
    )


def _evenly_laid_out(data: bytes) -> bool:
    # White space means nothing in JSON, so one changed blank would leave every digest valid. A seal must be laid out
    # as some serialiser lays it out, evenly from the first byte to the last: then no single byte of it can change.
    text = data.decode()
    value = json.loads(text)
    body = text.removesuffix("\n")
    for plain in (False, True):
        for indent in (2, None, 4, 1, 3, 0, "\t"):
            for separators in ((",", ": "), (", ", ": "), (",", ":")):
                if json.dumps(value, indent=indent, separators=separators, ensure_ascii=plain) == body:
                    return True
    return False


def is_digest(text: str) -> bool:
    """Whether `text` is 64 lowercase hex digits."""
    return len(text) == 64 and _HEX.issuperset(text)


def verify_inventory(inventory: Inventory) -> Checksums:
    """Compare every file with the seal.

    Raises:
        IntegrityError: naming every file that is missing, unlisted or changed.
    """
    sums = read_checksums(inventory)
    actual = digests(inventory)
    problems = [
        *(f"listed but missing: {name}" for name in sorted(sums.files.keys() - actual.keys())),
        *(f"present but not listed: {name}" for name in sorted(actual.keys() - sums.files.keys())),
    ]
    converted = False
    for name in sorted(actual.keys() & sums.files.keys()):
        if actual[name] != sums.files[name]:
            restored = _line_endings_explain(inventory[name], sums.files[name])
            converted = converted or restored
            problems.append(f"content mismatch: {name}" + (" (its line endings were converted)" if restored else ""))
    if bundle_sha256(sums.files) != sums.bundle_sha256:
        problems.append("bundle_sha256 is not the hash of the listed digests")
    if problems:
        shown = problems[:_LISTED]
        if len(problems) > _LISTED:
            shown.append(f"and {len(problems) - _LISTED} more")
        raise IntegrityError(
            "the bundle is not what was sealed:\n" + "\n".join(f"  {line}" for line in shown),
            remedy=(
                _CONVERTED if converted else "Restore the files, or, if the change is meant: plumbline seal <bundle>"
            ),
        )
    return sums


def _line_endings_explain(data: bytes, digest: str) -> bool:
    unix = data.replace(b"\r\n", b"\n")
    return digest in {sha256_hex(unix), sha256_hex(unix.replace(b"\n", b"\r\n"))}
