"""An answer in messages over a WebSocket."""

import logging

import pytest
from websockets.utils import accept_key

from plumbline.errors import ConfigurationError
from plumbline.record.adapters import websocket
from plumbline.record.adapters.base import CallError, Question
from plumbline.record.config import read_settings
from tests.record import servers
from tests.record.servers import TICK, Server, raw, replies
from tests.record.test_http_json import QUESTION, ask

STOP = {"response_pointer": "t", "stop_field": "done", "stop_value": True}
TURNS = Question(item="i", lang="en", prompt="One?", turns=("Two?",))


def make(server, tmp_path, *, environ=None, scheme="ws", **keys):
    table = {
        "kind": "websocket", "questions": ".", "endpoint": server.url("/ws", scheme), "body": {"q": "{prompt}"},
        "timeout_seconds": 5.0, **keys,
    }  # fmt: skip
    return websocket.create(read_settings(websocket.Settings, table), folder=tmp_path, environ=environ or {})


def said(behaviour, tmp_path, question=QUESTION, **keys):
    with Server({"/ws": behaviour}) as server:
        return ask(make(server, tmp_path, **(keys or STOP)), question)


def fault_of(behaviour, tmp_path, **keys):
    with pytest.raises(CallError) as caught:
        said(behaviour, tmp_path, **{**STOP, **keys})
    return caught.value


def talk(*messages, close=None):
    """Answer every question with these messages."""

    def behave(peer, _asked, server):
        while (question := peer.recv()) is not None:
            server.asked.append(question)
            for message in messages:
                peer.send(message)
            if close is not None:
                peer.close(close)
                return

    return behave


def test_pieces_until_one_says_it_is_the_last(tmp_path):
    (found,) = said(
        talk({"t": "The fare "}, {"note": 1}, {"t": "is $2.50.", "done": True}, {"t": "not read"}), tmp_path
    )
    assert found.text == "The fare is $2.50."


@pytest.mark.parametrize(
    ("messages", "keys", "text"),
    [
        (["one", "two", "END"], {"stop_payload": "END"}, "onetwo"),
        ([{"t": "whole"}, {"t": "next"}], {"response_pointer": "t", "single_message": True}, "whole"),
        ([{"k": "s", "t": "no"}, {"k": "a", "t": "yes"}, {"done": True}],
         {**STOP, "answer_field": "k", "answer_value": "a"}, "yes"),
        ([{"t": "a"}, {"t": "ab"}, {"done": True}], {**STOP, "accumulate": "replace"}, "ab"),
        ([{"t": "then nothing"}], {"response_pointer": "t", "idle_seconds": 0.05}, "then nothing"),
    ],
)  # fmt: skip
def test_ways_to_end(messages, keys, text, tmp_path):
    assert said(talk(*messages), tmp_path, **keys)[0].text == text


def test_closing_is_an_end_only_where_that_is_declared(tmp_path):
    behaviour = talk({"t": "all"}, close=1000)
    assert said(behaviour, tmp_path, **STOP, end_on_close=True)[0].text == "all"
    assert fault_of(behaviour, tmp_path).fault == "malformed"
    assert fault_of(talk({"t": "half"}, close=1011), tmp_path, end_on_close=True).fault == "unreachable"


def test_silence_is_no_end_unless_declared(tmp_path):
    found = fault_of(talk({"t": "half an answer"}), tmp_path, timeout_seconds=0.3)
    assert (found.fault, found.transient) == ("timeout", True)
    assert "never ended" in found.message


def test_silence_before_the_first_piece_is_no_end_either(tmp_path):
    found = fault_of(talk({"status": "thinking"}), tmp_path, idle_seconds=0.05, timeout_seconds=0.3)
    assert found.fault == "timeout"


def no_goodbye(peer, _asked, _server):
    peer.recv()
    peer.send({"t": "half"})


def endless(peer, _asked, server):
    peer.recv()
    while not server.stop.wait(TICK):
        peer.send({"t": "more "})


def pings(peer, _asked, server):
    peer.recv()
    while not server.stop.wait(TICK):
        peer.ping()


