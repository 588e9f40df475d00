"""How far does a judge agree with people, and what would people have said of the answers nobody labelled?

A judge that is wrong in one direction more than in the other moves every score it gives. Where people labelled some of
the items its error can be measured and taken out again. Two corrections are given, because they rest on different
things: Rogan and Gladen's on how often the judge passes what people pass and fails what they fail, prediction-powered
inference (PPI) on the mean difference. Everything is counted in integers and exact fractions; a float appears at the
end. The labelled items must be drawn from all items at random: no formula mends a hand-picked sample.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from plumbline.statistics.intervals import CONFIDENCE, check_count, two_sided_quantile

LEAST_OF_A_CLASS = 10
"""Labels of each kind below which nothing is corrected: the interval of a rate of 10 spans more than a half."""

_STEPS = 10**6
"""Exact bounds are found on a grid of millionths and rounded outwards."""

_BITS = 160
"""Binary places of a probability in integers: far more than any bound can show."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """A two-sided 95 % interval."""

    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts of labelled items: what people said, then what the judge said."""

    pass_pass: int
    pass_fail: int
    fail_pass: int
    fail_fail: int

    @property
    def labelled(self) -> int:
        """All labelled items."""
        return self.passed + self.failed

    @property
    def passed(self) -> int:
        """Items that people passed."""
        return self.pass_pass + self.pass_fail

    @property
    def failed(self) -> int:
        """Items that people failed."""
        return self.fail_pass + self.fail_fail

    @property
    def agreement(self) -> Fraction:
        """Share of labelled items on which both say the same."""
        return Fraction(self.pass_pass + self.fail_fail, self.labelled)

    @property
    def sensitivity(self) -> Fraction:
        """Share of what people pass that the judge passes."""
        return Fraction(self.pass_pass, self.passed)

    @property
    def specificity(self) -> Fraction:
        """Share of what people fail that the judge fails."""
        return Fraction(self.fail_fail, self.failed)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A corrected rate in [0, 1]."""

    value: Fraction
    interval: Bounds
    clipped: bool = False
    """Whether the correction led out of [0, 1] and was cut: a sign of few labels or of a sample that is not random."""


def exact_interval(successes: int, n: int) -> Bounds:
    """Clopper and Pearson's interval of a proportion, on a grid of millionths, rounded outwards.

    Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial",
    Biometrika 26 (1934). The binomial tails are sums of integers, so every machine finds the same bounds.

    Raises:
        ValueError: `n` is not positive, or `successes` is not in [0, n].
    """
    check_count(n, successes)
    tail = (1 - Fraction(repr(CONFIDENCE))) / 2
    lower = 0 if successes == 0 else _last_below(successes, n, tail)
    upper = _STEPS if successes == n else _STEPS - _last_below(n - successes, n, tail)
    return Bounds(lower / _STEPS, upper / _STEPS)


def _last_below(successes: int, n: int, tail: Fraction) -> int:
    """The largest grid point p at which P(X >= successes) is at most `tail`, for X binomial (n, p)."""
    low, high = 0, _STEPS
    while high - low > 1:
        middle = (low + high) // 2
        if _at_least(successes, n, middle) <= tail * 2**_BITS:
            low = middle
        else:
            high = middle
    return low


def _at_least(successes: int, n: int, p: int) -> int:
    """P(X >= successes) times 2 ** `_BITS`, for X binomial (n, p / `_STEPS`) with 0 < p < `_STEPS`.

    One probability is computed exactly and its neighbours from it, each rounded down, away from the mean: with n terms
    the error is below n * 2 ** -`_BITS` of the whole.
    """
    q = _STEPS - p
    term: int = (math.comb(n, successes) * p**successes * q ** (n - successes) << _BITS) // _STEPS**n
    total, k = 0, successes
    if successes * _STEPS >= n * p:
        while term:
            total += term
            term = term * (n - k) * p // ((k + 1) * q)
            k += 1
        return total
    while term and k:
        term = term * k * q // ((n - k + 1) * p)
        total += term
        k -= 1
    return (1 << _BITS) - total


def cohens_kappa(table: Confusion) -> tuple[Fraction, Bounds | None]:
    """Agreement beyond chance, and its asymptotic interval.

    Source: Cohen, Educational and Psychological Measurement 20 (1960); the standard error is that of Fleiss, Cohen and
    Everitt, Psychological Bulletin 72 (1969), equation 8 for two classes. With no disagreement, or nothing else, the
    error is 0 and says nothing: there is no interval then.

    Raises:
        ValueError: people, or people and judge together, used one class only.
    """
    n = table.labelled
    cells = [[table.pass_pass, table.pass_fail], [table.fail_pass, table.fail_fail]]
    rows = [Fraction(sum(row), n) for row in cells]
    columns = [Fraction(cells[0][k] + cells[1][k], n) for k in range(2)]
    chance = sum((rows[k] * columns[k] for k in range(2)), Fraction(0))
    if chance == 1:
        raise ValueError("kappa is not defined where everything is in one class")
    observed = table.agreement
    kappa = (observed - chance) / (1 - chance)
    agreeing = sum(
        (Fraction(cells[k][k], n) * (1 - (rows[k] + columns[k]) * (1 - kappa)) ** 2 for k in range(2)), Fraction(0)
    )
    others = (1 - kappa) ** 2 * sum(
        (Fraction(cells[i][1 - i], n) * (columns[i] + rows[1 - i]) ** 2 for i in range(2)), Fraction(0)
    )
    variance = (agreeing + others - (kappa - chance * (1 - kappa)) ** 2) / (n * (1 - chance) ** 2)
    return kappa, _around(kappa, variance, Fraction(-1)) if variance > 0 else None


def rogan_gladen(table: Confusion, judge_passes: int, n: int) -> Estimate:
    """The rate at which people would pass all items, from the rate at which the judge does.

    theta = (p + Sp - 1) / (Se + Sp - 1) with p the judge's rate over all items. Source: Rogan and Gladen, American
    Journal of Epidemiology 107 (1978). The labelled items are among all items, so p depends on them too; with m1 items
    passed and m0 failed by people, of m labelled and N in all, the first-order error is

        (Se + Sp - 1) d theta = (m1/N - theta) d Se + (1 - theta - m0/N) d Sp + (Se + Sp - 1) m/N d pi + (1 - m/N) d p'

    with pi the people's rate among the labelled and p' the judge's among the others. Each variance is that of a
    binomial with one success and one failure added, so that a rate seen as 0 or 1 is not taken for certain. Where
    every item is labelled theta is the people's own rate.

    Args:
        table: the labelled items; Se + Sp must be above 1.
        judge_passes: how many of all items the judge passes.
        n: how many items there are, the labelled ones included.

    Raises:
        ValueError: the judge tells people's passes from their failures no better than chance, or counts contradict.
    """
    m = table.labelled
    others, others_passed = n - m, judge_passes - table.pass_pass - table.fail_pass
    if others < 0 or not 0 <= others_passed <= others:
        raise ValueError("the labelled items are not among all items")
    power = table.sensitivity + table.specificity - 1
    if power <= 0:
        raise ValueError("a judge that is no better than chance cannot be corrected")
    theta = (Fraction(judge_passes, n) + table.specificity - 1) / power
    value = min(max(theta, Fraction(0)), Fraction(1))
    variance = (
        (Fraction(table.passed, n) - value) ** 2 * _rate_variance(table.pass_pass, table.passed)
        + (1 - value - Fraction(table.failed, n)) ** 2 * _rate_variance(table.fail_fail, table.failed)
        + power**2 * Fraction(m, n) ** 2 * _rate_variance(table.passed, m)
        + (Fraction(others, n) ** 2 * _rate_variance(others_passed, others) if others else 0)
    ) / power**2
    return Estimate(value, _around(value, variance, Fraction(0)), value != theta)


def prediction_powered(labelled: Sequence[tuple[Fraction, bool]], others: Sequence[Fraction]) -> Estimate:
    """The rate at which people would pass all items, from the judge's scores and the mean difference to people.

    theta = mean(score over all) + mean(label - score over the labelled). Source: Angelopoulos and others,
    "Prediction-powered inference", Science 382 (2023). The labelled items are among all items; with m of N labelled
    theta is (1 - m/N) mean(score of the others) + mean(label - (1 - m/N) score), two independent means, whose
    variances add up. That of the differences is taken with one item added that people pass and the judge scores 0 and
    one the other way round, so that a judge seen to agree on everything is not taken for certain to.

    Args:
        labelled: the judge's score in [0, 1] and whether people pass, of each labelled item; at least one.
        others: the judge's score of every other item.

    Raises:
        ValueError: nothing is labelled.
    """
    if not labelled:
        raise ValueError("a difference needs a labelled item")
    weight = Fraction(len(others), len(labelled) + len(others))
    differences = [int(label) - weight * score for score, label in labelled]
    theta = _mean(differences) + (weight * _mean(others) if others else 0)
    variance = _mean_variance([*differences, Fraction(1), -weight])
    if len(others) > 1:
        variance += weight**2 * _mean_variance(others)
    value = min(max(theta, Fraction(0)), Fraction(1))
    return Estimate(value, _around(value, variance, Fraction(0)), value != theta)


def _rate_variance(successes: int, n: int) -> Fraction:
    rate = Fraction(successes + 1, n + 2)
    return rate * (1 - rate) / (n + 2)


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _mean_variance(values: Sequence[Fraction]) -> Fraction:
    """The squared standard error of a mean."""
    n, mean = len(values), _mean(values)
    return sum(((value - mean) ** 2 for value in values), Fraction(0)) / (n * (n - 1))


def _around(value: Fraction, variance: Fraction, least: Fraction) -> Bounds:
    width = Fraction(two_sided_quantile(CONFIDENCE)) * Fraction(math.sqrt(variance))
    return Bounds(float(max(value - width, least)), float(min(value + width, Fraction(1))))
