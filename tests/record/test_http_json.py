"""One request, one JSON document: every bound, against a target that really does it."""

import json
import logging
import re

import pytest

from plumbline.errors import ConfigurationError
from plumbline.record.adapters import http_json
from plumbline.record.adapters.base import CallError, Question, Retrieved
from plumbline.record.config import read_settings
from tests.record import servers
from tests.record.servers import Server, echo, in_turn, replies, reply

QUESTION = Question(item="fare.en", lang="en", prompt="What is the fare?")
CANARY = "canary-7f3a/91+b"
BODY = {"q": "{prompt}"}


def make(endpoint, tmp_path, *, environ=None, **keys):
    table = {
        "kind": "http_json", "questions": ".", "endpoint": endpoint, "body": BODY, "response_pointer": "answer",
        "timeout_seconds": 5.0, **keys,
    }  # fmt: skip
    table = {key: value for key, value in table.items() if value is not None}
    return http_json.create(read_settings(http_json.Settings, table), folder=tmp_path, environ=environ or {})


def ask(adapter, question=QUESTION):
    conversation = adapter.open(question)
    try:
        return [conversation.ask(text) for text in (question.prompt, *question.turns)]
    finally:
        conversation.close()


def fault_of(behaviour, tmp_path, **keys):
    with Server({"/ask": behaviour}) as server:
        adapter = make(server.url("/ask"), tmp_path, **keys)
        with pytest.raises(CallError) as caught:
            ask(adapter)
        adapter.close()
    return caught.value


def test_an_answer(tmp_path):
    with Server({"/ask": echo}) as server:
        (said,) = ask(make(server.url("/ask"), tmp_path))
    assert said.text == "You asked: What is the fare?"
    assert (said.citations, said.retrieved) == (None, None)
    assert json.loads(said.raw)["answer"] == said.text
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.json) == ("POST", "/ask", {"q": "What is the fare?"})
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["user-agent"].startswith("plumbline/")
    assert "cookie" not in asked.headers


@pytest.mark.parametrize(
    ("behaviour", "fault", "transient"),
    [
        (servers.hang, "timeout", True),
        (servers.drip, "timeout", True),
        (servers.drip_head, "timeout", True),
        (servers.continues, "timeout", True),
        (servers.hang_up, "unreachable", True),
        (servers.hang_up_midway, "unreachable", True),
        (servers.hang_up_midchunk, "unreachable", True),
        (servers.reset, "unreachable", True),
        (servers.flood, "too_large", False),
        (servers.flood_declared, "too_large", False),
        (servers.gzip_bomb, "too_large", False),
        (servers.long_header, "too_large", False),
        (servers.many_headers, "too_large", False),
        (servers.garbage, "malformed", False),
        (reply(200, b'{"answer": "cut sh'), "malformed", False),
        (reply(200, b'{"answer": "one", "answer": "two"}'), "malformed", False),
        (reply(200, b"<!doctype html><p>Please log in"), "malformed", False),
        (reply(200, b'{"answer": "\xff"}'), "malformed", False),
        (reply(200, b"[" * 100_000), "malformed", False),
        (reply(200, b'{"n": ' + b"9" * 10_000 + b"}"), "malformed", False),
        (reply(200, b"{}", Content_Encoding="br"), "malformed", False),
        (reply(200, b"not gzip at all", Content_Encoding="gzip"), "malformed", False),
        (reply(200, b'{"answer": "x"}', Content_Length="fifteen"), "malformed", False),
        (reply(200, b'{"answer": "x"}', Content_Length="-15"), "malformed", False),
        (reply(200, b'{"answer": "x"}', Transfer_Encoding="foo"), "malformed", False),
        (reply(200, b'{"answer": "x"}', Content_Encoding="br", Transfer_Encoding="foo"), "malformed", False),
        (replies({"answer": "x"}, 206), "bad_status", False),
        (reply(200, b""), "empty", False),
        (reply(204, b""), "empty", False),
        (replies({"reply": "elsewhere"}), "not_extracted", False),
        (replies({"answer": 7}), "wrong_type", False),
        (replies({"answer": None}), "wrong_type", False),
        (replies({"answer": {"text": "x"}}), "wrong_type", False),
        (replies({}, 400), "bad_status", False),
        (replies({}, 401), "auth_rejected", False),
        (replies({}, 403), "auth_rejected", False),
        (replies({}, 407), "auth_rejected", False),
        (replies({}, 404), "bad_status", False),
        (replies({}, 429), "rate_limited", True),
        (replies({}, 500), "bad_status", True),
        (replies({}, 501), "bad_status", False),
        (replies({}, 502), "bad_status", True),
        (replies({}, 503), "bad_status", True),
        (replies({}, 504), "bad_status", True),
        (replies({}, 302, Location="/elsewhere"), "redirected", False),
        (replies({}, 304), "redirected", False),
    ],
)
def test_each_way_to_fail_is_a_fault_of_its_own(behaviour, fault, transient, tmp_path):
    seconds = 0.3 if fault == "timeout" else 10.0
    found = fault_of(behaviour, tmp_path, timeout_seconds=seconds)
    assert (found.fault, found.transient) == (fault, transient), found.message


