"""Do the four steps of the action keep their rights apart and the exit code whole?

Each step runs as a process of its own, started with nothing but the variables that the runner and action.yml give it:
what `act` adds beyond that is not there to lean on.
"""

import io
import json
import os
import socket
import subprocess
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from plumbline.launch import steps
from plumbline.launch.main import run
from tests.launch.support import PYTHON, World, commit, git, make_world

INPUTS = {
    "PIN": "plumbline.pin",
    "CONFIG": "",
    "COMMENT": "auto",
    "COMMENT_KEY": "",
    "MATRIX": "null",
    "UPLOAD_SARIF": "auto",
    "ANNOTATIONS": "true",
    "SUMMARY": "true",
    "REQUIRE_ISOLATION": "false",
}


@dataclass
class Job:
    """One run of the action in a world."""

    world: World
    event: str = "pull_request"
    inputs: dict[str, str] = field(default_factory=dict)
    extra: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""
    inside: bool = False
    """In this process, where the steps need not be kept apart to show what is tested."""

    def __post_init__(self) -> None:
        self.temporary = self.world.folder / "runner_temp"
        self.temporary.mkdir(exist_ok=True)

    @property
    def runner(self) -> dict[str, str]:
        return {
            **self.world.environment,
            "GITHUB_EVENT_NAME": self.event,
            "GITHUB_WORKSPACE": str(self.world.consumer),
            "GITHUB_WORKFLOW": "ci",
            "GITHUB_JOB": "gate",
            "GITHUB_REPOSITORY": "acme/widgets",
            "GITHUB_ENV": str(self.world.folder / "env"),
            "GITHUB_PATH": str(self.world.folder / "path"),
            "GITHUB_STEP_SUMMARY": str(self.world.folder / "summary"),
            "RUNNER_TEMP": str(self.temporary),
            **self.extra,
        }

    def step(self, name: str, **mapped: str) -> subprocess.CompletedProcess[str]:
        out = self.world.folder / f"output-{name}"
        out.write_text("")
        environment = {**self.runner, "GITHUB_OUTPUT": str(out), **mapped}
        if self.inside:
            done = self._inside(name, environment)
        else:
            done = subprocess.run(
                [PYTHON, "-I", "-S", "-X", "utf8", str(self.world.harness / "entrypoint.py"), name],
                cwd=self.world.consumer,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
        self.log += done.stdout + done.stderr
        self.outputs[name] = parse_outputs(out.read_text())
        return done

    def _inside(self, name: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        # This process must keep its network and its variables, so the parts that take them away stand still.
        log = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(log), redirect_stderr(log):
            patch.setattr(steps, "confine", lambda: True)
            patch.setattr(steps, "_forget_environment", lambda *_: None)
            patch.setattr(os, "environ", environment)
            code = run(self.world.harness, [name])
        return subprocess.CompletedProcess([name], code, log.getvalue(), "")

    def run(self) -> int:
        """All steps, under the conditions that action.yml puts on them."""
        mapped = {f"PLUMBLINE_INPUT_{name}": value for name, value in {**INPUTS, **self.inputs}.items()}
        first = self.step("resolve", **mapped)
        state = {"PLUMBLINE_STATE": self.outputs["resolve"].get("state", "")}
        if first.returncode == 0 and self.outputs["resolve"].get("ready") == "true":
            assert self.step("audit", **state).returncode == 0, self.log
            assert self.step("publish", **state, PLUMBLINE_INPUT_TOKEN="canary-token").returncode == 0, self.log
        return self.step("verdict", **state).returncode

    def seen(self) -> dict[str, object]:
        return json.loads(next(self.temporary.glob("plumbline-*/reports/seen.json")).read_text())


def parse_outputs(text: str) -> dict[str, str]:
    lines = iter(text.splitlines())
    values = {}
    for line in lines:
        if "<<" in line:
            name, _, word = line.partition("<<")
            value = []
            while (line := next(lines)) != word:
                value.append(line)
            values[name] = "\n".join(value)
        else:
            name, _, value_ = line.partition("=")
            values[name] = value_
    return values


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize(("code", "verdict"), [(0, "PASS"), (1, "FAIL"), (3, ""), (4, ""), (5, "")])
def test_the_last_step_ends_as_the_gate_did(world: World, code: int, verdict: str, inside: bool) -> None:
    world.plan(f"code = {code}\n")
    commit(world.consumer)
    job = Job(world, inside=inside)
    assert job.run() == code, job.log
    outputs = job.outputs["verdict"]
    assert (outputs["verdict"], outputs["exit-code"]) == (verdict, str(code))
    assert outputs["isolation"] == "kernel"
    if code < 2:
        assert Path(outputs["report-json"]).is_relative_to(job.temporary)
        assert Path(outputs["sarif"]).is_file()
    assert not (world.folder / "env").exists()
    assert not (world.folder / "path").exists()
    assert git(world.consumer, "status", "--porcelain", "--ignored") == ""
    left = next(job.temporary.glob("plumbline-*"))
    assert not [name for name in ("venv", "wheels", "harness", "store") if (left / name).exists()]


def test_publishing_has_the_token_and_no_say(world: World) -> None:
    job = Job(world)
    assert job.run() == 0, job.log
    published = json.loads((job.temporary / "published.json").read_text())
    assert published["environ"]["GITHUB_TOKEN"] == "canary-token"
    assert not {"GITHUB_ENV", "GITHUB_PATH"} & published["environ"].keys()
    assert job.outputs["publish"] == {"comment-status": "created", "sarif-status": "uploaded"}
    assert "publishing ended with 3; the verdict stands" in job.log


def test_the_audit_sees_no_token_and_no_network(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.3)
        world.plan(f"code = 0\nport = {server.getsockname()[1]}\n")
        names = ("GITHUB_TOKEN", "GH_TOKEN", "ACTIONS_RUNTIME_TOKEN", "ACTIONS_ID_TOKEN_REQUEST_TOKEN",
                 "AWS_SECRET_ACCESS_KEY", "AZURE_CLIENT_SECRET", "NPM_TOKEN", "PYTHONPATH", "LD_AUDIT_")  # fmt: skip
        job = Job(world, extra=dict.fromkeys(names, "canary-5e1f"))
        assert job.run() == 0, job.log
        with pytest.raises(TimeoutError):
            server.accept()
    seen = job.seen()
    assert seen["connect"] == "PermissionError"
    assert "canary" not in json.dumps(seen["environ"])
    # Nor in the process that started it, whose variables any process of the user may read.
    assert "canary" not in str(seen["parent"])
    assert "PATH" in str(seen["environ"])
    environ = seen["environ"]
    assert isinstance(environ, dict)
    assert set(environ) <= {"PATH", "HOME", "USERPROFILE", "TMPDIR", "TEMP", "TMP", "LC_ALL", "OPENBLAS_NUM_THREADS"}


def test_what_the_gate_prints_is_not_obeyed(world: World) -> None:
    world.plan("code = 0\nforge = true\n")
    job = Job(world)
    assert job.run() == 0
    lines = job.log.splitlines()
    at = lines.index("GATE: ::error::forged")
    stop = next(index for index, line in enumerate(lines) if line.startswith("::stop-commands::"))
    word = lines[stop].removeprefix("::stop-commands::")
    assert stop < at < lines.index(f"::{word}::")


def test_the_actions_own_checkout_is_used_when_it_is_the_pinned_commit(world: World) -> None:
    job = Job(world)
    job.run()
    assert "own checkout, checked by content" in job.log
    assert str(job.seen()["harness"]).startswith(str(world.harness))


def test_another_commit_is_fetched(world: World) -> None:
    (world.harness / "later").write_text("")
    newer = commit(world.harness)
    job = Job(world, extra={"PLUMBLINE_ACTION_REF": newer})
    assert job.run() == 0, job.log
    assert "fetched and checked by content" in job.log
    assert str(job.seen()["harness"]).startswith(str(job.temporary))


def test_an_unreachable_repository_needs_the_runners_word(world: World) -> None:
    world.pin(repo="file:///nonexistent/org/plumbline")
    assert Job(world, inside=True).run() == 4
    wrong = Job(
        world, inside=True, extra={"PLUMBLINE_ACTION_REF": "v1", "PLUMBLINE_ACTION_REPOSITORY": "org/plumbline"}
    )
    assert wrong.run() == 4
    right = Job(
        world, inside=True, extra={"PLUMBLINE_ACTION_REF": world.commit, "PLUMBLINE_ACTION_REPOSITORY": "org/plumbline"}
    )
    assert right.run() == 0, right.log
    assert "::warning" in right.log


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PIN", ""),
        ("PIN", "--pin"),
        ("PIN", "../plumbline.pin"),
        ("PIN", "/etc/plumbline.pin"),
        ("PIN", "missing.pin"),
        ("CONFIG", "-x"),
        ("CONFIG", "missing.toml"),
        ("CONFIG", "out/target.toml"),
        ("COMMENT", "yes"),
        ("COMMENT", ""),
        ("COMMENT_KEY", "a b"),
        ("COMMENT_KEY", "x" * 81),
        ("COMMENT_KEY", "a\nb"),
        ("UPLOAD_SARIF", "True"),
        ("ANNOTATIONS", "auto"),
        ("SUMMARY", "1"),
        ("REQUIRE_ISOLATION", "ture"),
        ("REQUIRE_ISOLATION", "true "),
    ],
)
def test_a_bad_input_ends_with_4(world: World, name: str, value: str) -> None:
    (world.consumer / "out").symlink_to(world.folder)
    (world.folder / "target.toml").write_text("code = 0\n")
    job = Job(world, inside=True, inputs={name: value})
    assert job.run() == 4, job.log
    assert "::error title=Plumbline::CONFIGURATION ERROR" in job.log
    assert "audit" not in job.outputs
    assert "CONFIGURATION ERROR" in (world.folder / "summary").read_text()