def flood(peer, _asked, server):
    peer.recv()
    while not server.stop.is_set():
        peer.send({"t": "x" * 30_000})


def one_huge_message(peer, _asked, _server):
    peer.recv()
    peer.send({"t": "x" * 1_000_000})
    peer.recv()


def endless_fragments(peer, _asked, server):
    peer.recv()
    peer.protocol.send_text(b"x", fin=False)
    while not server.stop.is_set():
        peer.protocol.send_continuation(b"x" * 30_000, fin=False)
        peer.flush()


def bad_frame(peer, _asked, _server):
    peer.recv()
    peer.connection.sendall(b"\xff\xff\xff\xff")


def not_utf8(peer, _asked, _server):
    peer.recv()
    peer.protocol.send_binary(b"\xff\xfe")
    peer.flush()
    peer.recv()


@pytest.mark.parametrize(
    ("behaviour", "fault"),
    [
        (servers.hang, "timeout"),
        (servers.drip_head, "timeout"),
        (endless, "timeout"),
        (pings, "timeout"),
        (flood, "too_large"),
        (one_huge_message, "too_large"),
        (endless_fragments, "too_large"),
        (servers.long_header, "too_large"),
        (servers.many_headers, "too_large"),
        (bad_frame, "malformed"),
        (not_utf8, "malformed"),
        (servers.garbage, "malformed"),
        (servers.reply(200, b"not a socket"), "malformed"),
        (no_goodbye, "unreachable"),
        (servers.hang_up, "unreachable"),
        (servers.reset, "unreachable"),
        (talk("no json"), "malformed"),
        (talk({"t": 7}), "wrong_type"),
        (talk({"done": True}), "not_extracted"),
        (replies({}, 401), "auth_rejected"),
        (replies({}, 429, Retry_After="4"), "rate_limited"),
        (replies({}, 302, Location="ws://elsewhere.example/"), "redirected"),
        (replies({}, 503), "bad_status"),
    ],
)
def test_each_way_to_fail_is_a_fault_of_its_own(behaviour, fault, tmp_path):
    found = fault_of(behaviour, tmp_path, timeout_seconds=0.3 if fault == "timeout" else 5.0)
    assert found.fault == fault, found.message


def test_retry_after_is_handed_on(tmp_path):
    assert fault_of(replies({}, 429, Retry_After="4"), tmp_path).retry_after == 4


def test_an_unknown_accept_key_is_no_handshake(tmp_path):
    @raw
    def behave(connection, _asked, _server):
        connection.sendall(servers.head(101, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Accept="x"))
        return True

    assert fault_of(behave, tmp_path).fault == "malformed"


def test_fragments_and_pings(tmp_path):
    def behave(peer, _asked, _server):
        peer.recv()
        peer.ping()
        peer.fragments(b'{"t": "caf\xc3', b"\xa9", b'", "done": true}')
        peer.recv()

    assert said(behave, tmp_path)[0].text == "café"


def test_a_greeting_and_a_word_that_it_may_begin(tmp_path):
    def behave(peer, _asked, server):
        server.asked.append(peer.recv())
        peer.send({"state": "connecting"})
        peer.send({"state": "ready"})
        server.asked.append(peer.recv())
        peer.send({"t": "x", "done": True})
        peer.recv()

    with Server({"/ws": behave}) as server:
        adapter = make(
            server, tmp_path, **STOP, init_message={"hello": "{lang}", "token": {"env": "TOKEN"}}, ready_field="state",
            ready_value="ready", environ={"TOKEN": "canary-81"},
        )  # fmt: skip
        assert ask(adapter)[0].text == "x"
        shown = adapter.preview(QUESTION)
    assert server.asked[1:] == [{"hello": "en", "token": "canary-81"}, {"q": "What is the fare?"}]
    assert "canary-81" not in shown + str(adapter.describe())
    assert shown.endswith('{"hello":"en","token":"[masked: TOKEN]"}\n{"q":"What is the fare?"}')