def test_nobody_listens(tmp_path):
    with Server({}) as server:
        address = server.url("/ask")
    with pytest.raises(CallError) as caught:
        ask(make(address, tmp_path))
    assert (caught.value.fault, caught.value.transient) == ("unreachable", True)


def test_a_name_that_is_none(tmp_path):
    with pytest.raises(CallError) as caught:
        ask(make("http://no-such-name.invalid/ask", tmp_path))
    assert (caught.value.fault, caught.value.transient) in {("unreachable", True), ("timeout", True)}


def test_retry_after_is_handed_on(tmp_path):
    assert fault_of(replies({}, 429, Retry_After="7"), tmp_path).retry_after == 7
    assert fault_of(replies({}, 503, Retry_After="11"), tmp_path).retry_after == 11
    assert fault_of(replies({}, 429, Retry_After="soon"), tmp_path).retry_after is None


def test_asking_again_is_a_call_of_its_own(tmp_path):
    with Server({"/ask": in_turn(replies({}, 500), echo)}) as server:
        conversation = make(server.url("/ask"), tmp_path).open(QUESTION)
        with pytest.raises(CallError):
            conversation.ask(QUESTION.prompt)
        assert conversation.ask(QUESTION.prompt).text.startswith("You asked")
    assert len(server.asked) == 2


def test_a_redirect_reaches_nobody_else(tmp_path):
    with Server({"/ask": echo}) as other:
        fault_of(replies({}, 307, Location=other.url("/ask")), tmp_path)
    assert other.asked == []


def test_no_proxy_of_the_environment(tmp_path, monkeypatch):
    with Server({"/ask": echo}) as proxy, Server({"/ask": echo}) as server:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.url(""))
        monkeypatch.delenv("no_proxy", raising=False)
        ask(make(server.url("/ask"), tmp_path))
    assert (len(proxy.asked), len(server.asked)) == (0, 1)


def test_no_netrc(tmp_path, monkeypatch):
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with Server({"/ask": echo}) as server:
        ask(make(server.url("/ask"), tmp_path))
    assert "authorization" not in server.asked[0].headers


def test_cookies_do_not_travel_from_one_question_to_the_next(tmp_path):
    with Server({"/ask": replies({"answer": "x"}, Set_Cookie="session=1; Path=/")}) as server:
        adapter = make(server.url("/ask"), tmp_path)
        ask(adapter)
        ask(adapter)
    assert [asked.headers.get("cookie") for asked in server.asked] == [None, None]


def test_a_connection_is_kept(tmp_path):
    with Server({"/ask": echo}) as server:
        adapter = make(server.url("/ask"), tmp_path)
        for _ in range(5):
            ask(adapter)
        adapter.close()
    assert (len(server.asked), server.connections) == (5, 1)


def test_the_ceiling_is_exact(tmp_path):
    body = json.dumps({"answer": "a" * 100}).encode()
    with Server({"/ask": reply(200, body)}) as server:
        assert ask(make(server.url("/ask"), tmp_path, max_response_bytes=len(body)))
        with pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path, max_response_bytes=len(body) - 1))
    assert caught.value.fault == "too_large"


