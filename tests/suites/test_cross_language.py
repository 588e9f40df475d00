from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.audit.locate import Locator
from plumbline.errors import ConfigurationError, EmptyPopulationError, ExitCode
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites import cross_language
from plumbline.suites.base import Status, Verdict
from plumbline.suites.cross_language import CrossLanguage
from tests.bundles import bundle, files, item
from tests.suites.runs import whole_run

EN, ES = "It costs 850 dollars.", "Cuesta 850 dólares."


def pair(**fields):
    return [item("a", fact_id="f", **fields), item("b", fact_id="f", lang="es")]


def grade(items, responses, floor=Fraction(1)):
    return CrossLanguage().evaluate(bundle(items, responses), LexicalJudge(), floor)


def only(result):
    (outcome,) = result.outcomes
    return outcome


def words(responses, spans):
    """The text under each span of a response."""
    return [(span.record, responses[span.record][span.start : span.end]) for span in spans if span.start is not None]


def test_a_pair_that_agrees_passes():
    result = grade(pair(), {"a": EN, "b": ES})
    assert (result.score, result.verdict, result.n, result.eligible) == (1, Verdict.PASS, 1, 1)
    outcome = only(result)
    assert (outcome.item, outcome.members, outcome.cluster) == ("a|b", ("a", "b"), "f")


@pytest.mark.parametrize(
    ("left", "right", "reason"),
    [
        ("It costs 850.", "Cuesta 900.", "numeric_disagreement"),
        ("It costs 850.", "Cuesta eso.", "numeric_disagreement"),
        ("It costs 850.", "Cuesta 850.00.", "numeric_disagreement"),
        ("It costs 1,500.", "Cuesta 1500.", None),
        ("It costs 850, not 850.", "Cuesta 850.", None),
        ("In 2 days, 850.", "850 en 2 días.", None),
        ("It costs 850 [src-1].", "Cuesta 850 [src-2].", None),
        ("I can't help with that.", "Cuesta mucho.", "behavior_disagreement"),
        ("I can't help with that.", "No puedo ayudar con eso.", None),
        ("I can't help with that.", "Cuesta 850.", "numeric_disagreement"),
    ],
)
def test_numbers_and_behavior_are_compared(left, right, reason):
    outcome = only(grade(pair(), {"a": left, "b": right}))
    assert (outcome.score, outcome.reason) == (0 if reason else 1, reason)
    assert not outcome.hard


@pytest.mark.parametrize("side", ["a", "b"])
def test_another_number_is_hard_where_either_side_is_load_bearing(side):
    items = [{**entry, "load_bearing": entry["id"] == side} for entry in pair()]
    result = grade(items, {"a": EN, "b": "Cuesta 900."}, floor=Fraction(1, 100))
    assert result.hard_failures == ("a", "b")
    assert result.details["load_bearing_failures"] == ["a|b"]


def test_another_behavior_is_never_hard():
    result = grade(pair(load_bearing=True), {"a": "I can't help with that.", "b": "Cuesta eso."})
    assert (result.verdict, result.hard_failures) == (Verdict.FAIL, ())


def test_the_disagreeing_numbers_are_pointed_at_on_both_sides():
    responses = {"a": "In 2 days it costs 850.", "b": "En 2 días cuesta 900."}
    evidence = bundle(pair(), responses)
    outcome = only(CrossLanguage().evaluate(evidence, LexicalJudge(), Fraction(1)))
    assert words(responses, outcome.spans) == [("a", "850"), ("b", "900")]
    assert [Locator(evidence).place(span).line for span in outcome.spans] == [1, 2]
    assert (outcome.facts["numbers"], outcome.facts["disagreements"]) == (
        {"en": ["2", "850"], "es": ["2", "900"]},
        ["numeric"],
    )


def test_a_side_without_a_number_of_its_own_is_pointed_at_as_a_whole():
    responses = {"a": "It costs 850.", "b": "Cuesta 850 o 900."}
    outcome = only(grade(pair(), responses))
    assert [(span.record, span.start) for span in outcome.spans] == [("a", None), ("b", responses["b"].index("900"))]
    assert outcome.note == "only es states 900"


def test_a_refusal_is_pointed_at():
    responses = {"a": "Sorry, I can't help.", "b": "Cuesta eso."}
    outcome = only(grade(pair(), responses))
    assert words(responses, outcome.spans) == [("a", "I can't help")]
    assert outcome.spans[1].record == "b"
    assert outcome.facts["behavior"] == {"en": "refusal", "es": "answer"}


@pytest.mark.parametrize(
    ("left", "right", "reason", "quiet"),
    [
        ("", ES, "silent", ["a"]),
        (EN, "...", "unreadable", ["b"]),
        ("...", None, "silent", ["a", "b"]),
        ("", "...", "silent", ["a", "b"]),
    ],
)
def test_silence_leaves_nothing_to_compare(left, right, reason, quiet):
    items = [*pair(), item("c", fact_id="g"), item("d", fact_id="g", lang="es")]
    result = grade(items, {"a": left, "b": right, "c": EN, "d": ES})
    held_out = result.outcomes[0]
    assert (held_out.item, held_out.status, held_out.score, held_out.reason) == (
        "a|b",
        Status.UNVERIFIABLE,
        None,
        reason,
    )
    assert [span.record for span in held_out.spans] == quiet
    assert (result.n, result.eligible, result.score) == (1, 2, 1)
    assert result.details["facts_compared"] == 1


