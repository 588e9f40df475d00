"""The same steps within this process, so that the measurement of coverage sees them.

`test_steps` starts each step as the action does, isolated and without site packages; nothing measures there. What only
a process of its own can show (variables that are forgotten, the kernel's filter) is tested there and not here.
"""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError, ExitCode, PlumblineError
from plumbline.launch import local, main, steps
from plumbline.launch.gate import Ending, read_ending, run_gate
from tests.launch import test_steps
from tests.launch.test_steps import (  # noqa: F401 - collected again, under the fixture below
    INPUTS,
    Job,
    parse_outputs,
    test_a_bad_input_ends_with_4,
    test_an_input_that_is_not_mapped_ends_with_4,
    test_an_unreachable_repository_needs_the_runners_word,
    test_another_commit_is_fetched,
    test_publishing_has_the_token_and_no_say,
    test_the_last_step_ends_as_the_gate_did,
)


def step_here(job: Job, name: str, **mapped: str) -> subprocess.CompletedProcess[str]:
    out = job.world.folder / f"output-{name}"
    out.write_text("")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            code = steps.step(
                "audit-alone" if name == "audit" else name,
                job.own or job.world.harness,
                {**job.runner, "GITHUB_OUTPUT": str(out), **mapped},
            )
        except PlumblineError as error:
            code = error.exit_code
    job.log += said.getvalue()
    job.outputs[name] = parse_outputs(out.read_text())
    return subprocess.CompletedProcess([], code)


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_steps.Job, "step", step_here)
    monkeypatch.setattr(steps, "confine", lambda: True)  # the filter could not be taken off this process again
    monkeypatch.setattr(local, "confine", lambda: True)


def test_isolation_that_is_required_and_not_to_be_had(world, monkeypatch):
    monkeypatch.setattr(steps, "confine", lambda: False)
    job = Job(world, inputs={"REQUIRE_ISOLATION": "true"})
    assert job.run() == ExitCode.CONFIGURATION
    assert "cannot deny the network" in job.log
    relaxed = Job(world)
    assert relaxed.run() == ExitCode.PASS
    assert relaxed.outputs["verdict"]["isolation"] == "in-process"


def test_a_pin_may_ask_for_a_bar_and_a_comparison(world):
    (world.consumer / "bar.json").write_text("{}")
    world.pin(baseline="bar.json", require_comparable_baseline="true")
    job = Job(world)
    assert job.run() == ExitCode.PASS, job.log
    arguments = str(job.seen())
    assert "--require-comparable-baseline" in arguments
    assert "bar.json" in arguments


def test_publishing_that_falls_over_is_a_warning(world, monkeypatch):
    real = subprocess.run

    def fall_over(command, **more):
        if "--ending" in command:
            raise ZeroDivisionError
        return real(command, **more)

    monkeypatch.setattr(steps.subprocess, "run", fall_over)
    job = Job(world)
    assert job.run() == ExitCode.PASS
    assert "nothing was published: ZeroDivisionError" in job.log


def test_an_audit_that_left_nothing_publishes_nothing(world):
    job = Job(world)
    job.step("resolve", **{f"PLUMBLINE_INPUT_{name}": value for name, value in INPUTS.items()})
    state = job.outputs["resolve"]["state"]
    assert job.step("publish", PLUMBLINE_STATE=state).returncode == 0
    assert "left nothing to publish" in job.log
    assert job.step("publish").returncode == 0


def run_local(world, *words, monkeypatch):
    private = world.folder / "private"
    private.mkdir(exist_ok=True)
    monkeypatch.chdir(world.consumer)
    for name, value in world.environment.items():
        monkeypatch.setenv(name, value)
    places = ["--pin", "plumbline.pin", "--private", str(private), "--cache", str(world.folder / "cache")]
    return main.run(world.harness, ["local", *words, *places])


@pytest.mark.parametrize("code", [0, 1, 3, 4, 5])
def test_the_local_gate_ends_as_the_gate_did(world, monkeypatch, code):
    world.plan(f"code = {code}\n")
    assert run_local(world, "--seed", "7", monkeypatch=monkeypatch) == code


def test_the_local_gate_takes_the_pins_bar(world, monkeypatch, capsys):
    world.pin(baseline="bar.json", require_comparable_baseline="true")
    assert run_local(world, monkeypatch=monkeypatch) == ExitCode.CONFIGURATION
    assert "there is no file bar.json" in capsys.readouterr().err
    (world.consumer / "bar.json").write_text("{}")
    assert run_local(world, monkeypatch=monkeypatch) == ExitCode.PASS


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

    python = Path(test_steps.PYTHON)
    assert ending("", python).exit_code == ExitCode.INTERNAL
    assert ending("raise SystemExit(1)", python).exit_code == ExitCode.INTERNAL
    assert ending("raise SystemExit(3)", python).exit_code == ExitCode.INTEGRITY
    assert ending("raise SystemExit(77)", python).exit_code == ExitCode.INTERNAL
    missing = ending("", tmp_path / "no-python")
    assert (missing.exit_code, json.loads(json.dumps(missing.message))) == (
        ExitCode.CONFIGURATION,
        "the harness cannot be started: No such file or directory",
    )