@pytest.mark.parametrize("coding", ["gzip", "deflate", "raw deflate", "two members"])
def test_a_coding_that_came_unasked_is_undone(coding, tmp_path):
    import gzip
    import zlib

    plain = json.dumps({"answer": "uncoded " * 1000}).encode()
    bare = zlib.compressobj(wbits=-15)
    sent = {
        "gzip": gzip.compress(plain),
        "deflate": zlib.compress(plain),
        "raw deflate": bare.compress(plain) + bare.flush(),
        "two members": gzip.compress(plain[:50]) + gzip.compress(plain[50:]),
    }[coding]
    name = "deflate" if "deflate" in coding else "gzip"
    with Server({"/ask": reply(200, sent, Content_Encoding=name)}) as server:
        adapter = make(server.url("/ask"), tmp_path, max_response_bytes=len(plain))
        assert ask(adapter)[0].text == "uncoded " * 1000
        with pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path, max_response_bytes=len(plain) - 1))
    assert caught.value.fault == "too_large"


def test_a_coded_body_that_breaks_off(tmp_path):
    import gzip

    # Only the end of the check sum is missing; what it is a sum of is all there.
    body = gzip.compress(json.dumps({"answer": "x" * 500}).encode())[:-4]
    assert fault_of(reply(200, body, Content_Encoding="gzip"), tmp_path).fault == "malformed"


class TestTLS:
    def test_a_certificate_that_nobody_vouches_for(self, tmp_path):
        file = servers.self_signed(tmp_path)
        with Server({"/ask": echo}, certificate=file) as server, pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path))
        assert (caught.value.fault, caught.value.transient, server.asked) == ("tls", False, [])
        assert "ca_file" in caught.value.remedy

    def test_one_that_the_configuration_vouches_for(self, tmp_path):
        file = servers.self_signed(tmp_path)
        with Server({"/ask": echo}, certificate=file) as server:
            adapter = make(server.url("/ask"), tmp_path, ca_file=file.name)
            assert ask(adapter)[0].text.startswith("You asked")
            adapter.close()

    def test_one_for_another_name(self, tmp_path):
        file = servers.self_signed(tmp_path, name="elsewhere.example")
        with Server({"/ask": echo}, certificate=file) as server, pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path, ca_file=file.name))
        assert (caught.value.fault, server.asked) == ("tls", [])

    def test_authorities_of_the_environment_count_for_nothing(self, tmp_path, monkeypatch):
        file = servers.self_signed(tmp_path)
        for name in ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
            monkeypatch.setenv(name, str(file))
        with Server({"/ask": echo}, certificate=file) as server, pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path))
        assert caught.value.fault == "tls"

    def test_a_handshake_that_is_never_answered(self, tmp_path):
        with Server({"/ask": echo}) as server, pytest.raises(CallError) as caught:
            ask(make(server.url("/ask", "https"), tmp_path, timeout_seconds=0.3))
        assert (caught.value.fault, caught.value.transient) == ("timeout", True)

    def test_the_deadline_holds_within_tls(self, tmp_path):
        file = servers.self_signed(tmp_path)
        with Server({"/ask": servers.drip}, certificate=file) as server, pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path, ca_file=file.name, timeout_seconds=0.3))
        assert caught.value.fault == "timeout"

    def test_a_hang_up_within_tls(self, tmp_path):
        file = servers.self_signed(tmp_path)
        with Server({"/ask": servers.hang_up_midway}, certificate=file) as server, pytest.raises(CallError) as caught:
            ask(make(server.url("/ask"), tmp_path, ca_file=file.name))
        assert (caught.value.fault, caught.value.transient) == ("unreachable", True)

    def test_a_file_that_holds_no_certificate(self, tmp_path):
        (tmp_path / "empty.pem").write_text("no certificate")
        with pytest.raises(ConfigurationError, match=r"adapter\.ca_file"):
            make("https://target.example/", tmp_path, ca_file="empty.pem")


