"""Is an ending, with or without a verdict, shown where it belongs?"""

import io
import json
from dataclasses import asdict
from pathlib import Path

import pytest

from plumbline.audit.config import load_target
from plumbline.audit.run import run_audit
from plumbline.errors import ConfigurationError
from plumbline.github.ending import publish_ending
from plumbline.launch.gate import Ending
from plumbline.report.build import build
from plumbline.report.document import to_json
from tests.bundles import files, item, target, write
from tests.fake_github.server import FakeGithub
from tests.fake_github.world import ACTIONS_BOT

HEAD = "a" * 40
SWITCHES = {"--annotations": "true", "--summary": "true", "--comment": "auto", "--upload-sarif": "auto"}


def environment(folder: Path, **more: str) -> dict[str, str]:
    event = folder / "event.json"
    event.write_text(json.dumps({"number": 7, "pull_request": {"number": 7, "head": {"sha": HEAD}}}))
    return {
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_REPOSITORY": "acme/widgets",
        "GITHUB_SHA": "b" * 40,
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_RUN_ID": "1",
        "GITHUB_RUN_ATTEMPT": "1",
        "GITHUB_OUTPUT": str(folder / "output"),
        "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
        **more,
    }


def failed(folder: Path, **changes: object) -> Ending:
    items = [item("fare"), item("limit", expected="40 days.", load_bearing=True)]
    write(folder / "bundle", files(items, {"fare": "It costs 850 dollars.", "limit": "45 days."}))
    report = build(run_audit(load_target(target(folder, suites="[suites.accuracy]\n")), seed=1729))
    (folder / "report.json").write_bytes(to_json(report))
    values = {"exit_code": 1, "verdict": "FAIL", "report_json": str(folder / "report.json"), "bundle": "evidence/x"}
    return Ending(**{**values, "isolation": "kernel", **changes})  # type: ignore[arg-type]


def show(folder: Path, ending: Ending, *, given: dict[str, str] | None = None, **switches: str) -> str:
    (folder / "ending.json").write_text(json.dumps(asdict(ending)))
    out = io.StringIO()
    words = {"--ending": str(folder / "ending.json"), "--target": "plumbline/target.toml", "--key": "ci/gate"}
    words |= SWITCHES | {f"--{name.replace('_', '-')}": value for name, value in switches.items()}
    arguments = [word for pair in words.items() for word in pair]
    assert publish_ending(arguments, environment(folder) if given is None else given, out) == 0
    return out.getvalue()


def test_findings_stand_on_their_lines(tmp_path: Path) -> None:
    log = show(tmp_path, failed(tmp_path))
    assert "::error file=evidence/x/responses.jsonl,line=2,title=accuracy::limit" in log
    summary = (tmp_path / "summary.md").read_text()
    assert f"https://github.com/acme/widgets/blob/{HEAD}/evidence/x/responses.jsonl#L2" in summary
    assert "isolation kernel" in summary


def test_a_bundle_at_the_root_and_one_that_nobody_named(tmp_path: Path) -> None:
    for bundle in (".", None):
        assert "::error file=responses.jsonl,line=2" in show(tmp_path, failed(tmp_path, bundle=bundle))


def test_a_refusal_is_shown_by_the_same_means(tmp_path: Path) -> None:
    ending = Ending(exit_code=3, label="INTEGRITY REFUSAL", message="not what was sealed", remedy="seal it")
    log = show(tmp_path, ending)
    assert "::error title=INTEGRITY REFUSAL::not what was sealed" in log
    assert "seal it" in (tmp_path / "summary.md").read_text()


def test_a_refused_comparison_shows_the_refusal_and_the_report(tmp_path: Path) -> None:
    ending = failed(tmp_path, exit_code=4, label="COMPARISON REFUSED", message="another judge")
    log = show(tmp_path, ending)
    summary = (tmp_path / "summary.md").read_text()
    assert "::error title=COMPARISON REFUSED::another judge" in log
    assert summary.index("another judge") < summary.index("`accuracy`")


def test_one_comment_for_both_kinds_of_ending(tmp_path: Path) -> None:
    with FakeGithub() as github:
        given = environment(
            tmp_path, GITHUB_API_URL=github.api_url, GITHUB_GRAPHQL_URL=github.graphql_url, GITHUB_TOKEN=github.token
        )
        show(tmp_path, failed(tmp_path), given=given)
        show(tmp_path, Ending(exit_code=3, label="INTEGRITY REFUSAL"), given={**given, "GITHUB_RUN_ID": "2"})
        bodies = [comment.body for comment in github.world.by(ACTIONS_BOT)]
    assert len(bodies) == 1
    assert "INTEGRITY REFUSAL" in bodies[0]
    assert github.violations == []


def test_what_is_switched_off_is_not_done(tmp_path: Path) -> None:
    log = show(tmp_path, failed(tmp_path), annotations="false", summary="false", comment="false", upload_sarif="false")
    assert "::error" not in log
    assert not (tmp_path / "summary.md").exists()
    assert "comment: skipped: not wanted" in log
    assert "sarif: skipped: not wanted" in log


def test_outside_a_workflow_there_is_nothing_to_link_to(tmp_path: Path) -> None:
    given = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}
    show(tmp_path, failed(tmp_path), given=given)
    assert "github.com" not in (tmp_path / "summary.md").read_text()


def test_an_ending_or_a_report_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"report\.json"):
        show(tmp_path, failed(tmp_path, report_json=str(tmp_path / "gone" / "report.json")))
    (tmp_path / "ending.json").write_text("{}")
    words = {"--ending": str(tmp_path / "ending.json"), "--target": "t", "--key": "k", **SWITCHES}
    with pytest.raises(ConfigurationError, match="not an ending"):
        publish_ending([word for pair in words.items() for word in pair], {}, io.StringIO())


def test_a_payload_nested_without_end_is_none(tmp_path: Path) -> None:
    given = environment(tmp_path)
    (tmp_path / "event.json").write_text("[" * 200_000)
    show(tmp_path, failed(tmp_path), given=given)
    assert "FAIL" in (tmp_path / "summary.md").read_text()
