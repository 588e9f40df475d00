"""Is what the suites returned fit to be a verdict, and what is the verdict?

Nothing is trusted here. A result that contradicts itself stops the run as an internal error (specification, "The
overall verdict"): a verdict computed from a result nobody can interpret would be a silent pass.
"""

from collections.abc import Sequence

from plumbline.audit.config import EnabledSuite
from plumbline.errors import ConfigurationError, InternalError
from plumbline.evidence.bundle import Bundle
from plumbline.judge.lexical import Judge
from plumbline.suites.base import REASONS, Outcome, Status, SuiteResult, Unit, Verdict

_NAMED = 5
_STATUSES = frozenset(Status)


def validate(enabled: EnabledSuite, result: SuiteResult, bundle: Bundle) -> None:
    """Check one suite's result against itself and the run.

    Raises:
        InternalError: the result cannot be honestly aggregated.
    """
    if faults := _faults(enabled, result, bundle):
        fault = "; ".join(faults[:_NAMED])
        raise InternalError(f"suite {enabled.suite.id} returned a result that cannot be used: {fault}")


def _faults(enabled: EnabledSuite, result: SuiteResult, bundle: Bundle) -> list[str]:
    faults = []
    if result.suite != enabled.suite.id:
        faults.append(f"it is labelled {result.suite!r}")
    if result.floor != enabled.floor:
        faults.append("its floor is not the one that applies")
    if not 0 <= result.score <= 1:
        faults.append("its score is outside 0 to 1")
    if str(result.verdict) not in {"PASS", "FAIL"}:
        faults.append(f"its verdict {result.verdict!r} is neither PASS nor FAIL")
    elif (result.verdict == Verdict.PASS) != (result.score >= result.floor and not result.hard_failures):
        faults.append("its verdict contradicts its score, floor and hard failures")
    if not result.n:
        faults.append("nothing was scored")
    if result.unit != enabled.suite.unit:
        faults.append("its outcomes are about something else than the suite's")
    if len({outcome.item for outcome in result.outcomes}) != len(result.outcomes):
        faults.append("it gives one item two outcomes")
    known = {item.id for item in bundle.items}
    scores = {id(outcome.score): outcome.score for outcome in result.outcomes}  # many outcomes share few
    within = {identity for identity, score in scores.items() if score is not None and 0 <= score <= 1}
    inner = (
        (outcome.item, _fault_in(outcome, result.unit, known, within))
        for outcome in result.outcomes
        # What passed with a score in range, about an item there is, has nothing that could contradict itself.
        if outcome.status is not Status.PASS
        or outcome.hard
        or result.unit != "item"
        or id(outcome.score) not in within
        or outcome.item not in known
    )
    return [*faults, *(f"{result.unit} {item!r}: {fault}" for item, fault in inner if fault)]


def _fault_in(outcome: Outcome, unit: Unit, known: set[str], within: set[int]) -> str | None:
    named = {"item": (outcome.item,), "pair": outcome.members, "check": ()}[unit]
    if not known.issuperset(named):
        return "there is no such item"
    if unit == "pair" and (len(outcome.members) != 2 or outcome.item != "|".join(outcome.members)):
        return "it is not named after its two items"
    if outcome.status not in _STATUSES:
        return f"the status {outcome.status!r} is none"
    if (outcome.score is None) != (outcome.status == Status.UNVERIFIABLE):
        return "a score stands exactly where something was checked"
    if outcome.score is not None and id(outcome.score) not in within:
        return "the score is outside 0 to 1"
    if outcome.hard and outcome.status != Status.FAIL:
        return "a hard failure that did not fail"
    reason = REASONS.get(outcome.reason or "")
    if outcome.status != Status.PASS and reason is None:
        return f"the reason {outcome.reason!r} is not known"
    if outcome.status == Status.UNVERIFIABLE and reason is not None and not reason.unverifiable:
        return f"the reason {outcome.reason!r} is no reason to leave an item out of the score"
    return None


def refuse_uncounted_silence(results: Sequence[SuiteResult], bundle: Bundle, judge: Judge) -> None:
    """Refuse a run in which an item without a readable response costs no suite anything.

    Asked of the outcomes themselves (specification, "Silence has to cost something somewhere"): for every such item
    some enabled suite must have scored it zero, or the run cannot tell a quiet target from a clean one.

    Raises:
        ConfigurationError: naming the items.
    """
    quiet = {item.id for item in bundle.items if not judge.features(bundle.response_text(item.id)).readable}
    if not quiet:
        return
    of_items = (result.outcomes for result in results if result.unit == "item")
    counted = {
        outcome.item for outcomes in of_items for outcome in outcomes if outcome.item in quiet and outcome.score == 0
    }
    if uncounted := sorted(quiet - counted):
        named = ", ".join(uncounted[:_NAMED])
        more = f" and {len(uncounted) - _NAMED} more" if len(uncounted) > _NAMED else ""
        raise ConfigurationError(
            f"{len(uncounted)} items have no readable response, and no enabled suite counts that: {named}{more}",
            remedy="Enable smoke or refusal, which score silence zero.",
        )


def overall(results: Sequence[SuiteResult]) -> Verdict:
    """PASS only if there are suites and every one of them passed.

    Raises:
        InternalError: there is no result to aggregate.
    """
    if not results:
        raise InternalError("there is no suite result to aggregate")
    return Verdict.PASS if all(result.verdict == Verdict.PASS for result in results) else Verdict.FAIL
