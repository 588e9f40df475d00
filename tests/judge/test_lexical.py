from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.judge import lexical
from plumbline.judge.language import Profile
from plumbline.judge.lexical import LexicalJudge, judge_config_sha256
from plumbline.judge.text import Rules

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


@pytest.mark.parametrize(
    "changed",
    [
        {"refusal_markers": ("no dice",)},
        {"stopwords": frozenset({"the"})},
        {"profiles": {"pt": Profile(words=frozenset({"você"}))}},
        {"harm_markers": ("bah",)},
        {"solicitations": ("your pin",)},
    ],
)
def test_every_rule_is_in_the_judge_hash(changed):
    assert judge_config_sha256(LexicalJudge(Rules(**changed))) != judge_config_sha256(LexicalJudge())


def test_the_weaker_channel_is_the_support():
    judge = LexicalJudge()
    claim = judge.features("The yearly fee is 900 dollars [src-1].")
    passage = judge.features("The yearly fee is 850 dollars.")
    found = judge.support(claim, [passage])
    assert (found.words, found.numbers) == (Fraction(3, 4), Fraction(0))
    assert found.score == 0
    assert [number.value for number in found.unsupported] == ["900"]


def test_passages_support_a_claim_together_and_each_alone():
    judge = LexicalJudge()
    claim = judge.features("Bring proof of income; the fee is 12.")
    left, right = judge.features("Bring proof of income."), judge.features("A fee of 12 applies.")
    assert judge.support(claim, [left, right]).score == 1
    assert judge.word_hits(claim, [left, right]) == [3, 2]


def test_what_asserts_nothing_is_told_apart_from_what_is_supported():
    judge = LexicalJudge()
    empty = judge.features("the and of to")
    found = judge.support(empty, [judge.features("anything")])
    assert (found.score, found.asserts_nothing) == (1, True)
    assert not judge.support(judge.features("850"), [judge.features("850")]).asserts_nothing
    assert not judge.support(judge.features("850"), [judge.features("anything")]).asserts_nothing


@given(st.lists(st.sampled_from(["fare", "zone", "the", "850", "12.5", "[a]"])), st.lists(WORDS, max_size=4))
def test_support_is_what_counting_word_by_word_gives(words, passages):
    judge = LexicalJudge()
    claim = judge.features(" ".join(words))
    known = [judge.features(" ".join(passage)) for passage in passages]
    joined = {word for passage in known for word in passage.words}
    stated = {number.value for passage in known for number in passage.numbers}
    found = judge.support(claim, known)
    content = claim.content_words
    assert found.words == (Fraction(sum(w in joined for w in content), len(content)) if content else 1)
    assert found.unsupported == tuple(number for number in claim.numbers if number.value not in stated)
    assert found.numbers == (1 - Fraction(len(found.unsupported), len(claim.numbers)) if claim.numbers else 1)
    assert found.score == min(found.words, found.numbers)
    assert judge.word_hits(claim, known) == [sum(w in passage.words for w in content) for passage in known]


def test_features_are_kept_within_a_bound(monkeypatch):
    monkeypatch.setattr(lexical, "_KEPT_TEXT", 100)
    judge = LexicalJudge()
    first = judge.features("a" * 60)
    judge.features("b" * 60)
    assert judge.features("a" * 60) is first
    for letter in "cdefg":
        judge.features(letter * 60)
    assert judge.features("a" * 60) is not first


def test_what_the_judge_says_of_itself_keeps_its_names():
    # Baselines hold the digest of this: a name that changes refuses every baseline there is.
    config = LexicalJudge().config()
    lists = config.pop("lexicons")
    config.pop("citation_marker")
    assert config == {
        "kind": "lexical",
        "version": 2,
        "unicode": "14.0",
        "normalization": ["lowercase_letter_by_letter", "one_sigma", "punctuation_to_space", "collapse_whitespace"],
        "answer_metric": "token_f1_multiset",
        "number_extraction": "decimal_digits_commas_dots_outside_citations",
        "support_metric": "content_token_recall_and_number_recall",
        "screens": "lower_case_then_folded_without_emphasis",
        "personal_data_compared": "folded_and_by_digits",
        "readable": "a_letter_or_digit_that_can_be_seen",
        "language_detection": "script_majority_then_function_word_vote",
    }
    assert set(lists) == {
        *("refusal_markers", "stopwords", "denial_markers", "no_denials", "denial_window", "clause_ends"),
        *("languages", "harm_markers", "personal_data", "solicitations"),
    }
    assert all(lists.values())
    assert LexicalJudge().describe() == {
        "kind": "lexical",
        "deterministic": True,
        "languages": ["ar", "en", "es"],
        "declared_languages": [],
        "declared_refusal_markers": [],
    }
