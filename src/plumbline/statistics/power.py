"""How large must a change be before a run of this size is likely to notice it?

The minimum detectable effect (MDE) compares two independent runs of one size, as a run and its baseline are.
The standard error of their difference is sqrt(2) times that of one run: MDE = (z_{alpha/2} + z_{beta}) *
sqrt(2) * SE (Bloom, "Minimum detectable effects", Evaluation Review 19, 1995, for two groups of one size).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from plumbline.statistics.beta import beta_quantile, t_quantile
from plumbline.statistics.bounds import effective, exact_lower, jeffreys, jeffreys_upper, quantile_ratio
from plumbline.statistics.clusters import Moments
from plumbline.statistics.gap import Gap
from plumbline.statistics.intervals import CONFIDENCE, check_count, normal_quantile, two_sided_quantile

POWER = 0.80
"""How often an effect as large as the MDE would be noticed."""

_NEWCOMBE = "two independent runs of this size, compared by Newcombe's 95 % interval of their difference"
_DIFFERENCES = "two independent runs of this size, the differences between groups compared by a two-sided 95 % t test"


def mde_from_se(se: float, n: int, confidence: float = CONFIDENCE, power: float = POWER) -> float:
    """The minimum detectable effect, on the scale of a score, from one run's standard error.

    Seeing no spread does not mean that anything would be noticed: `se` <= 0 falls back to the rule of three.

    Args:
        se: standard error of the score of one run.
        n: how many items the score rests on.
        confidence: two-sided confidence, in (0, 1).
        power: chance to notice an effect of the size returned, in (0, 1).

    Raises:
        ValueError: `n` is not positive, `se` is not a number, or a probability is outside (0, 1).
    """
    if math.isnan(se):
        raise ValueError("a standard error must be a number")
    if se <= 0:
        return rule_of_three(n)
    check_count(n)
    return min(1.0, (two_sided_quantile(confidence) + normal_quantile(power)) * math.sqrt(2) * se)


def mde_proportion(successes: int, n: int, confidence: float = CONFIDENCE, power: float = POWER) -> float:
    """The minimum detectable effect of a proportion, with the normal approximation SE = sqrt(p(1 - p)/n).

    Raises:
        ValueError: as `mde_from_se`, or `successes` is not in [0, n].
    """
    check_count(n, successes)
    return mde_from_se(math.sqrt(Fraction(successes * (n - successes), n**3)), n, confidence, power)


def mde_from_variance(variance: Fraction, n: int) -> float:
    """`mde_from_se` of an exact squared standard error.

    Raises:
        ValueError: as `mde_from_se`.
    """
    return mde_from_se(math.sqrt(variance), n)


def rule_of_three(n: int) -> float:
    """min(1, 3/n): the failure rate that `n` items without a failure still leave possible, at about 95 %.

    Source: Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249 (1983).

    Raises:
        ValueError: `n` is not positive.
    """
    check_count(n)
    return min(1.0, 3 / n)


@dataclass(frozen=True, slots=True)
class Drop:
    """A fall of the true score and how it was found."""

    size: float
    method: str


def would_notice(found: Moments) -> Drop | None:
    """The fall that a second run of this size would notice four times in five, taking this run's score for the truth.

    A fall is noticed when the 95 % interval of the difference of two independent runs lies above zero: with scores a
    and b, intervals (la, ua) and (lb, ub), when a - b > sqrt((a - la)**2 + (ub - b)**2). Source of that interval:
    Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17
    (1998), method 10, for any pair of intervals. Its false alarms and its power are simulated in proof/statistics.md.

    Returns:
        None when the score is 0, when there is one cluster only, or when even a fall to 0 would go unnoticed.
    """
    if found.mean == 0:
        return None
    if found.mean == 1:
        return _from_perfect(found)
    sample = effective(found)
    if sample is None:
        return None
    mean = sample.mean
    size = sample.size * sample.quantile_ratio
    below = mean - min(jeffreys(mean, size).lower, exact_lower(found.clusters))
    z = normal_quantile(POWER)

    def margin(drop: float) -> float:
        """By how much a fall by `drop` is more than what would be noticed."""
        fallen = mean - drop
        above = jeffreys_upper(fallen, size) - fallen
        spread = math.sqrt((mean * (1 - mean) + fallen * (1 - fallen)) / sample.size)
        return drop - z * spread - math.sqrt(below * below + above * above)

    high = mean * (1 - 1e-9)
    if margin(high) < 0:
        return None
    return Drop(_root(margin, 0.0, high), _NEWCOMBE)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function turns positive, from above and within 1e-6: regula falsi, Illinois variant."""
    at_low, at_high = function(low), function(high)
    side = 0
    while high - low > 1e-6:
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        # A step of a tolerance beyond the estimate closes the bracket from the other side too.
        middle = min(max(middle, low + 5e-7), high - 5e-7)
        value = function(middle)
        if value >= 0:
            at_low = at_low / 2 if side > 0 else at_low
            high, at_high, side = middle, value, 1
        else:
            at_high = at_high / 2 if side < 0 else at_high
            low, at_low, side = middle, value, -1
    return high


def _from_perfect(found: Moments) -> Drop | None:
    """From a perfect score: how many clusters must fail to be noticed, and at which rate do that many fail?

    Clusters of unlike sizes count as the fewer that would weigh the same. That a whole cluster fails at a time is the
    worst case; where only some of its items do, more clusters fail and the drop is noticed more often.
    """
    below = 1 - exact_lower(found.clusters)
    clusters = float(found.equal_clusters)
    size = clusters * quantile_ratio(clusters)

    def margin(failed: float) -> float:
        share = failed / clusters
        above = jeffreys_upper(1 - share, size) - (1 - share)
        return share - math.sqrt(below * below + above * above)

    most = clusters * (1 - 1e-9)
    if margin(most) < 0:
        return None
    failed = _root(margin, 0.0, most)
    # Clusters of one size fail by whole numbers. Others add up to nearly anything: a correction for continuity.
    enough = math.ceil(failed - 1e-5) if found.equal_clusters == found.clusters else failed + 0.5
    if enough > clusters:
        return None
    rate = beta_quantile(POWER, enough, clusters - enough + 1)
    return Drop(rate, f"{_NEWCOMBE}, clusters failing as a whole")


def would_notice_gap(found: Gap) -> Drop | None:
    """The widening of the gap that a second run of this size would notice four times in five.

    It is noticed when some difference between two groups moved by more than Student's quantile, at 95 % over all
    pairs, times the standard error of two independent runs. A wider gap also varies more: the clusters that widen it
    are taken to fail as a whole, the worst case.

    Returns:
        None when even a fall of the score to 0 would go unnoticed.
    """
    pairs = len(found.differences)
    widest = max(found.differences, key=lambda difference: difference.error)
    size, freedom = float(found.widest.size), 2 * widest.freedom
    quantiles = t_quantile(1 - (1 - CONFIDENCE) / (2 * pairs), freedom) + t_quantile(POWER, freedom)

    def margin(drop: float) -> float:
        more = drop - drop * (2 * size + drop)
        return drop - quantiles * math.sqrt(2 * widest.error**2 + max(0.0, more) / found.fewest)

    if margin(1 - size) < 0:
        return None
    drop = _root(margin, 0.0, 1 - size)
    return Drop(drop, _DIFFERENCES if pairs == 1 else f"{_DIFFERENCES}, Bonferroni over {pairs} pairs of groups")
