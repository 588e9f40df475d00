"""Does the gate on a developer's machine do what the pin says, and take nothing else from the call?"""

import json
from pathlib import Path

import pytest

from plumbline.launch import local
from plumbline.launch.main import run
from tests.launch.support import World, make_world


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    made = make_world(tmp_path)
    monkeypatch.chdir(made.consumer)
    monkeypatch.setattr(local, "confine", lambda: True)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


def gate(world: World, *words: str) -> int:
    private = world.folder / f"private{len(list(world.folder.iterdir()))}"
    private.mkdir()
    given = ["--pin", "plumbline.pin", "--private", str(private), "--cache", str(world.folder / "cache")]
    return run(world.harness, ["local", *words, *given])


def argv(world: World) -> list[str]:
    seen = json.loads((world.consumer / "plumbline-audits" / "seen.json").read_text())
    return list(seen["argv"])


def test_the_pin_decides(world: World) -> None:
    (world.consumer / "bar.json").write_text("{}")
    world.pin(baseline="bar.json", require_comparable_baseline="true")
    assert gate(world, "--seed", "7") == 0
    assert argv(world)[:11] == [
        "gate", "--config", "plumbline/target.toml", "--out", "plumbline-audits",
        "--repository", str(world.consumer), "--baseline", "bar.json",
        "--require-comparable-baseline", "--seed",
    ]  # fmt: skip


@pytest.mark.parametrize("code", [0, 1, 3])
def test_it_ends_as_the_gate_did(world: World, code: int) -> None:
    world.plan(f"code = {code}\n")
    assert gate(world) == code


def test_what_is_not_there_is_said(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.pin(baseline="missing.json")
    assert gate(world) == 4
    assert "there is no file missing.json" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--config", "x"], ["--conf", "x"], ["--baseline", "x"], ["--out=x"], ["x"]])
def test_other_arguments_are_refused(world: World, words: list[str]) -> None:
    with pytest.raises(SystemExit) as left:
        gate(world, *words)
    assert left.value.code == 2
