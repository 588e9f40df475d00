"""What may a report say of one suite's sampling error?

A suite only names the kind of its score and which items belong together. Here the kind decides which interval and
which minimum detectable effect (MDE) are honest, and when neither is. Beside those two, every suite gets what it
could still be hiding and what it would notice, from one method for all (`honest`).
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from plumbline.statistics.bounds import Bounds, bounds
from plumbline.statistics.clusters import Moments, moments
from plumbline.statistics.gap import Gap, gap, gap_bounds
from plumbline.statistics.honest import ROUND, Honest, Missing, of_gap, of_mean, rounded_down, rounded_up, without
from plumbline.statistics.intervals import (
    CONFIDENCE,
    RESAMPLES,
    Bootstrap,
    Interval,
    bootstrap_gap,
    bootstrap_mean,
    wilson,
)
from plumbline.statistics.power import POWER, mde_from_se, mde_from_variance, mde_proportion, rule_of_three
from plumbline.statistics.scale import SCALE, scaled

Kind = Literal["proportion", "mean", "gap", "census"]
"""How items make a score: the share that passed, an average, 1 minus the spread of groups, a full count."""

RESAMPLED = 10_000
"""Up to this many items a mean or a gap without clusters is resampled, as the specification has it.

Beyond it the closed form stands in: it is what resampling converges to, nearer than the noise of 2000 replicates
(some 6 % of a standard error), which at this size moves no bound by more than 3 in 10,000.
"""

_RULE_OF_THREE = "rule of three, because the items show no spread"
_RULE_OF_THREE_CLUSTERS = "rule of three on clusters, because the items show no spread"
_FROM_SE = "from the bootstrap standard error, for two independent runs of this size"
_FROM_CLUSTERED_SE = "from the cluster-robust standard error, for two independent runs of this size"
_FROM_CLOSED_SE = "from the standard error in closed form, for two independent runs of this size"
_TOO_FEW = "fewer than 2 items: nothing shows how much scores vary"
_TOO_FEW_IN_GROUP = "a group has fewer than 2 items: nothing shows how much scores vary within it"
_TOO_FEW_CLUSTERS = "a group has fewer than 2 clusters: nothing shows how much scores vary within it"
_ONE_CLUSTER = "all items belong to one cluster: nothing shows how much clusters vary"
_NO_SPREAD = "all items scored the same: nothing shows how much scores vary"
_CLUSTERED = "Jeffreys interval on the effective sample size, cluster-robust, with Student's t"
_CLOSED = "Jeffreys interval on the effective sample size, with Student's t"
_PERFECT = "Clopper-Pearson interval on clusters, because every item scored 1; a cluster fails if any item does"
_NOTHING = "Clopper-Pearson interval on clusters, because every item scored 0; a cluster passes if any item does"
_GAP = "cluster-robust t interval of the differences between groups{paired}"
_GAP_CLOSED = "t interval of the differences between groups"
_GAP_EXACT = "Clopper-Pearson interval on the clusters of the smallest group, because every item scored 1"


@dataclass(frozen=True, slots=True)
class Statistics:
    """What a report prints beside a score. Bounds and `mde` are rounded to 4 decimals.

    `stats` says how they were found; its keys depend on the case and stand in the order of the report.
    """

    ci: Interval | None
    mde: float | None
    stats: dict[str, object]
    honest: Honest
    """What the sample can and cannot say, by one method for all suites."""

    @property
    def could_be_failing(self) -> float | None:
        """By how much the true score may still fall short of 1."""
        return self.honest.could_be_failing

    @property
    def would_notice(self) -> float | None:
        """The fall that a second run of this size would notice four times in five."""
        return self.honest.would_notice

    @property
    def lower_bound(self) -> Fraction | None:
        """Below which the true score probably does not lie; decides a verdict on lower bounds."""
        return self.honest.lower_bound

    @property
    def floor_resolved(self) -> bool | None:
        """Whether `lower_bound` reaches the floor."""
        return self.honest.floor_resolved


def describe(
    kind: Kind,
    scores: Sequence[Fraction],
    *,
    run_seed: int,
    suite_id: str,
    floor: Fraction,
    clusters: Sequence[Hashable] | None = None,
    groups: Mapping[str, Sequence[Fraction]] | None = None,
    group_clusters: Mapping[str, Sequence[Hashable]] | None = None,
    census_reason: str | None = None,
) -> Statistics:
    """The interval, the minimum detectable effect and the honest figures of one suite's score.

    Where no two items share a cluster, `ci` and `mde` are the specification's.

    Args:
        kind: how the items make the score.
        scores: one exact score in [0, 1] per item, as fractions or integers; of a proportion each is 0 or 1. Not read
            for a gap.
        run_seed: the seed of the whole run.
        suite_id: with `run_seed` it makes the suite's own seed.
        floor: what the score has to reach, in [0, 1].
        clusters: one key per score; items with one key belong together. None: every item is its own cluster.
        groups: for a gap, and only for one, the scores by group; every group here takes part.
        group_clusters: for a gap, one key per score of each group. A key in two groups is the same cluster.
        census_reason: for a census, and only for one, why its score has no sampling error.

    Raises:
        ValueError: a score is outside its range, a proportion has no items, a gap has fewer than two groups, keys and
            scores do not go together, or `groups`, `group_clusters` or `census_reason` does not go with `kind`.
    """
    if (groups is not None) != (kind == "gap"):
        raise ValueError("groups go with a gap, and with nothing else")
    if group_clusters is not None and kind != "gap":
        raise ValueError("clusters by group go with a gap, and with nothing else")
    if bool(census_reason) != (kind == "census"):
        raise ValueError("a reason goes with a census, and with nothing else")
    if kind == "gap":
        grouped = {name: scaled(group) for name, group in (groups or {}).items()}
        return _gap(grouped, group_clusters, run_seed, suite_id, floor)
    values = scaled(scores)
    if kind == "census":
        stats = _stats(kind, len(values), resamples=None)
        reason = Missing("census", str(census_reason))
        return Statistics(None, None, {**stats, "reason": census_reason}, without(reason))
    if kind == "proportion" and (not values or set(values) - {0, SCALE}):
        raise ValueError("a proportion has at least one item, and an item of a proportion scores 0 or 1")
    if not values:
        return Statistics(None, None, _too_few("mean", 0, _TOO_FEW), without(Missing("too_few_items", _TOO_FEW)))
    found = moments(values, SCALE, clusters)
    honest = of_mean(found, floor)
    if found.clustered:
        return _clustered(kind, found, honest)
    if kind == "proportion":
        return _proportion(found, honest)
    return _mean(values, found, honest, run_seed, suite_id)


def _proportion(found: Moments, honest: Honest) -> Statistics:
    n = found.n
    successes = int(found.mean * n)
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
    return _statistics(interval, mde, stats, honest)


def _mean(values: Sequence[int], found: Moments, honest: Honest, run_seed: int, suite_id: str) -> Statistics:
    n = found.n
    if n < 2:
        return Statistics(None, None, _too_few("mean", n, _TOO_FEW), honest)
    if found.item_variance == 0:
        stats = {**_stats("mean", n, resamples=None), "mde_method": _RULE_OF_THREE}
        if found.mean not in (0, 1):
            return _statistics(None, rule_of_three(n), {**stats, "reason": _NO_SPREAD}, honest)
        plain = wilson(n if found.mean else 0, n)
        method = f"{plain.method}, because every item scored {1 if found.mean else 0}"
        interval = Interval(plain.lower, plain.upper, plain.confidence, method)
        return _statistics(interval, rule_of_three(n), stats, honest)
    if n > RESAMPLED:
        return _closed(found, _stats("mean", n, resamples=None), (_CLOSED, _FROM_CLOSED_SE), honest)
    resampled = bootstrap_mean(values, SCALE, _seed(run_seed, suite_id))
    return _bootstrapped("mean", n, resampled, "percentile bootstrap over items", honest)


def _clustered(kind: Kind, found: Moments, honest: Honest) -> Statistics:
    stats: dict[str, object] = {"score_kind": kind, "n": found.n}
    if kind == "proportion":
        stats["successes"] = int(found.mean * found.n)
    stats |= {"power": POWER, "resamples": None, "clusters": found.clusters}
    stats["design_effect"] = None if found.design_effect is None else round(float(found.design_effect), ROUND)
    return _closed(found, stats, (_CLUSTERED, _FROM_CLUSTERED_SE), honest)


def _closed(found: Moments, stats: dict[str, object], methods: tuple[str, str], honest: Honest) -> Statistics:
    interval_method, mde_method = methods
    if found.mean in (0, 1):
        interval_method = _PERFECT if found.mean == 1 else _NOTHING
    elif found.variance is None:
        return Statistics(None, None, {**stats, "reason": _ONE_CLUSTER}, honest)
    if not found.variance:
        mde, stats["mde_method"] = rule_of_three(found.clusters), _RULE_OF_THREE_CLUSTERS
    else:
        mde, stats["mde_method"] = mde_from_variance(found.variance, found.clusters), mde_method
    between = bounds(found)
    if between is None or (found.item_variance == 0 and found.mean not in (0, 1)):
        return _statistics(None, mde, {**stats, "reason": _NO_SPREAD}, honest)
    return _outward(between, interval_method, mde, stats, honest)


def _gap(
    groups: Mapping[str, list[int]],
    clusters: Mapping[str, Sequence[Hashable]] | None,
    run_seed: int,
    suite_id: str,
    floor: Fraction,
) -> Statistics:
    if len(groups) < 2:
        raise ValueError("a gap needs at least two groups")
    n = sum(len(group) for group in groups.values())
    if min(len(group) for group in groups.values()) < 2:
        missing = without(Missing("too_few_items_in_group", _TOO_FEW_IN_GROUP))
        return Statistics(None, None, _too_few("gap", n, _TOO_FEW_IN_GROUP), missing)
    found = gap(groups, SCALE, clusters)
    if found is None:
        missing = without(Missing("too_few_clusters_in_group", _TOO_FEW_CLUSTERS))
        return Statistics(None, None, _too_few("gap", n, _TOO_FEW_CLUSTERS), missing)
    honest = of_gap(found, floor)
    if not found.clustered and n <= RESAMPLED:
        resampled = bootstrap_gap(groups, SCALE, _seed(run_seed, suite_id))
        return _bootstrapped("gap", n, resampled, "percentile bootstrap over items, within each group", honest)
    return _closed_gap(found, honest)


def _closed_gap(found: Gap, honest: Honest) -> Statistics:
    stats = _stats("gap", found.n, resamples=None)
    variance = max(difference.variance for difference in found.differences)
    if found.clustered:
        effect = found.design_effect
        stats["clusters"] = found.clusters
        stats["design_effect"] = None if effect is None else round(float(effect), ROUND)
        stats["paired"] = found.paired
        method = _GAP.format(paired=", paired within clusters" if found.paired else "")
        mde_method = _FROM_CLUSTERED_SE
    else:
        method, mde_method = _GAP_CLOSED, _FROM_CLOSED_SE
    if variance:
        # That of a difference of two gaps of one pair of groups, as resampling would find it.
        mde, stats["mde_method"] = mde_from_variance(variance, found.clusters), mde_method
    else:
        mde, stats["mde_method"] = rule_of_three(found.fewest), _RULE_OF_THREE_CLUSTERS
    return _outward(gap_bounds(found), _GAP_EXACT if found.perfect else method, mde, stats, honest)


def _bootstrapped(kind: Kind, n: int, found: Bootstrap, method: str, honest: Honest) -> Statistics:
    stats = _stats(kind, n, resamples=RESAMPLES)
    stats["mde_method"] = _FROM_SE if found.se > 0 else _RULE_OF_THREE
    interval = Interval(found.lower, found.upper, CONFIDENCE, method)
    return _statistics(interval, mde_from_se(found.se, n), stats, honest)


def _outward(between: Bounds, method: str, mde: float, stats: dict[str, object], honest: Honest) -> Statistics:
    """Closed forms are rounded so that what is printed is never narrower than what was found."""
    interval = Interval(float(rounded_down(between.lower)), float(rounded_up(between.upper)), CONFIDENCE, method)
    return Statistics(interval, round(mde, ROUND), stats, honest)


def _statistics(interval: Interval | None, mde: float, stats: dict[str, object], honest: Honest) -> Statistics:
    if interval is not None:
        interval = Interval(
            round(interval.lower, ROUND),
            round(interval.upper, ROUND),
            interval.confidence,
            interval.method,
        )
    return Statistics(interval, round(mde, ROUND), stats, honest)


def _too_few(kind: Kind, n: int, reason: str) -> dict[str, object]:
    return {**_stats(kind, n, resamples=None), "reason": reason}


def _stats(kind: Kind, n: int, *, resamples: int | None) -> dict[str, object]:
    return {"score_kind": kind, "n": n, "power": POWER, "resamples": resamples}


def _seed(run_seed: int, suite_id: str) -> int:
    from plumbline.statistics.rng import suite_seed  # noqa: PLC0415 - a run without resampling needs no numpy

    return suite_seed(run_seed, suite_id)
