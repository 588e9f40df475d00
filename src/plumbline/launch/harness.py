"""Is this the harness that the pin names, byte for byte?

A commit is fetched with a git directory of our own and a configuration of our own, so that nobody's hooks, filters,
attributes or URL rewrites take part, and its files are written from the objects by us. DESIGN.md, "How the harness
is resolved", says why each check is there.
"""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plumbline.errors import ConfigurationError
from plumbline.launch.machine import HOME, NETWORK, SYSTEM, chosen, program, search_path
from plumbline.launch.tree import object_id, tree_of, tree_of_commit

TIMEOUT_S = 600
_CONFIG = """\
[core]
	hooksPath = {null}
	fsmonitor = false
	attributesFile = {null}
[gc]
	auto = 0
[maintenance]
	auto = false
[fetch]
	fsckObjects = true
[credential]
	helper =
[http]
	lowSpeedLimit = 1000
	lowSpeedTime = 60
[safe]
	directory = *
"""


@dataclass(frozen=True, slots=True)
class Harness:
    """A checkout whose content was checked."""

    folder: Path
    commit: str
    tree: str
    executables: tuple[str, ...] | None
    """Names of executable files, where the checkout was written by us."""
    origin: str
    """How it was had, for the log."""

    def check_again(self) -> None:
        """Compare the content with the tree once more, just before it is run.

        Raises:
            ConfigurationError: it changed.
        """
        # On Windows a file system keeps no executable mark, so the list from git takes its place.
        marks = self.executables if os.name == "nt" else None
        if tree_of(self.folder, executables=marks) != self.tree:
            raise ConfigurationError(f"the harness at {self.folder} is no longer what was resolved")


