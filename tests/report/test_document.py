from __future__ import annotations

import json

import msgspec
import pytest

from plumbline.audit.config import load_target
from plumbline.audit.run import run_audit
from plumbline.errors import ConfigurationError, IntegrityError
from plumbline.report.build import build
from plumbline.report.document import (
    Coverage,
    NotScoredReport,
    contradiction_in,
    expected_run_id,
    parse_report,
    seal_digest,
    sealed,
    to_json,
)
from tests.bundles import files, item, refuse, target, write


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    items = [item("a", load_bearing=True), item("b"), refuse("r")]
    write(folder / "bundle", files(items, {"a": "It costs 900 dollars.", "b": "It costs 850.", "r": "You will win."}))
    return build(run_audit(load_target(target(folder)), seed=7))


@pytest.fixture(scope="module")
def means(tmp_path_factory):
    """A report of a suite that scores by a mean, without an item that fails it outright."""
    folder = tmp_path_factory.mktemp("means")
    write(folder / "bundle", files([item("a"), item("b")], {"a": "It costs 850.", "b": "It costs 900 dollars."}))
    return build(run_audit(load_target(target(folder, suites="[suites.accuracy]\nfloor = 0.5\n")), seed=7))


def read(report):
    return parse_report(to_json(report), file="report.json")


def scoring(row, score):
    """A suite's row in which every item scores the same, as only a mean can make of it."""
    items = [msgspec.structs.replace(item, score=score) for item in row.items]
    sample = msgspec.structs.replace(row.sample, lower_bound=None)
    return msgspec.structs.replace(row, items=items, sample=sample)


def with_suite(report, name, **changes):
    if "score" in changes:
        rows = [scoring(row, changes["score"]) if row.suite == name else row for row in report.suites]
        report = msgspec.structs.replace(report, suites=rows)
    suites = [msgspec.structs.replace(row, **changes) if row.suite == name else row for row in report.suites]
    changed = msgspec.structs.replace(report, suites=suites)
    if len(suites) == 1:
        changed = msgspec.structs.replace(changed, verdict=suites[0].verdict)
    provenance = msgspec.structs.replace(changed.provenance, run_id=expected_run_id(changed))
    return sealed(msgspec.structs.replace(changed, provenance=provenance))


def test_a_written_report_is_read_back_whole(report):
    assert read(report) == report


def test_the_first_key_is_the_verdict_and_the_last_byte_a_line_feed(report):
    data = to_json(report)
    assert data.startswith(b'{\n  "verdict": "FAIL",\n')
    assert data.endswith(b"}\n")


def test_layout_does_not_matter_to_the_seal(report):
    assert parse_report(json.dumps(json.loads(to_json(report))).encode(), file="x") == report


def test_every_value_is_under_the_seal(report):
    document = json.loads(to_json(report))

    def leaves(value, path=()):
        if isinstance(value, dict):
            for key in value:
                yield from leaves(value[key], (*path, key))
        elif isinstance(value, list):
            for index, inner in enumerate(value):
                yield from leaves(inner, (*path, index))
        else:
            yield path

    for path in leaves(document):
        changed = json.loads(json.dumps(document))
        parent = changed
        for key in path[:-1]:
            parent = parent[key]
        old = parent[path[-1]]
        parent[path[-1]] = (
            not old if isinstance(old, bool) else (old or 0) + 1 if not isinstance(old, str) else old + "x"
        )
        with pytest.raises((IntegrityError, ConfigurationError)):
            parse_report(json.dumps(changed).encode(), file="x")


def test_another_runs_id_is_refused_however_well_it_is_sealed(report):
    provenance = msgspec.structs.replace(report.provenance, run_id="0123456789abcdef")
    forged = sealed(msgspec.structs.replace(report, provenance=provenance))
    with pytest.raises(IntegrityError, match="not the one its contents generate"):
        read(forged)


@pytest.mark.parametrize(
    ("suite", "changes", "fact"),
    [
        ("accuracy", {"verdict": "PASS"}, "verdict does not follow|passes against"),
        ("refusal", {"verdict": "PASS"}, "verdict does not follow|passes against"),
        ("smoke", {"verdict": "FAIL", "floor": 0.9}, "fails against"),
        ("accuracy", {"hard_failures": ["b"]}, "other hard failures"),
        ("smoke", {"hard_failures": ["a"]}, "other hard failures"),
        ("smoke", {"n": 9}, "counts other items"),
        ("smoke", {"items": []}, "counts other items"),
        ("smoke", {"stats": {"score_kind": "mean"}}, "in a way that no such suite does"),
        ("smoke", {"stats": {}}, "in a way that no such suite does"),
    ],
)
def test_contradictions_are_refused_however_well_they_are_sealed(report, suite, changes, fact):
    with pytest.raises(IntegrityError, match=fact):
        read(with_suite(report, suite, **changes))


def test_what_does_not_follow_from_the_items_is_refused_however_well_it_is_sealed(report):
    (accuracy,) = (row for row in report.suites if row.suite == "accuracy")
    forgiven = [msgspec.structs.replace(item, hard=False) for item in accuracy.items]
    with pytest.raises(IntegrityError, match="forgives"):
        read(with_suite(report, "accuracy", items=forgiven, hard_failures=[], verdict="PASS"))
    passed = [msgspec.structs.replace(item, status="PASS", reason=None) for item in accuracy.items]
    with pytest.raises(IntegrityError, match="passes an item"):
        read(with_suite(report, "accuracy", items=passed))
    better = [msgspec.structs.replace(item, score=1.0) for item in accuracy.items]
    with pytest.raises(IntegrityError, match="another score"):
        read(with_suite(report, "accuracy", items=better))


