from __future__ import annotations

import pytest

from plumbline.cli import main as cli
from plumbline.record.adapters import registry
from tests.bundles import files, item, refuse, write
from tests.record import fake_adapter


@pytest.fixture
def fake(monkeypatch):
    monkeypatch.setitem(registry.ADAPTERS, "fake", "tests.record.fake_adapter")
    fake_adapter.STATE.clear()
    return fake_adapter.STATE


class Place:
    """A folder with a question set and a target that asks it."""

    def __init__(self, root, capsys):
        self.root = root
        self._capsys = capsys
        self.out = root / "out"
        self.hidden = root / ".out.recording"
        self.questions([item(f"q{n}", prompt=f"Question {n}?") for n in range(6)] + [refuse("r")])
        self.config()

    def questions(self, items, *, responses=None, folder="questions", **more):
        return write(self.root / folder, files(items, responses, **more))

    def config(self, adapter="", *, more="", kind="fake", suites="[suites.smoke]\n", target="test target"):
        path = self.root / "target.toml"
        path.write_text(
            f'[target]\nname = "{target}"\n[dataset]\npath = "out"\n'
            f'[adapter]\nkind = "{kind}"\nquestions = "questions"\n{adapter}\n{more}\n{suites}',
            encoding="utf-8",
        )
        return path

    def run(self, *words, command="record"):
        """Exit code, standard output and error stream of a command."""
        first = [command, "--config", str(self.root / "target.toml")] if command in {"record", "audit"} else [command]
        code = cli.main([*first, *map(str, words)])
        found = self._capsys.readouterr()
        return code, found.out, found.err


@pytest.fixture
def place(tmp_path, fake, capsys):  # noqa: ARG001 - the target is the fake one
    return Place(tmp_path, capsys)
