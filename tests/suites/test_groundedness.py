from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import EmptyPopulationError
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.base import Status, Verdict
from plumbline.suites.groundedness import Groundedness
from tests.bundles import item, refuse
from tests.suites.passages import CORPUS, FARE, evidence, shown, sourced


def run(items, responses, floor="7/10", corpus=CORPUS):
    return Groundedness().evaluate(evidence(items, responses, corpus), LexicalJudge(), Fraction(floor))


def only(response, floor="1/100", **fields):
    (outcome,) = run([sourced(**fields)], {"a": response}, floor).outcomes
    return outcome


@pytest.mark.parametrize(
    ("response", "words", "numbers"),
    [
        (FARE, 1, 1),
        ("A monthly pass costs 90 dollars [fare].", 1, 1),
        ("Parking costs 90 dollars.", 1, 1),  # both passages count together: a limit that the report states
        ("A monthly pass costs ninety coins.", Fraction(3, 5), 1),
        ("It costs 90 dollars, or 91.", Fraction(3, 4), Fraction(1, 2)),
        ("Pass pass pass ticket.", Fraction(3, 4), 1),
        ("Costs 90, 90 and 91.", Fraction(3, 4), Fraction(2, 3)),
    ],
)
def test_the_score_is_the_weaker_channel(response, words, numbers):
    outcome = only(response)
    assert outcome.score == min(words, numbers)
    assert outcome.facts["token_support"] == round(float(words), 4)
    assert outcome.facts["number_support"] == round(float(numbers), 4)


def test_answers_supported_alike_share_what_is_said_of_them():
    items = [sourced(key) for key in "abc"]
    one, other, third = run(items, {"a": "Pass or ticket?", "b": "Permit, unicorn", "c": "Pass."}, "1/2").outcomes
    assert one.facts is other.facts
    assert (one.facts["token_support"], third.facts["token_support"]) == (0.5, 1.0)


def test_support_is_by_all_passages_of_the_item_and_by_no_other():
    assert only("Bicycles ride free.").score == 0
    assert only("Bicycles ride free.", sources=["fare", "other"]).score == 1


def test_the_mean_is_exact_and_a_score_that_equals_its_floor_passes():
    items = [sourced(key) for key in "abc"]
    answer = "pass costs dollars station office one two three monthly sold"
    result = run(items, dict.fromkeys("abc", answer))
    assert (result.score, result.verdict) == (Fraction(7, 10), Verdict.PASS)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("", "silent"),
        (None, "silent"),
        ("  \n", "silent"),
        ("...", "unreadable"),
        ("[fare]", "unreadable"),
        ("the and of to", "no_claim"),
    ],
)
def test_what_cannot_be_checked_is_left_out_and_named(response, reason):
    result = run([sourced(), sourced("b")], {"a": response, "b": FARE})
    held_out, scored = result.outcomes
    assert (held_out.status, held_out.score, held_out.reason) == (Status.UNVERIFIABLE, None, reason)
    assert (scored.status, result.score, result.n, result.eligible) == (Status.PASS, 1, 1, 2)


def test_one_ungrounded_number_of_a_load_bearing_item_fails_whatever_the_mean():
    items = [sourced(load_bearing=True), *(sourced(f"n{n}") for n in range(40))]
    responses = {"a": "A monthly pass costs 90 dollars, 1,95 for seniors.", **{f"n{n}": FARE for n in range(40)}}
    found = evidence(items, responses)
    result = Groundedness().evaluate(found, LexicalJudge(), Fraction(7, 10))
    assert result.score > Fraction(9, 10)
    assert (result.verdict, result.hard_failures) == (Verdict.FAIL, ("a",))
    assert result.details["load_bearing_failures"] == ["a"]
    outcome = result.outcomes[0]
    assert (outcome.reason, outcome.facts["unsupported_numbers"]) == ("ungrounded_number", ["195"])
    assert "1,95" in outcome.note
    assert [(span.role, shown(found, span)) for span in outcome.spans] == [
        ("responses", "1,95"),
        ("sources", FARE),
        ("sources", CORPUS["parking"]),
    ]