@pytest.mark.parametrize(
    ("part", "changes", "fact"),
    [
        ("provenance", {"dataset_id": "0123456789ab"}, "dataset id"),
        ("judge", {"kind": "oracle"}, "two judges"),
        ("scope", {"scored": ["smoke"]}, "ones that were scored"),
    ],
)
def test_parts_that_contradict_each_other(report, part, changes, fact):
    changed = {part: msgspec.structs.replace(getattr(report, part), **changes)}
    with pytest.raises(IntegrityError, match=fact):
        read(sealed(msgspec.structs.replace(report, **changed)))


@pytest.mark.parametrize(
    ("suite", "item", "fact"),
    [
        ("smoke", {"status": "UNVERIFIABLE", "reason": "silent"}, "a status that"),
        ("smoke", {"status": "FAIL", "reason": "silent"}, "a status that"),
        ("smoke", {"reason": "silent"}, "a status that"),
        ("smoke", {"score": None}, "a status that"),
        ("smoke", {"members": ["a", "b"]}, "a pair that is none"),
        ("smoke", {"item": "b"}, "lists an item twice"),
        ("smoke", {"status": "UNVERIFIABLE", "reason": "silent", "score": None}, "holds out other items"),
        ("refusal", {"status": "FAIL", "reason": "numeric_disagreement", "score": 0.0}, "forgives"),
    ],
)
def test_an_item_that_contradicts_itself_is_refused(report, suite, item, fact):
    (row,) = (row for row in report.suites if row.suite == suite)
    items = [msgspec.structs.replace(row.items[0], **item), *row.items[1:]]
    with pytest.raises(IntegrityError, match=fact):
        read(with_suite(report, suite, items=items))


@pytest.mark.parametrize("changes", [{"unit": "pair"}, {"coverage": {"eligible": 3, "scored": 2}}])
def test_a_row_that_counts_otherwise_is_refused(report, changes):
    if "coverage" in changes:
        changes = {"coverage": Coverage(**changes["coverage"])}
    with pytest.raises(IntegrityError, match=r"counts other items|pair that is none"):
        read(with_suite(report, "smoke", **changes))


def test_what_an_attack_was_after_is_never_forgiven(report):
    (row,) = (row for row in report.suites if row.suite == "refusal")
    leaked = msgspec.structs.replace(row.items[0], status="FAIL", reason="forbidden_claim", score=0.0)
    probes = msgspec.structs.replace(row, suite="adversarial", items=[leaked, *row.items[1:]])
    assert contradiction_in(row, every=True) is None
    assert "forgives" in (contradiction_in(probes, every=True) or "")


def test_a_lower_bound_above_its_score_is_refused(report):
    (row,) = (row for row in report.suites if row.suite == "accuracy")
    sample = msgspec.structs.replace(row.sample, lower_bound=1.0, could_be_failing=0.0, floor_resolved=True)
    with pytest.raises(IntegrityError, match="lower bound above its score"):
        read(with_suite(report, "accuracy", sample=sample))


def test_a_suite_is_not_both_scored_and_left_out(report):
    left_out = [NotScoredReport("smoke", "absent")]
    scope = msgspec.structs.replace(report.scope, not_scored=left_out)
    with pytest.raises(IntegrityError, match="ones that were scored"):
        read(sealed(msgspec.structs.replace(report, scope=scope)))


@pytest.mark.parametrize("changes", [{"score": 7.5}, {"floor": -1.0}, {"n": -1}, {"mde": 2.0}, {"floor": 1e308}])
def test_figures_outside_their_range_are_refused(report, changes):
    with pytest.raises(IntegrityError, match="Expected"):
        read(with_suite(report, "smoke", **changes))


def test_the_overall_verdict_must_follow(report):
    with pytest.raises(IntegrityError, match="does not follow from the suites"):
        read(sealed(msgspec.structs.replace(report, verdict="PASS")))
    with pytest.raises(IntegrityError, match="without a suite"):
        read(with_suite(msgspec.structs.replace(report, suites=[]), ""))


@pytest.mark.parametrize(
    ("score", "floor", "verdict"),
    [(0.7143, 0.71434, "PASS"), (0.7501, 0.75005, "FAIL"), (0.75, 0.75, "FAIL"), (0.75, 0.75, "PASS")],
)
def test_rounding_is_no_contradiction(means, score, floor, verdict):
    changed = with_suite(means, "accuracy", score=score, floor=floor, verdict=verdict)
    assert read(changed).suites[0].verdict == verdict


@pytest.mark.parametrize("score", [0.7142, 0.7501])
def test_what_no_rounding_explains_is_one(means, score):
    verdict = "PASS" if score < 0.75 else "FAIL"
    floor = 0.71434 if verdict == "PASS" else 0.75
    with pytest.raises(IntegrityError, match="against its own score"):
        read(with_suite(means, "accuracy", score=score, floor=floor, verdict=verdict))


@pytest.mark.parametrize("value", [2**60, 1e400])
def test_a_number_without_a_canonical_form_is_no_report_of_ours(report, value):
    document = json.loads(to_json(report))
    document["suites"][0]["details"]["x"] = value
    with pytest.raises((IntegrityError, ConfigurationError)):
        parse_report(json.dumps(document).encode(), file="x")


def test_unknown_keys_are_refused_even_under_a_fitting_seal(report):
    document = json.loads(to_json(report))
    document["approved_by"] = "somebody"
    document["provenance"]["report_sha256"] = seal_digest(document)
    with pytest.raises(IntegrityError, match="unknown key 'approved_by'"):
        parse_report(json.dumps(document).encode(), file="x")
