"""A set-up that would not record is named before anything is recorded."""

import json

import pytest

from plumbline.cli.main import main
from plumbline.errors import ExitCode
from plumbline.record.adapters.base import CallError, Reply
from plumbline.record.authorisation import PRODUCTION_FLAG
from plumbline.record.config import load_recording
from plumbline.record.probe import QUESTIONS, Answer, probe
from tests.record import servers
from tests.record.servers import Server, endless, events, in_turn, replies, stream

ITEMS = [{"id": f"i{n}", "lang": "en", "behavior": "refuse", "prompt": f"Question {n}?"} for n in range(4)]
CANARY = "canary-4711-probe"


def write(folder, endpoint, *, items=ITEMS, **keys):
    questions = folder / "questions"
    if items is not None:
        questions.mkdir()
        (questions / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
        manifest = {"format": "plumbline-bundle", "format_version": 1, "files": {"items": "items.jsonl"}}
        (questions / "manifest.json").write_text(json.dumps(manifest))
        assert main(["seal", str(questions)]) == 0
    table = {
        "kind": "http_json", "questions": "questions", "endpoint": endpoint, "body": {"q": "{prompt}"},
        "response_pointer": "answer", "timeout_seconds": 5.0, **keys,
    }  # fmt: skip
    lines = [f"{key} = {toml(value)}" for key, value in table.items() if value is not None]
    config = folder / "target.toml"
    config.write_text("\n".join(['[target]\nname = "t"', "[adapter]", *lines]))
    return config


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(inner)}" for key, inner in value.items()) + " }"
    return json.dumps(value)


@pytest.fixture
def probed(tmp_path, capsys):
    """Probe a target with this behaviour: exit code, output, errors, and what was asked."""

    def run(behaviour, path="/ask", **keys):
        scheme = "ws" if keys.get("kind") == "websocket" else "http"
        with Server({path: behaviour}) as server:
            config = write(tmp_path, server.url(path, scheme), **keys)
            before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
            capsys.readouterr()
            code = main(["probe", "--config", str(config)])
        assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
        told = capsys.readouterr()
        return code, told.out, told.err, server.asked

    return run


def test_a_good_set_up(probed):
    code, out, err, asked = probed(replies({"answer": "I answer.", "c": ["s1"]}), citations_pointer="c")
    assert (code, err) == (ExitCode.PASS, "")
    assert [one.json["q"] for one in asked] == list(QUESTIONS)
    assert '{"answer": "I answer."' in out
    assert "answer:     I answer." in out
    assert "citations:  s1" in out
    assert "projected:  4 calls" in out
    assert "FAULT" not in out


@pytest.mark.parametrize(
    ("behaviour", "keys", "code", "key", "times"),
    [
        (replies({}, 401), {}, "auth_rejected", "adapter.headers", 1),
        (replies({}, 429), {}, "rate_limited", "adapter.min_interval_seconds", 1),
        (replies({}, 404), {}, "bad_status", "adapter.endpoint", 3),
        (replies({}, 302, Location="/x"), {}, "redirected", "adapter.endpoint", 1),
        (servers.hang_up, {}, "unreachable", "adapter.endpoint", 1),
        (servers.hang, {"timeout_seconds": 0.2}, "timeout", "adapter.timeout_seconds", 3),
        (servers.flood, {}, "too_large", "adapter.max_response_bytes", 3),
        (servers.garbage, {}, "malformed", "adapter.kind", 3),
        (replies({"answer": 5}), {}, "wrong_type", "adapter.response_pointer", 3),
        (servers.reply(200, b""), {}, "empty", "adapter.response_pointer", 3),
        (
            endless(events({"t": "on and on "})),
            {"kind": "sse", "response_pointer": "t", "stop_event": "end", "timeout_seconds": 0.3},
            "timeout", "adapter.stop_event", 3,
        ),
        (
            stream(events({"t": "x"})), {"kind": "sse", "response_pointer": "t", "stop_event": "end"},
            "malformed", "adapter.stop_event", 3,
        ),
        (
            replies({"no": "handle"}),
            {"kind": "submit_poll", "poll_endpoint": "http://127.0.0.1:9/{handle}", "handle_pointer": "job",
             "ready_field": "s", "ready_value": "r"},
            "no_identifier", "adapter.handle_pointer", 3,
        ),
        (
            replies({"answer": "x"}),
            {"conversation_pointer": "id", "body": {"q": "{prompt}", "c": "{conversation}"}},
            "no_identifier", "adapter.conversation_pointer", 2,
        ),
    ],
)  # fmt: skip
def test_each_fault_has_a_name_and_a_key(behaviour, keys, code, key, *, times, probed):
    found, out, err, asked = probed(behaviour, **keys)
    assert found == ExitCode.CONFIGURATION
    assert f"FAULT:      {code}:" in out
    assert f"change:   {key}\n" in out
    assert code in err
    assert len(asked) == times


