from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.judge import lexical
from plumbline.judge.lexical import LexicalJudge, judge_config_sha256

WORDS = st.lists(st.sampled_from(["fare", "is", "two", "a", "día", "850"]), min_size=1, max_size=12)


@pytest.mark.parametrize(
    ("expected", "actual", "score"),
    [
        ("the fare is 2", "the fare is 2", Fraction(1)),
        ("the fare is 2", "The FARE, is: 2!", Fraction(1)),
        ("the fare is 2", "the fare is 3", Fraction(3, 4)),
        ("paris", "paris paris paris", Fraction(1, 2)),
        ("the fare is 2", "the fare is 2 [src-a]", Fraction(1)),
        ("the fare", "", Fraction(0)),
        ("...", "the fare", Fraction(0)),
        ("नमस्ते", "नमस्ते", Fraction(1)),
        ("票价是两元", "票价是两元", Fraction(1)),
    ],
)
def test_token_f1(expected, actual, score):
    assert LexicalJudge().answer_score(expected, actual) == score


@given(WORDS, WORDS)
def test_f1_is_symmetric_bounded_and_one_only_for_the_same_words(left, right):
    judge = LexicalJudge()
    score = judge.answer_score(" ".join(left), " ".join(right))
    assert 0 <= score <= 1
    assert score == judge.answer_score(" ".join(right), " ".join(left))
    assert (score == 1) == (sorted(left) == sorted(right))


@given(WORDS)
def test_repeating_a_word_never_raises_the_score(words):
    judge, text = LexicalJudge(), " ".join(words)
    assert judge.answer_score(text, f"{text} {words[0]}") < judge.answer_score(text, text)


def test_every_marker_is_in_the_judge_hash(monkeypatch):
    before = judge_config_sha256(LexicalJudge())
    monkeypatch.setattr(lexical, "REFUSAL_MARKERS", (*lexical.REFUSAL_MARKERS, "no dice"))
    assert judge_config_sha256(LexicalJudge()) != before
