import json
import random

import pytest

from plumbline.github.code_scanning import upload_sarif
from tests.fake_github import Fault
from tests.fake_github.personas import SARIFS

RESULT = {
    "ruleId": "accuracy",
    "message": {"text": "wrong"},
    "locations": [{"physicalLocation": {"artifactLocation": {"uri": "responses.jsonl"}}}],
}


def log(*results):
    return {
        "version": "2.1.0",
        "runs": [{"tool": {"driver": {"name": "Plumbline"}}, "results": list(results)}],
    }


@pytest.fixture
def upload(client, event):
    def run(github, content=None, **changes):
        sarif = content if isinstance(content, bytes) else json.dumps(content or log(RESULT)).encode()
        return upload_sarif(client(github), event(github, **changes), sarif)

    return run


def test_the_log_arrives_for_the_merge_commit_and_its_ref(fake, upload, clock):
    github = fake()
    result = upload(github)
    [received] = github.world.uploads.values()
    assert (result.status, result.reason) == ("uploaded", f"received as {received.id}")
    assert received.log == log(RESULT)
    assert (received.commit_sha, received.ref) == ("c" * 40, "refs/pull/7/merge")
    assert clock.slept == [2.0, 4.0]
    assert github.calls()[0] == "POST /repos/acme/widgets/code-scanning/sarifs"


def test_the_same_log_is_the_same_request(fake, upload):
    bodies = []
    for _ in range(2):
        github = fake()
        upload(github)
        bodies.append(github.journal[0]["body"])
    assert bodies[0] == bodies[1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"GITHUB_EVENT_NAME": "merge_group"}, "merge queue"),
        (
            {"GITHUB_EVENT_NAME": "push", "GITHUB_REF": "refs/heads/gh-readonly-queue/main/pr-7-x"},
            "merge queue",
        ),
        ({"GITHUB_EVENT_NAME": "workflow_run", "GITHUB_REF": "refs/heads/main"}, "workflow_run"),
        (
            {"GITHUB_EVENT_NAME": "pull_request_target", "GITHUB_REF": "refs/heads/main"},
            "pull_request_target",
        ),
        ({"GITHUB_REF": ""}, "empty ref"),
        ({"GITHUB_REF": "refs/notes/x"}, "refs/notes/x"),
    ],
)
def test_what_github_would_refuse_or_misplace_is_not_sent(fake, upload, changes, said):
    github = fake()
    result = upload(github, **changes)
    assert result.status == "skipped"
    assert said in result.reason
    assert github.journal == []


@pytest.mark.parametrize("ref", ["refs/heads/main", "refs/tags/v1"])
def test_branches_and_tags_are_uploaded_for(fake, upload, ref):
    github = fake()
    assert upload(github, payload={}, GITHUB_EVENT_NAME="push", GITHUB_REF=ref).status == "uploaded"
    assert next(iter(github.world.uploads.values())).ref == ref


@pytest.mark.parametrize(
    ("persona", "status", "said"),
    [
        ("readonly", "denied", ["security-events: write", "actions: read"]),
        ("no-code-scanning", "denied", ["Settings", "Code Security"]),
        ("no-code-scanning-404", "denied", ["Settings", "security-events: write"]),
        ("too-large", "failed", ["413", "too large"]),
        ("unavailable", "failed", ["503"]),
    ],
)
def test_a_refusal_names_what_is_missing(fake, upload, persona, status, said):
    result = upload(fake(persona))
    assert result.status == status
    assert [word for word in said if word not in result.reason] == []


def test_a_rate_limit_is_no_missing_right(fake, upload, clock):
    github = fake()
    github.faults.append(Fault(("POST",), SARIFS, 403, "secondary rate limit", {"Retry-After": "300"}, times=None))
    result = upload(github)
    assert result.status == "failed"
    assert "security-events" not in result.reason
    assert clock.slept == []


@pytest.mark.parametrize("persona", ["secondary-limit-retry-after", "too-many-requests"])
def test_a_short_rate_limit_is_waited_for(fake, upload, persona):
    assert upload(fake(persona)).status in {"uploaded", "pending"}


def test_an_outage_that_passes_is_waited_for(fake, upload):
    github = fake()
    github.faults.append(Fault(("POST",), SARIFS, 503, "Service unavailable"))
    assert upload(github).status == "uploaded"
    assert len(github.world.uploads) == 1


def test_too_large_a_log_is_not_sent(fake, upload):
    github = fake()
    # Random bytes do not compress.
    content = random.Random(1).randbytes(10_000_001)
    result = upload(github, content)
    assert result.status == "failed"
    assert "10000001 plain" in result.reason
    assert github.journal == []


def test_a_log_that_only_its_plain_form_makes_large_is_sent(fake, upload):
    github = fake()
    content = json.dumps(log(RESULT)).encode() + b" " * 11_000_000
    assert upload(github, content).status == "uploaded"


def test_a_log_that_github_cannot_process_fails_with_its_words(fake, upload):
    result = upload(fake(), log({**RESULT, "locations": []}))
    assert result.status == "failed"
    assert "expected at least one location" in result.reason


def test_no_json_is_refused_by_the_service(fake, upload):
    result = upload(fake(), b"not json")
    assert result.status == "failed"
    assert "400" in result.reason


def test_processing_that_takes_long_is_left_alone(fake, upload, clock):
    github = fake()
    github.world.pending_polls = 100
    assert upload(github).status == "pending"
    assert clock.slept == [2.0, 4.0, 8.0, 16.0, 32.0]


def test_processing_is_not_watched_beyond_the_budget(fake, client, event, clock):
    from plumbline.github.rest import Patience

    github = fake()
    github.world.pending_polls = 100
    short = Patience(20, clock=clock.now, sleep=clock.sleep)
    result = upload_sarif(client(github, patience=short), event(github), json.dumps(log()).encode())
    assert result.status == "pending"
    assert clock.slept == [2.0, 4.0, 8.0]


def test_processing_that_cannot_be_seen_is_pending(fake, upload):
    github = fake()
    github.faults.append(Fault(("GET",), f"{SARIFS}/.*", 403, "no", times=None))
    result = upload(github)
    assert result.status == "pending"
    assert "403 no" in result.reason


def test_failure_without_a_reason_is_told(fake, upload, monkeypatch):
    github = fake()
    monkeypatch.setattr(github.world, "poll", lambda _: ("failed", None))
    assert "no reason given" in upload(github).reason


def test_what_nobody_foresaw_is_a_status(fake, upload, monkeypatch):
    github = fake()
    monkeypatch.setattr("plumbline.github.code_scanning._processed", lambda *_: 1 / 0)
    assert upload(github).reason == "unexpected ZeroDivisionError"
