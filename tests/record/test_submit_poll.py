"""A question now, its answer later."""

import json

import pytest

from plumbline.errors import ConfigurationError
from plumbline.record.adapters import submit_poll
from plumbline.record.adapters.base import CallError
from plumbline.record.config import read_settings
from tests.record import servers
from tests.record.servers import Server, in_turn, replies, reply
from tests.record.test_http_json import QUESTION, ask

SUBMITTED = replies({"job": 17, "cite": ["early"]}, 202)
READY = replies({"state": "done", "answer": "At last.", "cite": ["late"]})
WAITING = replies({"state": "running"})


def make(server, tmp_path, *, environ=None, **keys):
    table = {
        "kind": "submit_poll", "questions": ".", "endpoint": server.url("/ask"), "body": {"q": "{prompt}"},
        "poll_endpoint": server.url("/jobs/{handle}"), "handle_pointer": "job", "ready_field": "state",
        "ready_value": "done", "response_pointer": "answer", "poll_interval_seconds": 0.01, "timeout_seconds": 5.0,
        "poll_timeout_seconds": 5.0, **keys,
    }  # fmt: skip
    return submit_poll.create(read_settings(submit_poll.Settings, table), folder=tmp_path, environ=environ or {})


def said(tmp_path, poll, submit=SUBMITTED, **keys):
    with Server({"/ask": submit, "/jobs/17": poll}) as server:
        adapter = make(server, tmp_path, **keys)
        try:
            return ask(adapter)[0], server.asked
        finally:
            adapter.close()


def fault_of(tmp_path, poll, submit=SUBMITTED, **keys):
    with pytest.raises(CallError) as caught:
        said(tmp_path, poll, submit, **keys)
    return caught.value


def test_it_is_asked_until_it_is_there(tmp_path):
    found, asked = said(tmp_path, in_turn(WAITING, reply(204, b""), READY), citations_pointer="cite")
    assert (found.text, found.citations) == ("At last.", ("early", "late"))
    assert [(one.method, one.path) for one in asked] == [("POST", "/ask"), *[("GET", "/jobs/17")] * 3]


def test_one_of_several_values(tmp_path):
    assert said(tmp_path, READY, ready_value=["ok", "done"])[0].text == "At last."


@pytest.mark.parametrize(("status", "wait"), [(429, "0"), (503, "0"), (200, "0")])
def test_told_to_wait_is_not_told_no(status, wait, tmp_path):
    behaviour = in_turn(replies({"state": "running"}, status, Retry_After=wait), READY)
    found, asked = said(tmp_path, behaviour)
    assert (found.text, len(asked)) == ("At last.", 3)


def test_a_longer_wait_counts(tmp_path, monkeypatch):
    waits = []
    monkeypatch.setattr(submit_poll.time, "sleep", waits.append)
    behaviour = in_turn(replies({}, 429, Retry_After="2"), replies({"state": "x"}, Retry_After="3"), WAITING, READY)
    said(tmp_path, behaviour, poll_interval_seconds=0.5)
    assert waits == [0.5, 2.0, 3.0, 0.5]


@pytest.mark.parametrize(
    ("poll", "fault"),
    [
        (WAITING, "never_ready"),
        (reply(202, b""), "never_ready"),
        (replies({"state": "failed"}), "bad_status"),
        (replies({}, 404), "bad_status"),
        (replies({}, 500), "bad_status"),
        (replies({}, 401), "auth_rejected"),
        (replies({"state": "done"}), "not_extracted"),
        (replies({"state": "done", "answer": []}), "wrong_type"),
        (reply(200, b"<html>"), "malformed"),
        (reply(200, b'{"job": "1", "job": "2"}'), "malformed"),
        (servers.hang, "timeout"),
        (servers.hang, "never_ready"),
        (servers.flood, "too_large"),
        (replies({}, 301, Location="/"), "redirected"),
    ],
)
def test_each_way_to_fail_is_a_fault_of_its_own(poll, fault, tmp_path):
    bound = {"timeout": "timeout_seconds", "never_ready": "poll_timeout_seconds"}.get(fault)
    found = fault_of(tmp_path, poll, failed_value="failed", **({bound: 0.3} if bound else {}))
    assert found.fault == fault, found.message


@pytest.mark.parametrize(
    ("submit", "fault"),
    [
        (replies({"other": 1}), "no_identifier"),
        (replies({"job": ""}), "no_identifier"),
        (replies({"job": {"id": 1}}), "wrong_type"),
        (reply(201, b""), "empty"),
        (replies({}, 429), "rate_limited"),
        (replies({"job": ".."}), "malformed"),
    ],
)
def test_a_question_that_was_not_taken(submit, fault, tmp_path):
    assert fault_of(tmp_path, READY, submit).fault == fault


def test_a_hostile_handle_stays_one_part_of_the_path(tmp_path):
    with Server({"/ask": replies({"job": "../a?b#c"}), "/jobs/..%2Fa%3Fb%23c": READY}) as server:
        assert ask(make(server, tmp_path))[0].text == "At last."


def test_where_the_handle_may_stand(tmp_path):
    with Server({"/ask": SUBMITTED, "/jobs": READY}) as server:
        adapter = make(
            server, tmp_path, poll_endpoint=server.url("/jobs"), poll_method="POST", poll_query={"h": "{handle}"},
            poll_body={"h": "{handle}", "again": "{item_id}"},
        )  # fmt: skip
        ask(adapter)
        told = json.dumps(adapter.describe())
    assert (server.asked[1].path, server.asked[1].json) == ("/jobs?h=17", {"h": "17", "again": "fare.en"})
    assert "{handle}" in told


class TestHeaders:
    SECRET = {"headers": {"Authorization": {"env": "TOKEN"}}, "environ": {"TOKEN": "canary-55"}}

    def test_the_same_host_sees_them(self, tmp_path):
        _, asked = said(tmp_path, READY, **self.SECRET)
        assert [one.headers.get("authorization") for one in asked] == ["canary-55", "canary-55"]

    def test_another_host_does_not(self, tmp_path):
        with Server({"/ask": SUBMITTED}) as server, Server({"/jobs/17": READY}) as other:
            keys = {"poll_endpoint": other.url("/jobs/{handle}"), **self.SECRET}
            with pytest.raises(ConfigurationError, match=r"adapter\.poll_headers"):
                make(server, tmp_path, **keys)
            assert ask(make(server, tmp_path, poll_headers={}, **keys))[0].text == "At last."
        assert "authorization" not in other.asked[0].headers


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({"poll_endpoint": "http://target.example/"}, "adapter.poll_endpoint"),
        ({"poll_endpoint": "file:///{handle}"}, "adapter.poll_endpoint"),
        ({"poll_body": {"h": "{handle}"}}, "adapter.poll_body"),
        ({"poll_interval_seconds": 0}, "adapter.poll_interval_seconds"),
        ({"poll_timeout_seconds": 1e9}, "adapter.poll_timeout_seconds"),
        ({"body": {"q": "{prompt} {handle}"}}, "adapter.body"),
        ({"handle_pointer": "$["}, "adapter.handle_pointer"),
        ({"ready_field": ""}, "adapter.ready_field"),
    ],
)
def test_what_cannot_be_meant(keys, told, tmp_path):
    with Server({}) as server, pytest.raises(ConfigurationError) as caught:
        make(server, tmp_path, **keys)
    assert told in caught.value.message


def test_the_preview_is_the_question(tmp_path):
    with Server({}) as server:
        assert make(server, tmp_path).preview(QUESTION).startswith("POST /ask HTTP/1.1")
    assert server.asked == []