class Git:
    """Git, with nothing of this machine's or the repository's configuration."""

    def __init__(self, private: Path, workspace: Path, environment: Mapping[str, str]) -> None:
        path = search_path(environment, workspace)
        config = private / "gitconfig"
        config.write_text(_CONFIG.format(null=os.devnull), encoding="utf-8")
        self._git = program("git", path, workspace)
        self._private = private
        self._environment = {
            **chosen(environment, (*NETWORK, *SYSTEM, *HOME), workspace),
            "PATH": path,
            "TMPDIR": str(private),
            "LC_ALL": "C",
            "GIT_CONFIG_GLOBAL": str(config),
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_TERMINAL_PROMPT": "0",
            "GIT_ASKPASS": "",
            "GIT_ALLOW_PROTOCOL": "https:ssh:file",
            "GIT_SSH_COMMAND": "ssh -oBatchMode=yes",
        }

    def run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """Run one git command in the private folder.

        Raises:
            GitError: it failed, or took too long.
        """
        try:
            done = subprocess.run(  # noqa: S603 - a program found by us, arguments checked by us
                [self._git, *arguments],
                cwd=self._private,
                env=self._environment,
                input=stdin,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise GitError(f"git {arguments[0]} took more than {TIMEOUT_S} s") from None
        except OSError as fault:
            raise GitError(f"git cannot be started: {fault.strerror}") from None
        if done.returncode:
            lines = done.stderr.decode(errors="replace").splitlines()
            faults = [line for line in lines if line.startswith(("fatal:", "error:", "remote:"))]
            raise GitError(faults[0] if faults else f"git {arguments[0]} ended with {done.returncode}")
        return done.stdout

    def new(self, name: str) -> str:
        """A fresh, empty git directory; returns the option that selects it."""
        folder = self._private / name
        self.run("init", "--quiet", "--bare", "--template=", "--object-format=sha1", str(folder))
        return f"--git-dir={folder}"


class GitError(Exception):
    """A git command failed; the text is the first fault that git names."""


def resolve(git: Git, *, repo: str, commit: str, own: Path | None, private: Path) -> Harness:
    """The harness at `commit`, checked by content.

    Args:
        git: how to run git.
        repo: URL of the harness.
        commit: 40 hex digits.
        own: a checkout that may already be it (the action's own), or None.
        private: folder for what is fetched.

    Raises:
        ConfigurationError: the repository cannot be reached, does not hold the commit, holds it outside all its
            branches and tags, or holds other content than the commit names.
    """
    try:
        tips = _tips(git, repo)
    except GitError as fault:
        raise UnreachableError(
            f"cannot reach the pinned harness {repo}: {fault}",
            remedy="The gate FAILED before scoring anything. Check the pin's repo, the network and the proxy.",
        ) from None
    store = git.new("store")
    data = _fetch_commit(git, store, repo, commit)
    tree = tree_of_commit(commit, data)
    if commit not in tips:
        _refuse_unless_reachable(git, repo, commit)
    if own is not None and _is_tree(own, tree):
        return Harness(own, commit, tree, None, "the action's own checkout, checked by content")
    folder = private / "harness"
    executables = _export(git, store, commit, folder)
    harness = Harness(folder, commit, tree, tuple(executables), "fetched and checked by content")
    harness.check_again()
    if not (folder / "src" / "plumbline" / "__main__.py").is_file():
        raise ConfigurationError(f"commit {commit} of {repo} holds no src/plumbline: it is not the harness")
    return harness


class UnreachableError(ConfigurationError):
    """The harness repository did not answer (exit 4)."""


def trusted_by_name(own: Path, *, repo: str, commit: str, action_ref: str, action_repository: str) -> Harness | None:
    """The action's own checkout on the word of the runner that downloaded it, or None when it says otherwise.

    For a repository that cannot be asked: the runner downloads `uses: owner/name@commit` by itself, and says which.
    """
    name = repo.removesuffix("/").removesuffix(".git").lower()
    named = action_repository.count("/") == 1 and name.endswith(f"/{action_repository.lower()}")
    if action_ref != commit or not named:
        return None
    return Harness(own, commit, tree_of(own), None, "the action's own checkout, on the runner's word")


def _is_tree(folder: Path, tree: str) -> bool:
    try:
        return tree_of(folder) == tree
    except ConfigurationError:
        return False


def _tips(git: Git, repo: str) -> set[str]:
    listed = git.run("ls-remote", "--heads", "--tags", repo).decode(errors="replace")
    return {line.split("\t", 1)[0] for line in listed.splitlines()}


def _fetch_commit(git: Git, store: str, repo: str, commit: str) -> bytes:
    fetch = (store, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
    try:
        git.run(*fetch, "--depth=1", repo, commit)
    except GitError:
        # Not every server hands out a commit by its hash; all hand out their branches and tags.
        try:
            git.run(*fetch, repo, "+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*")
        except GitError as fault:
            raise UnreachableError(f"cannot fetch from the pinned harness {repo}: {fault}") from None
    try:
        return git.run(store, "cat-file", "commit", commit)
    except GitError:
        raise ConfigurationError(
            f"{repo} has no commit {commit}",
            remedy="The gate FAILED before scoring anything. Pin a commit that the repository holds.",
        ) from None


def _refuse_unless_reachable(git: Git, repo: str, commit: str) -> None:
    # A host that shares storage between a repository and its forks hands out a fork's commit under the name of the
    # original. Only what a branch or tag leads to was put there by somebody who may write to it.
    history = git.new("history")
    try:
        git.run(
            history, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
            "--filter=tree:0", repo, "+refs/heads/*:refs/all/heads/*", "+refs/tags/*:refs/all/tags/*",
        )  # fmt: skip
    except GitError as fault:
        raise UnreachableError(f"cannot read the history of the pinned harness {repo}: {fault}") from None
    try:
        reached = git.run(history, "for-each-ref", "--count=1", f"--contains={commit}")
    except GitError:
        reached = b""
    if not reached.strip():
        raise ConfigurationError(
            f"commit {commit} is on no branch and under no tag of {repo}",
            remedy="It may come from a fork. Pin a commit of a branch or a tag.",
        )


def _export(git: Git, store: str, commit: str, folder: Path) -> list[str]:
    listed = git.run(store, "ls-tree", "-r", "-z", "--full-tree", commit)
    files: list[tuple[str, str, str]] = []
    for line in filter(None, listed.split(b"\0")):
        head, _, name = line.partition(b"\t")
        mode, _, digest = head.decode().split(" ")
        path = os.fsdecode(name)
        if mode not in {"100644", "100755"}:
            raise ConfigurationError(f"commit {commit}: {path} is a link or a submodule; the harness holds none")
        if any(part in {"", ".", ".."} or part.lower() == ".git" or "\\" in part for part in path.split("/")):
            raise ConfigurationError(f"commit {commit}: a file name that no checkout may hold: {path!r}")
        files.append((path, mode, digest))
    answer = git.run(store, "cat-file", "--batch", stdin="".join(f"{digest}\n" for _, _, digest in files).encode())
    at = 0
    for path, mode, digest in files:
        end = answer.index(b"\n", at)
        size = int(answer[at:end].rsplit(b" ", 1)[1])
        data = answer[end + 1 : end + 1 + size]
        at = end + size + 2
        if object_id("blob", data) != digest:
            raise ConfigurationError(f"commit {commit}: the content of {path} is damaged")
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(data)
        target.chmod(0o755 if mode == "100755" else 0o644)
    return [path for path, mode, _ in files if mode == "100755"]
