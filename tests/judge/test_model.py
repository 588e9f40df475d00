from __future__ import annotations

from fractions import Fraction

import pytest

from plumbline.judge.judgments import Entry, Judgments, judgment_key
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.model import Instrument, MissingJudgmentError, ModelJudge

MADE = Instrument(
    model="m",
    endpoint="https://models.example/v1",
    method="POST",
    header_names=(),
    body={"e": "{expected}", "a": "{actual}"},
    response_pointer="score",
)


def judge(entries=None, **more):
    return ModelJudge(MADE, Judgments(MADE.identity, entries or {}), **more)


@pytest.mark.parametrize(
    ("expected", "actual"),
    [("", "yes"), ("?!", "yes"), ("[a-1].", ""), ("yes", ""), ("yes", " \n"), ("yes", "[a-1] ?!")],
)
def test_where_there_is_nothing_to_compare_nobody_is_asked(expected, actual):
    # Even a judgment that somebody recorded does not count.
    key = judgment_key(MADE.identity, expected, actual)
    assert judge().question(expected, actual) is None
    assert judge({key: Entry(Fraction(9, 10))}).answer_score(expected, actual) == 0


def test_citation_markers_are_no_part_of_the_question():
    key, expected, actual = judge().question("It is 850 [a-1].", "850 [a-1], so [b-2].")
    assert (expected, actual) == ("It is 850 [a-1].", "850  , so  .")
    assert key == judgment_key(MADE.identity, expected, actual)
    kept = judge({key: Entry(Fraction(1, 3_000_000) * 3)})
    assert kept.answer_score("It is 850 [a-1].", "850 [b-9], so [c-3].") == Fraction(1, 10**6)


def test_what_is_missing_is_kept_by_a_judge_that_collects_and_refused_by_any_other():
    collecting = judge(collecting=True)
    assert collecting.answer_score("yes", "no") == 0
    assert list(collecting.wanted.values()) == [("yes", "no")]
    with pytest.raises(MissingJudgmentError, match=next(iter(collecting.wanted))):
        judge().answer_score("yes", "no")


def test_everything_else_is_the_lexical_judges():
    text = "I can't help with that [a-1], it costs 850."
    ours, lexical = judge().features(text), LexicalJudge().features(text)
    assert (ours.refusal, ours.citations, ours.numbers) == (lexical.refusal, lexical.citations, lexical.numbers)
    assert set(ModelJudge.__dict__) & {"features", "support", "word_support", "profiles"} == set()
