"""Between which bounds does the true gap between groups lie, and which widening would be noticed?

A gap's score is 1 - (best group mean - worst group mean). When the same fact is asked in every group, its difficulty
cancels out of a difference of groups, so differences are taken within clusters: the sandwich variance of a difference
of two means, in which a cluster with items in both groups contributes once.

A variance that rests on few clusters is helped by one made-up cluster on either side of the difference (Bonett and
Price, "Adjusted Wald confidence interval for a difference of binomial proportions based on paired data", Journal of
Educational and Behavioral Statistics 37, 2012), as far out as the clusters that differ. Bounds of the largest
difference follow from those of all pairs. Its upper bound needs no correction for looking at many pairs: it is at
least the upper bound of the pair that truly differs most. Its lower bound does.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

from plumbline.statistics.beta import t_quantile
from plumbline.statistics.bounds import SHRINK, Bounds, exact_lower
from plumbline.statistics.clusters import cluster_sums
from plumbline.statistics.intervals import CONFIDENCE

Sums = Mapping[Hashable, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference of two group means with its variance."""

    size: Fraction
    """At least 0."""
    variance: Fraction
    """Squared standard error, with clusters as the draws."""
    item_variance: Fraction
    """The same as if all items were independent."""
    error: float
    """Standard error with the made-up clusters: positive even where no cluster differs."""
    freedom: float


@dataclass(frozen=True, slots=True)
class Gap:
    """What the items say of the gap between groups."""

    n: int
    clusters: int
    """Distinct ones over all groups."""
    clustered: bool
    """Whether some cluster has two items, in one group or in several."""
    paired: bool
    """Whether every cluster has items in every group."""
    fewest: int
    """Clusters of the group with the fewest."""
    perfect: bool
    differences: tuple[Difference, ...]
    """Of every pair of groups."""

    @property
    def widest(self) -> Difference:
        """The difference between best and worst group."""
        return max(self.differences, key=lambda difference: difference.size)

    @property
    def design_effect(self) -> Fraction | None:
        """How many times larger clusters make the variance of `widest`; below 1 where pairing helps."""
        widest = self.widest
        return widest.variance / widest.item_variance if widest.item_variance else None


def gap(
    groups: Mapping[str, Sequence[int]], scale: int, clusters: Mapping[str, Sequence[Hashable]] | None = None
) -> Gap | None:
    """All differences between groups; None when a group has fewer than two clusters.

    Args:
        groups: scores times `scale`, integers in [0, scale], by group: at least two groups, none empty.
        scale: what a score of 1 is.
        clusters: one key per score; None when every item is its own cluster.

    Raises:
        ValueError: a group is empty, there are fewer than two, or keys and scores do not go together.
    """
    if len(groups) < 2 or not all(groups.values()):
        raise ValueError("a gap needs at least two groups with items")
    if clusters is not None and clusters.keys() != groups.keys():
        raise ValueError("cluster keys and scores are of different groups")
    sums: dict[str, Sums] = {}
    for name in sorted(groups):
        keys = [(name, place) for place in range(len(groups[name]))] if clusters is None else clusters[name]
        sums[name] = cluster_sums(groups[name], keys)
    n = sum(len(group) for group in groups.values())
    distinct = set().union(*sums.values())
    fewest = min(len(group) for group in sums.values())
    if fewest < 2:
        return None
    squares = {name: _squares(group) for name, group in groups.items()}
    return Gap(
        n=n,
        clusters=len(distinct),
        clustered=len(distinct) < n,
        paired=all(len(group) == len(distinct) for group in sums.values()),
        fewest=fewest,
        perfect=all(min(group) == scale for group in groups.values()),
        differences=tuple(
            _difference(sums[one], sums[other], scale, squares[one], squares[other])
            for one, other in combinations(sorted(groups), 2)
        ),
    )


def gap_bounds(found: Gap, confidence: float = CONFIDENCE) -> Bounds:
    """The interval of the score 1 - gap.

    Where everything passed it is exact on clusters: the worst group cannot fail more often than clusters do.
    """
    if found.perfect:
        return Bounds(exact_lower(found.fewest, confidence), 1.0)
    ordered_pairs = 2 * len(found.differences)
    outer = inner = 0.0
    for difference in found.differences:
        size = float(difference.size)
        outer = max(outer, size + t_quantile((1 + confidence) / 2, difference.freedom) * difference.error)
        quantile = t_quantile(1 - (1 - confidence) / ordered_pairs, difference.freedom)
        inner = max(inner, size - quantile * difference.error)
    return Bounds(max(0.0, 1 - outer), 1 - inner)


def _difference(one: Sums, other: Sums, scale: int, first: int, second: int) -> Difference:
    (total, size), (total_other, size_other) = _whole(one), _whole(other)
    # What a cluster contributes is an integer over this.
    unit = size * size * size_other * size_other * scale
    parts = [_parts(group, *_whole(group), size * size * size_other * size_other) for group in (one, other)]
    shared = parts[0].keys() & parts[1].keys()
    if shared:
        together = [parts[0].get(key, 0) - parts[1].get(key, 0) for key in parts[0].keys() | parts[1].keys()]
        variance, error = _variance(together, unit)
        freedom = float(min(len(one), len(other)) - 1)
    else:
        (variance, error), (variance_other, error_other) = (_variance([*part.values()], unit) for part in parts)
        variance += variance_other
        freedom = (error + error_other) ** 2 / (error**2 / (len(one) - 1) + error_other**2 / (len(other) - 1))
        error += error_other
    naive = Fraction(size * first - total**2, size**2 * (size - 1) * scale**2)
    naive += Fraction(size_other * second - total_other**2, size_other**2 * (size_other - 1) * scale**2)
    return Difference(
        size=abs(Fraction(total, size * scale) - Fraction(total_other, size_other * scale)),
        variance=variance,
        item_variance=naive,
        error=math.sqrt(error),
        freedom=freedom,
    )


def _parts(group: Sums, total: int, size: int, common: int) -> dict[Hashable, int]:
    """What each cluster's residual moves the group's mean by, in units of 1 / (`common` * scale)."""
    weight = common // (size * size)
    return {key: (size * part - total * count) * weight for key, (part, count) in group.items()}


def _variance(parts: Sequence[int], unit: int) -> tuple[Fraction, float]:
    """The variance of a sum of clusters' parts, plain and with a made-up cluster on either side."""
    clusters = len(parts)
    second = sum(part * part for part in parts)
    fourth = sum(part**4 for part in parts)
    plain = Fraction(clusters * second, (clusters - 1) * unit**2)
    # How far out: the root mean square of the parts, each weighed by its square, as a difference of cluster means.
    contributing = second * second / Fraction(fourth) if fourth else Fraction(0)
    far = Fraction(clusters**2 * fourth, second * unit**2) if second else Fraction(0)
    share = SHRINK / (SHRINK + float(contributing) ** 3)
    reach = (1 - share) * min(1.0, float(far)) + share
    spread = float(Fraction(clusters**2 * second, unit**2)) + 2 * reach
    return plain, max(float(plain), spread / ((clusters + 2) * (clusters + 1)))


def _whole(group: Sums) -> tuple[int, int]:
    return sum(part for part, _ in group.values()), sum(count for _, count in group.values())


def _squares(scaled: Sequence[int]) -> int:
    return sum(value * value for value in scaled)
