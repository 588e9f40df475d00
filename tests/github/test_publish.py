import io

import pytest

from plumbline.github.annotations import Annotation
from plumbline.github.publish import Publication, publish
from plumbline.github.rest import Patience
from tests.fake_github import ACTIONS_BOT

from .test_outputs import as_the_runner_reads


def fails():
    raise RuntimeError("rendering")


@pytest.fixture
def run(environment, tmp_path, clock):
    """Publishes, and gives how it ended, the log, the summary and the outputs."""

    def publishing(github=None, changes=None, **parts):
        sarif = tmp_path / "plumbline.sarif"
        sarif.write_text('{"version": "2.1.0", "runs": []}', "utf-8")
        given = {
            "target": "demo",
            "key": "gate",
            "findings": lambda: [Annotation("error", "accuracy: q1", "wrong number", "r.jsonl", 3)],
            "summary": lambda: ["# Summary"],
            "comment": lambda: "# Comment",
            "sarif": sarif,
            "outputs": {"verdict": "FAIL", "exit-code": "1"},
            "author": ACTIONS_BOT.login,
            **parts,
        }
        variables = environment(github) | (changes or {})
        log = io.StringIO()
        ends = publish(
            Publication(**given),
            variables,
            log,
            patience=lambda: Patience(clock=clock.now, sleep=clock.sleep),
        )
        summary, output = tmp_path / "summary.md", tmp_path / "output.txt"
        return (
            {name: end.status for name, end in ends.items()},
            log.getvalue().splitlines(),
            summary.read_text("utf-8") if summary.is_file() else "",
            as_the_runner_reads(output.read_text("utf-8")) if output.is_file() else {},
        )

    return publishing


def test_everything_is_published(fake, run):
    github = fake()
    ends, log, summary, outputs = run(github)
    assert ends == {
        "annotations": "written",
        "summary": "written",
        "sarif": "uploaded",
        "comment": "created",
        "outputs": "written",
    }
    assert "::error file=r.jsonl,line=3,title=accuracy%3A q1::wrong number" in log
    assert not any(line.startswith("::warning") for line in log)
    assert summary == "# Summary\n"
    assert outputs == {
        "verdict": "FAIL",
        "exit-code": "1",
        "annotations-status": "written",
        "summary-status": "written",
        "sarif-status": "uploaded",
        "comment-status": "created",
        "comment-url": f"https://github.example/acme/widgets/pull/7#issuecomment-{github.world.comments[0].id}",
    }
    assert github.world.comments[0].body.endswith("# Comment")


def test_a_read_only_token_is_told_everywhere_and_changes_nothing_else(fake, run):
    ends, log, summary, outputs = run(fake("readonly"))
    assert (ends["comment"], ends["sarif"]) == ("denied", "denied")
    assert (ends["annotations"], ends["outputs"]) == ("written", "written")
    assert outputs["comment-status"] == "denied"
    assert (outputs["verdict"], outputs["comment-url"]) == ("FAIL", "")
    assert "not accessible by integration" in summary
    assert "security-events" in summary
    [warning] = [line for line in log if line.startswith("::warning")]
    assert "comment%3A" not in warning
    assert "comment: denied" in warning
    assert "sarif: denied" in warning


@pytest.mark.parametrize("part", ["findings", "summary", "comment"])
def test_a_rendering_that_fails_takes_no_other_part_with_it(fake, run, part):
    ends, log, _, outputs = run(fake(), **{part: fails})
    name = {"findings": "annotations"}.get(part, part)
    assert ends.pop(name) == "failed"
    assert "failed" not in ends.values()
    assert outputs[f"{name}-status"] == "failed"
    assert any("RuntimeError" in line for line in log)


def test_a_summary_that_fails_half_way_is_a_status(fake, run):
    def texts():
        yield "x" * 2_000_000
        fails()

    assert run(fake(), summary=texts)[0]["summary"] == "failed"


