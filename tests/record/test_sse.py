"""An answer in events: complete when the stream says so, and never otherwise."""

import json

import pytest

from plumbline.errors import ConfigurationError
from plumbline.record.adapters import sse
from plumbline.record.adapters.base import CallError, Question
from plumbline.record.config import read_settings
from tests.record import servers
from tests.record.servers import Server, endless, events, replies, reply, stream
from tests.record.test_http_json import ask


def delta(text):
    return {"choices": [{"delta": {"content": text}}]}


PIECES = events(delta("The fare "), {"choices": [{"delta": {"role": "assistant"}}]}, delta("is $2.50."))
KEYS = {"response_pointer": "$.choices[0].delta.content", "stop_payload": "[DONE]"}


def make(endpoint, tmp_path, **keys):
    table = {
        "kind": "sse", "questions": ".", "endpoint": endpoint, "body": {"q": "{prompt}"}, "timeout_seconds": 5.0,
        **keys,
    }  # fmt: skip
    return sse.create(read_settings(sse.Settings, table), folder=tmp_path, environ={})


def said(behaviour, tmp_path, **keys):
    with Server({"/ask": behaviour}) as server:
        adapter = make(server.url("/ask"), tmp_path, **(keys or KEYS))
        try:
            return ask(adapter)[0]
        finally:
            adapter.close()


def fault_of(behaviour, tmp_path, **keys):
    with pytest.raises(CallError) as caught:
        said(behaviour, tmp_path, **{**KEYS, **keys})
    return caught.value


def test_deltas(tmp_path):
    found = said(stream(PIECES, events("[DONE]")), tmp_path)
    assert found.text == "The fare is $2.50."
    assert "is $2.50." in found.raw


def test_pieces_of_the_wire_make_no_difference(tmp_path):
    whole = PIECES + events("[DONE]")
    assert said(stream(*(letter for letter in whole)), tmp_path).text == "The fare is $2.50."


def test_what_follows_the_end_is_not_read(tmp_path):
    behaviour = stream(PIECES, events("[DONE]", delta("more")), end=False)
    assert said(behaviour, tmp_path).text == "The fare is $2.50."


@pytest.mark.parametrize(
    ("sent", "keys", "text"),
    [
        (events("one", "two") + events("", event="end"), {"stop_event": "end"}, "onetwo"),
        (events("a\ndata: b") + events("x", event="end"), {"stop_event": "end"}, "a\nb"),
        (events("one", event="token") + events("no", event="status") + events("x", event="end"),
         {"answer_event": "token", "stop_event": "end"}, "one"),
        (events({"t": "a"}) + events({"t": "b", "done": True}),
         {"response_pointer": "t", "stop_field": "done", "stop_value": True}, "ab"),
        (events({"t": "a"}) + events({"t": "ab"}) + events("{}", event="end"),
         {"response_pointer": "t", "accumulate": "replace", "stop_event": "end"}, "ab"),
        (events({"t": ""}) + events("end", event="end"), {"response_pointer": "t", "stop_event": "end"}, ""),
        (events({"t": "whole"}, event="answer"),
         {"response_pointer": "t", "answer_event": "answer", "stop_event": "answer"}, "whole"),
        (events("not json", event="ping") + events({"t": "x"}, event="a") + events("-", event="end"),
         {"response_pointer": "t", "answer_event": "a", "stop_event": "end"}, "x"),
    ],
)  # fmt: skip
def test_ways_to_end(sent, keys, text, tmp_path):
    assert said(stream(sent, end=False), tmp_path, **keys).text == text


def test_closing_is_an_end_only_where_that_is_declared(tmp_path):
    assert said(stream(PIECES), tmp_path, **KEYS, end_on_close=True).text == "The fare is $2.50."
    found = fault_of(stream(PIECES), tmp_path)
    assert (found.fault, found.transient) == ("malformed", False)


