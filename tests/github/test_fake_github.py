"""Can the fake GitHub tell right from wrong, requests and its own answers alike?"""

import gzip
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from base64 import b64encode
from http.client import RemoteDisconnected

import pytest

from tests.fake_github import PERSONAS, FakeGithub, Fault, OpenApi, installed
from tests.fake_github.openapi import ROOT
from tests.fake_github.world import World

COMMENTS = "/repos/acme/widgets/issues/7/comments"
SARIFS = "/repos/acme/widgets/code-scanning/sarifs"


def send(github, method, path, body=None, **headers):
    data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
    standard = {"Authorization": f"token {github.token}", "Accept": "*/*", "Content-Type": "application/json"}
    request = urllib.request.Request(github.api_url + path, data, {**standard, **headers}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=5) as answer:
            return answer.status, answer.read(), answer.headers
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read(), error.headers


@pytest.fixture
def github():
    with FakeGithub() as running:
        yield running


def test_documented_requests_and_answers_pass(github):
    github.world.files["a/b.json"] = b"{}"
    packed = b64encode(gzip.compress(b'{"runs": []}')).decode()
    _, created, headers = send(github, "POST", COMMENTS, {"body": "x"})
    comment = json.loads(created)["id"]
    assert headers["Location"].endswith(str(comment))
    _, received, _ = send(github, "POST", SARIFS, {"commit_sha": "a" * 40, "ref": "refs/heads/main", "sarif": packed})
    statuses = [
        send(github, *call)[0]
        for call in (
            ("GET", COMMENTS),
            ("GET", f"/repos/acme/widgets/issues/comments/{comment}"),
            ("PATCH", f"/repos/acme/widgets/issues/comments/{comment}", {"body": "y"}),
            ("DELETE", f"/repos/acme/widgets/issues/comments/{comment}"),
            ("GET", "/repos/acme/widgets/pulls/7"),
            ("GET", f"/repos/acme/widgets/commits/{'a' * 40}/pulls"),
            ("GET", f"{SARIFS}/{json.loads(received)['id']}"),
            ("GET", f"{SARIFS}/{json.loads(received)['id']}"),
            ("GET", "/rate_limit"),
            ("GET", "/user"),
            ("GET", "/repos/acme/widgets/pulls/99"),
            ("GET", "/repos/other/widgets/pulls/7"),
        )
    ]
    assert statuses == [200, 200, 200, 204, 200, 200, 200, 200, 200, 403, 404, 404]
    raw = send(
        github,
        "GET",
        "/repos/acme/widgets/contents/a/b.json?ref=main",
        Accept="application/vnd.github.raw+json",
    )
    assert raw[:2] == (200, b"{}")
    assert github.violations == []


@pytest.mark.parametrize(
    ("method", "path", "body", "said"),
    [
        ("POST", COMMENTS, {}, "'body' is a required property"),
        ("POST", COMMENTS, {"body": 5}, "5 is not of type 'string'"),
        ("POST", COMMENTS, {"body": "x", "bodi": "y"}, "$.bodi is not documented"),
        ("POST", COMMENTS, b"{", "not JSON"),
        ("POST", COMMENTS, None, "no body"),
        ("GET", COMMENTS, {"body": "x"}, "a body where none is documented"),
        ("GET", f"{COMMENTS}?per_page=500", None, "per_page is 500"),
        ("GET", f"{COMMENTS}?per_page=0", None, "per_page is 0"),
        ("GET", f"{COMMENTS}?page=x", None, "not an integer"),
        ("GET", f"{COMMENTS}?sort=up", None, "unknown query parameter sort"),
        ("GET", f"{COMMENTS}?since=yesterday", None, "is not a 'date-time'"),
        ("GET", "/repos/acme/widgets/issues/seven/comments", None, "not an integer"),
        ("GET", "/repos/acme/widgets/coments", None, "no such operation"),
        ("PUT", COMMENTS, {"body": "x"}, "no such operation"),
        ("POST", SARIFS, {"commit_sha": "abc", "ref": "refs/heads/x", "sarif": "eA=="}, "is too short"),
        ("POST", SARIFS, {"commit_sha": "a" * 40, "ref": "main", "sarif": "eA=="}, "does not match"),
        ("POST", SARIFS, {"commit_sha": "a" * 40, "ref": "refs/heads/x"}, "'sarif' is a required property"),
    ],
)
def test_a_wrong_request_is_seen(github, method, path, body, said):
    send(github, method, path, body)
    assert [fault for fault in github.violations if said in fault and "answer:" not in fault]