class TestHostileAnswers:
    @pytest.mark.parametrize(
        "text",
        ["\x00\x1b[2J\u202e", "\ud800 alone", "x" * 1_000_000, "", "::error::x", "\r\n\r\n", "\u2028", "{prompt}"],
        ids=["control", "surrogate", "long", "empty", "command", "breaks", "separator", "placeholder"],
    )
    def test_they_come_through_exactly(self, text, tmp_path):
        with Server({"/ask": replies({"answer": text})}) as server:
            (said,) = ask(make(server.url("/ask"), tmp_path, max_response_bytes=2_000_000))
        assert said.text == text

    def test_a_message_quotes_little_and_only_what_can_be_printed(self, tmp_path):
        hostile = ("\x1b[2J::error::\u202e" * 50_000).encode()
        for status in (200, 500):
            found = fault_of(reply(status, hostile), tmp_path, max_response_bytes=8_000_000)
            assert len(found.message) < 500
            assert re.fullmatch(r"[\x20-\x7e…]*", found.message), found.message

    def test_keys_are_named_and_values_are_not(self, tmp_path):
        found = fault_of(replies({"re\x1bply": "the text itself", **{f"k{i}": i for i in range(50)}}), tmp_path)
        assert "re\\x1bply" in found.message or "re\\u001bply" in found.message
        assert "the text itself" not in found.message
        assert len(found.message) < 500


class TestSecrets:
    @pytest.mark.parametrize(
        ("keys", "told"),
        [
            (
                {"body": {"q": "{prompt}", "a": [{"env": "HOME", "prefx": "x"}]}},
                "adapter.body.a[0]: unknown key 'prefx'",
            ),
            ({"body": {"q": "{prompt}", "env": "HOME"}}, "adapter.body: unknown key 'q'"),
            ({"headers": {"X-Key": {"env": "HOME", "prefx": "x"}}}, "adapter.headers.X-Key: unknown key 'prefx'"),
            ({"query": {"key": {"env": "HOME"}}}, "adapter.query"),
        ],
    )
    def test_a_misspelt_one_is_never_sent_as_it_stands(self, keys, told, tmp_path):
        with pytest.raises(ConfigurationError) as caught:
            make("http://target.example/", tmp_path, environ={"HOME": CANARY}, **keys)
        assert told in caught.value.message

    def test_a_parameter_may_be_called_env(self, tmp_path):
        shown = make("http://target.example/", tmp_path, query={"env": "staging", "x": "y"}).preview(QUESTION)
        assert "?env=staging&x=y" in shown

    def test_they_reach_the_target_and_nobody_else(self, tmp_path, caplog):
        caplog.set_level(logging.DEBUG)
        echoes = reply(401, f'{{"error": "bad token {CANARY}"}}'.encode())
        with Server({"/ask": in_turn(echo, echoes, reply(200, f"no json {CANARY}".encode()))}) as server:
            adapter = make(
                server.url("/ask"),
                tmp_path,
                environ={"TOKEN": CANARY},
                headers={"Authorization": {"env": "TOKEN", "prefix": "Bearer "}},
                body={"q": "{prompt}", "key": {"env": "TOKEN"}},
            )
            ask(adapter)
            told = [json.dumps(adapter.describe()), adapter.preview(QUESTION)]
            for _ in range(2):
                with pytest.raises(CallError) as caught:
                    ask(adapter)
                told += [caught.value.message, str(caught.value.remedy), repr(caught.value)]
        assert server.asked[0].headers["authorization"] == f"Bearer {CANARY}"
        assert server.asked[0].json["key"] == CANARY
        for text in [*told, caplog.text]:
            assert CANARY not in text
            assert "canary-7f3a" not in text
        assert "[masked: TOKEN]" in told[1]

    def test_a_variable_that_is_not_set(self, tmp_path):
        with pytest.raises(ConfigurationError, match="TOKEN"):
            make("http://target.example/", tmp_path, headers={"Authorization": {"env": "TOKEN"}})
        with pytest.raises(ConfigurationError, match="TOKEN"):
            make("http://target.example/", tmp_path, body={"q": "{prompt}", "k": {"env": "TOKEN"}})

    def test_a_brace_in_a_secret_means_nothing(self, tmp_path):
        with Server({"/ask": echo}) as server:
            ask(make(server.url("/ask"), tmp_path, environ={"TOKEN": "{prompt}"}, headers={"X-Key": {"env": "TOKEN"}}))
        assert server.asked[0].headers["x-key"] == "{prompt}"

    def test_a_literal_credential_is_not_shown_either(self, tmp_path):
        adapter = make(
            "http://target.example/",
            tmp_path,
            headers={"X-Api-Key": "literal-credential"},
            body={"q": "{prompt}", "api_key": "another-literal", "max_tokens": 5},
        )
        told = json.dumps(adapter.describe())
        assert "literal" not in told
        assert '"max_tokens": 5' in told
        assert "literal-credential" not in adapter.preview(QUESTION)