def test_an_input_that_is_not_mapped_ends_with_4(world: World) -> None:
    job = Job(world)
    mapped = {f"PLUMBLINE_INPUT_{name}": value for name, value in INPUTS.items() if name != "REQUIRE_ISOLATION"}
    # As under act, which sets the variables that no composite step has on GitHub.
    job.step("resolve", **mapped, **{"INPUT_REQUIRE-ISOLATION": "false"})
    assert "not mapped" in job.log
    assert job.step("verdict", PLUMBLINE_STATE=job.outputs["resolve"]["state"]).returncode == 4


@pytest.mark.parametrize("event", ["push", "merge_group", "workflow_dispatch", "schedule"])
def test_events_it_runs_on(world: World, event: str) -> None:
    assert Job(world, inside=True, event=event).run() == 0


@pytest.mark.parametrize("event", ["pull_request_target", "workflow_run", "issue_comment", ""])
def test_events_it_refuses(world: World, event: str) -> None:
    job = Job(world, inside=True, event=event)
    assert job.run() == 4
    assert "does not run on" in job.log


def test_another_configuration_may_be_named(world: World) -> None:
    (world.consumer / "other.toml").write_text("code = 1\n")
    assert Job(world, inside=True, inputs={"CONFIG": "other.toml"}).run() == 1


