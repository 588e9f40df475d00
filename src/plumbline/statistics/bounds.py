"""Between which bounds does the true score lie when items come in clusters?

One method for every score that is an average of scores in [0, 1], passes and failures included. The sample is put in
the place of that many independent passes and failures as would have its variance (Korn and Graubard, "Confidence
intervals for proportions with small expected number of positive counts", Survey Methodology 24, 1998), and those get
Jeffreys' interval (Brown, Cai and DasGupta, "Interval estimation for a binomial proportion", Statistical Science 16,
2001). Where no cluster failed, or none passed, the variance says nothing, and the interval is Clopper and Pearson's
(Biometrika 26, 1934) on clusters.

Three things keep the promise where few clusters did not pass, for then a variance is itself a poor estimate: it is
never taken below that of independent items; it is drawn towards the largest that scores in [0, 1] can have, the more
so the fewer clusters it rests on; and the normal quantile becomes Student's, for as many clusters as would weigh
alike. proof/statistics.md holds the simulated coverage.
"""

import math
from dataclasses import dataclass

from plumbline.statistics.beta import beta_quantile, t_quantile
from plumbline.statistics.clusters import Moments
from plumbline.statistics.intervals import CONFIDENCE, two_sided_quantile

SHRINK = 4.0
"""The largest variance gets the share SHRINK / (SHRINK + K**3), K being the clusters that the estimate rests on."""

_ENOUGH = 1000.0
"""Passes and failures beyond which Wilson's interval is Jeffreys' to four decimals, and cheaper."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A two-sided interval, in [0, 1]."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample as that many independent passes and failures."""

    mean: float
    size: float
    """Effective sample size: mean * (1 - mean) / variance. Not necessarily whole."""
    quantile_ratio: float
    """(normal quantile / Student's)**2: what not knowing the variance costs."""


def effective(found: Moments) -> Sample | None:
    """The sample as independent passes and failures; None when it is one cluster or its mean is 0 or 1."""
    if found.variance is None or found.item_variance is None or found.mean in (0, 1):
        return None
    mean = float(found.mean)
    equal = float(found.equal_clusters)
    widest = float(found.mean * (1 - found.mean)) / equal
    variance = float(max(found.variance, found.item_variance))
    share = SHRINK / (SHRINK + float(found.contributing) ** 3)
    variance = min(widest, (1 - share) * variance + share * max(widest, variance))
    return Sample(mean, float(found.mean * (1 - found.mean)) / variance, quantile_ratio(equal))


def quantile_ratio(clusters: float, confidence: float = CONFIDENCE) -> float:
    """(z / t)**2 for that many clusters; at least one degree of freedom is assumed."""
    freedom = max(1.0, clusters - 1)
    return (two_sided_quantile(confidence) / t_quantile((1 + confidence) / 2, freedom)) ** 2


def exact_lower(clusters: int, confidence: float = CONFIDENCE) -> float:
    """Clopper and Pearson's lower bound when no cluster of `clusters` failed."""
    return beta_quantile((1 - confidence) / 2, clusters, 1)


def jeffreys(mean: float, size: float, confidence: float = CONFIDENCE) -> Bounds:
    """Jeffreys' interval of `mean` in (0, 1) from `size` > 0 passes and failures, neither necessarily whole."""
    passes, failures = mean * size, (1 - mean) * size
    if min(passes, failures) > _ENOUGH:
        return _wilson(mean, size, confidence)
    lower = beta_quantile((1 - confidence) / 2, passes + 0.5, failures + 0.5)
    return Bounds(min(lower, mean), max(_upper(passes, failures, confidence), mean))


def jeffreys_upper(mean: float, size: float, confidence: float = CONFIDENCE) -> float:
    """The upper bound of `jeffreys` alone."""
    passes, failures = mean * size, (1 - mean) * size
    if min(passes, failures) > _ENOUGH:
        return _wilson(mean, size, confidence).upper
    return max(_upper(passes, failures, confidence), mean)


def bounds(found: Moments, confidence: float = CONFIDENCE) -> Bounds | None:
    """The interval of a mean; None when it is one cluster that neither passed nor failed entirely.

    A sample without any spread, not at 0 or 1, gets the largest variance possible. No lower bound is above that of a
    perfect score from as many clusters.
    """
    if found.mean == 1:
        return Bounds(exact_lower(found.clusters, confidence), 1.0)
    if found.mean == 0:
        return Bounds(0.0, 1 - exact_lower(found.clusters, confidence))
    sample = effective(found)
    if sample is None:
        return None
    between = jeffreys(sample.mean, sample.size * sample.quantile_ratio, confidence)
    # Failures show how clusters vary, and a perfect run does not; but a worse run must never look safer.
    return Bounds(min(between.lower, exact_lower(found.clusters, confidence)), between.upper)


def _upper(passes: float, failures: float, confidence: float) -> float:
    # One minus the lower bound of failures: near 1 a double has too few digits.
    return 1 - beta_quantile((1 - confidence) / 2, failures + 0.5, passes + 0.5)


def _wilson(mean: float, size: float, confidence: float) -> Bounds:
    z = two_sided_quantile(confidence)
    square = z * z / size
    middle = mean + square / 2
    width = math.sqrt(square * (mean * (1 - mean) + square / 4))
    return Bounds((middle - width) / (1 + square), (middle + width) / (1 + square))
