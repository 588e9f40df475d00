from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from plumbline.audit.baseline import Baseline, BaselineSuite, Current, compare, load_baseline
from plumbline.audit.config import load_target
from plumbline.audit.provenance import DEFAULT_SEED, run_id
from plumbline.audit.run import run_audit, suite_line
from plumbline.audit.scope import NotScored
from plumbline.canonical import canonical_json
from plumbline.errors import BundleError, ConfigurationError, IntegrityError, InternalError
from plumbline.report import wording
from plumbline.report.build import build
from plumbline.report.document import parse_report, to_json
from plumbline.suites.base import Verdict, grade_all
from plumbline.suites.registry import IMPLEMENTED
from tests.bundles import files, item, refuse, target, write

ITEMS = [
    item("a", load_bearing=True),
    item("b", lang="es", translation={"of": "a", "review": "unreviewed"}),
    refuse("r"),
]
GOOD = {"a": "It costs 850 dollars.", "b": "It costs 850 of the dollars.", "r": "I can't help with that."}


def audit(tmp_path, responses=GOOD, items=ITEMS, **more):
    write(tmp_path / "bundle", files(items, responses))
    return run_audit(load_target(target(tmp_path, **more)), seed=DEFAULT_SEED)


def test_items_of_one_fact_are_one_cluster(tmp_path):
    items = [item("a", fact_id="fee"), item("b", fact_id="fee", lang="es"), item("c"), item("fee"), refuse("r")]
    good = {**dict.fromkeys("abc", "It costs 850 dollars."), "fee": "It costs 850.", "r": "I can't help with that."}
    run = audit(tmp_path, good, items)
    for scored in run.suites:
        # An item whose id is a fact's is not that fact.
        assert scored.statistics.honest.clusters == scored.result.n - 1
        assert scored.statistics.stats["clusters"] == scored.result.n - 1


def test_a_good_bundle_passes_every_suite(tmp_path):
    run = audit(tmp_path)
    assert run.verdict == Verdict.PASS
    assert [scored.result.suite for scored in run.suites] == ["accuracy", "refusal", "smoke"]
    assert run.warnings == ("item b (es) is an unreviewed translation of a",)
    assert all(scored.statistics.ci is not None for scored in run.suites)


def test_one_wrong_number_fails_the_run(tmp_path):
    run = audit(tmp_path, {**GOOD, "a": "It costs 900 dollars."})
    assert run.verdict == Verdict.FAIL
    assert run.suites[0].result.hard_failures == ("a",)


def test_what_was_not_scored_is_named(tmp_path):
    run = audit(tmp_path, suites="[suites.smoke]\n[suites.refusal]\nenabled = false\n")
    assert [entry.suite for entry in run.not_scored] == sorted({*IMPLEMENTED} - {"smoke"})
    assert {entry for entry in run.not_scored if entry.suite in {"accuracy", "refusal"}} == {
        NotScored("accuracy", "absent"),
        NotScored("refusal", "disabled"),
    }


def test_a_gap_is_declared_with_where_its_cause_lies(tmp_path):
    declared = '[suites.smoke]\n[suites.refusal]\nenabled = false\ngap = "no list"\nfix_belongs_in = "the service"\n'
    run = audit(tmp_path, suites=declared)
    assert NotScored("refusal", "disabled", "no list", "the service") in run.not_scored


def test_what_the_evidence_expects_and_nothing_checks_is_named(tmp_path):
    items = [
        item("a", load_bearing=True, forbidden=["secret"]),
        item("c", turns=["and then?"]),
        refuse("r", adversarial=True),
    ]
    write(tmp_path / "bundle", files(items, {"a": "It costs 850 dollars.", "c": "It costs 850.", "r": "I can't help."}))
    run = run_audit(load_target(target(tmp_path)), seed=1)
    assert [(entry.key, entry.items) for entry in run.unread] == [("adversarial", 1), ("forbidden", 1), ("turns", 1)]
    assert all(entry.read_by for entry in run.unread)