def test_the_pin_decides_about_the_baseline(world: World) -> None:
    (world.consumer / "bar.json").write_text("{}")
    world.pin(baseline="bar.json", require_comparable_baseline="true")
    job = Job(world, inside=True)
    assert job.run() == 0
    argv = job.seen()["argv"]
    assert isinstance(argv, list)
    assert argv[argv.index("--baseline") + 1] == "bar.json"
    assert "--require-comparable-baseline" in argv


class TestTheVerdictIsNeverZeroByAccident:
    def test_no_state(self, world: World) -> None:
        job = Job(world)
        assert job.step("verdict").returncode == 4
        assert job.outputs["verdict"]["exit-code"] == "4"
        assert job.step("verdict", PLUMBLINE_STATE="/").returncode == 4
        assert job.step("verdict", PLUMBLINE_STATE=str(world.consumer)).returncode == 4
        assert job.step("audit").returncode == 4

    @pytest.mark.parametrize(
        "text",
        [
            "", "{", "null", "0", "[]", "{}", '{"exit_code": 0}', '{"exit_code": 0, "verdict": "FAIL"}',
            '{"exit_code": false, "verdict": "PASS"}', '{"exit_code": "0", "verdict": "PASS"}',
            '{"exit_code": 0.0, "verdict": "PASS"}', '{"exit_code": 9, "verdict": "PASS"}',
            '{"exit_code": 1, "verdict": null}', '{"exit_code": 0, "verdict": ["PASS"]}', "[" * 100_000,
        ],
    )  # fmt: skip
    def test_an_ending_that_is_none(self, world: World, text: str) -> None:
        job = Job(world)
        state = job.temporary / "plumbline-x"
        state.mkdir()
        (state / "ending.json").write_text(text)
        assert job.step("verdict", PLUMBLINE_STATE=str(state)).returncode == 5

    def test_a_cancelled_audit(self, world: World) -> None:
        job = Job(world)
        job.step("resolve", **{f"PLUMBLINE_INPUT_{name}": value for name, value in INPUTS.items()})
        assert job.step("verdict", PLUMBLINE_STATE=job.outputs["resolve"]["state"]).returncode == 5


def test_a_harness_that_changes_between_the_steps_is_refused(world: World) -> None:
    job = Job(world)
    job.step("resolve", **{f"PLUMBLINE_INPUT_{name}": value for name, value in INPUTS.items()})
    state = {"PLUMBLINE_STATE": job.outputs["resolve"]["state"]}
    main = world.harness / "src" / "plumbline" / "__main__.py"
    main.write_text("import sys; sys.exit(0)\n")
    job.step("audit", **state)
    assert job.step("verdict", **state).returncode == 4
    assert "no longer what was resolved" in job.log


