from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest

from plumbline.audit.config import load_target
from plumbline.audit.run import run_audit
from plumbline.errors import ConfigurationError
from plumbline.github import ending as module
from plumbline.github.ending import publish_ending
from plumbline.launch.gate import Ending
from plumbline.report.build import build
from plumbline.report.document import to_json
from tests.bundles import files, item, refuse, target, write
from tests.fake_github.server import FakeGithub
from tests.fake_github.world import ACTIONS_BOT

HEAD = "a" * 40
RUNNER = {
    "GITHUB_EVENT_NAME": "push",
    "GITHUB_REPOSITORY": "acme/widgets",
    "GITHUB_SHA": HEAD,
    "GITHUB_REF": "refs/heads/main",
    "GITHUB_RUN_ID": "7",
    "GITHUB_RUN_ATTEMPT": "1",
    "GITHUB_SERVER_URL": "https://github.example",
    "GITHUB_API_URL": "https://github.example/api/v3",
    "GITHUB_GRAPHQL_URL": "https://github.example/api/graphql",
    "GITHUB_STEP_SUMMARY": "/nowhere",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    items = [item("a", load_bearing=True), refuse("r")]
    write(folder / "bundle", files(items, {"a": "It costs 900 dollars.", "r": "I can't help with that."}))
    path = folder / "report.json"
    path.write_bytes(to_json(build(run_audit(load_target(target(folder)), seed=7))))
    return path


@pytest.fixture
def published(monkeypatch):
    """What would be published."""
    seen = {}

    def capture(publication, environment, out):
        seen.update(publication=publication, environment=environment, out=out)

    monkeypatch.setattr(module, "publish", capture)
    return seen


def run(tmp_path, ending, environment=RUNNER, **options):
    ending.write(tmp_path / "ending.json")
    chosen = {
        "annotations": "true",
        "summary": "true",
        "comment": "auto",
        "upload_sarif": "auto",
        "target": "plumbline/target.toml",
        "key": "ci-gate",
        **options,
    }
    words = [word for name, value in chosen.items() for word in (f"--{name.replace('_', '-')}", value)]
    return publish_ending(["--ending", str(tmp_path / "ending.json"), *words], environment, io.StringIO())


def failed(report, **more):
    return Ending(
        exit_code=1,
        verdict="FAIL",
        report_json=str(report),
        sarif=str(report.with_name("f.sarif")),
        bundle="evidence/demo",
        isolation="kernel",
        **more,
    )


REFUSED = Ending(exit_code=3, label="INTEGRITY REFUSAL", message="the bundle\n  content mismatch: x", remedy="seal it")


def test_a_verdict_is_shown_with_links_to_its_lines(tmp_path, report, published):
    assert run(tmp_path, failed(report)) == 0
    publication = published["publication"]
    (annotation,) = publication.findings()
    assert (annotation.level, annotation.file, annotation.line) == ("error", "evidence/demo/responses.jsonl", 1)
    assert "900" in annotation.message
    link = f"https://github.example/acme/widgets/blob/{HEAD}/evidence/demo/responses.jsonl#L1"
    assert link in publication.comment()
    assert all(link in text for text in publication.summary())
    assert publication.sarif is not None
    assert published["environment"]["GITHUB_STEP_SUMMARY"] == "/nowhere"


def test_a_refusal_is_shown_by_the_same_means(tmp_path, published):
    run(tmp_path, REFUSED)
    publication = published["publication"]
    (annotation,) = publication.findings()
    assert (annotation.level, annotation.file) == ("error", None)
    assert "No verdict" in publication.comment()
    assert [text.count("No verdict") for text in publication.summary()] == [1]
    assert publication.sarif is None


def test_a_refusal_that_says_nothing_still_says_so(tmp_path, published):
    run(tmp_path, Ending(exit_code=5))
    (annotation,) = published["publication"].findings()
    assert "log" in annotation.message


def test_a_refused_comparison_shows_both(tmp_path, report, published):
    ending = replace(failed(report), exit_code=4, label="COMPARISON REFUSED", message="the dataset hash moved")
    run(tmp_path, ending)
    publication = published["publication"]
    first, *rest = publication.findings()
    assert ("COMPARISON REFUSED" in str(first), len(rest)) == (True, 1)
    assert "the dataset hash moved" in publication.comment()
    assert "900" in publication.comment()


def test_each_part_can_be_switched_off(tmp_path, report, published):
    run(tmp_path, failed(report), annotations="false", summary="false", comment="false", upload_sarif="false")
    publication = published["publication"]
    assert (publication.findings(), publication.comment, publication.sarif) == ([], None, None)
    assert "GITHUB_STEP_SUMMARY" not in published["environment"]


def test_without_an_event_there_are_no_links_and_no_failure(tmp_path, report, published):
    assert run(tmp_path, failed(report), environment={}) == 0
    assert "http" not in published["publication"].comment()


def test_a_finding_without_a_place_is_annotated_without_one(tmp_path, report, published, monkeypatch):
    run(tmp_path, failed(report))
    monkeypatch.setattr("plumbline.report.findings.Finding.place", None)
    (annotation,) = published["publication"].findings()
    assert (annotation.file, annotation.line) == (None, None)


def test_what_the_audit_did_not_leave_is_an_error(tmp_path, report, published):
    (tmp_path / "ending.json").write_text("{}")
    words = ["--target", "t", "--key", "k", "--annotations", "true", "--summary", "true", "--comment", "auto"]
    words += ["--upload-sarif", "auto", "--ending", str(tmp_path / "ending.json")]
    with pytest.raises(ConfigurationError, match="not an ending"):
        publish_ending(words, RUNNER, io.StringIO())
    with pytest.raises(ConfigurationError, match="cannot be read"):
        run(tmp_path, replace(failed(report), report_json=str(tmp_path / "missing.json")))
    assert published == {}


def test_a_refusal_takes_the_place_of_the_comment_on_a_verdict(tmp_path, report):
    payload = tmp_path / "event.json"
    payload.write_text(json.dumps({"number": 7, "pull_request": {"number": 7, "head": {"sha": HEAD}}}))
    with FakeGithub() as github:
        given = {
            **RUNNER,
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_EVENT_PATH": str(payload),
            "GITHUB_API_URL": github.api_url,
            "GITHUB_GRAPHQL_URL": github.graphql_url,
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"),
            "GITHUB_TOKEN": github.token,
        }
        run(tmp_path, failed(report), given, upload_sarif="false")
        run(tmp_path, REFUSED, {**given, "GITHUB_RUN_ID": "8"}, upload_sarif="false")
        bodies = [comment.body for comment in github.world.by(ACTIONS_BOT)]
    assert len(bodies) == 1
    assert "INTEGRITY REFUSAL" in bodies[0]
    assert github.violations == []
