from __future__ import annotations

import json
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.canonical import canonical_sha256
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.judge.judgments import (
    Entry,
    Identity,
    Judgments,
    judgment_key,
    parse_judgments,
    render_judgments,
    score_text,
)

WHO = Identity(model="grader-1", prompt_sha256="p" * 64)
KEY = judgment_key(WHO, "It costs 850.", "It is 850.")
scores = st.integers(0, 10**6).map(lambda millionths: Fraction(millionths, 10**6))
keys = st.integers(0, 2**256 - 1).map("{:064x}".format)


def document(score="0.5", **changes):
    found = {
        "format": "plumbline-judgments",
        "format_version": 1,
        "judge": {"model": "grader-1", "prompt_sha256": "p" * 64},
        "judgments": {KEY: {"score": "SCORE"}},
        **changes,
    }
    return json.dumps(found, indent=2).replace('"SCORE"', score).encode()


def parse(data):
    return parse_judgments(data, WHO, file="judgments.json")


@given(st.dictionaries(keys, st.builds(Entry, scores, st.none() | st.text(max_size=30)), max_size=5))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_is_written_is_what_is_read(entries):
    made = Judgments(WHO, entries)
    data = render_judgments(made)
    assert parse(data) == made
    assert render_judgments(parse(data)) == data
    assert list(json.loads(data)["judgments"]) == sorted(entries)


def test_the_order_of_entries_changes_no_byte_and_no_digest():
    one, two = Entry(Fraction(1)), Entry(Fraction(1, 4), "for item a")
    left, right = Judgments(WHO, {"a" * 64: one, "b" * 64: two}), Judgments(WHO, {"b" * 64: two, "a" * 64: one})
    assert render_judgments(left) == render_judgments(right)
    assert left.sha256 == right.sha256 == canonical_sha256({"a" * 64: 1, "b" * 64: 0.25})


def test_a_note_decides_nothing_and_a_score_does():
    assert Judgments(WHO, {KEY: Entry(Fraction(1), "x")}).sha256 == Judgments(WHO, {KEY: Entry(Fraction(1))}).sha256
    assert Judgments(WHO, {KEY: Entry(Fraction(1))}).sha256 != Judgments(WHO, {KEY: Entry(Fraction(0))}).sha256


def test_the_key_is_the_digest_of_who_and_what():
    parts = {"model": "grader-1", "prompt_sha256": "p" * 64, "expected": "It costs 850.", "actual": "It is 850."}
    assert canonical_sha256(parts) == KEY
    for name, value in parts.items():
        changed = {**parts, name: value + "x"}
        who = Identity(model=changed["model"], prompt_sha256=changed["prompt_sha256"])
        assert judgment_key(who, changed["expected"], changed["actual"]) != KEY


@pytest.mark.parametrize(
    ("score", "exact"),
    [("0", 0), ("1", 1), ("0.1", Fraction(1, 10)), ("1.000000", 1), ("0.000001", Fraction(1, 10**6))],
)
def test_scores_are_exact(score, exact):
    assert parse(document(score)).entries[KEY].score == exact


@pytest.mark.parametrize(
    "score",
    [
        *("1.1", "-0.1", "4.2", "2", "-0", "1.0000001", "0.1234567", "1e0", "1E-2", "0.50000000000000000001"),
        *("true", "false", "null", '"0.5"', '"high"', "[]", "{}", "9" * 5000),
    ],
)
def test_what_is_no_score_names_file_line_and_key(score):
    with pytest.raises(ConfigurationError) as caught:
        parse(document(score))
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert "judgments.json" in caught.value.message
    if len(score) < 100:
        assert caught.value.message.startswith("judgments.json:9: ")
        assert KEY in caught.value.message


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity", "01", ".5", "+1", ""])
def test_what_is_no_json_is_refused(word):
    with pytest.raises(ConfigurationError, match="not valid JSON"):
        parse(document(word))


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"[]", "judgments.json: Expected `object`"),
        (document(format="plumbline-baseline"), "'plumbline-baseline' version 1"),
        (document(format_version=2), "version 2"),
        (document(extra=1), "unknown key 'extra'"),
        (document(judge={"model": "grader-2", "prompt_sha256": "p" * 64}), "'judge.model' is 'grader-2'"),
        (document(judge={"model": "grader-1", "prompt_sha256": "q" * 64}), "'judge.prompt_sha256'"),
        (document(judge={"model": "grader-1"}), "'judge.prompt_sha256' is missing"),
        (document(judgments={KEY: 1}), f"judgments.json:9: judgment '{KEY}': Expected `object`"),
        (document(judgments={KEY: {"score": 1, "scor": 1}}), "unknown key 'scor'"),
        (document(judgments={KEY: {"note": "x"}}), "'score' is missing"),
        (document(judgments={KEY: {"score": 1, "note": 3}}), "at key 'note'"),
        (document(judgments={KEY: {"score": 1, "note": "x" * 2001}}), "longer than 2000"),
        (document(judgments={KEY.upper(): {"score": 1}}), "judgments.json:9: the key"),
        (document(judgments={"short": {"score": 1}}), "'short' is not 64"),
        (document(judgments={"é": {"score": 1}}), "judgments.json: the key 'é'"),
        (document().replace(b'"score": 0.5', b'"score": 0.5, "score": 1'), "stands twice"),
    ],
)
def test_what_is_no_cache_of_this_judge_is_refused(data, fact):
    with pytest.raises(ConfigurationError) as caught:
        parse(data)
    assert fact in caught.value.message


@pytest.mark.parametrize("score", [Fraction(1, 3), Fraction(2), Fraction(-1)])
def test_what_the_file_cannot_hold_is_not_written(score):
    with pytest.raises(ValueError, match="no score"):
        score_text(score)