def test_an_ungrounded_number_of_any_other_item_lowers_its_score_and_is_recorded():
    outcome = only("A monthly pass costs 90 dollars, 95 for seniors.")
    assert (outcome.status, outcome.hard, outcome.score) == (Status.PASS, False, Fraction(1, 2))
    assert outcome.facts["unsupported_numbers"] == ["95"]


def test_a_load_bearing_item_with_unsupported_words_alone_is_not_hard():
    assert not only("A weekly pass costs 90 dollars.", load_bearing=True).hard


def test_an_answer_that_nothing_supports_fails_by_itself():
    outcome = only("Ask elsewhere tomorrow!")
    assert (outcome.status, outcome.reason, outcome.hard) == (Status.FAIL, "unsupported", False)
    assert (outcome.spans[0].role, outcome.causes) == ("responses", ("unsupported",))


def test_a_failing_mean_shows_where_the_items_that_pull_it_down_are_unsupported():
    items, responses = [sourced(), sourced("b")], {"a": FARE, "b": "A pass costs 90 dollars or 95 or 96."}
    found = evidence(items, responses)
    good, poor = Groundedness().evaluate(found, LexicalJudge(), Fraction(9, 10)).outcomes
    assert (good.status, good.spans) == (Status.PASS, ())
    assert (poor.status, poor.reason) == (Status.FAIL, "below_floor")
    assert [shown(found, span) for span in poor.spans[:2]] == ["95", "96"]


def test_a_failing_mean_without_a_strange_number_shows_the_answer_and_its_passages():
    outcome = only("A weekly ticket costs money.", floor="9/10")
    assert [(span.role, span.record) for span in outcome.spans] == [
        ("responses", "a"),
        ("sources", "fare"),
        ("sources", "parking"),
    ]
    assert "stand in fare, parking" in outcome.note


def test_items_without_passages_are_outside_and_named():
    result = run([item("plain"), refuse("r"), sourced()], {"a": FARE})
    assert (result.details["items_without_sources"], result.eligible) == (["plain"], 1)


@pytest.mark.parametrize("response", ["", "the of"])
def test_nothing_to_score_is_an_empty_population(response):
    with pytest.raises(EmptyPopulationError, match="groundedness"):
        run([sourced()], {"a": response})


def test_no_item_with_passages_is_an_empty_population():
    with pytest.raises(EmptyPopulationError, match="groundedness"):
        run([item("a"), refuse("r")], {"a": FARE})


def test_a_flood_of_strange_numbers_is_shown_in_part():
    outcome = only(" ".join(str(n) for n in range(1000, 3000)), load_bearing=True)
    assert sum(span.role == "responses" for span in outcome.spans) == 20
    assert len(outcome.facts["unsupported_numbers"]) == 20
    assert outcome.note.startswith("the response states 1000, 1001, 1002, 1003, 1004 and 1995 more")


def test_a_hostile_answer_makes_no_long_note():
    outcome = only("9" * 1_000_000, load_bearing=True)
    assert outcome.hard
    assert len(outcome.note) < 200
    assert len(str(outcome.facts)) < 400


ANSWERS = st.lists(st.sampled_from(["pass", "costs", "the", "90", "95", "ticket", "[fare]", "."]), max_size=8).map(
    " ".join
)


@settings(deadline=None)
@given(st.lists(ANSWERS, min_size=1, max_size=5), st.booleans())
def test_scores_stay_in_range_and_order_and_silence_change_nothing(answers, load_bearing):
    items = [sourced(f"i{n}", load_bearing=load_bearing) for n in range(len(answers))] + [sourced("sure")]
    responses = {**{f"i{n}": text for n, text in enumerate(answers)}, "sure": FARE}
    result = run(items, responses)
    assert all(outcome.score is None or 0 <= outcome.score <= 1 for outcome in result.outcomes)
    turned = run(items[::-1], responses)
    assert (turned.score, turned.verdict, turned.n) == (result.score, result.verdict, result.n)
    quieter = run([*items, sourced("quiet")], responses)
    assert (quieter.score, quieter.n, quieter.eligible) == (result.score, result.n, result.eligible + 1)