@pytest.mark.parametrize("typed", [True, False])
def test_production_is_asked_nothing_unless_somebody_types_that(typed, tmp_path, capsys):
    with Server({"/ask": replies({"answer": "x"})}) as server:
        config = write(tmp_path, server.url("/ask"))
        with config.open("a") as file:
            file.write(
                '\n[authorisation]\nauthorised_by = "the owner"\nauthorised_on = 2026-01-01\n'
                'environment = "production"\nscope = "all of it"\n'
            )
        code = main(["probe", "--config", str(config), *([PRODUCTION_FLAG] if typed else [])])
    assert code == (ExitCode.PASS if typed else ExitCode.CONFIGURATION)
    assert bool(server.asked) is typed
    assert (PRODUCTION_FLAG in capsys.readouterr().err) is not typed


def test_the_last_two_questions_are_one_conversation_where_one_is_carried(probed):
    code, _, _, asked = probed(
        replies({"answer": "x", "id": "c-3"}),
        conversation_pointer="id",
        body={"q": "{prompt}", "c": "{conversation}"},
    )
    assert code == ExitCode.PASS
    assert [one.json.get("c") for one in asked] == [None, None, "c-3"]


def test_paths_are_suggested_where_nothing_was_found(probed):
    _, out, _, _ = probed(replies({"data": [{"text": "A long enough answer to be one."}], "short": "no"}))
    assert "a guess:  $.data[0].text -> A long enough answer to be one." in out
    assert "-> no" not in out


def test_short_ones_where_there_are_no_long_ones(probed):
    _, out, _, _ = probed(replies({"reply": "Yes."}))
    assert "a guess:  $.reply -> Yes." in out


def test_paths_are_suggested_for_pieces(probed):
    sent = events({"delta": {"text": "Yes"}}, event="token") + events("{}", event="end")
    _, out, _, _ = probed(stream(sent), kind="sse", response_pointer="text", stop_event="end")
    assert "a guess:  $.delta.text -> Yes" in out
    assert "raw | [token]" in out


def test_citations_that_never_come_are_no_reason_to_stop(probed):
    document = {"answer": "x", "sources": [{"id": "s-1"}]}
    code, out, _, _ = probed(replies(document), citations_pointer="cites", retrieved_pointer="passages")
    assert code == ExitCode.PASS
    assert "NOTE:       citations_not_extracted" in out
    assert "NOTE:       retrieved_not_extracted" in out
    assert "a guess:  $.sources[*].id -> s-1" in out


def test_an_empty_list_is_an_answer(probed):
    _, out, _, _ = probed(replies({"answer": "x", "c": []}), citations_pointer="$.c[*]")
    assert "NOTE" not in out
    assert "citations:  none" in out


def test_passages_are_shown(probed):
    _, out, _, _ = probed(replies({"answer": "x", "p": [{"id": "a"}, {"text": "b"}]}), retrieved_pointer="p")
    assert "passages:   2: a, (no id)" in out


