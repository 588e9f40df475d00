"""Sentences about figures say what the figures say."""

import msgspec
import pytest

from plumbline.audit.baseline import Move
from plumbline.report import wording
from plumbline.report.document import ItemResult, NotScoredReport, Scope
from plumbline.report.wording import Excerpt
from tests.report.reports import (
    comparable,
    flipped,
    make_report,
    no_sample,
    one_wrong_number,
    passing,
    refused,
    removed,
    rounding,
    smoke,
    suite,
    under_refusal,
    unverifiable,
    wrong_number,
)


@pytest.mark.parametrize(
    ("floor", "text"), [(0.75, "0.75"), (1.0, "1.00"), (0.9, "0.90"), (0.123456, "0.123456"), (0.000001, "0.000001")]
)
def test_a_floor_keeps_the_digits_it_has(floor, text):
    assert wording.floor_text(floor) == text


def test_lists_name_the_first_and_count_the_rest():
    assert [wording.listed(names) for names in ([], ["a"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
        "a, b, c and 1 more",
    ]


def test_a_pass_names_how_much_was_asked():
    assert wording.headline(make_report()) == "Each of the 3 suites that ran reached its floor, on 60 items."
    assert wording.headline(make_report([smoke()])) == "The one suite that ran reached its floor, on 60 items."


def test_a_pass_that_left_suites_out_says_so():
    assert wording.headline(removed()).endswith("1 suite did not run.")


def test_a_failure_names_what_decides_it():
    assert wording.headline(one_wrong_number()) == (
        "Failing: 1 of 3 suites. accuracy has 1 item that fails the suite outright, at a score of 0.9312 over a "
        "floor of 0.75."
    )
    low = make_report([suite(score=0.5), suite("refusal", [wrong_number()], score=0.5, floor=0.9)])
    assert wording.headline(low) == (
        "Failing: 2 of 2 suites. accuracy scored 0.5000, under its floor of 0.75; refusal scored 0.5000, under its "
        "floor of 0.90, and has 1 item that fails the suite outright."
    )


def test_a_score_that_looks_like_its_floor():
    assert wording.cause(rounding().suites[0]) == (
        "scored just below the floor before rounding (0.7500 shown, floor 0.75)"
    )
    passed = suite(score=0.7143, floor=0.71428)
    assert "before rounding" not in wording.cause(passed)
    assert "before rounding" in wording.cause(suite(score=0.7143, floor=0.71434, verdict="PASS"))


def test_what_a_good_score_leaves_possible():
    assert wording.could_be(suite("refusal")) == "could still be failing up to 9.4%"
    assert wording.could_be(suite()) == "the true score could still be 0.9056"
    assert wording.would_notice(suite()) == "would notice a drop of 0.0521 four times in five"
    unknown = suite(sample=no_sample("one cluster"))
    assert wording.could_be(unknown) == "what could still be failing is not known: one cluster"
    assert wording.would_notice(unknown) == "what drop a next run would notice is not known: one cluster"
    assert (wording.could_be_figure(unknown), wording.would_notice_figure(unknown)) == ("n/a", "n/a")


def test_what_stands_behind_a_score():
    assert wording.behind(suite()) == "60 items"
    clustered = msgspec.structs.replace(suite().sample, clusters=12, design_effect=2.345)
    assert wording.behind(suite(sample=clustered)) == "60 items in 12 clusters, design effect 2.35"
    perfect = msgspec.structs.replace(clustered, design_effect=None)
    assert wording.behind(suite(sample=perfect)) == "60 items in 12 clusters"
    assert wording.behind(suite(sample=no_sample("a census"), unit="check")) == "60 checks"


def test_whether_the_interval_settles_the_floor():
    assert wording.resolved(suite()) == "yes"
    assert wording.resolved(suite(floor=0.92)) == "no"
    assert wording.resolved(suite(sample=no_sample("a census"))) == "no interval"


def test_a_change_beside_its_noise():
    within, beyond, still = wording.rows(comparable())
    assert (within.was, within.now, within.change, within.noise) == (
        "0.9401",
        "0.9312",
        "\N{MINUS SIGN}0.0089",
        "yes (< 0.0344)",
    )
    assert (beyond.change, beyond.noise) == ("\N{MINUS SIGN}0.0500", "no (≥ 0.0344)")
    assert (still.change, still.noise) == ("0", "—")
    assert wording.chance(Move("x", 0.1, 0.2, 0.1, None, None)) == "not known"


def test_scores_on_other_evidence_are_not_subtracted():
    assert {row.change for row in wording.rows(refused())} == {"not compared"}
    assert any("Scores were not compared" in line for line in wording.against_the_bar(refused()))


def test_flips_and_lowered_floors_are_named():
    row = wording.rows(flipped())[0]
    assert row.verdict == "fail (was pass)"
    assert row.floor == "0.75 (was 0.80)"
    lines = wording.against_the_bar(flipped())
    assert lines[:3] == [
        "The verdict went from PASS to FAIL.",
        "accuracy went from PASS to FAIL.",
        "The floor of accuracy was lowered from 0.80 to 0.75.",
    ]


def test_a_suite_that_did_not_run_keeps_its_row():
    last = wording.rows(removed())[-1]
    assert (last.suite, last.was, last.now, last.verdict) == ("refusal", "0.9833", "not run", "not run")


def test_no_baseline_is_no_change():
    assert wording.against_the_bar(make_report()) == []


def test_unverifiable_counts():
    assert wording.unverifiable(unverifiable()) == [
        "accuracy: 60 of 65 eligible items scored; nothing was recorded: 4, nothing readable was recorded: 1"
    ]


@pytest.mark.parametrize("at", [[], [5], [3, 2], [0, 99], [-1, 2], [2, 2]])
def test_an_excerpt_without_a_usable_mark_is_whole(at):
    assert wording.said(ItemResult(item="a", status="FAIL", said="text", said_at=at)) == Excerpt("text", "", "")


def test_an_excerpt_is_parted_at_its_mark():
    assert wording.said(wrong_number()) == Excerpt("A day pass costs ", "8", " dollars and is valid until midnight.")
    assert wording.said(ItemResult(item="a", status="FAIL")) is None
    long = wording.said(under_refusal("a", said="x" * 9999))
    assert long is not None
    assert len(long.before) == 301


def test_digests_are_cut_short_where_nobody_reads_them():
    assert wording.shortened(f"from {'a' * 64} to {'b' * 64}, {'c' * 65}") == (
        f"from {'a' * 12}… to {'b' * 12}…, {'c' * 65}"
    )


def test_items_that_passed_are_no_findings():
    assert wording.unverifiable(make_report([suite(items=passing(3))])) == []


def test_a_declared_gap_is_said_with_the_suite_that_is_switched_off():
    entry = NotScoredReport(suite="privacy", status="disabled", gap="no screens", fix_belongs_in="the front end")
    report = make_report(scope=Scope(scored=["smoke"], not_scored=[entry], unread=[]))
    (line,) = wording.not_scored(report)
    assert line.startswith("privacy: ")
    assert "no screens" in line
    assert "the front end" in line
    plain = NotScoredReport(suite="privacy", status="absent")
    assert "unchecked" not in wording.not_scored(make_report(scope=Scope(["smoke"], [plain], [])))[0]


def test_suites_that_the_configuration_does_not_name_take_one_line():
    entries = [NotScoredReport(suite=name, status="absent") for name in ("accuracy", "privacy")]
    lines = wording.not_scored(make_report(scope=Scope(["smoke"], entries, [])))
    assert lines == ["accuracy and privacy: the configuration does not name them"]


def test_an_interval_is_said_or_said_to_be_none():
    assert wording.interval_sentence(suite()) == "95% interval 0.9056 to 0.9533"
    assert wording.interval_sentence(suite(ci=None)) == "no interval"
