"""What do the steps believe of each other, and how do their own faults end?"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError, ExitCode
from plumbline.launch import main, steps
from plumbline.launch.gate import Ending, read_ending, run_gate
from tests.launch.support import PYTHON
from tests.launch.test_steps import INPUTS, Job


def test_publishing_that_falls_over_is_a_warning(world, monkeypatch):
    real = subprocess.run

    def fall_over(command, **more):
        if "--ending" in command:
            raise ZeroDivisionError
        return real(command, **more)

    monkeypatch.setattr(steps.subprocess, "run", fall_over)
    job = Job(world, inside=True)
    assert job.run() == ExitCode.PASS
    assert "nothing was published: ZeroDivisionError" in job.log


def test_an_audit_that_left_nothing_publishes_nothing(world):
    job = Job(world, inside=True)
    job.step("resolve", **{f"PLUMBLINE_INPUT_{name}": value for name, value in INPUTS.items()})
    state = job.outputs["resolve"]["state"]
    assert job.step("publish", PLUMBLINE_STATE=state).returncode == 0
    assert "left nothing to publish" in job.log
    assert job.step("publish").returncode == 0


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (ConfigurationError("x", remedy="y"), ExitCode.CONFIGURATION),
        (KeyboardInterrupt(), ExitCode.CONFIGURATION),
        (ZeroDivisionError(), ExitCode.INTERNAL),
    ],
)
def test_no_fault_of_a_step_looks_like_a_verdict(monkeypatch, capsys, fault, code):
    def fail(*_words):
        raise fault

    monkeypatch.setattr(main, "step", fail)
    assert main.run(Path("/nowhere"), ["resolve"]) == code
    assert capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["bogus"], ["resolve", "more"]])
def test_unknown_parts_are_usage_errors(words, capsys):
    assert main.run(Path("/nowhere"), words) == ExitCode.USAGE
    assert "usage" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        '{"exit_code": true, "verdict": "FAIL"}',
        '{"exit_code": 0}',
        '{"exit_code": 0, "verdict": "FAIL"}',
        '{"exit_code": 9}',
        '{"exit_code": 1, "verdict": "FAIL", "sarif": 3}',
        "[" * 100_000,
    ],
)
def test_what_is_no_ending_is_none(tmp_path, content):
    (tmp_path / "e.json").write_text(content)
    assert read_ending(tmp_path / "e.json") is None
    assert read_ending(tmp_path / "missing.json") is None


def test_an_ending_survives_being_stored(tmp_path):
    ending = Ending(exit_code=1, verdict="FAIL", run_id="x", isolation="kernel")
    ending.write(tmp_path / "e.json")
    assert read_ending(tmp_path / "e.json") == ending


def test_an_exit_code_alone_is_not_believed(tmp_path):
    harness = tmp_path / "harness"
    (harness / "src/plumbline").mkdir(parents=True)
    program = harness / "src/plumbline/__main__.py"

    def ending(text: str, interpreter: Path) -> Ending:
        program.write_text(text)
        return run_gate(interpreter, harness, [], workspace=tmp_path, private=tmp_path, environment={})

    python = Path(PYTHON)
    assert ending("", python).exit_code == ExitCode.INTERNAL
    assert ending("raise SystemExit(1)", python).exit_code == ExitCode.INTERNAL
    assert ending("raise SystemExit(3)", python).exit_code == ExitCode.INTEGRITY
    assert ending("raise SystemExit(77)", python).exit_code == ExitCode.INTERNAL
    missing = ending("", tmp_path / "no-python")
    assert (missing.exit_code, json.loads(json.dumps(missing.message))) == (
        ExitCode.CONFIGURATION,
        "the harness cannot be started: No such file or directory",
    )


@pytest.mark.parametrize("kind", ["loop", "long", "config loop", "summary", "read-only"])
def test_what_the_machine_or_the_repository_cannot_do_ends_with_4(world, kind):
    extra, inputs = {}, {}
    if kind == "loop":
        (world.consumer / "loop").symlink_to("loop")
        inputs = {"PIN": "loop"}
    elif kind == "long":
        inputs = {"PIN": "x" * 300}
    elif kind == "config loop":
        (world.consumer / "loop").symlink_to("loop")
        world.pin(config="loop")
    elif kind == "summary":
        inputs, extra = {"PIN": "missing"}, {"GITHUB_STEP_SUMMARY": "/nonexistent/summary"}
    else:
        (world.folder / "file").write_text("")
        extra = {"RUNNER_TEMP": "/proc"}
    job = Job(world, inside=True, extra=extra, inputs=inputs)
    assert job.run() == ExitCode.CONFIGURATION, job.log


def test_what_cannot_be_said_changes_no_exit_code(monkeypatch):
    def fail(*_words):
        raise ConfigurationError("a\u202eb")

    monkeypatch.setattr(main, "step", fail)
    monkeypatch.setattr(main.sys, "stderr", None)
    assert main.run(Path("/nowhere"), ["resolve"]) == ExitCode.CONFIGURATION
    monkeypatch.undo()


def test_a_full_standard_error_changes_no_exit_code(world):
    command = [PYTHON, "-I", "-S", str(world.harness / "entrypoint.py"), "bogus"]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(command, stderr=full, check=False).returncode == ExitCode.USAGE
