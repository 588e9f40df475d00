from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import EmptyPopulationError
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.base import Status, Verdict
from plumbline.suites.passage_attribution import PassageAttribution
from tests.bundles import item, refuse
from tests.suites.passages import CORPUS, FARE, PARKING, evidence, shown, sourced


def run(items, responses, corpus=CORPUS):
    return PassageAttribution().evaluate(evidence(items, responses, corpus), LexicalJudge(), Fraction(19, 20))


def declared(item_id="a", **fields):
    return sourced(item_id, **{"answering_sources": ["fare"], **fields})


SURE = declared("sure")
SURE_ANSWER = {"sure": FARE}


def beside(response, **fields):
    """The outcome of one item beside one that passes."""
    result = run([declared(**fields), SURE], {"a": response, **SURE_ANSWER})
    return result.outcomes[0], result


def tenths(right, wrong):
    """Ten words of which so many stand in the answering passage and so many in the other."""
    words = [f"{chr(97 + n)}word" for n in range(10)]
    corpus = {"fare": " ".join(words[:right]) + " x", "parking": " ".join(words[10 - wrong :]) + " y"}
    return " ".join(words), corpus


@pytest.mark.parametrize(
    ("right", "wrong", "status", "reason"),
    [
        (10, 9, Status.PASS, None),  # 1.0 - 0.9 and 0.5 - 0.4 fall short of 0.1 in binary floating point
        (5, 4, Status.PASS, None),
        (10, 0, Status.PASS, None),
        (5, 5, Status.UNVERIFIABLE, "indistinguishable"),
        (0, 0, Status.UNVERIFIABLE, "indistinguishable"),
        (4, 5, Status.FAIL, "wrong_passage"),
        (9, 10, Status.FAIL, "wrong_passage"),
    ],
)
def test_a_lead_of_exactly_a_tenth_decides(right, wrong, status, reason):
    answer, corpus = tenths(right, wrong)
    items = [declared(), declared("sure", expected="x")]
    result = run(items, {"a": answer, "sure": "x"}, corpus)
    assert (result.outcomes[0].status, result.outcomes[0].reason) == (status, reason)


@pytest.mark.parametrize(("right", "status"), [(6, Status.PASS), (5, Status.UNVERIFIABLE)])
def test_less_than_a_tenth_decides_nothing(right, status):
    words = [f"{chr(97 + n)}word" for n in range(11)]
    corpus = {"fare": " ".join(words[:right]) + " x", "parking": " ".join(words[:4]) + " y"}
    # 6 - 4 of 11 is more than a tenth, 5 - 4 of 11 is less.
    result = run([declared(), declared("sure")], {"a": " ".join(words), "sure": "x"}, corpus)
    assert result.outcomes[0].status == status


def test_repeats_count_as_often_as_they_stand():
    outcome, _ = beside("Permit permit permit pass station.")
    assert (outcome.status, outcome.facts["answering_support"], outcome.facts["other_support"]) == (
        Status.FAIL,
        0.4,
        0.6,
    )


@pytest.mark.parametrize(
    ("response", "reason"),
    [("", "silent"), (None, "silent"), ("[fare]", "unreadable"), ("the of to [fare]", "no_claim")],
)
def test_what_says_nothing_is_left_out_by_name(response, reason):
    outcome, result = beside(response)
    assert (outcome.status, outcome.score, outcome.reason) == (Status.UNVERIFIABLE, None, reason)
    assert (result.score, result.n, result.eligible) == (1, 1, 2)


def test_an_item_without_another_passage_is_left_out_and_points_at_its_list():
    found = evidence([declared(sources=["fare"]), SURE], {"a": FARE, **SURE_ANSWER})
    outcome = PassageAttribution().evaluate(found, LexicalJudge(), Fraction(1)).outcomes[0]
    assert (outcome.reason, [(span.role, shown(found, span)) for span in outcome.spans]) == (
        "no_distractor",
        [("items", "fare")],
    )


def test_an_item_that_declares_nothing_is_left_out_never_passed():
    found = evidence([sourced(), SURE], {"a": FARE, **SURE_ANSWER})
    result = PassageAttribution().evaluate(found, LexicalJudge(), Fraction(1))
    outcome = result.outcomes[0]
    assert (outcome.status, outcome.reason, outcome.spans[0].role) == (Status.UNVERIFIABLE, "no_declaration", "items")
    assert shown(found, outcome.spans[0]) == "How much?"
    assert (result.n, result.eligible, result.details["items_declared"]) == (1, 2, 1)


def test_an_answer_from_the_wrong_passage_fails_and_shows_both_passages():
    found = evidence([declared(), SURE], {"a": f"{PARKING} [parking]", **SURE_ANSWER})
    result = PassageAttribution().evaluate(found, LexicalJudge(), Fraction(19, 20))
    outcome = result.outcomes[0]
    assert (outcome.status, outcome.score, outcome.reason, outcome.hard) == (Status.FAIL, 0, "wrong_passage", False)
    assert (result.verdict, result.score, result.hard_failures) == (Verdict.FAIL, Fraction(1, 2), ())
    assert result.details["misattributed_items"] == ["a"]
    assert [(span.role, shown(found, span)) for span in outcome.spans] == [
        ("responses", f"{PARKING} [parking]"),
        ("sources", PARKING),
        ("sources", FARE),
    ]
    assert outcome.facts == {
        "answering_support": 0.25,
        "other_support": 1.0,
        "margin": -0.75,
        "answering_sources": ["fare"],
        "best_answering_source": "fare",
        "best_other_source": "parking",
        "cited": ["parking"],
    }
    assert outcome.note == "parking holds 8 of 8 words; fare, the best one declared to answer, 2 of 8 words"