class TestPreview:
    def test_it_is_what_is_sent(self, tmp_path):
        keys = {"headers": {"X-Lang": "{lang}"}, "query": {"v": "2", "who": "é &"}, "body": {"q": "{prompt}", "n": 0.2}}
        with Server({"/a/fare.en": echo}) as server:
            adapter = make(server.url("/a/{item_id}"), tmp_path, **keys)
            shown = adapter.preview(QUESTION)
            assert server.asked == []
            ask(adapter)
        (asked,) = server.asked
        first, *lines = shown.split("\n\n")[0].split("\n")
        assert first == f"{asked.method} {asked.path} HTTP/1.1"
        sent = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
        assert {name: value for name, value in asked.headers.items() if name != "connection"} == sent
        assert shown.split("\n\n", 1)[1].encode() == asked.body


class TestTemplates:
    def test_every_part_of_a_request(self, tmp_path):
        question = Question(item="a/../b?#", lang="es", prompt='¿"{lang}"?')
        with Server({"/v1/es/a%2F..%2Fb%3F%23": echo}) as server:
            adapter = make(
                server.url("/v1/{lang}/{item_id}"),
                tmp_path,
                query={"q": "{prompt}", "turn": "{turn}"},
                headers={"X-Turn": "t{turn}"},
                body={"q": "{prompt}", "m": ["{history}"], "s": {"stream": False}},
            )
            ask(adapter, question)
        (asked,) = server.asked
        assert asked.path == "/v1/es/a%2F..%2Fb%3F%23?q=%C2%BF%22%7Blang%7D%22%3F&turn=1"
        assert asked.headers["x-turn"] == "t1"
        assert asked.json == {
            "q": '¿"{lang}"?', "m": [{"role": "user", "content": '¿"{lang}"?'}], "s": {"stream": False},
        }  # fmt: skip

    def test_get(self, tmp_path):
        with Server({"/ask": replies({"answer": "got"})}) as server:
            adapter = make(server.url("/ask"), tmp_path, method="GET", body=None, query={"q": "{prompt}"})
            assert ask(adapter)[0].text == "got"
        assert (server.asked[0].method, server.asked[0].body) == ("GET", b"")

    @pytest.mark.parametrize("item", ["..", "."])
    def test_no_value_changes_the_path(self, item, tmp_path):
        adapter = make("http://target.example/a/{item_id}/b", tmp_path)
        with pytest.raises(CallError) as caught:
            adapter.preview(Question(item=item, lang="en", prompt="x"))
        assert caught.value.fault == "malformed"

    def test_no_value_adds_a_header(self, tmp_path):
        adapter = make("http://target.example/", tmp_path, headers={"X-Q": "{prompt}"})
        with pytest.raises(CallError) as caught:
            adapter.preview(Question(item="i", lang="en", prompt="x\r\nX-Evil: 1"))
        assert caught.value.fault == "malformed"

    def test_half_a_surrogate_pair_cannot_be_sent(self, tmp_path):
        for keys in ({}, {"query": {"q": "{prompt}"}}):
            adapter = make("http://target.example/", tmp_path, **keys)
            with pytest.raises(CallError) as caught:
                adapter.preview(Question(item="i", lang="en", prompt="\ud800"))
            assert caught.value.fault == "malformed"

    @pytest.mark.parametrize(
        ("keys", "told"),
        [
            ({"body": {"q": "a question"}}, "{prompt}"),
            ({"body": {"q": "{prompt}", "x": "{promt}"}}, "promt"),
            ({"headers": {"X": "{history}"}}, "history"),
            ({"query": {"q": "{history}"}}, "history"),
            ({"endpoint": "http://target.example/{history}"}, "history"),
            ({"headers": {"X-Q": "{prompt}"}, "body": {"q": "x"}}, "{prompt}"),
            ({"headers": {"Host": "elsewhere.example"}}, "adapter.headers.Host"),
            ({"headers": {"Content-Length": "3"}}, "adapter.headers.Content-Length"),
            ({"headers": {"X Y": "3"}}, "adapter.headers.X Y"),
            ({"headers": {"X-A": "1", "x-a": "2"}}, "adapter.headers.x-a"),
            ({"headers": {"X-A": 3}}, "adapter.headers.X-A"),
            ({"method": "GET"}, "adapter.body"),
            ({"response_pointer": None}, "adapter.response_pointer"),
            ({"response_pointer": "$.a["}, "adapter.response_pointer"),
            ({"response_pointer": "a..b"}, "adapter.response_pointer"),
            ({"response_pointer": ""}, "adapter.response_pointer"),
            ({"response_pointer": "$.a[?match(@, 'x')]"}, "adapter.response_pointer"),
            ({"append_citations": True}, "adapter.append_citations"),
            ({"retrieved_pointer": "a", "document_ids_pointer": "b"}, "adapter.document_ids_pointer"),
            ({"conversation_pointer": "c"}, "adapter.conversation_pointer"),
            ({"conversation_pointer": "c", "body": {"q": "{prompt}", "c": "x{conversation}"}}, "conversation"),
            ({"conversation_pointer": "c", "endpoint": "http://target.example/{conversation}"}, "conversation"),
            ({"max_response_bytes": 0}, "adapter.max_response_bytes"),
            ({"timeout_seconds": 0.01}, "adapter.timeout_seconds"),
            ({"timeout_seconds": float("nan")}, "adapter.timeout_seconds"),
            ({"timout_seconds": 3}, "timeout_seconds"),
        ],
    )
    def test_what_cannot_be_meant_is_refused_before_anything_is_sent(self, keys, told, tmp_path):
        with pytest.raises(ConfigurationError) as caught:
            make(**{"endpoint": "http://target.example/", "tmp_path": tmp_path, **keys})
        assert told in caught.value.message

    @pytest.mark.parametrize(
        "address",
        [
            "file:///etc/passwd",
            "ftp://target.example/",
            "ws://target.example/",
            "//target.example/",
            "http:///path",
            "http://user:password@target.example/",
            "http://token@target.example/",
            "http://target.example/?key=1",
            "http://target.example/?",
            "http://target.example/#x",
            "http://{lang}.target.example/",
            "http://target.example:99999/",
            "http://target.example:0/",
            "http://target.example/a b",
            "http://target.example\\@elsewhere.example/",
            "http://target.example/\n",
            "http://[::1/",
        ],
    )
    def test_addresses_that_a_recording_does_not_talk_to(self, address, tmp_path):
        with pytest.raises(ConfigurationError, match=r"adapter\.endpoint"):
            make(address, tmp_path)


