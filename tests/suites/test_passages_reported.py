"""The suites about passages in whole runs: reports, SARIF, couplings."""

from __future__ import annotations

import html
import json

import pytest

from plumbline.report.build import build
from plumbline.report.document import HARD_REASONS, parse_report, to_json
from plumbline.report.markdown import report_markdown
from plumbline.report.sarif import sarif
from plumbline.suites.base import REASONS
from tests.bundles import item, refuse
from tests.suites.passages import FARE, PARKING, audited, sourced

SUITES = ["citation_accuracy", "citation_validity", "groundedness", "passage_attribution", "smoke"]
ITEMS = [
    sourced("good", answering_sources=["fare"]),
    sourced("wrong", answering_sources=["fare"], load_bearing=True),
    sourced("number", load_bearing=True),
    sourced("uncited"),
    sourced("invented"),
    sourced("quiet", answering_sources=["fare"]),
    sourced("lone", sources=["fare"], answering_sources=["fare"]),
    item("plain"),
    refuse("r"),
]
RESPONSES = {
    "good": f"{FARE} [fare]",
    "wrong": f"{PARKING} [parking]",
    "number": "The pass costs 95 dollars [fare].",
    "uncited": FARE,
    "invented": f"{FARE} [made-up]",
    "lone": f"{FARE} [fare]",
    "plain": "Yes.",
    "r": "I cannot help with that.",
}


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return build(audited(tmp_path_factory.mktemp("run"), ITEMS, RESPONSES, SUITES))


def by_suite(report):
    return {suite.suite: suite for suite in report.suites}


def test_the_report_reads_back_as_it_was_written(report):
    assert parse_report(to_json(report), file="report.json") == report


def test_each_suite_names_what_fails_it(report):
    found = by_suite(report)
    assert {name: suite.hard_failures for name, suite in found.items()} == {
        "citation_accuracy": [],
        "citation_validity": ["invented"],
        "groundedness": ["number"],
        "passage_attribution": ["wrong"],
        "smoke": [],
    }


def test_coverage_says_what_was_held_out_and_why(report):
    coverage = {name: suite.coverage for name, suite in by_suite(report).items()}
    assert {name: (line.scored, line.eligible, line.unverifiable) for name, line in coverage.items()} == {
        "citation_accuracy": (5, 7, {"no_resolvable_citation": ["invented", "uncited"]}),
        "citation_validity": (7, 7, {}),
        "groundedness": (6, 7, {"silent": ["quiet"]}),
        "passage_attribution": (
            2,
            7,
            {"no_declaration": ["invented", "number", "uncited"], "no_distractor": ["lone"], "silent": ["quiet"]},
        ),
        "smoke": (9, 9, {}),
    }


def test_the_markdown_shows_coverage_with_reasons(report):
    text = html.unescape(report_markdown(report))
    assert "passage_attribution: 2 of 7 eligible items scored" in text
    assert all(REASONS[reason].title.lower() in text.lower() for reason in ("no_distractor", "no_resolvable_citation"))


def test_code_scanning_is_led_to_the_passages(report):
    (run,) = json.loads(sarif(report, root="bundle"))["runs"]
    rules = {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    wrong = next(result for result in run["results"] if result["ruleId"] == "passage_attribution")
    places = [*wrong["locations"], *wrong["relatedLocations"]]
    files = [place["physicalLocation"]["artifactLocation"]["uri"].rsplit("/", 1)[-1] for place in places]
    assert files == ["responses.jsonl", "sources.jsonl", "sources.jsonl"]
    lines = [place["physicalLocation"]["region"]["startLine"] for place in places]
    assert lines == [2, 2, 1]
    assert {f"unverifiable/{reason}" for reason in ("no_declaration", "no_distractor", "no_claim")} < rules


def test_one_silent_item_is_one_finding_however_many_suites_it_fails(report):
    silence = next(coupling for coupling in report.couplings if coupling.id == "silence")
    assert silence.failed == ["citation_accuracy", "citation_validity", "smoke"]
    assert silence.shared_items == ["quiet"]


def test_a_number_that_no_passage_states_is_one_finding_of_two_suites(report):
    support = next(coupling for coupling in report.couplings if coupling.id == "passage-support")
    assert support.failed == ["citation_accuracy", "groundedness"]
    assert support.shared_items == ["number"]


def test_half_a_wrong_answer_is_one_finding_of_two_suites_too(tmp_path):
    responses = {"a": "The pass costs 90 or 95 dollars [fare]."}
    suites = ["citation_accuracy", "groundedness"]
    (coupling,) = build(audited(tmp_path, [sourced("a", load_bearing=True)], responses, suites)).couplings
    assert (coupling.failed, coupling.shared_items) == (suites, ["a"])


@pytest.mark.parametrize(
    ("suite", "reason"), [("groundedness", "ungrounded_number"), ("citation_validity", "fabricated_citation")]
)
def test_reasons_that_always_fail_a_suite_outright_are_known_to_whoever_verifies(report, suite, reason):
    hard = [entry for entry in by_suite(report)[suite].items if entry.reason == reason]
    assert [entry.hard for entry in hard] == [True]
    assert reason in HARD_REASONS
