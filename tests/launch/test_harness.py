"""Is the harness that is resolved the commit that was asked for, byte for byte?"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError
from plumbline.launch.harness import Git, Harness, UnreachableError, resolve, trusted_by_name
from plumbline.launch.tree import tree_of
from tests.launch.support import ROOT, World, commit, git


def resolved(world: World, *, own: Path | None = None, **changes: str) -> Harness:
    private = world.folder / f"private{len(list(world.folder.iterdir()))}"
    private.mkdir()
    asked = {"repo": f"file://{world.harness}", "commit": world.commit, **changes}
    return resolve(Git(private, world.consumer, world.environment), own=own, private=private, **asked)


def export(world: World) -> Path:
    """A checkout as a runner downloads it: no .git."""
    folder = world.folder / "action"
    shutil.copytree(world.harness, folder, ignore=shutil.ignore_patterns(".git"))
    return folder


def test_it_is_fetched(world: World) -> None:
    harness = resolved(world)
    assert harness.tree == git(world.harness, "rev-parse", "HEAD^{tree}") == tree_of(harness.folder)
    assert not (harness.folder / ".git").exists()


def test_the_actions_own_checkout_is_used_when_it_is_the_commit(world: World) -> None:
    own = export(world)
    assert resolved(world, own=own).folder == own
    assert resolved(world, own=world.harness).folder == world.harness


@pytest.mark.parametrize("change", ["edited", "bytecode", "mode"])
def test_it_is_not_used_when_it_differs(world: World, change: str) -> None:
    own = export(world)
    main = own / "src" / "plumbline" / "__main__.py"
    if change == "edited":
        main.write_text(main.read_text() + "#\n")
    elif change == "bytecode":
        (main.parent / "__pycache__").mkdir()
        (main.parent / "__pycache__" / "x.pyc").write_bytes(b"")
    else:
        main.chmod(0o755)
    assert resolved(world, own=own).folder != own


def test_a_change_after_resolving_is_noticed(world: World) -> None:
    harness = resolved(world)
    harness.check_again()
    (harness.folder / "src" / "plumbline" / "extra.py").write_text("")
    with pytest.raises(ConfigurationError, match="no longer"):
        harness.check_again()


def test_a_server_that_hands_out_no_hashes_is_asked_for_everything(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    (world.harness / "later").write_text("")
    commit(world.harness)
    run = Git.run

    def no_hashes(self: Git, *arguments: str, stdin: bytes = b"") -> bytes:
        if "--depth=1" in arguments:
            from plumbline.launch.harness import GitError

            raise GitError("Server does not allow request for unadvertised object")
        return run(self, *arguments, stdin=stdin)

    monkeypatch.setattr(Git, "run", no_hashes)
    assert resolved(world).commit == world.commit


def test_unreachable_absent_and_unreferenced_commits_are_refused(world: World) -> None:
    with pytest.raises(UnreachableError):
        resolved(world, repo="file:///nonexistent")
    with pytest.raises(ConfigurationError, match="has no commit"):
        resolved(world, commit="a" * 40)
    git(world.harness, "config", "uploadpack.allowAnySHA1InWant", "true")
    (world.harness / "more").write_text("")
    impostor = commit(world.harness)
    git(world.harness, "reset", "-q", "--hard", world.commit)
    with pytest.raises(ConfigurationError, match="no branch"):
        resolved(world, commit=impostor)
    (world.harness / "src" / "plumbline" / "__main__.py").unlink()
    with pytest.raises(ConfigurationError, match="no src/plumbline"):
        resolved(world, commit=commit(world.harness))


def test_links_and_submodules_are_refused(world: World) -> None:
    (world.harness / "link").symlink_to("/etc/passwd")
    with pytest.raises(ConfigurationError, match="link"):
        resolved(world, commit=commit(world.harness))
    git(world.harness, "rm", "-q", "--cached", "link")
    git(world.harness, "update-index", "--add", "--cacheinfo", f"160000,{world.commit},sub")
    git(world.harness, "commit", "-q", "-m", "sub")
    with pytest.raises(ConfigurationError, match="submodule"):
        resolved(world, commit=git(world.harness, "rev-parse", "HEAD"))


def test_this_repository_holds_neither() -> None:
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-s"], capture_output=True, text=True, check=True)
    assert not [line for line in listed.stdout.splitlines() if not line.startswith("100")]


@pytest.mark.parametrize(
    ("ref", "repository", "trusted"),
    [
        ("{commit}", "org/harness", True),
        ("{commit}", "ORG/Harness", True),
        ("v1", "org/harness", False),
        ("{commit}", "other/harness", False),
        ("{commit}", "harness", False),
        ("{commit}", "", False),
        ("", "org/harness", False),
    ],
)
def test_the_runners_word_counts_for_the_same_commit_of_the_same_repository(
    world: World, ref: str, repository: str, trusted: bool
) -> None:
    found = trusted_by_name(
        world.harness,
        repo="https://example.com/org/harness.git",
        commit=world.commit,
        action_ref=ref.format(commit=world.commit),
        action_repository=repository,
    )
    assert (found is not None) is trusted


def test_git_comes_from_outside_the_workspace(world: World) -> None:
    fake = world.consumer / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexit 0\n")
    fake.chmod(0o755)
    environment = {**world.environment, "PATH": f"{fake.parent}{os.pathsep}{world.environment['PATH']}"}
    (world.folder / "p").mkdir()
    assert Git(world.folder / "p", world.consumer, environment).run("--version").startswith(b"git version")
    with pytest.raises(ConfigurationError, match="git was not found"):
        Git(world.folder / "p", world.consumer, {"PATH": str(fake.parent)})
