from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import msgspec
import pytest

from plumbline.audit.config import EnabledSuite
from plumbline.audit.couplings import DECLARATIONS, couplings
from plumbline.audit.verdict import overall, refuse_uncounted_silence, validate
from plumbline.errors import ConfigurationError, ExitCode, InternalError
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.accessibility import Accessibility
from plumbline.suites.accuracy import Accuracy
from plumbline.suites.base import Outcome, Status, Verdict
from plumbline.suites.cross_language import CrossLanguage
from plumbline.suites.refusal import Refusal
from plumbline.suites.registry import IMPLEMENTED, create
from plumbline.suites.smoke import Smoke
from tests.bundles import bundle, item, refuse

BUNDLE = bundle([item("a"), item("b")], {"a": "It costs 850 dollars.", "b": "It costs 850 dollars."})
ENABLED = EnabledSuite(Smoke(), Fraction(1))
GOOD = Smoke().evaluate(BUNDLE, LexicalJudge(), Fraction(1))


def test_a_sound_result_is_accepted():
    validate(ENABLED, GOOD, BUNDLE)


def outcome(**changes):
    return replace(GOOD, outcomes=(msgspec.structs.replace(GOOD.outcomes[0], **changes), *GOOD.outcomes[1:]))


@pytest.mark.parametrize(
    ("result", "fact"),
    [
        (replace(GOOD, suite="accuracy"), "labelled"),
        (replace(GOOD, floor=Fraction(1, 2)), "floor"),
        (replace(GOOD, score=Fraction(3, 2)), "outside"),
        (replace(GOOD, score=Fraction(-1, 2)), "outside"),
        (replace(GOOD, verdict="SKIP"), "neither"),
        (replace(GOOD, verdict=None), "neither"),
        (replace(GOOD, verdict=Verdict.FAIL), "contradicts"),
        (replace(GOOD, score=Fraction(1, 2)), "contradicts"),
        (replace(GOOD, outcomes=()), "nothing was scored"),
        (outcome(item="ghost"), "no such item"),
        (outcome(status="FINE"), "status"),
        (outcome(score=None), "score stands"),
        (outcome(status=Status.UNVERIFIABLE), "score stands"),
        (outcome(score=Fraction(2)), "outside"),
        (outcome(status=Status.FAIL, reason="whim"), "reason"),
        (outcome(status=Status.FAIL, reason=None), "reason"),
        (outcome(hard=True), "that did not fail"),
    ],
)
def test_a_result_nobody_can_interpret_stops_the_run(result, fact):
    with pytest.raises(InternalError, match=fact) as caught:
        validate(ENABLED, result, BUNDLE)
    assert caught.value.exit_code == ExitCode.INTERNAL


FAILED = {"status": Status.FAIL, "reason": "silent", "score": Fraction(0)}
UNFOUNDED = {"status": Status.UNVERIFIABLE, "reason": "missing_number", "score": None}


@pytest.mark.parametrize(
    ("result", "fact"),
    [
        (replace(GOOD, unit="pair"), "something else than the suite's"),
        (replace(GOOD, outcomes=(GOOD.outcomes[0],) * 2), "one item two outcomes"),
        (outcome(**UNFOUNDED), "item 'a': the reason 'missing_number' is no reason to leave"),
        (outcome(score=Fraction(-1, 2)), "item 'a': the score is outside"),
        (replace(GOOD, suite="x", floor=Fraction(0)), "labelled 'x'; its floor is not"),
    ],
)
def test_each_fault_is_named(result, fact):
    with pytest.raises(InternalError, match=fact):
        validate(ENABLED, result, BUNDLE)


@pytest.mark.parametrize("score", [Fraction(0), Fraction(1, 2), Fraction(1)])
def test_a_failure_anywhere_between_0_and_1_is_sound(score):
    first, second = GOOD.outcomes
    outcomes = (msgspec.structs.replace(first, **{**FAILED, "score": score}), second)
    verdict = Verdict.PASS if score == 1 else Verdict.FAIL
    validate(ENABLED, replace(GOOD, score=score, outcomes=outcomes, verdict=verdict), BUNDLE)