def test_a_load_bearing_item_from_the_wrong_passage_fails_the_suite_whatever_the_score():
    items = [declared(load_bearing=True), *(declared(f"n{n}") for n in range(40))]
    result = run(items, {"a": PARKING, **{f"n{n}": FARE for n in range(40)}})
    assert result.score > result.floor
    assert (result.verdict, result.hard_failures) == (Verdict.FAIL, ("a",))
    assert result.details["load_bearing_failures"] == ["a"]


def test_a_load_bearing_item_that_cannot_be_told_is_not_hard():
    assert not beside("It costs dollars.", load_bearing=True)[0].hard


def test_each_passage_is_compared_alone():
    # Together the two declared ones hold every word of the answer, and neither holds more than half.
    corpus = {"one": "red blue x", "two": "green gray y", "wrong": "red blue green"}
    items = [declared(sources=["wrong"], answering_sources=["one", "two"]), declared("sure", sources=["one", "wrong"])]
    items[1]["answering_sources"] = ["one"]
    result = run(items, {"a": "red blue green gray", "sure": "x"}, corpus)
    assert result.outcomes[0].status == Status.FAIL


def test_of_equal_passages_the_first_id_is_named():
    corpus = {"d": "pass z", "c": "pass q", "b": "pass permit clerk", "a": "pass permit clerk", "fare": FARE}
    items = [
        declared(sources=["b", "a"], answering_sources=["d", "c"]),
        declared("sure", sources=["a", "fare"]),
    ]
    outcome = run(items, {"a": "pass permit", "sure": FARE}, corpus).outcomes[0]
    assert (outcome.facts["best_answering_source"], outcome.facts["best_other_source"]) == ("c", "a")


def test_a_declared_passage_that_was_not_retrieved_is_scored_and_named():
    result = run(
        [declared("missed", sources=["parking", "other"]), SURE, declared("both", answering_sources=["fare", "other"])],
        {"missed": FARE, "both": FARE, **SURE_ANSWER},
    )
    assert result.details["answering_passage_not_available"] == ["missed"]
    assert (result.n, result.score) == (3, 1)


def test_a_declaration_without_passages_is_not_eligible_and_named():
    items = [declared("bare", sources=[]), item("plain"), SURE]
    result = run(items, {"bare": FARE, "plain": FARE, **SURE_ANSWER})
    assert (result.details["declared_without_sources"], result.eligible) == (["bare"], 1)
    assert "bare" not in {outcome.item for outcome in result.outcomes}


@pytest.mark.parametrize(
    ("reference", "sources", "suggested"),
    [
        (FARE, ["parking", "fare"], "fare"),
        (FARE, ["fare"], None),
        (FARE, ["fare", "fare"], None),
        ("It costs dollars.", ["parking", "fare"], None),
        ("the of", ["parking", "fare"], None),
        ("one two three four five six seven eight nine station", ["parking", "fare"], "fare"),
        ("one two three four five six seven eight nine ten station", ["parking", "fare"], None),
    ],
)
def test_a_suggestion_needs_two_passages_and_a_lead_and_never_scores(reference, sources, suggested):
    result = run([sourced(expected=reference, sources=sources), SURE], {"a": PARKING, **SURE_ANSWER})
    assert result.details["suggested_declarations"] == ({"a": suggested} if suggested else {})
    assert (result.score, result.n) == (1, 1)


@pytest.mark.parametrize(
    ("items", "message"),
    [
        ([item("a"), refuse("r")], "no answer item has passages"),
        ([sourced(), refuse("r")], "none of 1 items with passages declares"),
        ([declared(), declared("b", sources=["fare"]), sourced("c")], r"2 items declare .*no_distractor: 1, silent: 1"),
    ],
)
def test_three_ways_to_have_nothing_to_score(items, message):
    with pytest.raises(EmptyPopulationError, match=message):
        run(items, {one["id"]: FARE for one in items if one["id"] in ("b", "c")})


def test_a_hostile_answer_is_read_and_nothing_of_it_is_repeated():
    answer = " ".join(f"w{n}" for n in range(150_000)) + "".join(f"[x{n}]" for n in range(10_000))
    outcome, _ = beside(answer)
    assert outcome.reason == "indistinguishable"
    assert len(outcome.note) + len(str(outcome.facts)) < 1000


ANSWERS = st.lists(st.sampled_from(["pass", "permit", "clerk", "station", "costs", "the", "ticket"]), max_size=12).map(
    " ".join
)


@settings(deadline=None)
@given(st.lists(ANSWERS, min_size=1, max_size=5), st.booleans())
def test_sides_changed_turn_every_verdict_and_order_and_silence_change_nothing(answers, load_bearing):
    items = [declared(f"i{n}", load_bearing=load_bearing) for n in range(len(answers))] + [SURE]
    responses = {**{f"i{n}": text for n, text in enumerate(answers)}, **SURE_ANSWER}
    result = run(items, responses)
    turned = run([*({**one, "answering_sources": ["parking"]} for one in items[:-1]), SURE], responses)
    opposite = {Status.PASS: Status.FAIL, Status.FAIL: Status.PASS, Status.UNVERIFIABLE: Status.UNVERIFIABLE}
    assert [opposite[outcome.status] for outcome in result.outcomes[:-1]] == [o.status for o in turned.outcomes[:-1]]
    assert all(outcome.score in (None, 0, 1) for outcome in result.outcomes)
    assert (run(items[::-1], responses).score, run([*items, declared("q")], responses).score) == (
        result.score,
        result.score,
    )
