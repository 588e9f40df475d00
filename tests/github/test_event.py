import json

import pytest

from plumbline.errors import ConfigurationError
from plumbline.github.event import EventKind, default_comment_key, read_event, refuse_privileged_audit

A, B, C = "a" * 40, "b" * 40, "c" * 40
QUEUE = "refs/heads/gh-readonly-queue/main/pr-7-x"


def test_pull_request(event):
    found = event()
    assert (found.kind, found.repository, found.pull_number) == (EventKind.PULL_REQUEST, "acme/widgets", 7)
    assert (found.head_sha, found.base_sha, found.sha) == (A, B, C)
    assert (found.run_id, found.run_attempt, found.merge_queue) == (50, 1, False)
    assert found.run_url == "https://github.com/acme/widgets/actions/runs/50/attempts/1"


@pytest.mark.parametrize("name", ["pull_request_review", "pull_request_review_comment"])
def test_a_review_is_about_its_pull_request(event, name):
    found = event(GITHUB_EVENT_NAME=name)
    assert (found.kind, found.pull_number, found.name) == (EventKind.PULL_REQUEST, 7, name)


@pytest.mark.parametrize(
    "payload",
    [
        {},
        [],
        {"pull_request": None},
        {"pull_request": {"number": "7", "head": {"sha": "abc"}}},
        {"pull_request": {"number": True, "head": []}},
        {"pull_request": {"number": -7, "head": {"sha": A + "\n"}}},
        {"number": 7, "pull_request": {"head": {"sha": None}}},
    ],
)
def test_a_pull_request_whose_payload_says_little_is_known_by_its_ref(event, payload):
    found = event(payload=payload)
    assert (found.pull_number, found.head_sha) == (7, None)


def test_number_of_the_payload_comes_before_the_ref(event):
    found = event(payload={"pull_request": {"number": 8}}, GITHUB_REF="refs/pull/9/merge")
    assert found.pull_number == 8


@pytest.mark.parametrize(
    "ref", ["", "refs/heads/main", "refs/pull/0/merge", "refs/pull/7/merge/x", "refs/pull/x/merge"]
)
def test_a_ref_that_is_no_pull_requests_gives_no_number(event, ref):
    assert event(payload={}, GITHUB_REF=ref).pull_number is None


def test_push(event):
    found = event(payload={"before": B}, GITHUB_EVENT_NAME="push", GITHUB_REF="refs/heads/main")
    assert (found.kind, found.pull_number, found.head_sha, found.base_sha) == (EventKind.PUSH, None, C, B)


@pytest.mark.parametrize("name", ["merge_group", "push"])
def test_both_events_of_a_merge_queue_are_known(event, name):
    found = event(payload={}, GITHUB_EVENT_NAME=name, GITHUB_REF=QUEUE)
    assert found.merge_queue
    assert (found.pull_number, found.head_sha) == (None, C)


def test_merge_group_names_its_commits(event):
    payload = {"merge_group": {"head_sha": A, "base_sha": B}}
    found = event(payload=payload, GITHUB_EVENT_NAME="merge_group", GITHUB_REF="refs/heads/main")
    assert (found.merge_queue, found.head_sha, found.base_sha) == (True, A, B)


def test_workflow_run_is_about_the_head_of_the_other_run(event):
    payload = {"workflow_run": {"head_sha": A, "pull_requests": [{"number": 1}]}, "number": 3}
    found = event(payload=payload, GITHUB_EVENT_NAME="workflow_run", GITHUB_REF="refs/heads/main")
    assert (found.kind, found.head_sha, found.pull_number) == (EventKind.WORKFLOW_RUN, A, None)


def test_any_other_event_is_about_the_commit(event):
    found = event(payload={}, GITHUB_EVENT_NAME="schedule", GITHUB_REF="refs/heads/main")
    assert (found.kind, found.name, found.head_sha, found.base_sha) == (EventKind.OTHER, "schedule", C, None)


def test_pull_request_target_is_refused(event):
    found = event(GITHUB_EVENT_NAME="pull_request_target")
    with pytest.raises(ConfigurationError) as refused:
        refuse_privileged_audit(found)
    assert refused.value.exit_code == 4
    assert "docs.github.com" in refused.value.remedy
    refuse_privileged_audit(event())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_EVENT_NAME", ""),
        ("GITHUB_REPOSITORY", ""),
        ("GITHUB_REPOSITORY", "widgets"),
        ("GITHUB_REPOSITORY", "acme/widgets/../x"),
        ("GITHUB_REPOSITORY", "acme/wid gets"),
        ("GITHUB_SHA", ""),
        ("GITHUB_SHA", "abc123"),
        ("GITHUB_RUN_ID", "x"),
        ("GITHUB_RUN_ID", "-1"),
        ("GITHUB_RUN_ATTEMPT", "0"),
        ("GITHUB_RUN_ATTEMPT", "1" * 30),
    ],
)
def test_variables_that_no_runner_sets_are_refused_by_name(environment, name, value):
    with pytest.raises(ConfigurationError, match=name):
        read_event(environment() | {name: value})


def test_the_payload_file_may_be_missing_or_broken(environment, tmp_path):
    broken = tmp_path / "broken.json"
    broken.write_bytes(b"{")
    for path in ("", str(tmp_path / "none.json"), str(broken), str(tmp_path)):
        assert read_event(environment() | {"GITHUB_EVENT_PATH": path}).pull_number == 7


def test_services_are_found_where_the_runner_says(environment):
    plain = environment()
    assert read_event(plain).graphql_url == "https://api.github.com/graphql"
    own = read_event(
        plain | {"GITHUB_API_URL": "https://ghes.example/api/v3/", "GITHUB_SERVER_URL": "https://ghes.example/"}
    )
    assert own.api_url == "https://ghes.example/api/v3"
    assert own.graphql_url == "https://ghes.example/api/graphql"
    assert own.run_url.startswith("https://ghes.example/acme/")
    named = read_event(plain | {"GITHUB_GRAPHQL_URL": "https://ghes.example/graphql"})
    assert named.graphql_url == "https://ghes.example/graphql"


def test_a_run_without_number_is_the_first(environment):
    found = read_event({name: value for name, value in environment().items() if "RUN" not in name})
    assert (found.run_id, found.run_attempt) == (1, 1)


def test_keys_tell_jobs_and_legs_apart():
    legs = [
        ("ci", "gate", ""),
        ("ci", "gate", '{"os": "a", "python": 3}'),
        ("ci", "gate", '{"os": "b", "python": 3}'),
        ("ci", "other", ""),
        ("ci2", "gate", ""),
        ("ci", 'gate","x', ""),
        ("ci", "gate", "not json"),
    ]
    keys = [default_comment_key(*leg) for leg in legs]
    assert len(set(keys)) == len(keys)
    assert all(json.loads(key) for key in keys)
    plain = default_comment_key("ci", "gate")
    assert default_comment_key("ci", "gate", "[" * 200_000) != plain
    assert [default_comment_key("ci", "gate", none) for none in ("null", "{}", "")] == [plain] * 3
    assert keys[1] == default_comment_key("ci", "gate", '{"python":3,"os":"a"}')