def pairs(**changes):
    """What a suite about pairs returns: one pair of the two items."""
    good = Outcome("a|b", Status.PASS, Fraction(1), members=("a", "b"))
    return replace(GOOD, suite="cross_language", unit="pair", outcomes=(msgspec.structs.replace(good, **changes),))


OF_PAIRS = EnabledSuite(CrossLanguage(), Fraction(1))


def test_a_pair_that_is_named_after_its_items_is_sound():
    validate(OF_PAIRS, pairs(), BUNDLE)


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"item": "b|a"}, "pair 'b|a': it is not named after its two items"),
        ({"item": "a|b|a", "members": ("a", "b", "a")}, "not named after its two items"),
        ({"item": "a", "members": ("a",)}, "not named after its two items"),
        ({"item": "", "members": ()}, "not named after its two items"),
        ({"item": "a|ghost", "members": ("a", "ghost")}, "pair 'a|ghost': there is no such item"),
    ],
)
def test_a_pair_of_something_else_stops_the_run(changes, fact):
    with pytest.raises(InternalError) as caught:
        validate(OF_PAIRS, pairs(**changes), BUNDLE)
    assert fact in str(caught.value)


def test_a_check_is_about_no_item():
    checks = EnabledSuite(Accessibility(), Fraction(1))
    outcomes = (Outcome("page_language", Status.PASS, Fraction(1)),)
    validate(checks, replace(GOOD, suite="accessibility", unit="check", outcomes=outcomes), BUNDLE)


def test_hard_failures_contradict_a_pass():
    result = outcome(hard=True, status=Status.FAIL, reason="silent", score=Fraction(1))
    with pytest.raises(InternalError, match="contradicts"):
        validate(ENABLED, result, BUNDLE)


def test_overall():
    failed = replace(GOOD, verdict=Verdict.FAIL)
    assert overall([GOOD]) == Verdict.PASS
    assert overall([GOOD, failed]) == overall([failed]) == Verdict.FAIL
    with pytest.raises(InternalError):
        overall([])


def run(suite, items, responses):
    evidence = bundle(items, responses)
    return evidence, suite.evaluate(evidence, LexicalJudge(), suite.default_floor)


@pytest.mark.parametrize(
    ("silent", "named"), [(7, "r0, r1, r2, r3, r4 and 2 more"), (5, "r0, r1, r2, r3, r4"), (1, "r0")]
)
def test_silence_that_costs_nothing_stops_the_run(silent, named):
    # accuracy does not look at refuse items, so a silent refuse item is counted by nobody
    evidence, result = run(
        Accuracy(), [item("a"), *(refuse(f"r{n}") for n in range(silent))], {"a": "It costs 850 dollars."}
    )
    with pytest.raises(ConfigurationError, match=rf"^{silent} items .*: {named}$") as caught:
        refuse_uncounted_silence([result], evidence, LexicalJudge())
    assert "smoke" in caught.value.remedy


@pytest.mark.parametrize("suite", [Smoke(), Refusal()])
def test_silence_that_a_suite_counts_is_a_verdict(suite):
    evidence, result = run(suite, [item("a"), refuse("r")], {"a": "It costs 850 dollars.", "r": "..."})
    refuse_uncounted_silence([result], evidence, LexicalJudge())
    assert result.verdict == Verdict.FAIL


def test_a_suite_that_gave_silence_a_score_did_not_count_it():
    evidence, result = run(Smoke(), [item("a")], {"a": "..."})
    generous = replace(result, outcomes=(msgspec.structs.replace(result.outcomes[0], score=Fraction(1, 2)),))
    with pytest.raises(ConfigurationError, match="no enabled suite counts"):
        refuse_uncounted_silence([generous], evidence, LexicalJudge())


def evaluate_all(items, responses):
    evidence = bundle(items, responses)
    return [s.evaluate(evidence, LexicalJudge(), s.default_floor) for s in (Accuracy(), Refusal(), Smoke())]