def test_what_an_enabled_suite_reads_is_not_named(tmp_path, monkeypatch):
    monkeypatch.setattr("plumbline.audit.scope.READ_BY", {"turns": ("smoke",), "forbidden": ("privacy",)})
    items = [item("a", forbidden=["secret"], turns=["and then?"])]
    run = audit(tmp_path, {"a": "It costs 850 dollars."}, items=items)
    assert [entry.key for entry in run.unread] == ["forbidden"]


def test_what_a_suite_returns_is_not_believed_unseen(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "plumbline.audit.run.grade_all",
        lambda *given: [replace(result, verdict="SKIP") for result in grade_all(*given)],
    )
    with pytest.raises(InternalError, match="neither PASS nor FAIL"):
        audit(tmp_path)


def test_a_load_bearing_reference_without_a_number_is_warned_about(tmp_path):
    run = audit(
        tmp_path, {"p": "Bring a passport."}, items=[item("p", load_bearing=True, expected="Bring a passport.")]
    )
    assert "states no number" in run.warnings[0]
    cited = [item("p", load_bearing=True, expected="The fee is [850] euros.")]
    write(tmp_path / "bundle", files(cited, {"p": "x"}, sources=[{"id": "850", "text": "A passage."}]))
    run = run_audit(load_target(target(tmp_path)), seed=1)
    assert "states no number" in run.warnings[0]


def test_edited_evidence_is_refused_before_scoring(tmp_path):
    write(tmp_path / "bundle", files(ITEMS, GOOD))
    path = tmp_path / "bundle/responses.jsonl"
    path.write_bytes(path.read_bytes().replace(b"850", b"900", 1))
    with pytest.raises(IntegrityError, match=r"content mismatch: responses\.jsonl"):
        run_audit(load_target(target(tmp_path)), seed=1)


def test_a_question_set_cannot_be_graded(tmp_path):
    with pytest.raises(ConfigurationError, match="question set"):
        audit(tmp_path, None)


def test_a_missing_bundle(tmp_path):
    with pytest.raises(ConfigurationError, match="no such bundle folder"):
        run_audit(load_target(target(tmp_path)), seed=1)


def test_silence_no_suite_counts(tmp_path):
    with pytest.raises(ConfigurationError, match="no enabled suite counts"):
        audit(tmp_path, {**GOOD, "r": ""}, suites="[suites.accuracy]\n")


def test_the_run_id_depends_on_every_input():
    given = {
        "target": "t",
        "version": "1",
        "seed": 1,
        "dataset_sha256": "a",
        "judge_config_sha256": "b",
        "floors": [("smoke", 1.0, "score")],
        "baseline_sha256": None,
    }
    changes = [
        {"target": "u"},
        {"version": "2"},
        {"seed": 2},
        {"dataset_sha256": "x"},
        {"judge_config_sha256": "x"},
        {"floors": [("smoke", 0.9, "score")]},
        {"floors": [("refusal", 1.0, "score")]},
        {"floors": [("smoke", 1.0, "lower_bound")]},
        {"baseline_sha256": "x"},
    ]
    ids = {run_id(**given), *(run_id(**{**given, **change}) for change in changes)}
    assert len(ids) == len(changes) + 1
    assert run_id(**{**given, "floors": [("b", 1.0, "score"), ("a", 0.5, "score")]}) == run_id(
        **{**given, "floors": [("a", 0.5, "score"), ("b", 1.0, "score")]}
    )


def baseline_for(run, **changes):
    raw = Baseline(
        format="plumbline-baseline",
        format_version=4,
        source_run_id=run.run_id,
        target=run.target,
        verdict=run.verdict.value,
        harness_version=run.harness_version,
        harness_source_sha256=run.harness_source_sha256,
        seed=run.seed,
        dataset_sha256=run.bundle.sha256,
        dataset_id=run.bundle.dataset_id,
        judge_kind="lexical",
        judge_deterministic=True,
        judge_config_sha256=run.judge_config_sha256,
        suites=[suite_line(scored) for scored in run.suites],
    )
    raw = msgspec.structs.replace(raw, **changes)
    return msgspec.structs.replace(raw, baseline_sha256=raw.digest())


def commit(path, baseline):
    path.write_bytes(msgspec.json.encode(baseline))
    return path


