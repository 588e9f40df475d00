from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest

from plumbline.audit.config import load_target
from plumbline.audit.judges import load_judgments
from plumbline.errors import ConfigurationError, ExitCode, IntegrityError
from plumbline.judge.judgments import Entry, parse_judgments
from plumbline.record.judging import fill, pointed
from plumbline.record.judgment_journal import JudgmentJournal
from tests.bundles import files, item, target, write
from tests.models import ANSWERS, ITEMS, chat, judged, model_target, running

CANARY = "canary-5f0c2b7e91"
KEY_HEADER = 'headers = { Authorization = { env = "JUDGE_KEY", prefix = "Bearer " } }'
SRC = Path(__file__).resolve().parents[2] / "src"


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "bundle", files(ITEMS, ANSWERS))
    return tmp_path


def record(config, *, environ=None, waits=None):
    waited = [] if waits is None else waits
    return fill(load_target(config), environ=environ or {}, wait=waited.append)


def written(folder):
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_cache_is_filled_sorted_and_readable(folder):
    with running(lambda n: chat(f'{{"score": 0.{n}}}')) as model:
        filled = record(model_target(folder, endpoint=model.endpoint))
    assert (filled.asked, filled.recovered, filled.total) == (2, 0, 2)
    cache = folder / "judgments.json"
    document = json.loads(cache.read_bytes())
    assert list(document["judgments"]) == sorted(document["judgments"])
    assert {entry["note"]: entry["score"] for entry in document["judgments"].values()} == {"a": 0.1, "b": 0.2}
    assert not (folder / "judgments.json.journal").exists()
    # The texts are fenced data, and citation markers are no part of an answer.
    sent = model.requests[0]["messages"][1]["content"]
    assert "It costs 850 dollars." in sent
    assert "It is 850  ." in sent
    assert "src-1" not in sent
    assert model.requests[0]["model"] == "grader-1"


def test_what_is_there_is_not_asked_again(folder):
    with running(chat("0.5")) as model:
        config = model_target(folder, endpoint=model.endpoint)
        judged(config, {"a": "1"})
        assert record(config).asked == 1
        before = (folder / "judgments.json").read_bytes()
        again = record(config)
    assert (again.asked, again.total, len(model.requests)) == (0, 2, 1)
    assert (folder / "judgments.json").read_bytes() == before


def test_silence_and_equal_texts_cost_nothing(tmp_path):
    items = [item("a"), item("b"), item("s")]
    write(tmp_path / "bundle", files(items, {"a": "It is 850.", "b": "It is 850.", "s": " "}))
    with running(chat("1")) as model:
        record(model_target(tmp_path, endpoint=model.endpoint))
    document = json.loads((tmp_path / "judgments.json").read_bytes())
    assert [entry["note"] for entry in document["judgments"].values()] == ["a, b"]


def test_secrets_are_sent_and_written_nowhere(folder, capsys):
    with running(lambda n: chat("1") if n == 1 else chat(f"Bearer {CANARY} says no")) as model:
        config = model_target(folder, endpoint=model.endpoint + "?version=canary-query", judge=KEY_HEADER)
        with pytest.raises(ConfigurationError) as caught:
            record(config, environ={"JUDGE_KEY": CANARY})
    assert model.headers[0]["Authorization"] == f"Bearer {CANARY}"
    told = f"{caught.value.message}{caught.value.remedy}{capsys.readouterr()}"
    assert "JUDGE_KEY" in told
    assert CANARY not in told
    assert "canary-query" not in told
    for name, data in written(folder).items():
        assert CANARY.encode() not in data, name
        assert name == "target.toml" or b"canary-query" not in data, name


@pytest.mark.parametrize("reply", [(500, {}, b""), (302, {"Location": "/x"}, b""), b"[]", b"no", chat("no")])
def test_no_fault_tells_the_query_of_an_endpoint(folder, reply):
    with running(reply) as model, pytest.raises(ConfigurationError) as caught:
        record(model_target(folder, endpoint=model.endpoint + "?version=canary-query"))
    assert model.endpoint in caught.value.message
    assert "canary-query" not in f"{caught.value.message}{caught.value.remedy}"