def test_a_cut_stream_is_never_an_answer(tmp_path):
    # The connection is gone, without the chunk that ends a body.
    found = fault_of(stream(PIECES, end=False), tmp_path, end_on_close=True)
    assert (found.fault, found.transient) == ("unreachable", True)


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    [
        (endless(events(delta("more "))), "timeout"),
        (endless(": still here\n\n"), "timeout"),
        (servers.hang, "timeout"),
        (stream(events(delta("x" * 400_000), "[DONE]")), "too_large"),
        (stream(events("[DONE]")), "not_extracted"),
        (stream(events({"other": "x"}, "[DONE]")), "not_extracted"),
        (stream(events(delta(7), "[DONE]")), "wrong_type"),
        (stream(events("no json", "[DONE]")), "malformed"),
        (stream(b"data: \xff\n\n"), "malformed"),
        (stream(events('{"choices": [{"delta": {"content": "a", "content": "b"}}]}', "[DONE]")), "malformed"),
        (stream(""), "malformed"),
        (stream(PIECES, events({"message": "overloaded"}, event="error")), "bad_status"),
        (stream(PIECES, events("[DONE]"), content_type="text/html"), "malformed"),
        (replies({"answer": "one document"}), "malformed"),
        (reply(200, b"no type at all"), "malformed"),
        (replies({}, 429, Retry_After="3"), "rate_limited"),
        (replies({}, 401), "auth_rejected"),
    ],
)
def test_each_way_to_fail_is_a_fault_of_its_own(behaviour, fault, tmp_path):
    found = fault_of(behaviour, tmp_path, timeout_seconds=0.3 if fault == "timeout" else 5.0)
    assert found.fault == fault, found.message


def test_a_stream_that_never_ends_is_called_so(tmp_path):
    found = fault_of(endless(events(delta("more "))), tmp_path, timeout_seconds=0.3)
    assert "never ended" in found.message
    silent = fault_of(servers.hang, tmp_path, timeout_seconds=0.3)
    assert "never ended" not in silent.message


def test_the_clean_end_of_nothing_is_empty(tmp_path):
    assert fault_of(stream(""), tmp_path, end_on_close=True).fault == "empty"


def test_beside_the_text(tmp_path):
    sent = events({"t": "a", "cite": ["s1"]}, {"id": "c-9"}, {"cite": ["s2", "s1"]}, "[DONE]")
    with Server({"/ask": stream(sent)}) as server:
        adapter = make(
            server.url("/ask"), tmp_path, response_pointer="t", stop_payload="[DONE]", citations_pointer="cite",
            conversation_pointer="id", body={"q": "{prompt}", "c": "{conversation}"}, append_citations=True,
        )  # fmt: skip
        first, _ = ask(adapter, Question(item="i", lang="en", prompt="One?", turns=("Two?",)))
    assert (first.text, first.citations) == ("a [s1] [s2]", ("s1", "s2"))
    assert [asked.json.get("c") for asked in server.asked] == [None, "c-9"]
    assert server.asked[0].headers["accept"] == "text/event-stream"


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, "complete"),
        ({"stop_field": "x"}, "adapter.stop_field"),
        ({"stop_value": "x", "stop_payload": "y"}, "adapter.stop_field"),
        ({"stop_payload": "x", "method": "GET"}, "adapter.body"),
    ],
)
def test_what_cannot_be_meant(keys, told, tmp_path):
    with pytest.raises(ConfigurationError) as caught:
        make("http://target.example/", tmp_path, **keys)
    assert told in caught.value.message


def test_the_description_says_how_an_answer_ends(tmp_path):
    call = make("http://target.example/", tmp_path, **KEYS).describe()["call"]
    assert (call["stop_payload"], call["end_on_close"], call["error_event"]) == ("[DONE]", False, "error")
    assert json.dumps(call)


def test_the_raw_stream_is_kept_up_to_a_bound(tmp_path):
    sent = events(*[delta("y" * 1000)] * 150, "[DONE]")
    found = said(stream(sent), tmp_path)
    assert len(found.text) == 150_000
    assert len(found.raw) <= 65 * 1024