def test_a_request_without_the_usual_headers_is_seen(github):
    send(github, "GET", COMMENTS, Accept="", **{"User-Agent": ""})
    assert any("no User-Agent header" in fault for fault in github.violations)
    assert any("no Accept header" in fault for fault in github.violations)
    send(github, "POST", COMMENTS, {"body": "x"}, **{"Content-Type": "text/plain"})
    assert any("content type 'text/plain'" in fault for fault in github.violations)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda value: value.pop("node_id"), "'node_id' is a required property"),
        (lambda value: value.update(id="5"), "is not of type 'integer'"),
        (lambda value: value.update(user={}), "is a required property"),
        (lambda value: value.update(minimized={}), "'reason' is a required property"),
        (lambda value: value.update(author_association="FRIEND"), "is not one of"),
        (lambda value: value.update(created_at="yesterday"), "is not a 'date-time'"),
        (lambda value: value.update(url="no address"), "is not a 'uri'"),
        (lambda value: value.update(body=None), "None is not of type 'string'"),
        (lambda value: value.update(minimised=None), "$.minimised is not documented"),
    ],
)
def test_a_wrong_answer_is_seen(github, monkeypatch, change, said):
    right = github._comment

    def wrong(comment):
        value = right(comment)
        change(value)
        return value

    monkeypatch.setattr(github, "_comment", wrong)
    send(github, "POST", COMMENTS, {"body": "x"})
    assert [fault for fault in github.violations if "answer: " in fault and said in fault]


def test_an_answer_of_an_undocumented_status_is_seen_unless_injected(github):
    operation = github.openapi.operation("GET", COMMENTS)
    assert github.openapi.response_faults(operation, 418, "application/json", b"{}")
    assert not github.openapi.response_faults(operation, 418, "application/json", b"{}", injected=True)
    assert github.openapi.response_faults(operation, 200, "text/html", b"[]")
    assert github.openapi.response_faults(operation, 200, "application/json", b"[")
    assert github.openapi.response_faults(operation, 200, "application/json", b"{}")
    deletion = github.openapi.operation("DELETE", "/repos/acme/widgets/issues/comments/1")
    assert github.openapi.response_faults(deletion, 204, "application/json", b"{}")


def test_without_the_description_there_is_no_fake(tmp_path, monkeypatch):
    monkeypatch.setenv("PLUMBLINE_TEST_TOOLS", str(tmp_path))
    with pytest.raises(AssertionError, match="install_test_tools"):
        FakeGithub()


def test_null_is_allowed_exactly_where_it_is_documented():
    api = OpenApi.load(installed())
    valid = api.fill("issue-comment", {"user": None, "minimized": None})
    schema = {"$ref": "#/components/schemas/issue-comment"}
    assert api.value_faults("comment", schema, valid) == []
    assert api.value_faults("comment", schema, {**valid, "body": None})
    limited = {"type": "string", "enum": ["a"], "nullable": True}
    assert api.value_faults("limited", limited, None) == []
    assert api.value_faults("either", {"oneOf": [{"type": "string"}], "nullable": True}, None) == []
    assert api.value_faults("named", {"properties": {"example": {"type": "string"}}}, {"example": 1})


