from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import EmptyPopulationError
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.base import Status, Verdict
from plumbline.suites.citation_accuracy import CitationAccuracy
from tests.bundles import item, refuse
from tests.suites.passages import CORPUS, FARE, PARKING, evidence, shown, sourced


def run(items, responses, floor="1/100"):
    return CitationAccuracy().evaluate(evidence(items, responses), LexicalJudge(), Fraction(floor))


def only(response, floor="1/100", **fields):
    (outcome,) = run([sourced(**fields)], {"a": response}, floor).outcomes
    return outcome


@pytest.mark.parametrize(
    ("response", "score"),
    [
        ("A monthly pass costs 90 dollars [fare].", 1),
        ("A monthly pass costs 90 dollars [parking].", 0),
        ("A monthly pass costs some dollars [parking].", Fraction(1, 2)),
        ("A monthly pass costs 90 dollars [fare] [nowhere].", 1),
        ("A pass costs 90 [parking] and parking 12 [fare].", 1),
        ("Bicycles ride free [other].", 1),
        ("A pass costs 90 or 95 [fare].", Fraction(1, 2)),
    ],
)
def test_support_is_by_the_cited_passages_that_exist(response, score):
    assert only(response).score == score


@pytest.mark.parametrize(("response", "reason"), [("", "silent"), (None, "silent"), ("[fare]", "unreadable")])
def test_silence_scores_zero_and_is_eligible(response, reason):
    result = run([sourced(), sourced("b")], {"a": response, "b": f"{FARE} [fare]"})
    outcome = result.outcomes[0]
    assert (outcome.status, outcome.score, outcome.reason, outcome.causes) == (Status.FAIL, 0, reason, ("silence",))
    assert (result.score, result.n, result.eligible) == (Fraction(1, 2), 2, 2)


def test_a_target_that_falls_silent_cannot_keep_its_score():
    spoken = [sourced(f"i{n}") for n in range(10)]
    answers = {f"i{n}": f"{FARE} [fare]" for n in range(10)}
    assert run(spoken, answers, "4/5").verdict == Verdict.PASS
    assert run(spoken, {"i0": answers["i0"]}, "4/5").verdict == Verdict.FAIL


@pytest.mark.parametrize("response", ["It costs 90.", "It costs 90 [nowhere].", "It costs 90 [fare, parking]."])
def test_an_answer_that_cites_nothing_resolvable_is_left_out_in_sight(response):
    result = run([sourced(), sourced("b")], {"a": response, "b": f"{FARE} [fare]"})
    outcome = result.outcomes[0]
    assert (outcome.status, outcome.reason) == (Status.UNVERIFIABLE, "no_resolvable_citation")
    assert result.details["answers_citing_nothing_resolvable"] == ["a"]
    assert (result.score, result.n, result.eligible) == (1, 1, 2)


def test_an_answer_that_cites_and_asserts_nothing_scores_zero_in_both_channels():
    outcome = only("the of to [fare]")
    assert (outcome.status, outcome.score, outcome.reason) == (Status.FAIL, 0, "no_claim")
    assert (outcome.facts["token_support"], outcome.facts["number_support"]) == (0.0, 0.0)
    assert outcome.facts["asserts_nothing"] is True


def test_an_answer_supported_by_another_passage_shows_number_passage_and_marker():
    found = evidence([sourced()], {"a": "Bicycles: 90, [fare] or 91 [other] [fare]."})
    (outcome,) = CitationAccuracy().evaluate(found, LexicalJudge(), Fraction(1, 100)).outcomes
    assert outcome.status == Status.PASS
    found = evidence([sourced()], {"a": "A pass: 90 [other]."})
    (outcome,) = CitationAccuracy().evaluate(found, LexicalJudge(), Fraction(1, 100)).outcomes
    assert (outcome.status, outcome.reason, outcome.score) == (Status.FAIL, "unsupported", 0)
    assert [(span.role, shown(found, span)) for span in outcome.spans] == [
        ("responses", "90"),
        ("sources", CORPUS["other"]),
        ("responses", "[other]"),
    ]
    assert outcome.facts["unrelated_citations"] == ["other"]
    assert (outcome.facts["sources"], outcome.causes) == (["other"], ("unsupported", "numbers"))


def test_a_zero_by_numbers_alone_names_no_unrelated_passage():
    outcome = only("A pass costs 95 [fare].")
    assert (outcome.reason, "unrelated_citations" in outcome.facts) == ("unsupported", False)