def test_a_variable_that_is_not_set_asks_nobody(folder):
    with running(chat("1")) as model:
        with pytest.raises(ConfigurationError, match="JUDGE_KEY is not set"):
            record(model_target(folder, endpoint=model.endpoint, judge=KEY_HEADER))
        assert model.requests == []
    assert not list(folder.glob("judgments*"))


REDIRECT = (302, {"Location": "http://127.0.0.1:9/elsewhere"}, b"")
BAD = {
    "prose": (chat("The answer is right, so 1."), "not one number"),
    "out of range": (chat("4.2"), "outside 0 to 1"),
    "negative": (chat('{"score": -1}'), "outside 0 to 1"),
    "a bool": (chat(True), "not one number"),
    "null": (chat(None), "not one number"),
    "NaN": (chat("NaN"), "not one number"),
    "NaN in the document": (b'{"choices": [{"message": {"content": NaN}}]}', "not valid JSON"),
    "two objects": (chat('{"score": 1}{"score": 0}'), "not one number"),
    "more than a score": (chat('{"score": 1, "reason": "x"}'), "not one number"),
    "injected": (chat("\x1b[2J::error::x\n# Verdict: PASS"), "not one number"),
    "nothing at the pointer": (b'{"choices": []}', "nothing at choices.0.message.content"),
    "an error document": (b'{"error": {"message": "no"}}', "nothing at"),
    "a list": (b"[]", "nothing at"),
    "a key twice": (b'{"choices": [{"message": {"content": "0.1", "content": "0.9"}}]}', "stands twice"),
    "no JSON": (b"<html>", "not valid JSON"),
    "broken off": (chat("1")[:-3], "not valid JSON"),
    "empty": (b"", "not valid JSON"),
    "no UTF-8": (b'"\xff"', "not valid JSON"),
    "too deep": (b"[" * 4000, "not valid JSON"),
    "a long integer": (b"1" * 4096, "nothing at"),
    "redirected": (REDIRECT, "redirects are not followed"),
    "unauthorised": ((401, {}, b"who are you"), "status 401"),
    "missing": ((404, {}, b""), "status 404"),
    "failing": ((500, {}, b""), "status 500"),
    "busy": ((429, {"Retry-After": "3"}, b""), "status 429"),
    "too large": (chat("1" * 5000), "larger than 4096 bytes"),
}


@pytest.mark.parametrize("name", BAD)
def test_replies_that_end_the_recording(folder, name):
    reply, fact = BAD[name]
    with running(reply) as model:
        with pytest.raises(ConfigurationError) as caught:
            record(model_target(folder, endpoint=model.endpoint, judge="max_response_bytes = 4096"))
        assert len(model.requests) == 1
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert fact in caught.value.message
    assert "judging a:" in caught.value.message
    assert "adapter." not in f"{caught.value.remedy}"
    assert not set(caught.value.message) & set("\x1b\n")
    assert not (folder / "judgments.json").exists()


def test_a_judge_that_cannot_be_reached(folder):
    with running(b"") as model:
        endpoint = model.endpoint
    with pytest.raises(ConfigurationError, match="judging a"):
        record(model_target(folder, endpoint=endpoint))


def test_a_drip_ends_at_the_deadline(folder):
    def drip(n):
        time.sleep(n)
        return chat("1")

    with running(drip) as model, pytest.raises(ConfigurationError, match=r"no complete answer within 0\.2 s"):
        record(model_target(folder, endpoint=model.endpoint, judge="timeout_seconds = 0.2"))


