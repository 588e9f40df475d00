"""A real git repository with a small sealed bundle, and the process inside it."""

import os

import pytest

from tests.hooks.repository import FILES, IDENTITY, Repo, sealed


@pytest.fixture(autouse=True)
def _no_outer_git(monkeypatch):
    # The tests may themselves run inside a commit.
    for name in list(os.environ):
        if name.startswith(("GIT_", "PRE_COMMIT")):
            monkeypatch.delenv(name)
    for name, value in IDENTITY.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def empty(tmp_path, monkeypatch):
    repo = Repo(tmp_path / "repo")
    monkeypatch.chdir(repo.path)
    return repo


@pytest.fixture
def repo(empty):
    """One commit, with a sealed bundle that no checkout converts."""
    empty.write({".gitattributes": b"data/** -text\n", "README": b"hello\n"}, folder="")
    empty.write(sealed(FILES))
    empty.git("add", "-A")
    empty.commit("first")
    return empty
