"""Which bundles does this commit hold, touch or take away?

A bundle is a folder of the index with a `manifest.json` or a `checksums.json` that says so in its `format`. What was
there before counts too: a commit that deletes both files from a bundle and leaves the rest would otherwise pass unseen.

What is judged is the index, because that is what a commit stores: an edit that is not staged cannot excuse, nor spoil,
what is. With a range (`pre-commit run --from-ref --to-ref`, and `git push`) it is the tree of the later commit. Where
the two sides do not differ at all (`--all-files`) every bundle is looked at.
"""

import json
import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from plumbline.errors import ConfigurationError, IntegrityError
from plumbline.hooks.git import ABSENT, LINK, SUBMODULE, Change, Entry, Repository
from plumbline.report.sinks import visible

_FORMATS = {"manifest.json": "plumbline-bundle", "checksums.json": "plumbline-checksums"}
_LFS_POINTER = (b"version https://git-lfs.github.com/spec/", b"version https://hawser.github.com/spec/")


class Scope(NamedTuple):
    """What is compared with what."""

    base: str
    """The tree-ish before."""
    tree: str | None
    """The commit that is judged; None is the index."""


class Found(NamedTuple):
    """A bundle's place and the files that git holds there."""

    folder: str
    """Relative to the top of the repository; empty for the top itself."""
    entries: list[Entry]
    """Empty when the commit takes the whole bundle away."""
    pointer: str = ""
    """The file that would say whether this is a bundle, and is in Git LFS instead of git."""

    @property
    def shown(self) -> str:
        """The folder as a command line takes it."""
        return self.folder or "."


def scope(repository: Repository, environment: Mapping[str, str]) -> Scope:
    """What pre-commit, or git itself, is about to store.

    Raises:
        ConfigurationError: a range whose ends are not commits of this clone.
    """
    before, after = environment.get("PRE_COMMIT_FROM_REF"), environment.get("PRE_COMMIT_TO_REF")
    if before and after:
        old, new = repository.commit(before), repository.commit(after)
        if old is None or new is None:
            raise ConfigurationError(
                f"the range {visible(before)} to {visible(after)} does not name two commits of this clone"
            )
        return Scope(repository.fork_point(old, new), new)
    return Scope(repository.commit("HEAD") or repository.empty_tree(), None)


def find(repository: Repository, where: Scope, *, everything: bool = False) -> list[Found]:
    """The bundles to look at, sorted by folder.

    Args:
        repository: where they are.
        where: what is compared with what.
        everything: look at bundles that are not touched, too.

    Raises:
        ConfigurationError: git cannot answer.
        IntegrityError: a bundle's folder was replaced by a link or a submodule.
    """
    changes = repository.changes(where.base, where.tree)
    everything = everything or not changes
    touched = _above(change.path for change in changes)
    marks = [
        (change.path, change.old_blob)
        for change in changes
        if change.old_mode not in {ABSENT, SUBMODULE} and change.path.rpartition("/")[2] in _FORMATS
    ]
    now = [
        (entry.path, entry.blob)
        for entry in repository.entries(where.tree, names=_FORMATS)
        if entry.mode != SUBMODULE and (everything or _folder(entry.path) in touched)
    ]
    marks += now
    contents = repository.read(blob for _, blob in marks)
    folders = {_folder(path) for path, blob in marks if _is_mark(path, contents[blob])}
    _refuse_detours(changes, folders)
    hidden = {
        _folder(path): Found(_folder(path), [], path.rpartition("/")[2])
        for path, blob in now
        if contents[blob].startswith(_LFS_POINTER) and _folder(path) not in folders
    }
    bundles = {folder: Found(folder, repository.entries(where.tree, folder)) for folder in folders}
    return sorted((bundles | hidden).values())


def inventory(repository: Repository, bundle: Found) -> dict[str, bytes]:
    """The files of a bundle as git holds them, by name relative to it.

    Raises:
        IntegrityError: a link, a submodule, or a name no seal may hold.
    """
    from plumbline.evidence.seal import fault_in_name  # noqa: PLC0415 - not paid for by a commit that touches no bundle

    start = len(bundle.folder) + 1 if bundle.folder else 0
    for entry in bundle.entries:
        name = entry.path[start:]
        if fault := fault_in_name(name):
            raise IntegrityError(f"{name!r}: {fault}")
        if entry.mode in {LINK, SUBMODULE}:
            what = "a symbolic link" if entry.mode == LINK else "a submodule"
            raise IntegrityError(
                f"{name}: {what} is refused: what it points at is not sealed by this bundle",
                remedy="Replace it by the files themselves and seal again.",
            )
    contents = repository.read(entry.blob for entry in bundle.entries)
    return {entry.path[start:]: contents[entry.blob] for entry in bundle.entries}


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _above(paths: Iterable[str]) -> set[str]:
    """Every folder that one of the paths lies in, at any depth."""
    folders: set[str] = set()
    for path in paths:
        folder = _folder(path)
        while folder not in folders:
            folders.add(folder)
            folder = _folder(folder)
    return folders


def _is_mark(path: str, data: bytes) -> bool:
    wanted = _FORMATS[path.rpartition("/")[2]]
    named = wanted.encode() in data
    if not named and b"\\u" not in data:
        return False
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        # Where it names the format and is broken, it is a broken bundle, which is the case to catch.
        return named
    return isinstance(document, dict) and document.get("format") == wanted


def _refuse_detours(changes: Iterable[Change], folders: Iterable[str]) -> None:
    detours = {change.path for change in changes if change.new_mode in {LINK, SUBMODULE}}
    for folder in folders:
        for place in (folder, *_above([folder])):
            if place in detours:
                raise IntegrityError(
                    f"{visible(place)}: a symbolic link or submodule takes the place of the bundle {visible(folder)}",
                    remedy="Commit the bundle's files themselves.",
                )


def refuse_linked_folder(repository: Repository, bundle: Found) -> None:
    """Refuse to write where a link in the work tree leads.

    Raises:
        ConfigurationError: a part of the bundle's folder is a symbolic link.
    """
    for folder in sorted({bundle.folder, *_above([bundle.folder])} - {""}):
        if os.path.islink(f"{repository.top}/{folder}"):  # noqa: PTH114 - pathlib is slow to load
            raise ConfigurationError(
                f"not sealed, because a symbolic link takes the place of the folder {visible(folder)}",
                remedy="Put the folder itself back.",
            )


def in_work_tree(repository: Repository, bundle: Found, name: str) -> bool:
    """Whether the work tree has a file that the bundle, as git holds it, does not."""
    return os.path.lexists(f"{repository.top}/{bundle.folder}/{name}")