class TestBesideTheText:
    DOCUMENT = {
        "answer": "The fare is $2.50.",
        "citations": [{"id": "src-1"}, {"id": 2}, {"id": "src-1"}],
        "passages": [{"id": "src-1", "text": "A ride costs $2.50."}, {"id": "src-2", "text": 7}, "bare"],
        "none": [],
        "null": None,
    }

    def said(self, tmp_path, **keys):
        with Server({"/ask": replies(self.DOCUMENT)}) as server:
            return ask(make(server.url("/ask"), tmp_path, **keys))[0]

    def test_citations(self, tmp_path):
        said = self.said(tmp_path, citations_pointer="$.citations[*].id")
        assert (said.text, said.citations) == ("The fare is $2.50.", ("src-1", "2"))

    def test_citations_appended(self, tmp_path):
        said = self.said(tmp_path, citations_pointer="$.citations[*].id", append_citations=True)
        assert (said.text, said.citations) == ("The fare is $2.50. [src-1] [2]", ("src-1", "2"))

    def test_what_the_text_cites_already_is_not_appended_again(self, tmp_path):
        document = {"answer": "It is $2 [a] [[b] [c", "ids": ["a", "b", "c", "c"]}
        with Server({"/ask": replies(document)}) as server:
            adapter = make(server.url("/ask"), tmp_path, citations_pointer="ids", append_citations=True)
            (said,) = ask(adapter)
        assert said.text == "It is $2 [a] [[b] [c [c]"

    def test_none_is_not_the_same_as_not_captured(self, tmp_path):
        assert self.said(tmp_path, citations_pointer="$.none[*].id").citations == ()
        assert self.said(tmp_path, citations_pointer="none").citations == ()
        assert self.said(tmp_path, citations_pointer="$.absent[*].id").citations is None
        assert self.said(tmp_path, citations_pointer="null").citations is None
        assert self.said(tmp_path, retrieved_pointer="$.none[*]").retrieved == ()
        assert self.said(tmp_path, retrieved_pointer="absent").retrieved is None
        assert self.said(tmp_path, retrieved_pointer="null").retrieved is None

    def test_an_object_is_no_id(self, tmp_path):
        with pytest.raises(CallError) as caught:
            self.said(tmp_path, citations_pointer="$.citations[*]")
        assert caught.value.fault == "wrong_type"

    def test_passages(self, tmp_path):
        said = self.said(tmp_path, retrieved_pointer="passages")
        assert said.retrieved == (
            Retrieved("src-1", "A ride costs $2.50."), Retrieved("src-2", None), Retrieved(None, "bare"),
        )  # fmt: skip

    def test_document_ids(self, tmp_path):
        said = self.said(tmp_path, document_ids_pointer="$.citations[*].id")
        assert said.retrieved == (Retrieved("src-1", None), Retrieved("2", None))

    def test_a_passage_with_neither(self, tmp_path):
        with pytest.raises(CallError) as caught:
            self.said(tmp_path, retrieved_pointer="citations", retrieved_id_pointer="name")
        assert caught.value.fault == "not_extracted"
        with pytest.raises(CallError) as caught:
            self.said(tmp_path, retrieved_pointer="$.citations[*].id[0]", document_ids_pointer=None) and self.said(
                tmp_path, retrieved_pointer="$.citations[1].id"
            )
        assert caught.value.fault == "wrong_type"

    def test_an_answer_in_parts(self, tmp_path):
        with pytest.raises(CallError) as caught:
            self.said(tmp_path, response_pointer="$.passages[0].*")
        assert caught.value.fault == "not_extracted"
        said = self.said(tmp_path, response_pointer="$.passages[0].*", response_join="|")
        assert said.text == "src-1|A ride costs $2.50."