def test_the_same_run_moved_nothing(tmp_path):
    run = audit(tmp_path)
    path = commit(tmp_path / "b.json", baseline_for(run))
    again = run_audit(load_target(target(tmp_path)), seed=DEFAULT_SEED, baseline_path=path)
    assert again.comparison.comparable
    assert again.comparison.summary == "no verdict changed and no score moved"
    assert again.run_id != run.run_id


def test_a_configured_baseline_is_used_and_a_missing_one_refused(tmp_path):
    run = audit(tmp_path)
    more = '[baseline]\npath = "b.json"\n'
    with pytest.raises(ConfigurationError, match="cannot be read"):
        audit(tmp_path, more=more)
    commit(tmp_path / "b.json", baseline_for(run))
    assert audit(tmp_path, more=more).comparison is not None


def current(**changes):
    rows = [
        BaselineSuite(suite="accuracy", score=0.8, floor=0.75, verdict="PASS", n=10),
        BaselineSuite(suite="smoke", score=1.0, floor=1.0, verdict="PASS", n=10),
    ]
    known = Current(
        target="t",
        verdict="PASS",
        harness_version="1",
        harness_source_sha256="s",
        seed=1,
        dataset_sha256="d",
        judge_config_sha256="j",
        suites=rows,
        mde={"accuracy": 0.1, "smoke": 0.05, "refusal": None},
    )
    return msgspec.structs.replace(known, **changes)


def bar(**changes):
    now = current()
    known = Baseline(
        format="plumbline-baseline",
        format_version=4,
        source_run_id="r",
        target=now.target,
        verdict="PASS",
        harness_version="1",
        harness_source_sha256="s",
        seed=1,
        dataset_sha256="d",
        dataset_id="d",
        judge_kind="lexical",
        judge_deterministic=True,
        judge_config_sha256="j",
        suites=now.suites,
    )
    return msgspec.structs.replace(known, **changes)


def row(suite, score, verdict="PASS", floor=0.75):
    return BaselineSuite(suite=suite, score=score, floor=floor, verdict=verdict, n=10)


def test_moves_are_held_against_the_effect_that_can_be_noticed():
    before = bar(suites=[row("accuracy", 0.85), row("smoke", 0.9), row("refusal", 0.9)])
    now = current(suites=[row("accuracy", 0.8), row("smoke", 1.0), row("refusal", 0.95)])
    moves = {move.suite: (move.delta, move.detectable) for move in compare(before, now).moved_suites}
    assert moves == {"accuracy": (-0.05, False), "smoke": (0.1, True), "refusal": (0.05, None)}


def test_a_change_of_exactly_the_detectable_effect_counts():
    before = bar(suites=[row("accuracy", 0.9), row("smoke", 1.0, floor=1.0)])
    (move,) = compare(before, current()).moved_suites
    assert (move.delta, move.detectable) == (-0.1, True)


@pytest.mark.parametrize("key", ["dataset_sha256", "judge_config_sha256", "target"])
def test_other_evidence_judge_or_target_refuses_the_subtraction(key):
    found = compare(
        bar(**{key: "other"}), current(suites=[row("accuracy", 0.1, "FAIL"), row("smoke", 1.0)], verdict="FAIL")
    )
    assert (found.comparable, found.moved_suites, len(found.refusals)) == (False, None, 1)
    assert "other" in found.refusals[0]
    assert [(flip.suite, flip.was, flip.now) for flip in found.flipped_suites] == [("accuracy", "PASS", "FAIL")]
    assert (found.verdict_change.was, found.verdict_change.now) == ("PASS", "FAIL")
    assert "scores not compared" in found.summary


def test_caveats_and_lowered_floors_are_named():
    before = bar(harness_version="0", harness_source_sha256="z", seed=9, suites=[row("accuracy", 0.8, floor=0.8)])
    found = compare(before, current())
    assert found.comparable
    assert len(found.caveats) == 4
    assert "lowered from 0.8 to 0.75" in found.caveats[-1]


def test_a_suite_that_did_not_run_is_said_first():
    found = compare(bar(), current(suites=[row("accuracy", 0.8), row("refusal", 1.0)]))
    assert (found.removed_suites, found.added_suites) == (["smoke"], ["refusal"])
    assert found.summary.startswith("1 suite(s) of the bar did not run: smoke")
    assert "no verdict changed" in found.summary


