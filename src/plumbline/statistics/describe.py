"""What may a report say of one suite's sampling error?

A suite only names the kind of its score. Here the kind decides which interval and which minimum detectable
effect (MDE) are honest, and when neither is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from plumbline.statistics.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Bootstrap,
    Interval,
    bootstrap_gap,
    bootstrap_mean,
    wilson,
)
from plumbline.statistics.power import POWER, mde_from_se, mde_proportion, rule_of_three

Kind = Literal["proportion", "mean", "gap", "census"]
"""How items make a score: the share that passed, an average, 1 minus the spread of groups, a full count."""

SCALE = 10**9
"""What a score of 1 is when scores become integers.

A score is rounded to the nearest multiple of 10**-9, ties to the even one, which can move a mean by at most
5 * 10**-10. Scores that differ by less count as equal.
"""

DECIMALS = 4

_RULE_OF_THREE = "rule of three, because the items show no spread"
_FROM_SE = "from the bootstrap standard error, for two independent runs of this size"
_TOO_FEW = "fewer than 2 items: nothing shows how much scores vary"
_TOO_FEW_IN_GROUP = "a group has fewer than 2 items: nothing shows how much scores vary within it"
_NO_SPREAD = "all items scored the same, so resampling would only repeat that score"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a report prints beside a score. Bounds and `mde` are rounded to 4 decimals.

    `stats` says how they were found; its keys depend on the case and stand in the order of the report.
    """

    ci: Interval | None
    mde: float | None
    stats: dict[str, object]


def describe(
    kind: Kind,
    scores: Sequence[Fraction],
    *,
    run_seed: int,
    suite_id: str,
    groups: Mapping[str, Sequence[Fraction]] | None = None,
    census_reason: str | None = None,
) -> Statistics:
    """The interval and the minimum detectable effect of one suite's score.

    Args:
        kind: how the items make the score.
        scores: one exact score in [0, 1] per item; of a proportion each is 0 or 1. Not read for a gap.
        run_seed: the seed of the whole run.
        suite_id: with `run_seed` it makes the suite's own seed.
        groups: for a gap, and only for one, the scores by group; every group here takes part.
        census_reason: for a census, and only for one, why its score has no sampling error.

    Raises:
        ValueError: a score is outside its range, a proportion has no items, a gap has fewer than two groups,
            or `groups` or `census_reason` does not go with `kind`.
    """
    if (groups is not None) != (kind == "gap"):
        raise ValueError("groups go with a gap, and with nothing else")
    if bool(census_reason) != (kind == "census"):
        raise ValueError("a reason goes with a census, and with nothing else")
    match kind:
        case "proportion":
            return _proportion(scores)
        case "mean":
            return _mean(_scaled(scores), run_seed, suite_id)
        case "gap":
            grouped = {name: _scaled(group) for name, group in (groups or {}).items()}
            return _gap(grouped, run_seed, suite_id)
        case "census":
            stats = _stats(kind, len(_scaled(scores)), resamples=None)
            return Statistics(None, None, {**stats, "reason": census_reason})


def _proportion(scores: Sequence[Fraction]) -> Statistics:
    n = len(scores)
    successes = sum(1 for score in scores if score == 1)
    if successes + sum(1 for score in scores if score == 0) != n:
        raise ValueError("an item of a proportion scores 0 or 1")
    interval = wilson(successes, n)
    if successes in (0, n):
        mde, method = rule_of_three(n), _RULE_OF_THREE
    else:
        mde, method = (
            mde_proportion(successes, n),
            "normal approximation, for two independent runs of this size",
        )
    stats: dict[str, object] = {
        "score_kind": "proportion",
        "n": n,
        "successes": successes,
        "power": POWER,
        "mde_method": method,
        "resamples": None,
    }
    return _statistics(interval, mde, stats)


def _mean(scaled: list[int], run_seed: int, suite_id: str) -> Statistics:
    n = len(scaled)
    if n < 2:
        return Statistics(None, None, {**_stats("mean", n, resamples=None), "reason": _TOO_FEW})
    if min(scaled) == max(scaled):
        stats = {**_stats("mean", n, resamples=None), "mde_method": _RULE_OF_THREE}
        if scaled[0] not in (0, SCALE):
            return _statistics(None, rule_of_three(n), {**stats, "reason": _NO_SPREAD})
        plain = wilson(n if scaled[0] else 0, n)
        method = f"{plain.method}, because every item scored {1 if scaled[0] else 0}"
        interval = Interval(plain.lower, plain.upper, plain.confidence, method)
        return _statistics(interval, rule_of_three(n), stats)
    found = bootstrap_mean(scaled, SCALE, _seed(run_seed, suite_id))
    return _bootstrapped("mean", n, found, "percentile bootstrap over items")


def _gap(groups: Mapping[str, list[int]], run_seed: int, suite_id: str) -> Statistics:
    if len(groups) < 2:
        raise ValueError("a gap needs at least two groups")
    n = sum(len(group) for group in groups.values())
    if min(len(group) for group in groups.values()) < 2:
        return Statistics(None, None, {**_stats("gap", n, resamples=None), "reason": _TOO_FEW_IN_GROUP})
    found = bootstrap_gap(groups, SCALE, _seed(run_seed, suite_id))
    return _bootstrapped("gap", n, found, "percentile bootstrap over items, within each group")


def _bootstrapped(kind: Kind, n: int, found: Bootstrap, method: str) -> Statistics:
    stats = _stats(kind, n, resamples=RESAMPLES)
    stats["mde_method"] = _FROM_SE if found.se > 0 else _RULE_OF_THREE
    return _statistics(Interval(found.lower, found.upper, CONFIDENCE, method), mde_from_se(found.se, n), stats)


def _statistics(interval: Interval | None, mde: float, stats: dict[str, object]) -> Statistics:
    if interval is not None:
        interval = Interval(
            round(interval.lower, DECIMALS),
            round(interval.upper, DECIMALS),
            interval.confidence,
            interval.method,
        )
    return Statistics(interval, round(mde, DECIMALS), stats)


def _stats(kind: Kind, n: int, *, resamples: int | None) -> dict[str, object]:
    return {"score_kind": kind, "n": n, "power": POWER, "resamples": resamples}


def _scaled(scores: Sequence[Fraction]) -> list[int]:
    for score in scores:
        if not 0 <= score <= 1:
            raise ValueError(f"a score must be in [0, 1], not {score}")
    return [round(score * SCALE) for score in scores]


def _seed(run_seed: int, suite_id: str) -> int:
    from plumbline.statistics.rng import suite_seed  # noqa: PLC0415 - a run without resampling needs no numpy

    return suite_seed(run_seed, suite_id)