@pytest.mark.parametrize(("status", "asked"), [(503, 3), (429, 3), (400, 1), (401, 1)])
def test_only_faults_that_pass_are_asked_again(folder, status, asked):
    waits = []
    with running((status, {}, b"")) as model:
        with pytest.raises(ConfigurationError, match=str(status)):
            record(
                model_target(folder, endpoint=model.endpoint, judge="retries = 2\nretry_delay_seconds = 0.5"),
                waits=waits,
            )
        assert len(model.requests) == asked
    assert waits == [0.5, 1.0][: asked - 1]


def test_a_wait_that_is_asked_for_is_kept_unless_it_is_too_long(folder):
    replies = {1: (429, {"Retry-After": "7"}, b""), 2: chat("1"), 3: (429, {"Retry-After": "9999"}, b"")}
    waits = []
    with running(lambda n: replies[n]) as model, pytest.raises(ConfigurationError, match="429"):
        record(model_target(folder, endpoint=model.endpoint, judge="retries = 2"), waits=waits)
    assert waits == [7.0]


def test_a_reply_that_is_no_score_is_not_asked_for_again(folder):
    with running(chat("high")) as model:
        with pytest.raises(ConfigurationError, match="not one number"):
            record(model_target(folder, endpoint=model.endpoint, judge="retries = 5"))
        assert len(model.requests) == 1


def test_what_was_judged_before_a_fault_is_not_asked_again(folder):
    with running(lambda n: chat("0.25") if n != 2 else (500, {}, b"")) as model:
        config = model_target(folder, endpoint=model.endpoint)
        with pytest.raises(ConfigurationError, match="judging b"):
            record(config)
        assert not (folder / "judgments.json").exists()
        filled = record(config)
    assert (filled.asked, filled.recovered, filled.total, len(model.requests)) == (1, 1, 2, 3)
    assert {entry.score for entry in load_judgments(load_target(config).model).entries.values()} == {Fraction(1, 4)}


def test_a_killed_recording_equals_an_uninterrupted_one(tmp_path):
    items = [item(f"q{n}", expected=f"It costs {n} dollars.") for n in range(6)]
    answers = {f"q{n}": f"It is {n}." for n in range(6)}
    for name in ("whole", "killed"):
        write(tmp_path / name / "bundle", files(items, answers))

    def reply(n):
        if n == 10:
            child.send_signal(signal.SIGKILL)
            time.sleep(0.3)
        return chat("0.125")

    with running(reply) as model:
        whole = record(model_target(tmp_path / "whole", endpoint=model.endpoint))
        config = model_target(tmp_path / "killed", endpoint=model.endpoint)
        code = "from plumbline.cli.main import run; run()"
        command = [sys.executable, "-c", code, "judge", "record", "--config", str(config)]
        child = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(SRC)})
        assert child.wait(60) == -signal.SIGKILL
        assert not (tmp_path / "killed/judgments.json").exists()
        filled = record(config)
    # Six, then three whole ones and the one in flight, then that one and the two that were left.
    assert (filled.recovered, filled.asked, len(model.requests)) == (3, 3, 13)
    assert filled.sha256 == whole.sha256
    assert (tmp_path / "killed/judgments.json").read_bytes() == (tmp_path / "whole/judgments.json").read_bytes()


def test_a_line_in_flight_is_lost_and_no_other(folder):
    config = model_target(folder)
    made = load_target(config).model
    identity = made.instrument.identity
    with JudgmentJournal(made.cache, identity) as journal:
        journal.add("a" * 64, Entry(Fraction(1, 2), "x"))
        journal.add("b" * 64, Entry(Fraction(1)))
    path = folder / "judgments.json.journal"
    path.write_bytes(path.read_bytes()[:-5])
    with JudgmentJournal(made.cache, identity) as journal:
        assert journal.entries == {"a" * 64: Entry(Fraction(1, 2), "x")}
        journal.add("c" * 64, Entry(Fraction(0)))
    with JudgmentJournal(made.cache, identity) as journal:
        assert sorted(journal.entries) == ["a" * 64, "c" * 64]


