"""What does git hold, asked so that nothing in the audited repository can answer in its place?

Only plumbing commands, which read objects and the index and print them unchanged. What a repository could configure to
run a program (a file system monitor, a hook, a filter), to show other content than is stored (replacement objects) or
to fetch something (a partial clone) is switched off. The variables by which `git commit` says which index it is about
to commit (`GIT_INDEX_FILE` and its like) are kept: that index is the one that is judged.

Nor is git itself a file of that repository: a program there, or a link that leads through it, is passed over.
"""

import os
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from plumbline.errors import ConfigurationError
from plumbline.report.sinks import visible

_SETTINGS = ("-c", "core.quotePath=false", "-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}")
_QUIET = {
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_NO_LAZY_FETCH": "1",
    # Before git 2.44 the line above means nothing. A fetch over no protocol at all is one that starts no program.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
# Variables that would change what a path or a pattern means, or print into what is read here.
_DROPPED = ("GIT_LITERAL_PATHSPECS", "GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS", "GIT_TRACE")

_MOST_LINKS = 40
"""What Linux follows, too."""

LINK = "120000"
SUBMODULE = "160000"
ABSENT = "000000"

# `git add --intent-to-add` puts an empty entry into the index, which a commit leaves out.
_STORED_ONLY = "--ita-invisible-in-index"


class Entry(NamedTuple):
    """A file as git will store it."""

    mode: str
    blob: str
    path: str
    """Relative to the top of the repository; bytes that are not UTF-8 stand as lone surrogates."""


class Change(NamedTuple):
    """A difference between what is judged and what was there before."""

    old_mode: str
    new_mode: str
    old_blob: str
    path: str


def _program() -> str:
    tops = _tops()
    passed_over = ""
    # Only absolute folders: what a relative one means depends on where the hook runs, which is in the repository.
    for folder in filter(os.path.isabs, os.get_exec_path()):
        candidate = os.path.join(folder, "git.exe" if os.name == "nt" else "git")  # noqa: PTH118 - pathlib is slow to load
        if os.access(candidate, os.X_OK) and not os.path.isdir(candidate):  # noqa: PTH112
            if not _leads_through(candidate, tops):
                return candidate
            passed_over = passed_over or candidate
    if passed_over:
        raise ConfigurationError(
            f"git was not found on the search path outside of the repository; not run: {visible(passed_over)}"
        )
    raise ConfigurationError("git was not found on the search path")


def _tops() -> list[os.stat_result]:
    """The folders whose files the repository decides, found without asking git.

    The outermost folder above this one that holds a `.git`, since an inner repository may be a submodule of it; this
    folder, because a hook begins at the top even where `.git` lies elsewhere; and the work tree that git names.
    """
    here = os.getcwd()  # noqa: PTH109
    tops = [here]
    above = here
    while True:
        if os.path.lexists(os.path.join(above, ".git")):  # noqa: PTH118
            tops[1:] = [above]
        above, below = os.path.dirname(above), above  # noqa: PTH120
        if above == below:
            break
    if named := os.environ.get("GIT_WORK_TREE"):
        tops.append(named)
    found = []
    for top in tops:
        try:
            found.append(os.stat(top))  # noqa: PTH116
        except OSError:
            continue  # nothing can lie in a folder that is not there
    return found


def _leads_through(path: str, tops: Iterable[os.stat_result]) -> bool:
    """Whether the way to the file `path` leads through one of the folders, by its name or by any link."""
    here, parts = _parts(path)
    links = 0
    while parts:
        part = parts.pop()
        if part in {"", os.curdir}:
            continue
        if part == os.pardir:
            here = os.path.dirname(here)  # noqa: PTH120
            continue
        place = os.path.join(here, part)  # noqa: PTH118
        try:
            # Compared as folders and not as text: there may be two spellings, or two mounts, of one.
            about = os.lstat(place)
        except OSError:
            return True  # gone since it was found: not to be run either way
        if any(os.path.samestat(about, top) for top in tops):
            return True
        if not os.path.islink(place):  # noqa: PTH114
            here = place
            continue
        links += 1
        if links > _MOST_LINKS:
            return True
        root, behind = _parts(os.readlink(place))  # noqa: PTH115
        here = root or here
        parts += behind
    return False


def _parts(path: str) -> tuple[str, list[str]]:
    """The root of a path, empty for a relative one, and its parts from the last to the first."""
    drive, rest = os.path.splitdrive(path.replace("/", os.sep))
    parts = rest.split(os.sep)[::-1]  # noqa: PTH206 - pathlib is slow to load
    return (drive + os.sep if rest.startswith(os.sep) else ""), parts


class Repository:
    """A git repository, read through its plumbing.

    Raises:
        ConfigurationError: from every method, when git cannot answer.
    """

    def __init__(self) -> None:
        self._program = _program()
        self._environment = {
            name: value for name, value in os.environ.items() if not name.startswith(_DROPPED)
        } | _QUIET
        top = self._run("rev-parse", "--show-toplevel").removesuffix(b"\n").removesuffix(b"\r")
        self.top = os.fsdecode(top)
        """The root of the work tree."""

    def _run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        accept: tuple[int, ...] = (0,),
        magic: bool = False,
        more: Mapping[str, str] | None = None,
    ) -> bytes:
        # Names are names and not patterns, unless the caller wrote a pattern (`magic`).
        done = subprocess.run(  # noqa: S603 - an absolute path and no shell
            [self._program, *_SETTINGS, *(() if magic else ("--literal-pathspecs",)), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env={**self._environment, **(more or {})},
            cwd=getattr(self, "top", None),
        )
        if done.returncode not in accept:
            said = visible(done.stderr.decode(errors="replace").strip().removeprefix("fatal: "))
            raise ConfigurationError(f"git {arguments[0]} failed: {said or f'exit {done.returncode}'}")
        return done.stdout

    def commit(self, name: str) -> str | None:
        """The id of the commit that `name` stands for, or None."""
        found = self._run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", accept=(0, 1))
        return found.decode().strip() or None

    def empty_tree(self) -> str:
        """The id of the tree without files, in this repository's hash."""
        return self._run("hash-object", "-t", "tree", "--stdin").decode().strip()

    def fork_point(self, one: str, other: str) -> str:
        """The commit where two lines of history parted, or `one` where the clone does not reach back so far."""
        return self._run("merge-base", one, other, accept=(0, 1)).decode().strip() or one

    def changes(self, base: str, tree: str | None) -> list[Change]:
        """What differs between the tree-ish `base` and `tree`, or the index where that is None."""
        form = ("--raw", "-z", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
        if tree is None:
            output = self._run("diff-index", "--cached", _STORED_ONLY, *form, base)
        else:
            output = self._run("diff-tree", "-r", *form, base, tree)
        fields = _fields(output)
        found = []
        for about in fields:
            old_mode, new_mode, old_blob, _new_blob, _status = about.removeprefix(":").split(" ")
            found.append(Change(old_mode, new_mode, old_blob, next(fields)))
        return found

    def entries(self, tree: str | None, folder: str = "", names: Iterable[str] = ()) -> list[Entry]:
        """The files of `tree`, or of the index where that is None.

        Args:
            tree: a tree-ish, or None.
            folder: only what lies in this folder or below it; empty for all.
            names: only files called so, in whatever folder; empty for all.

        Raises:
            ConfigurationError: also for a path with an unresolved merge conflict.
        """
        only = ("--", folder) if folder else ()
        if tree is None and names:
            # git picks them out; a large repository would take long to be listed and read whole.
            output = self._run("ls-files", "--stage", "-z", "--", *(f":(glob)**/{name}" for name in names), magic=True)
        elif tree is None:
            output = self._run("ls-files", "--stage", "-z", *only)
        else:
            output = self._run("ls-tree", "-r", "-z", "--full-tree", tree, *only)
        found = []
        for line in _fields(output):
            about, path = line.split("\t", 1)
            mode, second, third = about.split(" ")
            if names and path.rpartition("/")[2] not in names:
                continue
            if tree is not None:
                found.append(Entry(mode, third, path))
            elif third == "0":
                found.append(Entry(mode, second, path))
            else:
                raise ConfigurationError(f"{visible(path)}: has an unresolved merge conflict")
        return found if tree is not None or names else self._without_intentions(found, only)

    def _without_intentions(self, entries: list[Entry], only: tuple[str, ...]) -> list[Entry]:
        """The entries that a commit stores: those that are merely announced are empty and left out."""
        nothing = self._run("hash-object", "-t", "blob", "--stdin").decode().strip()
        if all(entry.blob != nothing for entry in entries):
            return entries
        output = self._run(
            "diff-index", "--cached", _STORED_ONLY, "--name-only", "--no-renames", "-z", self.empty_tree(), *only
        )
        stored = set(_fields(output))
        return [entry for entry in entries if entry.blob != nothing or entry.path in stored]

    def read(self, blobs: Iterable[str]) -> dict[str, bytes]:
        """The content of blobs as stored, without any conversion that a checkout would do."""
        wanted = sorted(set(blobs))
        if not wanted:
            return {}
        output = memoryview(self._run("cat-file", "--batch", stdin="".join(f"{blob}\n" for blob in wanted).encode()))
        found, start = {}, 0
        for blob in wanted:
            end = start + bytes(output[start : start + 256]).index(b"\n")
            said = bytes(output[start:end]).decode().split(" ")
            if len(said) != 3 or said[1] != "blob":
                raise ConfigurationError(f"git object {blob} is not in this clone: {' '.join(said[1:])}")
            start = end + 1
            found[blob] = bytes(output[start : start + int(said[2])])
            start += int(said[2]) + 1
        return found

    def untracked(self, folder: str) -> list[str]:
        """Files in a folder of the work tree that git neither tracks nor ignores."""
        return list(_fields(self._run("ls-files", "--others", "--exclude-standard", "-z", "--", folder or ".")))

    def unstaged(self, folder: str) -> list[str]:
        """Tracked files in a folder whose work tree differs from the index.

        Compared without the filters that are configured, which are programs. So a file that only a filter makes equal
        may be listed; where line endings or encodings differ git itself converts, and it is not.
        """
        return list(
            _fields(
                self._run(
                    *("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--name-only", "-z"),
                    *("--", folder or "."),
                    more=self._no_filters(),
                )
            )
        )

    def _no_filters(self) -> dict[str, str]:
        """Variables that outrank every filter that is configured now."""
        listed = self._run(
            "config", "--name-only", "-z", "--get-regexp", r"^filter\..*\.(clean|process)$", accept=(0, 1)
        )
        try:
            count = int(self._environment.get("GIT_CONFIG_COUNT") or 0)
        except ValueError:
            count = 0  # git has refused that number by now
        settings: dict[str, str] = {}
        for key in set(_fields(listed)):
            filters = key.rpartition(".")[0]
            for name, value in (("clean", ""), ("process", ""), ("required", "false")):
                settings |= {f"GIT_CONFIG_KEY_{count}": f"{filters}.{name}", f"GIT_CONFIG_VALUE_{count}": value}
                count += 1
        return settings | {"GIT_CONFIG_COUNT": str(count)} if settings else {}

    def attributes(self, paths: Iterable[str]) -> dict[str, dict[str, str]]:
        """The attributes of paths that decide whether a checkout converts them."""
        names = ("text", "eol", "filter", "ident", "working-tree-encoding")
        fields = _fields(
            self._run(
                "check-attr",
                "--cached",
                "--stdin",
                "-z",
                *names,
                stdin="".join(f"{path}\0" for path in paths).encode(errors="surrogateescape"),
            )
        )
        found: dict[str, dict[str, str]] = {}
        for path in fields:
            name = next(fields)
            found.setdefault(path, {})[name] = next(fields)
        return found


def _fields(output: bytes) -> Iterator[str]:
    return iter(output.decode(errors="surrogateescape").split("\0")[:-1])
