from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import EmptyPopulationError
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.base import Status, Verdict
from plumbline.suites.citation_validity import CitationValidity
from tests.bundles import item, refuse
from tests.suites.passages import CORPUS, evidence, shown, sourced


def run(items, responses, floor="19/20"):
    return CitationValidity().evaluate(evidence(items, responses), LexicalJudge(), Fraction(floor))


def only(response, **fields):
    (outcome,) = run([sourced(**fields)], {"a": response}).outcomes
    return outcome


@pytest.mark.parametrize(
    ("response", "score", "reason"),
    [
        ("It costs 90 [fare].", 1, None),
        ("It costs 90 [fare][parking].", 1, None),
        ("It costs 90 [other].", 1, None),
        ("It costs 90.", 0, "no_citation"),
        ("It costs 90 [fare, parking].", 0, "no_citation"),
        ("It costs 90 [1].", 0, "no_citation"),
        ("It costs 90 [made-up].", 0, "fabricated_citation"),
        ("It costs 90 [Fare].", 0, "fabricated_citation"),
        ("It costs 90 [fare] [made-up].", Fraction(1, 2), "fabricated_citation"),
        ("It [fare] costs [fare] 90 [x].", Fraction(2, 3), "fabricated_citation"),
        ("[x] [x] and [fare] are it", Fraction(1, 3), "fabricated_citation"),
        ("", 0, "silent"),
        (None, 0, "silent"),
        ("?!", 0, "unreadable"),
        ("[fare]", 0, "unreadable"),
        ("[made-up] [fare]", 0, "fabricated_citation"),
    ],
)
def test_the_share_of_citations_that_resolve(response, score, reason):
    outcome = only(response)
    assert (outcome.score, outcome.reason) == (score, reason)
    assert (outcome.status == Status.PASS) == (reason is None)
    assert outcome.hard == (reason == "fabricated_citation")


def test_one_invented_passage_fails_the_suite_on_whatever_item():
    items = [sourced(f"n{n}") for n in range(50)] + [sourced()]
    responses = {**{f"n{n}": "It costs 90 [fare]." for n in range(50)}, "a": "It costs 90 [fare] [x] [y-1] [x]."}
    found = evidence(items, responses)
    result = CitationValidity().evaluate(found, LexicalJudge(), Fraction(19, 20))
    assert result.score > result.floor
    assert (result.verdict, result.hard_failures) == (Verdict.FAIL, ("a",))
    assert result.details["fabricated_citation_failures"] == ["a"]
    outcome = result.outcomes[-1]
    assert [shown(found, span) for span in outcome.spans] == ["[x]", "[y-1]", "[x]"]
    assert outcome.facts == {"citations": 4, "fabricated": 3, "fabricated_citations": ["x", "y-1"]}
    assert outcome.note == "cites x, y-1, which the corpus does not have"


def test_a_bare_invented_marker_is_both_silence_and_hard():
    outcome = only("[made-up]")
    assert (outcome.hard, outcome.causes) == (True, ("silence",))


def test_silence_is_shared_with_the_other_suites_that_count_it():
    assert only("").causes == ("silence",)


def test_an_answer_without_citation_shows_what_it_could_have_cited():
    found = evidence([sourced(sources=["fare", "fare", "parking"])], {"a": "It costs 90."})
    result = CitationValidity().evaluate(found, LexicalJudge(), Fraction(1, 2))
    assert [shown(found, span) for span in result.outcomes[0].spans] == [
        "It costs 90.",
        CORPUS["fare"],
        CORPUS["parking"],
    ]
    assert result.details["answers_without_citation"] == ["a"]


def test_a_passage_that_the_item_did_not_have_is_valid_and_listed():
    result = run([sourced(), sourced("b")], {"a": "90 [other] [fare] [other].", "b": "90 [fare]."})
    assert (result.score, result.details["out_of_context_citations"]) == (1, {"a": ["other"]})


def test_only_answer_items_with_passages_are_asked():
    result = run([item("plain"), refuse("r", sources=["fare"]), sourced()], {"a": "90 [fare].", "r": "No [x]."})
    assert ([outcome.item for outcome in result.outcomes], result.eligible) == (["a"], 1)


def test_no_item_with_passages_is_an_empty_population():
    with pytest.raises(EmptyPopulationError, match="citation_validity"):
        run([item("a"), refuse("r")], {"a": "90 [fare]."})


def test_a_flood_of_invented_markers_is_shown_in_part():
    outcome = only("It is " + "".join(f"[x{n}]" for n in range(100_000)))
    assert outcome.hard
    assert (len(outcome.spans), outcome.facts["fabricated"], len(outcome.facts["fabricated_citations"])) == (
        20,
        100_000,
        20,
    )
    assert outcome.note.startswith("cites x0, x1, x2, x3, x4 and 99995 more")


def test_an_endless_marker_makes_no_long_note():
    outcome = only(f"It is [{'x' * 1_000_000}]")
    assert outcome.hard
    assert len(outcome.note) < 200
    assert len(str(outcome.facts)) < 400


MARKERS = st.lists(st.sampled_from(["[fare]", "[other]", "[nowhere]", "word", "."]), max_size=8)


@settings(deadline=None)
@given(st.lists(MARKERS, min_size=1, max_size=5))
def test_scores_stay_in_range_order_changes_nothing_and_silence_never_helps(answers):
    items = [sourced(f"i{n}") for n in range(len(answers))]
    responses = {f"i{n}": " ".join(parts) for n, parts in enumerate(answers)}
    result = run(items, responses)
    assert all(outcome.score is not None and 0 <= outcome.score <= 1 for outcome in result.outcomes)
    assert set(result.hard_failures) == {f"i{n}" for n, parts in enumerate(answers) if "[nowhere]" in parts}
    assert run(items[::-1], responses).score == result.score
    assert run([*items, sourced("quiet")], responses).score <= result.score