def test_lists_come_in_pages_of_thirty_oldest_first(github):
    for index in range(65):
        github.world.add_comment(str(index))
    _, body, headers = send(github, "GET", COMMENTS)
    assert [entry["body"] for entry in json.loads(body)] == [str(index) for index in range(30)]
    assert 'rel="next"' in headers["Link"]
    assert 'rel="last"' in headers["Link"]
    _, body, headers = send(github, "GET", f"{COMMENTS}?per_page=30&page=3")
    assert len(json.loads(body)) == 5
    assert 'rel="next"' not in headers["Link"]
    assert 'rel="prev"' in headers["Link"]


@pytest.mark.parametrize(
    ("packed", "status"),
    [
        (None, 400),
        (b"plain", 400),
        (gzip.compress(b"{", mtime=0), 400),
        (b"x" * 10_000_001, 413),
        (gzip.compress(b'{"runs": []}', mtime=0), 202),
    ],
    ids=["no base64", "no gzip", "no JSON", "too large", "right"],
)
def test_sarif_is_unpacked_and_weighed(github, packed, status):
    sarif = "?" if packed is None else b64encode(packed).decode()
    body = {"commit_sha": "a" * 40, "ref": "refs/heads/main", "sarif": sarif}
    assert send(github, "POST", SARIFS, body)[0] == status
    assert len(github.world.uploads) == (status == 202)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([{}] * 21, "more runs"),
        ([{"results": [{"locations": [{}]}] * 25_001}], "more results"),
        ([{"results": [{}]}], "at least one location"),
    ],
)
def test_sarif_is_processed_with_githubs_limits(runs, said):
    world = World(pending_polls=0)
    upload = world.upload(
        "a" * 40, "refs/heads/x", b64encode(gzip.compress(json.dumps({"runs": runs}).encode())).decode()
    )
    state, faults = world.poll(upload.id)
    assert state == "failed"
    assert said in faults[0]


def test_a_foreign_token_is_not_let_in(github):
    assert send(github, "GET", COMMENTS, Authorization="token other")[0] == 401
    assert not github.journal[0]["authorized"]


def test_a_request_outside_the_prefix_is_seen():
    with FakeGithub(prefix="/api/v3") as github:
        github.prefix = "/elsewhere"
        url = github.api_url.replace("/elsewhere", "")
        github_url = type("At", (), {"api_url": url, "token": github.token})()
        send(github_url, "GET", COMMENTS)
        assert any("outside /elsewhere" in fault for fault in github.violations)


def test_every_mood_starts():
    for name in PERSONAS:
        with FakeGithub(name):
            pass


def test_a_drop_can_come_before_the_write(github):
    github.faults.append(Fault(("POST",), ".*", how="drop"))
    with pytest.raises(RemoteDisconnected):
        send(github, "POST", COMMENTS, {"body": "x"})
    assert github.world.comments == []


def test_it_runs_as_a_process_and_leaves_its_journal(tmp_path):
    options = [
        "--state",
        str(tmp_path),
        "--persona",
        "minimised",
        "--head",
        "e" * 40,
        "--pull",
        "12",
        "--marker",
        "M",
    ]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fake_github", *options],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    try:
        url = process.stdout.readline().strip()
        there = type("At", (), {"api_url": url, "token": "token-of-this-test"})()
        assert json.loads(send(there, "GET", "/repos/acme/widgets/pulls/12")[1])["head"]["sha"] == "e" * 40
        send(there, "POST", "/repos/acme/widgets/issues/12/comments", {"body": "x"})
        send(there, "POST", "/repos/acme/widgets/issues/12/comments", {})
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=5)
    entries = [json.loads(line) for line in (tmp_path / "journal.jsonl").read_text("utf-8").splitlines()]
    assert [entry["status"] for entry in entries] == [200, 201, 422]
    assert "token-of-this-test" not in (tmp_path / "journal.jsonl").read_text("utf-8")
    state = json.loads((tmp_path / "state.json").read_text("utf-8"))
    assert [comment["body"] for comment in state["comments"]] == ["M\n\nplanted", "x"]
    assert len(state["violations"]) == 1