def test_without_a_token_nothing_is_sent(fake, run):
    github = fake()
    ends, *_ = run(github, {"GITHUB_TOKEN": " "})
    assert (ends["sarif"], ends["comment"]) == ("skipped", "skipped")
    assert github.journal == []


def test_what_is_not_wanted_is_skipped(fake, run):
    github = fake()
    ends, *_ = run(github, comment=None, sarif=None)
    assert (ends["sarif"], ends["comment"]) == ("skipped", "skipped")
    assert github.journal == []


def test_a_merge_queue_gets_neither_upload_nor_comment(fake, run):
    github = fake()
    ends, log, _, outputs = run(
        github, {"GITHUB_EVENT_NAME": "merge_group", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-x"}
    )
    assert (ends["sarif"], ends["comment"]) == ("skipped", "skipped")
    assert github.journal == []
    assert outputs["verdict"] == "FAIL"
    assert not any(line.startswith("::warning") for line in log)


def test_a_missing_sarif_file_is_a_status(fake, run, tmp_path):
    ends, *_ = run(fake(), sarif=tmp_path / "none.sarif")
    assert (ends["sarif"], ends["comment"]) == ("failed", "created")


def test_a_runner_that_says_nothing_gets_the_annotations(run):
    ends, log, summary, outputs = run(None, {"GITHUB_OUTPUT": "", "GITHUB_STEP_SUMMARY": ""})
    assert ends == {
        "annotations": "written",
        "summary": "skipped",
        "sarif": "skipped",
        "comment": "skipped",
        "outputs": "skipped",
    }
    assert any(line.startswith("::error ") for line in log)
    assert (summary, outputs) == ("", {})


def test_a_refused_environment_is_a_status_with_its_reason(fake, run):
    ends, log, *_ = run(fake(), {"GITHUB_REPOSITORY": "nonsense"})
    assert (ends["sarif"], ends["comment"]) == ("failed", "failed")
    assert any("GITHUB_REPOSITORY" in line for line in log if line.startswith("::warning"))


def test_an_output_file_that_cannot_be_written_is_a_status(fake, run, tmp_path):
    ends, log, *_ = run(fake(), {"GITHUB_OUTPUT": str(tmp_path)})
    assert ends["outputs"] == "failed"
    assert any("outputs: failed" in line for line in log)


def test_warnings_leave_room_for_publishings_own(fake, run):
    many = [Annotation("warning", "t", "m")] * 50
    _, log, *_ = run(fake("readonly"), findings=lambda: many)
    warnings = [line for line in log if line.startswith("::warning")]
    assert len(warnings) <= 10
    assert "could not publish" in warnings[-1]


def test_the_note_fits_into_a_full_summary(fake, run):
    _, _, summary, _ = run(fake("readonly"), summary=lambda: ["x" * 999_900, "y" * 995_000])
    assert "Not published" in summary
    assert len(summary.encode()) < 1_000_000


def test_the_services_words_are_not_obeyed(fake, run):
    github = fake("readonly")
    for fault in github.faults:
        fault.message = "no\n::set-output name=verdict::PASS\n</details> `@everyone`"
    _, log, summary, outputs = run(github)
    assert [line for line in log if line.lstrip().startswith("::set-output")] == []
    assert outputs["verdict"] == "FAIL"
    assert "\n::" not in summary
    assert summary.count("\n- ") == 2


def test_the_token_is_nowhere(fake, run):
    github = fake("readonly")
    _, log, summary, outputs = run(github)
    assert github.token not in "\n".join([*log, summary, *outputs.values()])


def test_a_log_that_cannot_be_written_does_not_stop_the_rest(fake, environment, tmp_path):
    github = fake()
    closed = io.StringIO()
    closed.close()
    ends = publish(
        Publication("t", "k", list, lambda: ["s"], lambda: "c", author=ACTIONS_BOT.login),
        environment(github),
        closed,
    )
    assert (ends["annotations"].status, ends["comment"].status, ends["outputs"].status) == (
        "failed",
        "created",
        "written",
    )
    assert (tmp_path / "output.txt").is_file()