def test_a_misspelt_secret_is_refused_in_the_first_message(tmp_path):
    with Server({}) as server, pytest.raises(ConfigurationError) as caught:
        make(server, tmp_path, **STOP, init_message={"token": {"env": "HOME", "prefx": "x"}})
    assert caught.value.message.startswith("adapter.init_message.token: unknown key 'prefx'")


def in_one_piece(*messages):
    """A handshake and what the target says at once, in one write."""

    def behave(connection, asked, server):
        key = asked.headers["sec-websocket-key"]
        head = servers.head(101, Upgrade="websocket", Connection="Upgrade", Sec_WebSocket_Accept=accept_key(key))
        connection.sendall(head + b"".join(bytes([0x81, len(text)]) + text for text in messages))
        server.stop.wait(TICK)
        while connection.recv(65536):
            connection.sendall(b"\x81\x19" + b'{"t": "out", "done":true}')

    return raw(behave)


def test_a_greeting_in_one_piece_with_the_handshake_is_read(tmp_path):
    (found,) = said(in_one_piece(b'{"s": "ready"}'), tmp_path, ready_field="s", ready_value="ready", **STOP)
    assert found.text == "out"


def test_a_fault_in_one_piece_with_the_handshake_is_named(tmp_path):
    assert fault_of(in_one_piece(b'"\xff"'), tmp_path).fault == "malformed"
    assert fault_of(in_one_piece(b"x" * 100), tmp_path, max_response_bytes=50).fault == "too_large"


def test_a_key_twice_in_a_message(tmp_path):
    assert fault_of(talk('{"t": "a", "t": "b", "done": true}'), tmp_path).fault == "malformed"


def test_a_greeting_that_looks_like_an_answer_is_none(tmp_path):
    greeting = b'{"t": "hi", "done": true}'
    assert said(in_one_piece(greeting), tmp_path)[0].text == "out"
    assert said(in_one_piece(b'{"s": 1}', greeting), tmp_path, ready_field="s", ready_value=1, **STOP)[0].text == "out"


def test_never_ready(tmp_path):
    keys = {"ready_field": "state", "ready_value": "ready"}

    def closes(peer, _asked, _server):
        peer.close()

    assert fault_of(closes, tmp_path, **keys).fault == "malformed"
    assert fault_of(talk(), tmp_path, **keys, timeout_seconds=0.3).fault == "timeout"


class TestTurns:
    def test_one_connection_is_the_conversation(self, tmp_path):
        with Server({"/ws": talk({"t": "x", "done": True})}) as server:
            adapter = make(server, tmp_path, **STOP)
            assert adapter.conversational
            assert len(ask(adapter, TURNS)) == 2
        assert server.connections == 1
        assert server.asked[1:] == [{"q": "One?"}, {"q": "Two?"}]

    def test_or_each_turn_has_its_own(self, tmp_path):
        with Server({"/ws": talk({"t": "x", "id": 5, "done": True})}) as server:
            adapter = make(
                server, tmp_path, **STOP, one_connection=False, conversation_pointer="id",
                body={"q": "{prompt}", "c": "{conversation}"},
            )  # fmt: skip
            ask(adapter, TURNS)
        assert server.connections == 2
        assert [one for one in server.asked if isinstance(one, dict)] == [{"q": "One?"}, {"q": "Two?", "c": "5"}]

    def test_which_needs_something_that_carries_it(self, tmp_path):
        with Server({}) as server:
            adapter = make(server, tmp_path, **STOP, one_connection=False)
        with pytest.raises(ConfigurationError):
            adapter.open(TURNS)

    def test_a_late_answer_is_not_taken_for_the_next(self, tmp_path):
        def behave(peer, _asked, server):
            peer.recv()
            peer.send({"t": "first", "done": True})
            peer.recv()
            server.stop.wait()

        with Server({"/ws": behave}) as server:
            conversation = make(server, tmp_path, **STOP, timeout_seconds=0.3).open(TURNS)
            conversation.ask("One?")
            for fault in ("timeout", "unreachable"):
                with pytest.raises(CallError) as caught:
                    conversation.ask("Two?")
                assert caught.value.fault == fault
            conversation.close()
        assert server.connections == 1

    @pytest.mark.parametrize("surplus", [{"t": "late"}, {"done": True}, {"t": "late", "done": True}, "no json"])
    def test_what_comes_after_the_end_is_no_answer_to_the_next(self, surplus, tmp_path):
        with Server({"/ws": talk({"t": "x", "done": True}, surplus)}) as server:
            conversation = make(server, tmp_path, **STOP).open(TURNS)
            assert conversation.ask("One?").text == "x"
            with pytest.raises(CallError) as caught:
                conversation.ask("Two?")
            conversation.close()
        assert caught.value.fault == "malformed"
        assert server.asked[1:] == [{"q": "One?"}]

    def test_a_first_message_that_was_not_the_whole_answer(self, tmp_path):
        with pytest.raises(CallError) as caught:
            said(talk({"t": "half"}, {"t": "other half"}), tmp_path, TURNS, response_pointer="t", single_message=True)
        assert caught.value.fault == "malformed"

    def test_signs_of_life_between_two_turns_are_none(self, tmp_path):
        found = said(talk({"t": "x", "done": True}, {"usage": 7}, {"alive": True}), tmp_path, TURNS)
        assert [reply.text for reply in found] == ["x", "x"]

    def test_the_target_leaves_between_two_turns(self, tmp_path):
        with pytest.raises(CallError) as caught:
            said(talk({"t": "x", "done": True}, close=1000), tmp_path, TURNS)
        assert caught.value.fault in {"unreachable", "malformed"}


