"""Does a folder hash to the tree that git gives it?"""

import os
import subprocess
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError
from plumbline.launch.tree import object_id, tree_of, tree_of_commit
from tests.launch.support import commit, git


def test_it_is_gits_tree(tmp_path: Path) -> None:
    files = {
        "a": b"1",
        "a.b": b"",
        "a-b/x": b"\r\n",
        "b/a": b"2",
        "b.txt": b"3",
        "b0": b"4",
        "ü/\N{SNOWMAN}": b"5",
        "deep/er/est": b"6",
    }
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    (tmp_path / "b" / "a").chmod(0o755)
    (tmp_path / "empty").mkdir()
    name = commit(tmp_path)
    assert tree_of(tmp_path) == git(tmp_path, "rev-parse", "HEAD^{tree}")
    data = subprocess.run(
        ["git", "-C", str(tmp_path), "cat-file", "commit", name], capture_output=True, check=True
    ).stdout
    assert tree_of_commit(name, data) == tree_of(tmp_path)
    assert tree_of(tmp_path, executables={"b/a"}) == tree_of(tmp_path)
    assert tree_of(tmp_path, executables=()) != tree_of(tmp_path)
    with pytest.raises(ConfigurationError):
        tree_of_commit(name, data + b" ")


@pytest.mark.parametrize("change", ["content", "name", "mode", "extra", "ignored"])
def test_every_change_shows(tmp_path: Path, change: str) -> None:
    (tmp_path / "a").write_text("1")
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    before = tree_of(tmp_path)
    if change == "content":
        (tmp_path / "a").write_text("2")
    elif change == "name":
        (tmp_path / "a").rename(tmp_path / "b")
    elif change == "mode":
        (tmp_path / "a").chmod(0o755)
    else:
        (tmp_path / ("x.pyc" if change == "ignored" else "x")).write_text("")
    assert tree_of(tmp_path) != before


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/etc/passwd")
    with pytest.raises(ConfigurationError, match="link"):
        tree_of(tmp_path)
    (tmp_path / "link").unlink()
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ConfigurationError, match="regular"):
        tree_of(tmp_path)


def test_an_empty_folder_has_gits_empty_tree(tmp_path: Path) -> None:
    assert tree_of(tmp_path) == object_id("tree", b"") == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