def test_passages_that_share_no_word_with_the_answer_are_listed():
    result = run([sourced(), sourced("b")], {"a": f"{FARE} [fare] [other]", "b": f"{FARE} [fare] [parking]"})
    assert (result.score, result.details["unrelated_citations"]) == (1, {"a": ["other"]})


def test_a_failing_mean_shows_the_cited_passage():
    outcome = only("A weekly ticket costs 90 dollars [parking] [fare].", floor="9/10")
    assert outcome.reason == "below_floor"
    assert [(span.role, span.record) for span in outcome.spans] == [
        ("responses", "a"),
        ("sources", "parking"),
        ("sources", "fare"),
    ]


@pytest.mark.parametrize(
    ("response", "sources", "named"),
    [
        ("A monthly pass costs 90 [fare] [parking].", ["fare", "parking"], True),
        ("A monthly pass costs 90 [fare] [parking] [other].", ["fare", "parking"], True),
        ("A monthly pass costs 90 [fare].", ["fare", "parking"], False),
        ("A monthly pass costs 90 [fare] [other].", ["fare", "parking"], False),
        ("A monthly pass and a permit [fare] [parking].", ["fare", "parking"], False),
        ("A monthly pass costs 90 [fare].", ["fare"], False),
        ("A monthly pass costs 90 [fare] [other].", ["fare", "fare"], False),
    ],
)
def test_answers_that_cite_all_they_had_without_need_are_named_and_score_alike(response, sources, named):
    result = run([sourced(sources=sources)], {"a": response})
    assert (result.details["cites_everything"], result.score) == (["a"] if named else [], 1)


def test_only_answer_items_with_passages_are_asked():
    result = run([item("plain"), refuse("r", sources=["fare"]), sourced()], {"a": f"{FARE} [fare]", "plain": "[x] y"})
    assert ([outcome.item for outcome in result.outcomes], result.eligible) == (["a"], 1)


@pytest.mark.parametrize("items", [[item("a")], [sourced()]])
def test_nothing_to_score_is_an_empty_population(items):
    with pytest.raises(EmptyPopulationError, match="citation_accuracy"):
        run(items, {"a": "It costs 90."})


def test_a_long_answer_that_cites_a_whole_corpus_is_not_compared_whole_with_each_passage():
    count = 3000
    corpus = {f"s{n}": f"word{n} shared" for n in range(count)}
    words = " ".join(f"strange{n}" for n in range(20_000))
    answer = words + "".join(f"[s{n}]" for n in range(count))
    found = evidence([sourced(sources=["s0"])], {"a": answer}, corpus)
    asked = 0

    class Counting(frozenset):
        def __rsub__(self, other):
            nonlocal asked
            asked += len(other)
            return frozenset(other) - frozenset(self)

    judge = LexicalJudge()
    for text in corpus.values():
        features = judge.features(text)
        features.__dict__["word_set"] = Counting(features.word_set)
    (outcome,) = CitationAccuracy().evaluate(found, judge, Fraction(1, 100)).outcomes
    assert outcome.score == 0
    assert asked < 10 * count


PARTS = ["pass", "costs", "90", "95", "the", "ticket", "[fare]", "[parking]", "[nowhere]"]
ANSWERS = st.lists(st.sampled_from(PARTS), max_size=8).map(" ".join)


@settings(deadline=None)
@given(st.lists(ANSWERS, min_size=1, max_size=5))
def test_scores_stay_in_range_order_changes_nothing_and_silence_never_helps(answers):
    items = [sourced(f"i{n}") for n in range(len(answers))] + [sourced("sure")]
    responses = {**{f"i{n}": text for n, text in enumerate(answers)}, "sure": f"{FARE} [fare]"}
    result = run(items, responses)
    assert all(outcome.score is None or 0 <= outcome.score <= 1 for outcome in result.outcomes)
    assert result.eligible == len(result.outcomes) == len(items)
    assert run(items[::-1], responses).score == result.score
    assert run([*items, sourced("quiet")], responses).score <= result.score


@settings(deadline=None)
@given(ANSWERS)
def test_citing_more_never_lowers_the_score(answer):
    bare = only(f"{answer} pass [fare]").score
    assert only(f"{answer} pass [fare] [parking]").score >= bare
    assert only(f"{PARKING} {FARE} {answer} [fare] [parking]").score is not None
