"""Are the files that a consuming repository copies, and the action itself, in order?"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from plumbline.launch.workflow import GRADED_EVENTS
from tests.launch.support import ROOT

ACTION = YAML(typ="safe").load((ROOT / "action.yml").read_text())
WORKFLOW = YAML(typ="safe").load((ROOT / "gate" / "workflow.yml").read_text())


def tool(name: str) -> str:
    """A tool of requirements/dev.txt. A missing one fails the test."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    assert found, f"{name} is not installed (requirements/dev.txt brings it)"
    return found


def check(*command: str) -> None:
    done = subprocess.run([tool(command[0]), *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_runner_is_plain_shell() -> None:
    check("shellcheck", "--shell=sh", "gate/plumbline-gate.sh")
    assert (ROOT / "gate" / "plumbline-gate.sh").stat().st_mode & 0o111


def test_the_script_in_the_action_is_plain_bash(tmp_path: Path) -> None:
    for step in ACTION["runs"]["steps"][1:]:
        script = tmp_path / f"{step['id']}.sh"
        script.write_text(f"#!/bin/bash\nset -eo pipefail\n{step['run']}")
        check("shellcheck", "--shell=bash", "--exclude=SC2154", str(script))
    check("shellcheck", "--shell=bash", "step.sh")


@pytest.mark.parametrize(
    ("schema", "file"), [("vendor.github-actions", "action.yml"), ("vendor.github-workflows", "gate/workflow.yml")]
)
def test_the_published_schema_is_met(schema: str, file: str) -> None:
    check("check-jsonschema", "--builtin-schema", schema, file)


@pytest.mark.parametrize("file", ["action.yml", "gate/workflow.yml"])
def test_zizmor_finds_nothing(file: str) -> None:
    check("zizmor", "--offline", "--no-progress", "--persona=regular", file)


def test_every_output_comes_from_a_step_that_is_there() -> None:
    steps = {step["id"] for step in ACTION["runs"]["steps"]}
    for name, output in ACTION["outputs"].items():
        match = re.fullmatch(r"\$\{\{ steps\.([a-z]+)\.outputs\.([a-z-]+) \}\}", output["value"])
        assert match, name
        assert match[1] in steps
        assert match[2] == name


def test_every_input_is_mapped_by_env_and_none_stands_in_a_script() -> None:
    text = (ROOT / "action.yml").read_text()
    for name in ACTION["inputs"]:
        assert text.count(f"${{{{ inputs.{name} }}}}") == 1, name
    for step in ACTION["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_only_publishing_has_the_token() -> None:
    for step in ACTION["runs"]["steps"]:
        assert ("inputs.token" in str(step)) is (step["id"] == "publish")


def test_nothing_of_the_callers_is_set() -> None:
    text = (ROOT / "action.yml").read_text() + "".join(
        path.read_text() for path in (ROOT / "src" / "plumbline" / "launch").glob("*.py")
    )
    assert not re.search(r">> *\"?\$?\{?GITHUB_(ENV|PATH|STATE)", text)
    assert not any("uses" in step for step in ACTION["runs"]["steps"])


def test_the_python_that_it_needs_is_asked_for_in_one_way() -> None:
    for name in ("step.sh", "gate/plumbline-gate.sh"):
        assert "sys.version_info >= (3, 11)" in (ROOT / name).read_text()


def test_every_step_names_its_shell_and_obeys_no_variable_of_the_callers() -> None:
    refused, *steps = ACTION["runs"]["steps"]
    assert refused["if"] == "runner.os == 'Windows'"
    assert refused["run"].rstrip().endswith("exit 4")
    for step in steps:
        assert step["shell"] == "/bin/bash --noprofile --norc -p -eo pipefail {0}"
        assert step["working-directory"] == "${{ github.action_path }}"
        assert all(step["env"][name] == "" for name in ("LD_LIBRARY_PATH", "LD_PRELOAD", "LD_AUDIT"))
        assert step["run"] == f'exec /bin/bash --noprofile --norc -p "$GITHUB_ACTION_PATH/step.sh" {step["id"]}'


def test_the_example_listens_to_events_that_the_gate_runs_on() -> None:
    assert set(WORKFLOW["on"]) == {"pull_request", "push", "merge_group"} <= set(GRADED_EVENTS)


def test_every_action_in_the_example_is_named_by_a_whole_hash() -> None:
    for job in WORKFLOW["jobs"].values():
        for step in job["steps"]:
            assert re.search(r"@[0-9a-f]{40}$", step["uses"])


def test_the_guide_names_every_variable_and_key() -> None:
    guide = (ROOT / "gate" / "README.md").read_text()
    runner = (ROOT / "gate" / "plumbline-gate.sh").read_text()
    for name in set(re.findall(r"PLUMBLINE_[A-Z_]+", runner)):
        assert f"`{name}`" in guide
    for key in ("repo", "ref", "config", "baseline", "out", "require_comparable_baseline"):
        assert f"| `{key}` |" in guide
