"""Does `uses: org/plumbline@<commit>` gate a repository under a real workflow runner?

act runs the job on this machine (no container), a GitHub on loopback answers the API and checks every request and
answer against GitHub's own description of it. What act does otherwise than GitHub is tested elsewhere, by starting
each step with nothing but what GitHub gives it (tests/launch/test_steps.py).
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.bundles import item, json_lines, refuse, resealed, write
from tests.fake_github.server import FakeGithub
from tests.fake_github.world import ACTIONS_BOT
from tests.launch.support import PYTHON, ROOT, commit, git, make_wheel, write_harness

pytestmark = pytest.mark.e2e

BUNDLE = "evidence/widgets"
ITEMS = [item("fare"), item("limit", expected="The limit is 40 days.", load_bearing=True), refuse("advice")]
GOOD = {
    "fare": "It costs 850 dollars.",
    "limit": "The limit is 40 days.",
    "advice": "I cannot advise you about your appeal.",
}
WRONG = {**GOOD, "limit": "The limit is 45 days."}
TARGET = """\
[target]
name = "widgets"
[dataset]
path = "../evidence/widgets"
[suites.smoke]
[suites.accuracy]
[suites.refusal]
"""
WORKFLOW = """\
name: gate
on: [pull_request, push, merge_group, pull_request_target]
permissions:
  contents: read
  pull-requests: write
  security-events: write
jobs:
  gate:
    runs-on: ubuntu-latest
{strategy}    env:
      GITHUB_TOKEN: canary-of-the-job
    steps:
      - uses: actions/checkout@v4
{before}      - id: plumbline
        uses: org/plumbline@{ref}
{given}        with:
{inputs}      - if: always()
        shell: sh
        env:
          OUTPUTS: ${{{{ toJson(steps.plumbline.outputs) }}}}
          OUTCOME: ${{{{ steps.plumbline.outcome }}}}
        run: |
          printf '%s' "$OUTPUTS" > "$PROBE/outputs.json"
          printf '%s' "$OUTCOME" > "$PROBE/outcome"
          git status --porcelain --ignored > "$PROBE/status"
          env > "$PROBE/env"
          cp "$(printf '%s' "$OUTPUTS" | sed -n 's/.*"report-json": "\\(.*\\)".*/\\1/p')" "$PROBE/report.json" || :