def test_the_checkout_stays_as_it_is(world: World) -> None:
    Job(world).run()
    assert git(world.harness, "status", "--porcelain", "--ignored") == ""


def test_a_workspace_with_blanks(tmp_path: Path) -> None:
    folder = tmp_path / "a folder with blanks"
    folder.mkdir()
    job = Job(make_world(folder))
    world = job.world
    # A file URL cannot hold a blank; the runner's word is enough here.
    world.pin(repo="file:///nonexistent/org/plumbline")
    job.extra = {"PLUMBLINE_ACTION_REF": world.commit, "PLUMBLINE_ACTION_REPOSITORY": "org/plumbline"}
    assert job.run() == 0, job.log


class TestKey:
    def key(self, world: World, **inputs: str) -> str:
        job = Job(world, inside=True, inputs=inputs)
        job.step("resolve", **{f"PLUMBLINE_INPUT_{name}": value for name, value in {**INPUTS, **inputs}.items()})
        resolved = json.loads((Path(job.outputs["resolve"]["state"]) / "resolved.json").read_text())
        return resolved["inputs"]["key"]

    def test_matrix_legs_have_their_own(self, world: World) -> None:
        first = self.key(world, MATRIX='{"python": "3.11"}')
        second = self.key(world, MATRIX='{"python": "3.12"}')
        assert self.key(world) == "ci/gate"
        assert len({first, second, "ci/gate"}) == 3
        assert first.startswith("ci/gate/")
        assert self.key(world, COMMENT_KEY="mine") == "mine"


def test_isolation_can_be_required(world: World) -> None:
    assert Job(world, inputs={"REQUIRE_ISOLATION": "true"}).run() == 0
    confinement = world.harness / "src" / "plumbline" / "launch" / "confinement.py"
    confinement.write_text("def confine() -> bool:\n    return False\n")
    world.pin(ref=commit(world.harness))
    job = Job(world, inputs={"REQUIRE_ISOLATION": "true"})
    assert job.run() == 4
    assert "require-isolation" in job.log
    relaxed = Job(world)
    assert relaxed.run() == 0
    assert relaxed.outputs["verdict"]["isolation"] == "in-process"


def test_no_temporary_folder(world: World) -> None:
    job = Job(world, extra={"RUNNER_TEMP": ""})
    assert job.run() == 4
    assert "RUNNER_TEMP does not name a folder" in job.log
    assert list(job.temporary.iterdir()) == []


@pytest.mark.parametrize("words", [[], [""], ["gate"], ["verdict", "extra"], ["audit-alone", "x"]])
def test_anything_else_is_a_usage_error(world: World, words: list[str]) -> None:
    assert run(world.harness, words) == 2


def test_a_fault_of_ours_is_never_a_verdict(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fault(*_: object) -> int:
        raise RuntimeError

    def interrupt(*_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("plumbline.launch.main.step", fault)
    assert run(world.harness, ["verdict"]) == 5
    monkeypatch.setattr("plumbline.launch.main.step", interrupt)
    assert run(world.harness, ["verdict"]) == 4


def test_trouble_with_publishing_is_a_warning(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(world, inside=True)
    assert job.step("publish").returncode == 0

    def fault(*_: object) -> int:
        raise OSError("no")

    monkeypatch.setattr(steps, "_start_publishing", fault)
    assert job.run() == 0
    assert "nothing was published: OSError: no; the verdict stands" in job.log
    monkeypatch.undo()
    state = next(job.temporary.glob("plumbline-*"))
    (state / "ending.json").unlink()
    assert job.step("publish", PLUMBLINE_STATE=str(state)).returncode == 0
    assert "left nothing to publish" in job.log


def test_isolation_that_is_required_and_not_had(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    job = Job(world, inside=True, inputs={"REQUIRE_ISOLATION": "true"})
    job.step("resolve", **{f"PLUMBLINE_INPUT_{name}": value for name, value in {**INPUTS, **job.inputs}.items()})
    state = job.outputs["resolve"]["state"]
    monkeypatch.setattr(steps, "confine", lambda: False)
    monkeypatch.setattr(os, "environ", {**job.runner, "PLUMBLINE_STATE": state})
    assert run(world.harness, ["audit-alone"]) == 0
    assert json.loads((Path(state) / "ending.json").read_text())["exit_code"] == 4