class TestTurns:
    QUESTION = Question(item="fare.en", lang="en", prompt="One?", turns=("Two?", "Three?"))

    def test_the_id_of_the_target_is_sent_back(self, tmp_path):
        with Server({"/ask": echo}) as server:
            adapter = make(
                server.url("/ask"),
                tmp_path,
                body={"q": "{prompt}", "c": "{conversation}", "l": ["{conversation}", "x"]},
                query={"c": "{conversation}"},
                headers={"X-C": "{conversation}"},
                conversation_pointer="conversation",
            )
            assert adapter.conversational
            assert len(ask(adapter, self.QUESTION)) == 3
        assert [asked.json.get("c") for asked in server.asked] == [None, "c-1", "c-1"]
        assert [asked.json["l"] for asked in server.asked] == [["x"], ["c-1", "x"], ["c-1", "x"]]
        assert [asked.headers.get("x-c") for asked in server.asked] == [None, "c-1", "c-1"]
        assert [asked.path for asked in server.asked] == ["/ask", "/ask?c=c-1", "/ask?c=c-1"]

    def test_an_id_of_our_own_is_another_for_each_conversation(self, tmp_path):
        with Server({"/ask": echo}) as server:
            adapter = make(server.url("/ask"), tmp_path, body={"q": "{prompt}", "c": "{conversation}"})
            ask(adapter, self.QUESTION)
            ask(adapter, self.QUESTION)
        ids = [asked.json["c"] for asked in server.asked]
        assert ids == [ids[0]] * 3 + [ids[3]] * 3
        assert ids[0] != ids[3]

    def test_the_history_is_sent(self, tmp_path):
        with Server({"/ask": echo}) as server:
            adapter = make(
                server.url("/ask"),
                tmp_path,
                body={"q": "{prompt}", "messages": [{"by": "system"}, "{history}"]},
                history={"role": "by", "content": "said", "user": "human", "assistant": "machine"},
            )
            ask(adapter, self.QUESTION)
        assert server.asked[1].json["messages"] == [
            {"by": "system"},
            {"by": "human", "said": "One?"},
            {"by": "machine", "said": "You asked: One?"},
            {"by": "human", "said": "Two?"},
        ]
        assert len(server.asked[2].json["messages"]) == 6

    def test_what_the_target_said_can_be_sent_back_whatever_it_is(self, tmp_path):
        with Server({"/ask": replies({"answer": "\ud800\x00\x1b"})}) as server:
            ask(make(server.url("/ask"), tmp_path, body={"m": "{history}"}), self.QUESTION)
        assert server.asked[1].json["m"][1] == {"role": "assistant", "content": "\ufffd\x00\x1b"}

    def test_a_failed_turn_is_not_part_of_it(self, tmp_path):
        with Server({"/ask": in_turn(echo, replies({}, 500), echo)}) as server:
            adapter = make(server.url("/ask"), tmp_path, body={"turn": "{turn}", "m": "{history}"})
            conversation = adapter.open(self.QUESTION)
            conversation.ask("One?")
            with pytest.raises(CallError):
                conversation.ask("Two?")
            conversation.ask("Two?")
        assert [asked.json["turn"] for asked in server.asked] == ["1", "2", "2"]
        assert server.asked[1].json == server.asked[2].json

    def test_no_id_came(self, tmp_path):
        with Server({"/ask": replies({"answer": "x", "conversation": ""})}) as server:
            adapter = make(
                server.url("/ask"),
                tmp_path,
                body={"q": "{prompt}", "c": "{conversation}"},
                conversation_pointer="conversation",
            )
            with pytest.raises(CallError) as caught:
                ask(adapter, self.QUESTION)
        assert (caught.value.fault, len(server.asked)) == ("no_identifier", 1)

    def test_nothing_carries_a_conversation(self, tmp_path):
        adapter = make("http://target.example/", tmp_path)
        assert not adapter.conversational
        with pytest.raises(ConfigurationError, match=r"fare\.en"):
            adapter.open(self.QUESTION)


def test_the_description(tmp_path):
    adapter = make(
        "http://target.example/ask", tmp_path, headers={"B": "1", "A": "2"}, query={"v": "2"}, retries=2,
        citations_pointer="$.c[*]",
    )  # fmt: skip
    told = adapter.describe()
    assert (told["kind"], told["endpoint"]) == ("http_json", "http://target.example/ask")
    call = told["call"]
    assert (call["header_names"], call["body_template"], call["query_template"]) == (["A", "B"], BODY, {"v": "2"})
    assert call["bounds"] == {
        "timeout_seconds": 5.0, "max_response_bytes": 262144, "retries": 2, "retry_delay_seconds": 0.0,
    }  # fmt: skip
    assert re.fullmatch(r"[0-9a-f]{64}", told["request_sha256"])
    other = make("http://target.example/ask", tmp_path, append_citations=True, citations_pointer="$.c[*]").describe()
    assert other["request_sha256"] != told["request_sha256"]
    assert other["call"]["append_citations"] is True
    assert adapter.kind == "http_json"


def test_a_deep_document_is_no_crash(tmp_path):
    body = b'{"a":' * 300 + b"1" + b"}" * 300
    assert fault_of(reply(200, body), tmp_path, response_pointer="$..text").fault == "not_extracted"