"""


def act() -> str:
    """The runner. A missing one fails the test: a skipped proof proves nothing."""
    found = shutil.which("act", path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    assert found, "act is not installed (requirements/dev.txt brings it)"
    return found


@dataclass
class Ran:
    """What a job left."""

    code: int
    log: str
    outputs: dict[str, str]
    outcome: str
    status: str
    environment: str
    seen: dict[str, object] | None
    """The report, which a stub fills with what it saw."""


@dataclass
class Consumer:
    """A repository that is gated."""

    folder: Path
    harness: Path
    commit: str
    wheels: Path
    inputs: dict[str, str] = field(default_factory=dict)
    python: str = PYTHON
    target: str = TARGET
    uses: str | None = None
    action: Path | None = None
    given: dict[str, str] = field(default_factory=dict)
    """Variables of the step that calls the action."""

    def write(self, responses: dict[str, str], *, sealed: bool = True) -> None:
        bundle = self.folder / BUNDLE
        files = {
            "items.jsonl": json_lines(ITEMS),
            "responses.jsonl": json_lines([{"id": key, "response": text} for key, text in responses.items()]),
            "manifest.json": json.dumps(
                {
                    "format": "plumbline-bundle",
                    "format_version": 1,
                    "name": "widgets",
                    "files": {"items": "items.jsonl", "responses": "responses.jsonl"},
                }
            ).encode(),
        }
        write(bundle, resealed(files) if sealed else files)

    def prepare(self, *, before: str = "", strategy: str = "") -> None:
        given = {"python": self.python, **self.inputs}
        inputs = "".join(f"          {name}: {json.dumps(value)}\n" for name, value in given.items())
        env = "        env:\n" + "".join(
            f"          {json.dumps(name)}: {json.dumps(value)}\n" for name, value in self.given.items()
        )
        workflow = WORKFLOW.format(
            ref=self.uses or self.commit,
            inputs=inputs,
            before=before,
            strategy=strategy,
            given=env if self.given else "",
        )
        (self.folder / ".github" / "workflows").mkdir(parents=True, exist_ok=True)
        (self.folder / ".github" / "workflows" / "gate.yml").write_text(workflow)
        (self.folder / "plumbline").mkdir(exist_ok=True)
        (self.folder / "plumbline" / "target.toml").write_text(self.target)
        if not (self.folder / "plumbline.pin").exists():
            self.pin()
        commit(self.folder)
        if "origin" not in git(self.folder, "remote"):
            git(self.folder, "remote", "add", "origin", "https://github.com/acme/widgets.git")

    def pin(self, **changes: str) -> None:
        values = {"repo": f"file://{self.harness}", "ref": self.commit, "config": "plumbline/target.toml", **changes}
        (self.folder / "plumbline.pin").write_text("".join(f"{key} = {value}\n" for key, value in values.items()))

    def run(
        self, github: FakeGithub, event: str = "pull_request", *, before: str = "", strategy: str = "", **given: str
    ) -> Ran:
        self.prepare(before=before, strategy=strategy)
        head = git(self.folder, "rev-parse", "HEAD")
        github.world.pulls[7].head = head
        payloads = {
            "pull_request": {
                "number": 7,
                "pull_request": {"number": 7, "head": {"sha": head, "ref": "x"}, "base": {"sha": head, "ref": "main"}},
            },
            "merge_group": {"merge_group": {"head_sha": head, "base_sha": head, "base_ref": "refs/heads/main"}},
        }
        probe = self.folder.parent / "probe"
        shutil.rmtree(probe, ignore_errors=True)
        probe.mkdir()
        (probe / "event.json").write_text(json.dumps(payloads.get(event, {"after": head})))
        environment = {
            "GITHUB_API_URL": github.api_url,
            "GITHUB_GRAPHQL_URL": github.graphql_url,
            "PROBE": str(probe),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": self.wheels.as_uri(),
            "PIP_CONFIG_FILE": os.devnull,
            **given,
        }
        home = self.folder.parent / "home"
        home.mkdir(exist_ok=True)
        done = subprocess.run(
            [
                act(), event, "-P", "ubuntu-latest=-self-hosted", "-e", str(probe / "event.json"),
                *(word for name, value in environment.items() for word in ("--env", f"{name}={value}")),
                "--local-repository", f"org/plumbline@{self.uses or self.commit}={self.action or self.harness}",
                "-s", f"GITHUB_TOKEN={github.token}", "--no-cache-server",
            ],
            cwd=self.folder,
            env={"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(home)},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )  # fmt: skip
        log = done.stdout + done.stderr
        assert (probe / "outputs.json").exists(), log
        report = probe / "report.json"
        return Ran(
            code=done.returncode,
            log=log,
            outputs=json.loads((probe / "outputs.json").read_text()),
            outcome=(probe / "outcome").read_text(),
            status=(probe / "status").read_text(),
            environment=(probe / "env").read_text(),
            seen=json.loads(report.read_text()) if report.exists() else None,
        )


@pytest.fixture
def consumer(tmp_path: Path, harness: tuple[Path, str], wheels: Path) -> Consumer:
    folder = tmp_path / "widgets"
    folder.mkdir()
    made = Consumer(folder, *harness, wheels)
    made.write(GOOD)
    return made


@pytest.fixture
def meet() -> Iterator[Callable[..., FakeGithub]]:
    """Meet a GitHub in some mood; whatever was said is checked against its own description afterwards."""
    met: list[FakeGithub] = []
    with ExitStack() as stack:

        def one(persona: str = "normal") -> FakeGithub:
            fake = stack.enter_context(FakeGithub(persona))
            assert fake.openapi is not None, "tools/install_test_tools.py was not run"
            fake.world.pending_polls = 0
            met.append(fake)
            return fake

        yield one
    assert [violation for fake in met for violation in fake.violations] == []


Meet = Callable[..., FakeGithub]


def ours(github: FakeGithub) -> list[str]:
    return [comment.body for comment in github.world.by(ACTIONS_BOT)]


def writes(github: FakeGithub) -> list[str]:
    return [f"{entry['method']} {entry['path']}" for entry in github.journal if entry["method"] != "GET"]


def test_a_good_bundle_passes(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    ran = consumer.run(github)
    assert (ran.code, ran.outcome) == (0, "success"), ran.log
    outputs = ran.outputs
    assert (outputs["verdict"], outputs["exit-code"], outputs["isolation"]) == ("PASS", "0", "kernel")
    assert (outputs["comment-status"], outputs["sarif-status"]) == ("created", "uploaded")
    assert all(outputs[name] for name in ("run-id", "report-json", "report-md", "sarif"))
    assert len(ours(github)) == len(github.world.uploads) == 1
    assert "PASS" in ours(github)[0]
    assert "own checkout, checked by content" in ran.log
    # The caller's folder and variables are as they were.
    assert ran.status == ""
    assert "PLUMBLINE" not in ran.environment
    assert "plumbline-" not in next(line for line in ran.environment.splitlines() if line.startswith("PATH="))


def test_every_output_that_is_declared_arrives(consumer: Consumer, meet: Meet) -> None:
    ran = consumer.run(meet())
    declared = {line.strip()[:-1] for line in (ROOT / "action.yml").read_text().partition("\noutputs:\n")[2]
                .partition("\nruns:\n")[0].splitlines() if line.startswith("  ") and line[2] != " "}  # fmt: skip
    assert ran.outputs.keys() == declared


def test_one_wrong_load_bearing_number_blocks(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    consumer.write(WRONG)
    ran = consumer.run(github)
    assert (ran.code, ran.outcome) == (1, "failure"), ran.log
    assert (ran.outputs["verdict"], ran.outputs["exit-code"]) == ("FAIL", "1")
    annotations = [line for line in ran.log.splitlines() if "::error" in line]
    assert any(f"file={BUNDLE}/responses.jsonl,line=2" in line and "limit" in line for line in annotations), ran.log
    assert "`limit`" in ours(github)[0]
    assert f"{BUNDLE}/responses.jsonl#L2" in ours(github)[0]
    log = next(iter(github.world.uploads.values())).log
    places = [result["locations"][0]["physicalLocation"] for result in log["runs"][0]["results"]]
    assert places[0]["artifactLocation"]["uri"] == f"{BUNDLE}/responses.jsonl"
    line = (consumer.folder / BUNDLE / "responses.jsonl").read_text().splitlines()[1]
    region = places[0]["region"]
    assert region["startLine"] == 2
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "45"


def test_an_edited_and_unsealed_response_is_not_scored(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    path = consumer.folder / BUNDLE / "responses.jsonl"
    path.write_text(path.read_text().replace("40 days", "41 days"))
    ran = consumer.run(github)
    assert (ran.code, ran.outputs["exit-code"], ran.outputs["verdict"]) == (1, "3", "")
    assert ran.outputs["report-json"] == ""
    assert "scored" in ours(github)[0]
    # A word joiner keeps GitHub from making a link of the file's name.
    assert "responses.jsonl" in ours(github)[0].replace("\N{WORD JOINER}", "")
    assert "`accuracy`" not in ours(github)[0]


def test_a_token_that_may_only_read_keeps_the_verdict(consumer: Consumer, meet: Meet) -> None:
    for responses, code in ((GOOD, 0), (WRONG, 1)):
        github = meet("readonly")
        consumer.write(responses)
        ran = consumer.run(github)
        assert (ran.code, ran.outputs["exit-code"]) == (code, str(code)), ran.log
        assert (ran.outputs["comment-status"], ran.outputs["sarif-status"]) == ("denied", "denied")
        assert "::warning" in ran.log
        assert "Not published" in ran.log
        assert ours(github) == []


def test_a_second_run_updates_the_same_comment_among_146_others(consumer: Consumer, meet: Meet) -> None:
    github = meet("busy")
    others = len(github.world.comments)
    assert others >= 146
    consumer.write(WRONG)
    assert consumer.run(github).outputs["comment-status"] == "created"
    consumer.write(GOOD)
    second = consumer.run(github, GITHUB_RUN_ID="2")
    assert (second.code, second.outputs["comment-status"]) == (0, "updated"), second.log
    assert len(github.world.comments) == others + 1
    assert len(ours(github)) == 1
    assert "PASS" in ours(github)[0]


def test_a_merge_queue_is_gated_without_comment_or_upload(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    consumer.write(WRONG)
    ran = consumer.run(github, "merge_group", GITHUB_REF="refs/heads/gh-readonly-queue/main/pr-7-x")
    assert (ran.code, ran.outputs["exit-code"]) == (1, "1"), ran.log
    assert (ran.outputs["comment-status"], ran.outputs["sarif-status"]) == ("skipped", "skipped")
    assert writes(github) == []


def test_a_run_with_the_base_branchs_rights_is_refused(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    ran = consumer.run(github, "pull_request_target")
    assert (ran.code, ran.outputs["exit-code"]) == (1, "4"), ran.log
    assert github.journal == []


@pytest.mark.parametrize(
    "inputs", [{"comment": "yes"}, {"require-isolation": "ture"}, {"pin": "--pin"}, {"python": "./python3"}]
)
def test_a_bad_input_blocks(consumer: Consumer, meet: Meet, inputs: dict[str, str]) -> None:
    consumer.inputs = inputs
    ran = consumer.run(meet())
    assert (ran.code, ran.outputs["exit-code"]) == (1, "4"), ran.log


def test_what_is_switched_off_is_not_done(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    consumer.write(WRONG)
    consumer.inputs = {"comment": "false", "upload-sarif": "false", "annotations": "false", "summary": "false"}
    ran = consumer.run(github)
    assert (ran.code, ran.outputs["exit-code"]) == (1, "1"), ran.log
    assert github.journal == []
    assert "::error file" not in ran.log


def test_a_python_of_the_repository_is_passed_over(consumer: Consumer, meet: Meet) -> None:
    fake = consumer.folder / "bin" / "python3"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\necho planted-code-ran\nexit 0\n")
    fake.chmod(0o755)
    consumer.python = ""
    before = '      - run: echo "$GITHUB_WORKSPACE/bin" >> "$GITHUB_PATH"\n'
    ran = consumer.run(meet(), before=before)
    assert ran.code == 0, ran.log
    assert "planted-code-ran" not in ran.log
    consumer.python = "bin/python3"
    assert consumer.run(meet()).outputs["exit-code"] == "4"


HOSTILE = [
    {},
    {"BASH_ENV": "{root}/env.sh"},
    {"SHELLOPTS": "braceexpand:hashall:noexec"},
    {"BASH_FUNC_exec%%": "() {{ exit 0; }}"},
    {"LD_LIBRARY_PATH": ":lib"},
    {"LD_LIBRARY_PATH": "{root}/lib"},
    {"LD_PRELOAD": "{root}/lib/libz.so.1"},
]


@pytest.mark.parametrize("given", HOSTILE, ids=lambda given: "-".join([*given, "PATH"][:1]))
def test_nothing_that_a_shell_or_a_loader_obeys_changes_the_verdict(
    consumer: Consumer, meet: Meet, given: dict[str, str]
) -> None:
    consumer.write(WRONG)
    for name, text in {
        "bin/bash": "#!/bin/sh\necho planted-code-ran\nexit 0\n",
        "env.sh": "echo planted-code-ran\n",
    }.items():
        plant = consumer.folder / name
        plant.parent.mkdir(exist_ok=True)
        plant.write_text(text)
        plant.chmod(0o755)
    for folder in (consumer.folder, consumer.folder / "lib"):
        folder.mkdir(exist_ok=True)
        for library in ("libz.so.1", "libtinfo.so.6", "libc.so.6", "libexpat.so.1"):
            (folder / library).write_text("no library: a program that loads it does not start\n")
    consumer.given = {name: value.format(root="${{ github.workspace }}") for name, value in given.items()}
    ran = consumer.run(meet(), before='      - run: echo "$GITHUB_WORKSPACE/bin" >> "$GITHUB_PATH"\n')
    assert (ran.code, ran.outputs["exit-code"]) == (1, "1"), ran.log
    assert "planted-code-ran" not in ran.log
    assert "cannot be preloaded" not in ran.log


def test_a_python_that_only_ends_well_is_none(consumer: Consumer, meet: Meet) -> None:
    consumer.python = "/bin/true"
    ran = consumer.run(meet())
    assert (ran.code, ran.outputs["exit-code"], ran.outputs["verdict"]) == (1, "4", ""), ran.log


def test_another_commit_than_the_actions_is_fetched(consumer: Consumer, meet: Meet, tmp_path: Path) -> None:
    newer = tmp_path / "newer"
    shutil.copytree(consumer.harness, newer, ignore=shutil.ignore_patterns(".git"))
    (newer / "NEWS").write_text("newer\n")
    consumer.uses, consumer.action = commit(newer), newer
    ran = consumer.run(meet())
    assert ran.code == 0, ran.log
    assert "fetched and checked by content" in ran.log


def test_legs_of_a_matrix_keep_a_comment_each(consumer: Consumer, meet: Meet) -> None:
    github = meet()
    ran = consumer.run(github, strategy="    strategy:\n      matrix:\n        leg: [a, b]\n")
    assert ran.code == 0, ran.log
    assert len(ours(github)) == 2
    assert len({body.partition("\n")[0] for body in ours(github)}) == 2
    assert len({upload.log["runs"][0]["automationDetails"]["id"] for upload in github.world.uploads.values()}) == 2


def test_the_audit_has_neither_token_nor_network(consumer: Consumer, meet: Meet, tmp_path: Path) -> None:
    """With a harness that tells what it sees: the job's own token, put into its variables, is not among it."""
    stub = tmp_path / "stub"
    wheel, digest = make_wheel(tmp_path / "wheels")
    write_harness(stub, digest)
    consumer.wheels = wheel.parent
    github = meet()
    with socket.create_server(("127.0.0.1", 0)) as sentinel:
        sentinel.settimeout(0.3)
        consumer.pin(repo=f"file://{stub}", ref=commit(stub))
        consumer.target = f"code = 0\nport = {sentinel.getsockname()[1]}\n"
        ran = consumer.run(github)
        assert ran.code == 0, ran.log
        with pytest.raises(TimeoutError):
            sentinel.accept()
    assert "canary-of-the-job" in ran.environment
    assert ran.seen is not None
    assert ran.seen["connect"] == "PermissionError"
    told = json.dumps(ran.seen)
    assert "canary-of-the-job" not in told
    assert github.token not in told
    assert "GITHUB_" not in json.dumps(ran.seen["environ"])