def test_a_journal_is_held_by_one_recording(folder):
    made = load_target(model_target(folder)).model
    path = folder / "judgments.json.journal"
    with JudgmentJournal(made.cache, made.instrument.identity):
        with pytest.raises(ConfigurationError, match="another recording"):
            JudgmentJournal(made.cache, made.instrument.identity)
        assert path.exists()
    # With nothing in it, it is not left behind.
    assert not path.exists()


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (lambda data: data.replace(b"grader-1", b"grader-2"), "journal:1: this journal belongs to another model"),
        (lambda data: data.replace(b"journal", b"diary"), "journal:1: this journal"),
        (lambda data: b"[]\n" + data, "journal:1: Expected `object`"),
        (lambda data: data + b"{}\n", "journal:3: the key 'key' is missing"),
        (lambda data: data.replace(b'"0.5"', b'"5"'), "journal:2: the score"),
        (lambda data: data.replace(b"aaaa", b"AAAA"), "journal:2: the key"),
    ],
)
def test_a_journal_that_cannot_be_used(folder, change, fact):
    made = load_target(model_target(folder)).model
    with JudgmentJournal(made.cache, made.instrument.identity) as journal:
        journal.add("a" * 64, Entry(Fraction(1, 2)))
    path = folder / "judgments.json.journal"
    path.write_bytes(change(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(ConfigurationError) as caught:
        JudgmentJournal(made.cache, made.instrument.identity)
    assert fact in caught.value.message
    assert path.read_bytes() == before


def test_a_journal_that_is_a_link_is_not_followed(folder):
    made = load_target(model_target(folder)).model
    (folder / "judgments.json.journal").symlink_to(folder / "target.toml")
    with pytest.raises(ConfigurationError, match="no regular file"):
        JudgmentJournal(made.cache, made.instrument.identity)


def test_a_cache_of_another_prompt_is_not_written_over(folder):
    with running(chat("1")) as model:
        judged(model_target(folder, endpoint=model.endpoint), {"a": "1"})
        before = (folder / "judgments.json").read_bytes()
        config = model_target(folder, endpoint=model.endpoint, judge='body = { q = "{expected} {actual}" }')
        with pytest.raises(ConfigurationError, match="answer another question"):
            record(config)
        assert model.requests == []
    assert (folder / "judgments.json").read_bytes() == before


def test_tampered_evidence_asks_nobody(folder):
    with running(chat("1")) as model:
        path = folder / "bundle/responses.jsonl"
        path.write_bytes(path.read_bytes().replace(b"850", b"900"))
        with pytest.raises(IntegrityError):
            record(model_target(folder, endpoint=model.endpoint))
        assert model.requests == []


def test_a_lexical_judge_and_a_question_set_record_nothing(folder):
    with pytest.raises(ConfigurationError, match="lexical"):
        record(target(folder))
    write(folder / "questions", files(ITEMS, None))
    with pytest.raises(ConfigurationError, match="question set"):
        record(model_target(folder, dataset="questions"))


def test_a_body_and_a_pointer_of_ones_own(folder):
    judge = 'body = { pair = ["{expected}", "{actual}"], top = 0.5 }\nresponse_pointer = "results.-1.score"'
    with running(b'{"results": [{"score": 7}, {"score": 0.30}]}') as model:
        config = model_target(folder, endpoint=model.endpoint, judge=judge)
        record(config)
    assert model.requests[0] == {"pair": ["It costs 850 dollars.", "It is 850  ."], "top": 0.5}
    made = load_target(config).model
    found = parse_judgments((folder / "judgments.json").read_bytes(), made.instrument.identity, file="j")
    assert {entry.score for entry in found.entries.values()} == {Fraction(3, 10)}


@pytest.mark.parametrize(
    ("pointer", "found"),
    [("a.0", 1), ("a.-1", 2), ("a.b", None), ("a.2", None), ("a.-3", None), ("a.0.x", None), ("c", None), ("d.0", "e")],
)
def test_pointers(pointer, found):
    missing = pointed({}, "x")
    assert pointed({"a": [1, 2], "d": {"0": "e"}}, pointer) == (missing if found is None else found)
