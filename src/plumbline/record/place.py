"""Where does a recording grow, and when does it become a bundle?

It grows in a hidden folder beside the place where it will be. Only a complete and sealed bundle is moved there, in one
step; until then the place is untouched, and nothing in the hidden folder can be graded. One run at a time has it.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from plumbline.errors import ConfigurationError, IntegrityError
from plumbline.evidence.files import real
from plumbline.evidence.schema import MANIFEST_FORMAT, Manifest, decode
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, read_checksums, read_inventory, verify_inventory

JOURNAL = "journal.jsonl"

_LOCK = "lock"
_BUNDLE = "bundle"
_REPLACED = "replaced"
_OURS = frozenset({JOURNAL, _LOCK, _BUNDLE, _REPLACED})


def refuse_place(out: Path, questions: list[Path], *, overwrite: bool) -> None:
    """Refuse a place for the new bundle that would touch what was asked, or destroy what is there.

    Args:
        out: where the bundle will be.
        questions: folders and files that must stay as they are.
        overwrite: whether an older bundle there may be replaced.

    Raises:
        ConfigurationError: it does.
    """
    place = real(out)
    for kept in map(real, questions):
        if place == kept:
            raise ConfigurationError(
                f"{out}: is what is asked; a recording is a new bundle, never written over its questions",
                remedy="Name another folder with --out.",
            )
        if kept in place.parents or place in kept.parents:
            raise ConfigurationError(f"{out}: lies within {kept.name}, or around it; name a folder of its own")
        if (hidden := _hidden(place)) in (kept, *kept.parents):
            raise ConfigurationError(
                f"{hidden.name}: holds {kept.name}, and a recording to {out} grows there and takes it away at its end",
                remedy="Name another folder with --out.",
            )
    for folder in place.parents:
        if (folder / MANIFEST).is_file() and (folder / CHECKSUMS).is_file():
            raise ConfigurationError(f"{out}: lies in the sealed bundle {folder.name}, whose bytes are evidence")
    if out.is_symlink() or not place.name:
        raise ConfigurationError(f"{out}: is a symbolic link, or no name of a folder")
    _refuse_occupied(out, overwrite=overwrite)


def _hidden(place: Path) -> Path:
    return place.with_name(f".{place.name}.recording")


def _refuse_occupied(out: Path, *, overwrite: bool) -> None:
    place = real(out)
    if not os.path.lexists(place):
        return
    if not place.is_dir():
        raise ConfigurationError(f"{out}: is there already, and no folder")
    if any(place.iterdir()):
        if not overwrite:
            raise ConfigurationError(f"{out}: is there already", remedy="Name another folder, or add --overwrite.")
        _refuse_to_replace(out)


def _refuse_to_replace(out: Path) -> None:
    try:
        inventory = read_inventory(out)
        sealed = read_checksums(inventory).files
        manifest = decode(inventory.get(MANIFEST, b""), Manifest, file=MANIFEST)
    except (IntegrityError, ConfigurationError) as fault:
        told = fault.message.splitlines()[0]
        raise ConfigurationError(f"{out}: --overwrite replaces Plumbline bundles only: {told}") from None
    if manifest.format != MANIFEST_FORMAT:
        raise ConfigurationError(f"{out}: --overwrite replaces Plumbline bundles only; it says {manifest.format!r}")
    if strange := sorted(inventory.keys() - sealed.keys() - {CHECKSUMS}):
        raise ConfigurationError(f"{out}: holds {strange[0]!r}, which is no part of the bundle and would be lost")


def refuse_complete(out: Path, target: str, questions_sha256: str) -> None:
    """Refuse to take up what is finished: a run that ended after its bundle was in its place, and could not say so.

    Raises:
        ConfigurationError: the bundle of this recording is there, whole.
    """
    try:
        inventory = read_inventory(out)
        sha256 = verify_inventory(inventory).bundle_sha256
        recording = decode(inventory.get(MANIFEST, b""), Manifest, file=MANIFEST).recording or {}
    except (IntegrityError, ConfigurationError, OSError):
        return
    asked = recording.get("questions")
    same = recording.get("target") == target and isinstance(asked, dict) and asked.get("sha256") == questions_sha256
    hidden = _hidden(real(out))
    begun = _begun(hidden / JOURNAL)
    if same and begun in (None, recording.get("started_at")):
        raise ConfigurationError(
            f"{out}: the recording is complete: its sealed bundle is there ({sha256}), "
            f"recorded at {recording.get('recorded_at')}",
            remedy="Nothing is left to ask."
            + (f" The folder {hidden.name} is left over and can be deleted." if hidden.is_dir() else ""),
        )


def _begun(journal: Path) -> str | None:
    # Only looked at: whoever takes a journal up must have the lock.
    try:
        with journal.open("rb") as file:
            header = json.loads(file.readline())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError):
        return ""
    return str(header.get("started_at")) if isinstance(header, dict) else ""


class Workplace:
    """The hidden folder of one recording, held by one run."""

    def __init__(self, out: Path) -> None:
        self.out = real(out)
        self.folder = _hidden(self.out)
        self.journal = self.folder / JOURNAL
        self.bundle = self.folder / _BUNDLE

    @contextmanager
    def held(self) -> Iterator[None]:
        """Have the folder for as long as the block runs.

        Raises:
            ConfigurationError: another run has it, or it cannot be made.
        """
        try:
            if self.folder.is_symlink():
                raise ConfigurationError(f"{self.folder.name}: is a symbolic link")
            self.folder.mkdir(parents=True, exist_ok=True)
            self._refuse_foreign()
            descriptor = os.open(self.folder / _LOCK, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
        except OSError as fault:
            raise ConfigurationError(f"{self.folder}: cannot be written: {fault.strerror}") from None
        try:
            self._lock(descriptor)
            self._recover()
            try:
                yield
            finally:
                if not self.journal.exists():
                    self.drop()
        finally:
            os.close(descriptor)

    def _refuse_foreign(self) -> None:
        # All that is in this folder goes away with it, and what is written here must not be written elsewhere.
        for entry in sorted(self.folder.iterdir()):
            if entry.name not in _OURS or entry.is_symlink():
                raise ConfigurationError(
                    f"{self.folder.name}: holds {entry.name!r}, which no recording put there",
                    remedy="Move it away, or name another folder with --out.",
                )

    def _lock(self, descriptor: int) -> None:
        import fcntl  # noqa: PLC0415 - not everywhere, and only recording needs it

        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # The run that had it may have taken the folder away between our two steps.
            same = os.path.samestat(os.fstat(descriptor), os.stat(self.folder / _LOCK))  # noqa: PTH116 - with fstat
        except OSError:
            same = False
        if not same:
            raise ConfigurationError(
                f"{self.out.name}: another run is recording to this place", remedy="Wait for it, or name another --out."
            )

    def _recover(self) -> None:
        # A machine that stopped between the two moves of `publish` left the older bundle here.
        replaced = self.folder / _REPLACED
        if replaced.is_dir() and not os.path.lexists(self.out):
            replaced.rename(self.out)

    def clear_bundle(self) -> Path:
        """An empty folder for the bundle to be put together in."""
        shutil.rmtree(self.bundle, ignore_errors=True)
        self.bundle.mkdir()
        return self.bundle

    def publish(self, *, overwrite: bool) -> None:
        """Move the finished bundle to its place, then drop everything else.

        Raises:
            ConfigurationError: something came to be there meanwhile, or the move failed; the bundle that was there is
                still there then.
        """
        _flush_tree(self.bundle)
        replaced = self.folder / _REPLACED
        try:
            if self.out.is_dir() and any(self.out.iterdir()):
                if not overwrite:
                    raise ConfigurationError(f"{self.out}: something came to be there meanwhile")
                _refuse_to_replace(self.out)
                shutil.rmtree(replaced, ignore_errors=True)
                self.out.rename(replaced)
            try:
                self.bundle.rename(self.out)
            except OSError:
                if replaced.is_dir() and not self.out.exists():
                    replaced.rename(self.out)
                raise
            _flush(self.out.parent)
        except OSError as fault:
            raise ConfigurationError(f"{self.out}: cannot be written: {fault.strerror}") from None
        self.drop()

    def drop(self) -> None:
        """Take the hidden folder away."""
        shutil.rmtree(self.folder, ignore_errors=True)


def _flush_tree(folder: Path) -> None:
    for here, _, names in os.walk(folder):
        for name in names:
            _flush(Path(here, name))
        _flush(Path(here))


def _flush(path: Path) -> None:
    with suppress(OSError):  # some file systems flush no folders
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
