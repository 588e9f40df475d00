"""Between which bounds does the true score probably lie?

Nothing here sums floating-point numbers. Scores arrive as integers (score times a scale), integer sums are
exact in any order, and a float appears only at the end, as the nearest one to an exact fraction. So neither
threads, nor the array library, nor the processor can move a digit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


CONFIDENCE = 0.95
"""Two-sided confidence of every reported interval."""

RESAMPLES = 2000
"""Bootstrap replicates behind every reported interval."""

BLOCK = 1 << 17
"""Draws held in memory at once; a single replicate with more items than this is still held whole."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of a score, both in [0, 1], and how they were found."""

    lower: float
    upper: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """What resampling says of a score: percentile bounds in [0, 1], and a standard error in the same unit."""

    lower: float
    upper: float
    se: float


def normal_quantile(probability: float) -> float:
    """The standard normal quantile, to 12 decimals.

    The last bits come from the platform's logarithm, so they are dropped.

    Raises:
        ValueError: `probability` is not in (0, 1).
    """
    if not 0 < probability < 1:
        raise ValueError(f"a probability must be in (0, 1), not {probability}")
    return round(NormalDist().inv_cdf(probability), 12)


def two_sided_quantile(confidence: float) -> float:
    """The z that leaves half of 1 - `confidence` on either side of [-z, z].

    Raises:
        ValueError: `confidence` is not in (0, 1).
    """
    _check_confidence(confidence)
    return normal_quantile((1 + confidence) / 2)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence must be in (0, 1), not {confidence}")


def check_count(n: int, successes: int = 0) -> None:
    """Refuse a sample that cannot be.

    Raises:
        ValueError: `n` is not positive, or `successes` is not in [0, n].
    """
    if n < 1:
        raise ValueError(f"a score needs at least one item, not {n}")
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n} items cannot be")


def wilson(successes: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of a proportion.

    Source: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 22 (1927).

    Raises:
        ValueError: `n` is not positive, `successes` is not in [0, n], or `confidence` is not in (0, 1).
    """
    check_count(n, successes)
    # Everything but the root is an exact fraction.
    z_squared = Fraction(two_sided_quantile(confidence)) ** 2
    root = math.sqrt(4 * n * successes * (n - successes) * z_squared + (n * z_squared) ** 2)
    middle = 2 * n * successes + n * z_squared
    width = 2 * n * (n + z_squared)
    lower = 0.0 if successes == 0 else float((middle - Fraction(root)) / width)
    upper = 1.0 if successes == n else float((middle + Fraction(root)) / width)
    return Interval(lower, upper, confidence, "Wilson score interval")


def bootstrap_mean(
    scaled: Sequence[int], scale: int, seed: int, resamples: int = RESAMPLES, confidence: float = CONFIDENCE
) -> Bootstrap:
    """The percentile bootstrap of a mean.

    Source: Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 6 and 13.

    Args:
        scaled: the scores times `scale`, integers in [0, scale], shape (n,), n >= 1.
        scale: what a score of 1 is.
        seed: of the stream; a replicate is its next n integers below n, in order.
        resamples: how many replicates, at least 2.
        confidence: two-sided confidence, in (0, 1).

    Raises:
        ValueError: an argument is outside its range, or n times `scale` is not below 2**63.
    """
    return _summary(_resampled_sums([scaled], scale, seed, resamples)[:, 0].tolist(), len(scaled) * scale, confidence)


def bootstrap_gap(
    groups: Mapping[str, Sequence[int]],
    scale: int,
    seed: int,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
) -> Bootstrap:
    """The percentile bootstrap of 1 - (best group mean - worst group mean), resampling within each group.

    Args:
        groups: the scores times `scale` by group name, integers in [0, scale]; at least 2, none empty.
        scale: what a score of 1 is.
        seed: of the stream; a replicate walks the groups by sorted name and draws each one's size from it.
        resamples: how many replicates, at least 2.
        confidence: two-sided confidence, in (0, 1).

    Raises:
        ValueError: an argument is outside its range, or the number of items times `scale` is not below 2**63.
    """
    if len(groups) < 2:
        raise ValueError("a gap needs at least two groups")
    scaled = [groups[name] for name in sorted(groups)]
    sums = _resampled_sums(scaled, scale, seed, resamples)
    # Means over unequal sizes are compared exactly on a common denominator, in Python's unbounded integers.
    common = math.lcm(*(len(group) for group in scaled))
    weights = [common // len(group) for group in scaled]
    one = common * scale
    draws = []
    for row in sums.tolist():
        means = [total * weight for total, weight in zip(row, weights, strict=True)]
        draws.append(one - (max(means) - min(means)))
    return _summary(draws, one, confidence)


def _resampled_sums(groups: Sequence[Sequence[int]], scale: int, seed: int, resamples: int) -> "npt.NDArray[np.int64]":
    """The sum of every group in every replicate, shape (resamples, len(groups))."""
    import numpy as np  # noqa: PLC0415 - Wilson's interval must not pay for numpy

    from plumbline.statistics.rng import Stream  # noqa: PLC0415 - it imports numpy

    if resamples < 2:
        raise ValueError(f"a bootstrap needs at least 2 replicates, not {resamples}")
    for group in groups:
        if not group:
            raise ValueError("a bootstrap needs at least one item in every group")
        if min(group) < 0 or max(group) > scale:
            raise ValueError(f"scaled scores must be in [0, {scale}]")
    sizes = [len(group) for group in groups]
    if sum(sizes) * scale >= 1 << 63:
        raise ValueError("the scale is too large: sums would not fit 64 bits")
    arrays = [np.array(group, dtype=np.int64) for group in groups]
    stream = Stream(seed)
    sums = np.empty((resamples, len(groups)), dtype=np.int64)
    rows = max(1, BLOCK // sum(sizes))
    for top in range(0, resamples, rows):
        count = min(rows, resamples - top)
        indices = stream.rows([(size, size) for size in sizes], count)
        left = 0
        for column, values in enumerate(arrays):
            drawn = values[indices[:, left : left + values.size]]
            sums[top : top + count, column] = drawn.sum(axis=1, dtype=np.int64)
            left += values.size
    return sums


def _summary(draws: list[int], scale: int, confidence: float) -> Bootstrap:
    """Percentiles and sample standard deviation of integer draws, divided by `scale`."""
    _check_confidence(confidence)
    # The decimal the reader sees, not the binary number nearest to it, decides where the percentiles stand.
    tail = (1 - Fraction(repr(confidence))) / 2
    draws = sorted(draws)
    count = len(draws)
    spread = count * sum(draw * draw for draw in draws) - sum(draws) ** 2
    return Bootstrap(
        lower=float(min(max(_quantile(draws, tail) / scale, Fraction(0)), Fraction(1))),
        upper=float(min(max(_quantile(draws, 1 - tail) / scale, Fraction(0)), Fraction(1))),
        se=math.sqrt(Fraction(spread, count * (count - 1) * scale * scale)),
    )


def _quantile(ordered: Sequence[int], probability: Fraction) -> Fraction:
    """Linear interpolation between the two nearest draws (Hyndman and Fan's type 7, numpy's default)."""
    place = probability * (len(ordered) - 1)
    below = math.floor(place)
    if below == place:
        return Fraction(ordered[below])
    return ordered[below] + (place - below) * (ordered[below + 1] - ordered[below])
