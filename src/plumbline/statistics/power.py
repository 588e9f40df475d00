"""How large must a change be before a run of this size is likely to notice it?

The minimum detectable effect (MDE) compares two independent runs of one size, as a run and its baseline are.
The standard error of their difference is sqrt(2) times that of one run: MDE = (z_{alpha/2} + z_{beta}) *
sqrt(2) * SE (Bloom, "Minimum detectable effects", Evaluation Review 19, 1995, for two groups of one size).
"""

import math
from fractions import Fraction

from plumbline.statistics.intervals import CONFIDENCE, check_count, normal_quantile, two_sided_quantile

POWER = 0.80
"""How often an effect as large as the MDE would be noticed."""


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


def rule_of_three(n: int) -> float:
    """min(1, 3/n): the failure rate that `n` items without a failure still leave possible, at about 95 %.

    Source: Hanley and Lippman-Hand, "If nothing goes wrong, is everything all right?", JAMA 249 (1983).

    Raises:
        ValueError: `n` is not positive.
    """
    check_count(n)
    return min(1.0, 3 / n)