def test_one_fault_is_told_once(probed):
    _, out, _, _ = probed(in_turn(replies({}, 500), replies({"answer": 1}), replies({}, 500)))
    assert out.count("FAULT:      bad_status") == 1
    assert out.count("FAULT:      wrong_type") == 1


def test_without_questions_nothing_is_projected(probed):
    code, out, err, _ = probed(replies({"answer": "x"}), items=None)
    assert code == ExitCode.PASS
    assert "projected" not in out
    assert "WARNING" in err


def test_a_secret_shows_nowhere(probed, monkeypatch):
    monkeypatch.setenv("TOKEN", CANARY)
    code, out, err, asked = probed(
        replies({"answer": f"your token is {CANARY}"}), headers={"Authorization": {"env": "TOKEN"}}
    )
    assert asked[0].headers["authorization"] == CANARY
    assert code == ExitCode.CONFIGURATION
    assert "FAULT:      secret_echoed" in out
    assert CANARY not in out + err


def test_hostile_text_is_shown_and_does_nothing(probed):
    hostile = "\x1b[2J\n::error::x\n##[group]\u202e" + "long " * 5000
    code, out, _, _ = probed(replies({"answer": hostile, "more": ["\n".join(["x"] * 500)]}))
    assert code == ExitCode.PASS
    assert "\x1b" not in out
    assert "\u202e" not in out
    assert not [text for text in out.splitlines() if text.startswith(("::", "##"))]
    assert len(out) < 12_000
    assert "characters in all" in out


class Slow:
    """An adapter whose every call takes as long as it is told, on a clock of its own."""

    kind = "http_json"
    conversational = False

    def __init__(self, seconds, fault=None):
        self.seconds, self.time, self.fault, self.waited, self.closed = seconds, 0.0, fault, [], 0

    def now(self):
        return self.time

    def wait(self, _stop, seconds):
        self.waited.append(seconds)
        return False

    def open(self, _question):
        return self

    def ask(self, text):
        self.time += self.seconds
        if self.fault:
            raise CallError("it is so", fault=self.fault)
        return Reply(text)

    def close(self):
        self.closed += 1


def settings(tmp_path, **keys):
    return load_recording(write(tmp_path, "http://target.example/", **keys), {})


@pytest.mark.parametrize(
    ("seconds", "keys", "calls", "hours"),
    [(2.0, {}, 1800, 1.0), (2.0, {"connections": 2}, 1800, None), (0.1, {"min_interval_seconds": 4.0}, 900, 1.0),
     (2.0, {}, 1799, None), (2.0, {}, None, None)],
)  # fmt: skip
def test_an_hour_is_long(seconds, keys, calls, hours, tmp_path):
    config = settings(tmp_path, **keys)
    slow, shown = Slow(seconds), []
    found = probe(slow, config.settings, config.secrets, calls=calls, watch=shown.append, clock=slow)
    codes = [diagnosis.code for diagnosis in found.diagnoses]
    assert codes == (["run_too_long"] if hours else [])
    assert not found.blocked
    assert slow.waited == [keys.get("min_interval_seconds", 0.0)] * 2
    assert [answer.question for answer in shown] == list(QUESTIONS)
    assert slow.closed == 3


def test_an_answer_without_a_raw_body():
    assert Answer("q", 1.0, None, None).raw is None


def test_every_fault_has_a_diagnosis(tmp_path):
    from typing import get_args

    from plumbline.record.adapters.base import Fault

    config = settings(tmp_path)
    for fault in get_args(Fault):
        slow = Slow(1.0, fault)
        found = probe(slow, config.settings, config.secrets, calls=1, watch=lambda _: None, clock=slow)
        assert [diagnosis.code for diagnosis in found.diagnoses] == [fault]
        assert found.blocked
        assert found.projected is None