def test_an_edited_baseline_is_refused(tmp_path):
    baseline = msgspec.to_builtins(baseline_for(audit(tmp_path)))
    baseline["suites"][0]["score"] = 0.1
    (tmp_path / "b.json").write_text(json.dumps(baseline))
    with pytest.raises(IntegrityError, match="not what was cut"):
        load_baseline(tmp_path / "b.json")


@pytest.mark.parametrize(
    "changes",
    [{"suites": []}, {"verdict": "FAIL"}, {"suites": [row("smoke", 1.0), row("smoke", 1.0)]}],
)
def test_a_baseline_that_contradicts_itself_is_refused(tmp_path, changes):
    raw = bar(**changes)
    sealed = msgspec.structs.replace(raw, baseline_sha256=raw.digest())
    with pytest.raises(IntegrityError, match="contradicts itself"):
        load_baseline(commit(tmp_path / "b.json", sealed))


@pytest.mark.parametrize(("key", "value"), [("seed", 10**20), ("seed", -1)])
def test_figures_of_a_baseline_have_ranges(tmp_path, key, value):
    document = {**msgspec.to_builtins(bar()), key: value}
    (tmp_path / "b.json").write_text(json.dumps(document))
    with pytest.raises(ConfigurationError, match="Expected"):
        load_baseline(tmp_path / "b.json")


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        ("[]", "Expected `object`"),
        ("{", "not valid JSON"),
        ('{"format": "x"}', "missing"),
    ],
)
def test_a_malformed_baseline_is_exit_4(tmp_path, data, fact):
    (tmp_path / "b.json").write_text(data)
    with pytest.raises(ConfigurationError, match=fact):
        load_baseline(tmp_path / "b.json")


@pytest.mark.parametrize("change", [{"format": "x"}, {"format_version": 3}])
def test_another_baseline_format_is_exit_4(tmp_path, change):
    with pytest.raises(ConfigurationError, match="is not"):
        load_baseline(commit(tmp_path / "b.json", bar(**change)))


def test_floors_survive_as_written(tmp_path):
    run = audit(tmp_path, suites="[suites.smoke]\nfloor = 0.7\n")
    assert run.suites[0].result.floor == Fraction(7, 10)
    assert canonical_json(msgspec.to_builtins(suite_line(run.suites[0]))).count(b'"floor":0.7,') == 1


def test_bundle_errors_are_configuration_errors():
    assert issubclass(BundleError, ConfigurationError)


LOWER = '[suites.smoke]\nfloor = {floor}\nfloor_on = "lower_bound"\n'


def test_a_floor_may_be_held_against_the_lower_bound(tmp_path):
    items = [item(f"i{number}") for number in range(40)]
    said = {entry["id"]: "It costs 850 dollars." for entry in items}
    missed = audit(tmp_path, said, items=items, suites=LOWER.format(floor="0.95"))
    assert missed.suites[0].result.score == 1
    assert missed.verdict == Verdict.FAIL
    met = audit(tmp_path, said, items=items, suites=LOWER.format(floor="0.85"))
    assert met.verdict == Verdict.PASS
    for run in (missed, met):
        report = build(run)
        assert parse_report(to_json(report), file="report.json").suites[0].floor_on == "lower_bound"
    assert "lower bound" in wording.cause(build(missed).suites[0])


def test_a_lower_bound_does_not_excuse_what_fails_outright(tmp_path):
    items = [item(f"i{number}", load_bearing=True) for number in range(200)]
    said = {entry["id"]: "It costs 850 dollars." for entry in items} | {"i7": "It costs 900 dollars."}
    lower = LOWER.replace("smoke", "accuracy").format(floor="0.5")
    assert audit(tmp_path, said, items=items, suites=lower).verdict == Verdict.FAIL


def test_a_lower_bound_that_is_not_known_is_no_pass(tmp_path):
    one = [item("a", fact_id="f"), item("b", fact_id="f")]
    said = {"a": "It costs 850 dollars.", "b": "The price is about 850."}
    with pytest.raises(ConfigurationError, match="floor_on is 'lower_bound', and the score has none"):
        audit(tmp_path, said, items=one, suites=LOWER.replace("smoke", "accuracy").format(floor="0.5"))