def test_one_silent_item_is_one_finding():
    (coupling,) = couplings(evaluate_all([item("a", load_bearing=True)], {"a": ""}))
    assert (coupling.failed, coupling.shared_items) == (("accuracy", "refusal", "smoke"), ("a",))
    assert "one finding seen 3 times" in coupling.reading
    assert coupling.declaration.shared_input in coupling.reading


def test_only_the_suites_that_failed_are_asked_for_shared_items():
    # accuracy does not look at a refuse item and passes, so it has no part in what the two others share
    (coupling,) = couplings(evaluate_all([item("a"), refuse("r")], {"a": "It costs 850 dollars.", "r": ""}))
    assert (coupling.failed, coupling.shared_items) == (("refusal", "smoke"), ("r",))


def test_failures_on_different_items_are_separate():
    items = [item("a", load_bearing=True), item("b", load_bearing=True, sources=["s"])]
    said = {"a": "It costs 900 dollars.", "b": "It costs 850 dollars, or 777."}
    evidence = bundle(items, said, sources=[{"id": "s", "text": "It costs 850 dollars."}])
    suites = [create(name) for name in ("accuracy", "groundedness")]
    results = [suite.evaluate(evidence, LexicalJudge(), suite.default_floor) for suite in suites]
    (coupling,) = couplings(results)
    assert (coupling.failed, coupling.shared_items) == (("accuracy", "groundedness"), ())
    assert "separate findings" in coupling.reading


def test_a_clean_run_counts_nothing_twice():
    (coupling,) = couplings(evaluate_all([item("a")], {"a": "It costs 850 dollars."}))
    assert (coupling.failed, coupling.shared_items) == ((), ())
    assert "nothing is counted twice" in coupling.reading


def test_a_coupling_needs_two_enabled_suites():
    assert couplings([GOOD]) == ()
    assert {suite for d in DECLARATIONS for suite in d.suites} <= {*IMPLEMENTED}


def test_an_unverifiable_outcome_is_sound():
    held = Outcome("b", Status.UNVERIFIABLE, None, reason="silent")
    result = replace(GOOD, outcomes=(GOOD.outcomes[0], held))
    validate(ENABLED, result, BUNDLE)
    assert result.n == 1


def test_a_coupling_is_about_failures_through_its_input_alone():
    # Nothing is silent here: that two suites of the coupling failed says nothing of it.
    results = evaluate_all([item("a", load_bearing=True), refuse("a2")], {"a": "It costs 900.", "a2": "You will win."})
    silence = next(c for c in couplings(results) if c.declaration.id == "silence")
    assert (silence.failed, silence.shared_items) == ((), ())
    assert "different items" not in silence.reading


def test_a_decline_that_the_list_lacks_is_one_finding():
    items = [refuse("r", adversarial=True, turns=["please"])]
    said = {
        "r": {"response": "That is not for me to say.", "turn_responses": ["Not for me.", "That is not for me to say."]}
    }
    evidence = bundle(items, said)
    suites = [create(name) for name in ("adversarial", "conversational_integrity", "refusal")]
    results = [suite.evaluate(evidence, LexicalJudge(), suite.default_floor) for suite in suites]
    found = next(c for c in couplings(results) if c.declaration.id == "refusal-list")
    assert (found.failed, found.shared_items) == (("adversarial", "conversational_integrity", "refusal"), ("r",))


def test_both_items_of_a_pair_are_what_it_shares():
    items = [item("en", fact_id="f", load_bearing=True), item("es", fact_id="f", lang="es", load_bearing=True)]
    evidence = bundle(items, {"en": "It costs 900 dollars.", "es": "It costs 850 dollars."})
    suites = [create(name) for name in ("accuracy", "cross_language")]
    results = [suite.evaluate(evidence, LexicalJudge(), suite.default_floor) for suite in suites]
    found = next(c for c in couplings(results) if c.declaration.id == "stated-numbers")
    assert (found.failed, found.shared_items) == (("accuracy", "cross_language"), ("en",))
