from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.audit.couplings import couplings
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.judge.language import SHIPPED, Profile
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.text import Rules
from plumbline.suites.base import Status, Verdict, grade_all
from plumbline.suites.multilingual import Multilingual
from plumbline.suites.smoke import Smoke
from tests.bundles import bundle, files, item, refuse
from tests.suites.runs import whole_run

EN, ES = "The office is open and you can pay there.", "La oficina está abierta y se puede pagar en ella."


def grade(items, responses, judge=None):
    return Multilingual().evaluate(bundle(items, responses), judge or LexicalJudge(), Fraction(19, 20))


def only(result):
    (outcome,) = result.outcomes
    return outcome


@pytest.mark.parametrize(
    ("lang", "response", "reason", "answered_in"),
    [
        ("en", EN, None, None),
        ("es", ES, None, None),
        ("es", EN, "other_language", "en"),
        ("en", ES, "other_language", "es"),
        ("ar", EN, "other_language", "en"),
        ("ar", "المكتب مفتوح", None, None),
        ("en", "850", "undetermined_language", "undetermined"),
        ("en", "Zzyzx qwop.", "undetermined_language", "undetermined"),
        ("en", "", "silent", "undetermined"),
        ("en", None, "silent", "undetermined"),
        ("en", "[src-a] …", "unreadable", "undetermined"),
    ],
)
def test_the_language_of_the_answer(lang, response, reason, answered_in):
    outcome = only(grade([item("a", lang=lang)], {"a": response}))
    assert (outcome.score, outcome.reason) == (0 if reason else 1, reason)
    assert outcome.status == (Status.FAIL if reason else Status.PASS)
    assert dict(outcome.facts) == ({"asked_in": lang, "answered_in": answered_in} if reason else {})


def test_refusals_are_graded_too():
    assert only(grade([refuse("r", lang="es")], {"r": "I can't help you with that."})).reason == "other_language"


def test_tags_are_compared_as_strings():
    judge = LexicalJudge(Rules(profiles={**SHIPPED, "en-GB": Profile(words=frozenset({"lorry"}))}))
    assert only(grade([item("a", lang="en-GB")], {"a": EN}, judge)).reason == "other_language"


@pytest.mark.parametrize(("lang", "table"), [("tl", "[judge.languages.tl]"), ("x y", '[judge.languages."x y"]')])
def test_a_language_without_a_profile_is_a_configuration_error(lang, table):
    items = [item(f"i{n}", lang=lang) for n in range(7)] + [item("en"), item("z", lang="zz")]
    with pytest.raises(ConfigurationError, match="i0, i1, i2, i3, i4 and 2 more") as caught:
        grade(items, {})
    assert caught.value.exit_code == ExitCode.CONFIGURATION
    assert table in caught.value.remedy
    assert "'zz'" in str(caught.value)
    assert repr(lang) in str(caught.value)


def test_details():
    items = [
        item("a", lang="es", translation={"of": "b", "review": "unreviewed"}),
        item("b"),
        item("c"),
        item("d"),
        item("e", lang="es", translation={"of": "b", "review": "sme_reviewed"}),
    ]
    result = grade(items, {"a": EN, "b": "850", "c": "", "d": "?", "e": ES})
    assert (result.score, result.verdict, result.n) == (Fraction(1, 5), Verdict.FAIL, 5)
    details = result.details
    assert details["language_mismatches"] == ["a"]
    assert details["undetermined_language"] == ["b"]
    assert details["silent"] == ["c", "d"]
    assert details["languages_in_bundle"] == ["en", "es"]
    assert details["unreviewed_translations"] == ["a"]


def test_the_place_is_the_response_and_the_question_s_language():
    spans = only(grade([item("a", lang="es")], {"a": EN})).spans
    assert [(span.role, span.record, span.path) for span in spans] == [
        ("responses", "a", ("response",)),
        ("items", "a", ("lang",)),
    ]


def test_silence_is_one_finding_of_several_suites():
    evidence = bundle([item("a")], {"a": ""})
    results = grade_all(evidence, LexicalJudge(), [(Multilingual(), Fraction(1)), (Smoke(), Fraction(1))])
    (coupling,) = couplings(results)
    assert (coupling.failed, coupling.shared_items) == (("multilingual", "smoke"), ("a",))


@given(st.lists(st.tuples(st.sampled_from(["en", "es"]), st.sampled_from([EN, ES, "850", "", "."])), min_size=1))
def test_adding_silence_never_raises_the_score(rows):
    items = [item(f"i{n}", lang=lang) for n, (lang, _) in enumerate(rows)]
    responses = {f"i{n}": text for n, (_, text) in enumerate(rows)}
    result = grade(items, responses)
    assert 0 <= result.score <= 1
    assert grade(items[::-1], responses).score == result.score
    assert grade([*items, item("quiet")], responses).score <= result.score


def test_a_hostile_answer_is_one_more_answer():
    outcome = only(grade([item("a", lang="es")], {"a": "the " * 250_000}))
    assert (outcome.reason, len(outcome.note)) == ("other_language", len("asked in es, answered in en"))


def test_whole_run(tmp_path):
    content = files([item("a", lang="es"), item("b")], {"a": EN, "b": EN})
    run = whole_run(tmp_path, content, "[suites.multilingual]\n")
    row = run.suite("multilingual")
    assert (row.verdict, row.score) == ("FAIL", 0.5)
    (result,) = run.results("multilingual")
    assert result["properties"]["reason"] == "other_language"
    assert "asked in es, answered in en" in run.comment
    assert "1 failing item" in run.markdown


def test_a_declared_language_is_graded(tmp_path):
    content = files([item("a", lang="tl")], {"a": "ang bayad ay dito"})
    more = '[judge.languages.tl]\nwords = ["ang", "ay"]\n'
    assert whole_run(tmp_path, content, "[suites.multilingual]\n", more).report.verdict == "PASS"