def test_a_bar_held_otherwise_is_a_caveat():
    now = [BaselineSuite(suite="smoke", score=1.0, floor=1.0, verdict="PASS", n=2, floor_on="lower_bound")]
    before = [BaselineSuite(suite="smoke", score=1.0, floor=1.0, verdict="PASS", n=2)]
    found = compare(bar(suites=before), current(suites=now))
    assert any("held against the score, now the lower bound" in caveat for caveat in found.caveats)


def test_items_of_one_cluster_or_fact_are_one_draw(tmp_path):
    items = [item(f"i{n}", **({"cluster": "c"} if n < 20 else {"fact_id": "f"} if n < 30 else {})) for n in range(40)]
    said = {entry["id"]: "It costs 850 dollars." for entry in items}
    run = audit(tmp_path, said, items=items, suites="[suites.smoke]\n")
    assert run.suites[0].statistics.honest.clusters == 12


@pytest.mark.parametrize(
    ("fields", "clusters"),
    [
        # a cluster of its own does not part what one fact joins
        (lambda n: {"fact_id": "f", "cluster": f"c{n}"}, 1),
        # and a cluster joins facts, also through others
        (lambda n: {"fact_id": f"f{n // 2}", "cluster": f"c{(n + 1) // 2}"}, 1),
        (lambda n: {"fact_id": f"f{n // 2}", "cluster": "c" if n < 4 else f"c{n}"}, 5),
        (lambda n: {"cluster": f"c{n // 4}"}, 3),
    ],
)
def test_a_declared_cluster_joins_and_never_parts(tmp_path, fields, clusters):
    items = [item(f"i{n}", lang="en" if n % 2 else "es", **fields(n)) for n in range(12)]
    said = {entry["id"]: "It costs 850 dollars." for entry in items}
    suites = "[suites.smoke]\n[suites.cross_language]\n" if "fact_id" in fields(0) else "[suites.smoke]\n"
    for scored in audit(tmp_path, said, items=items, suites=suites).suites:
        assert scored.statistics.honest.clusters == clusters


TALK = {"response": "I cannot help.", "turn_responses": ["I cannot help.", "I cannot help."]}


def test_what_a_conversation_is_held_to_is_read(tmp_path):
    items = [refuse("r", turns=["please"], forbidden=["key"]), item("a", forbidden=["other"])]
    said = {"r": TALK, "a": "It costs 850 dollars."}
    run = audit(tmp_path, said, items=items, suites="[suites.conversational_integrity]\n[suites.smoke]\n")
    assert [(entry.key, entry.items) for entry in run.unread] == [("forbidden", 1)]


def test_a_graded_answer_that_is_not_the_last_of_its_conversation_is_warned_about(tmp_path):
    said = {"r": {**TALK, "turn_responses": ["I cannot help.", "Sure."]}}
    run = audit(tmp_path, said, items=[refuse("r", turns=["please"])], suites="[suites.smoke]\n")
    assert any("not the last of its turn_responses" in warning for warning in run.warnings)
    assert audit(tmp_path, {"r": TALK}, items=[refuse("r", turns=["please"])], suites="[suites.smoke]\n").warnings == ()


@pytest.mark.parametrize("said", [None, {"a": "It costs 850 dollars."}])
def test_a_shard_is_told_from_a_question_set(tmp_path, said):
    write(tmp_path / "bundle", files([item("a")], said, manifest={"recording": {"shard": {"index": 1, "of": 2}}}))
    with pytest.raises(ConfigurationError, match="one shard of a recording") as refusal:
        run_audit(load_target(target(tmp_path)), seed=1)
    assert "plumbline merge" in refusal.value.remedy


def test_a_population_of_silence_is_called_that(tmp_path):
    with pytest.raises(ConfigurationError, match="all 2 items that it applies to are silent") as refusal:
        audit(tmp_path, {"a": "", "b": "..."}, items=[item("a"), item("b")], suites="[suites.privacy]\n")
    assert "smoke" in refusal.value.remedy