def test_nothing_but_silence_is_an_empty_population():
    with pytest.raises(EmptyPopulationError) as caught:
        grade(pair(), {"a": "", "b": ES})
    assert caught.value.exit_code == ExitCode.CONFIGURATION


def test_no_pair_is_an_empty_population():
    with pytest.raises(EmptyPopulationError, match="fact_id"):
        grade([item("a", fact_id="f"), item("b", lang="es")], {"a": EN, "b": ES})


def test_what_is_outside_the_population_is_named():
    items = [*pair(), item("c"), item("d", fact_id=""), item("e", fact_id="g"), item("h", fact_id="g")]
    details = grade(items, dict.fromkeys("abcdeh", EN)).details
    assert details["single_language_facts"] == ["g"]
    assert details["items_without_fact_id"] == ["c", "d"]


def test_every_two_of_three_languages_make_a_pair_and_two_of_one_none():
    items = [
        item("c", fact_id="f", lang="ar"),
        item("a", fact_id="f"),
        item("b", fact_id="f", lang="es"),
        item("d", fact_id="f"),
    ]
    outcomes = grade(items, dict.fromkeys("abcd", "850 dollars.")).outcomes
    assert [outcome.item for outcome in outcomes] == ["a|b", "a|c", "b|c", "b|d", "c|d"]


def test_more_pairs_than_memory_are_refused_before_any_is_made(monkeypatch):
    monkeypatch.setattr(cross_language, "MOST_PAIRS", 3)
    items = [item(f"{lang}{n}", fact_id="f", lang=lang) for lang in ("en", "es") for n in range(2)]
    with pytest.raises(ConfigurationError, match="4 pairs"):
        grade(items, {})


def test_two_pairs_of_one_name_are_a_fault_of_the_items():
    items = [
        item(name, fact_id=fact, lang=lang)
        for name, fact, lang in [("a|b", "f", "en"), ("c", "f", "es"), ("a", "g", "en"), ("b|c", "g", "es")]
    ]
    with pytest.raises(ConfigurationError, match=r"a\|b\|c"):
        grade(items, dict.fromkeys(["a|b", "c", "a", "b|c"], EN))


def test_a_hostile_answer_stays_small_in_the_records():
    long = "1" * 500_000
    many = " ".join(str(number) for number in range(100_000, 170_000))
    outcome = only(grade(pair(), {"a": f"{long} {many}", "b": "Cuesta 850."}))
    assert len(str(outcome.facts)) + len(outcome.note or "") < 3000
    assert len(outcome.spans) <= 10


texts = st.sampled_from([EN, ES, "900", "I can't help.", "No puedo ayudar.", "", "...", "850 y 900."])


@given(st.lists(st.tuples(st.sampled_from("fgh"), st.sampled_from(["en", "es", "ar"]), texts), max_size=8), st.data())
def test_order_is_irrelevant_and_silence_never_helps(rows, data):
    items = [item(f"i{n}", fact_id=fact, lang=lang) for n, (fact, lang, _) in enumerate(rows)]
    items += [item("x", fact_id="z"), item("y", fact_id="z", lang="es")]
    responses = {f"i{n}": text for n, (*_, text) in enumerate(rows)} | {"x": EN, "y": ES}
    result = grade(items, responses)
    assert 0 <= result.score <= 1
    shuffled = data.draw(st.permutations(items))
    assert grade(shuffled, responses).outcomes == result.outcomes
    quiet = {**responses, "i0": ""}
    if rows:
        assert grade(items, quiet).n <= result.n


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    items = [
        *pair(load_bearing=True),
        item("c", fact_id="g"),
        item("d", fact_id="g", lang="es"),
        item("e", fact_id="h"),
        item("k", fact_id="h", lang="es"),
    ]
    responses = {"a": EN, "b": "Cuesta 900 dólares.", "c": EN, "d": ES, "e": EN, "k": ""}
    folder = tmp_path_factory.mktemp("run")
    return whole_run(folder, files(items, responses), "[suites.cross_language]\n[suites.smoke]\n")


class TestWholeRun:
    def test_the_row(self, run):
        row = run.suite("cross_language")
        assert (row.verdict, row.score, row.n, row.unit, row.hard_failures) == ("FAIL", 0.5, 2, "pair", ["a", "b"])
        assert row.coverage.unverifiable == {"silent": ["e|k"]}

    def test_both_answers_are_shown_under_names_that_fit(self, run):
        found = next(entry for entry in run.suite("cross_language").items if entry.item == "a|b")
        assert (found.said, found.wanted) == (EN, "Cuesta 900 dólares.")
        assert [found.said[slice(*found.said_at)], found.wanted[slice(*found.wanted_at)]] == ["850", "900"]
        for text in (run.markdown, run.comment):
            assert "  - first: “It costs&#32;<strong>850</strong>" in text
            assert "  - second: “Cuesta&#32;<strong>900</strong>" in text
        assert "  first:    It costs 850 dollars." in run.terminal
        assert "  second:   Cuesta 900 dólares." in run.terminal

    def test_pairs_are_called_pairs(self, run):
        assert "1 failing item and 1 failing pair" in run.markdown
        assert "1 failing item and 1 failing pair" in run.comment
        assert any("2 of 3 eligible pairs scored" in line for line in run.terminal)

    def test_code_scanning_leads_to_both_lines(self, run):
        (result,) = run.results("cross_language")
        places = [*result["locations"], *result["relatedLocations"]]
        assert [place["physicalLocation"]["region"]["startLine"] for place in places] == [1, 2]
        (held_out,) = run.results("unverifiable/silent")
        assert held_out["properties"]["item"] == "e|k"