class TestTLS:
    def test_verified(self, tmp_path):
        file = servers.self_signed(tmp_path)
        with Server({"/ws": talk({"t": "x", "done": True})}, certificate=file) as server:
            assert ask(make(server, tmp_path, scheme="wss", ca_file=file.name, **STOP))[0].text == "x"
            with pytest.raises(CallError) as caught:
                ask(make(server, tmp_path, scheme="wss", **STOP))
        assert caught.value.fault == "tls"

    def test_the_deadline_holds_within(self, tmp_path):
        file = servers.self_signed(tmp_path)
        with Server({"/ws": endless}, certificate=file) as server, pytest.raises(CallError) as caught:
            ask(make(server, tmp_path, scheme="wss", ca_file=file.name, timeout_seconds=0.3, **STOP))
        assert caught.value.fault == "timeout"


def test_no_header_reaches_a_log(tmp_path, caplog):
    caplog.set_level(logging.DEBUG)
    with Server({"/ws": talk({"t": "x", "done": True})}) as server:
        ask(make(server, tmp_path, **STOP, headers={"X-Key": {"env": "TOKEN"}}, environ={"TOKEN": "canary-82"}))
    assert server.asked[0].headers["x-key"] == "canary-82"
    assert "canary-82" not in caplog.text


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, "complete"),
        ({**STOP, "endpoint": "http://target.example/"}, "adapter.endpoint"),
        ({**STOP, "ready_field": "x"}, "adapter.ready_field"),
        ({**STOP, "answer_value": "x"}, "adapter.answer_field"),
        ({**STOP, "body": {"q": "x"}}, "{prompt}"),
        ({**STOP, "idle_seconds": 0.001}, "adapter.idle_seconds"),
        ({**STOP, "init_message": {"x": "{y}"}}, "adapter.init_message"),
    ],
)
def test_what_cannot_be_meant(keys, told, tmp_path):
    with Server({}) as server, pytest.raises(ConfigurationError) as caught:
        make(server, tmp_path, **keys)
    assert told in caught.value.message


def test_a_message_is_what_asks(tmp_path):
    table = {"kind": "websocket", "questions": ".", "endpoint": "ws://target.example/{prompt}", **STOP}
    with pytest.raises(ConfigurationError, match=r"adapter\.body"):
        websocket.create(read_settings(websocket.Settings, table), folder=tmp_path, environ={})


def test_json_without_a_pointer(tmp_path):
    keys = {"stop_field": "done", "stop_value": True}
    with Server({"/ws": talk({"t": "x"})}) as server, pytest.raises(CallError) as caught:
        ask(make(server, tmp_path, **keys))
    assert caught.value.fault == "not_extracted"
