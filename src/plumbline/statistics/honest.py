"""What could a suite still be hiding, and what would it notice?

Two figures that the rule of three and a minimum detectable effect are often taken for. Both come from one method for
all suites, whatever interval the report prints beside the score, and both are rounded against the target: a bound
that decides a verdict is a whole number of ten-thousandths, and what is printed is what was decided.
"""

from dataclasses import dataclass
from fractions import Fraction

from plumbline.statistics.bounds import bounds
from plumbline.statistics.clusters import Moments
from plumbline.statistics.gap import Gap, gap_bounds
from plumbline.statistics.power import Drop, would_notice, would_notice_gap

ROUND = 4
"""Decimals of every printed figure."""

_UNITS = 10**ROUND

_EXACT = "lower bound of the two-sided 95 % Clopper-Pearson interval on clusters"
_JEFFREYS = "lower bound of the two-sided 95 % Jeffreys interval on the effective sample size"
_WIDEST = "lower bound of the two-sided 95 % Jeffreys interval with the largest variance that scores could have"
_ZERO = "every item scored 0"
_GAP = "lower bound of the two-sided 95 % t interval of the differences between groups"


@dataclass(frozen=True, slots=True)
class Missing:
    """Why there is no figure."""

    code: str
    """Machine-readable."""
    sentence: str


@dataclass(frozen=True, slots=True)
class Honest:
    """What a score's sample can and cannot say. Where a figure is None, `missing` says why under its name."""

    clusters: int | None
    """Independent units behind the score; the number of items where none belong together."""
    design_effect: float | None
    """How many times larger clusters make the variance than independent items would."""
    lower_bound: Fraction | None
    """Lower bound of the true score, a multiple of 1/10000, rounded down: decides verdicts on lower bounds."""
    lower_bound_method: str | None
    floor_resolved: bool | None
    """Whether `lower_bound` lies at or above the floor."""
    could_be_failing: float | None
    """1 - `lower_bound`: by how much the true score may still fall short of 1, at 95 % two-sided."""
    would_notice: float | None
    """The fall of the true score that a second run of this size notices four times in five, rounded up."""
    would_notice_method: str | None
    missing: dict[str, Missing]


def without(reason: Missing, clusters: int | None = None) -> Honest:
    """No figure at all, for one reason."""
    names = ("lower_bound", "floor_resolved", "could_be_failing", "would_notice", "design_effect")
    missing = dict.fromkeys(names, reason)
    return Honest(clusters, None, None, None, None, None, None, None, missing)


def of_mean(found: Moments, floor: Fraction) -> Honest:
    """The figures of a share or an average."""
    between = bounds(found)
    if between is None:
        reason = "all items belong to one cluster: nothing shows how much clusters vary"
        return without(Missing("one_cluster", reason), found.clusters)
    if found.mean == 0:
        method = _ZERO
    elif found.mean == 1:
        method = _EXACT
    else:
        method = _WIDEST if not found.variance else _JEFFREYS
    if found.mean == 0:
        unnoticed = Missing("score_is_0", "a score of 0 cannot fall")
    else:
        unnoticed = Missing("beyond_the_scale", "not even a fall to 0 would be noticed four times in five")
    return _honest(
        clusters=found.clusters,
        design_effect=found.design_effect,
        lower=(between.lower, method),
        drop=would_notice(found),
        unnoticed=unnoticed,
        floor=floor,
    )


def of_gap(found: Gap, floor: Fraction) -> Honest:
    """The figures of a gap's score."""
    return _honest(
        clusters=found.clusters,
        design_effect=found.design_effect,
        lower=(gap_bounds(found).lower, _EXACT if found.perfect else _GAP),
        drop=would_notice_gap(found),
        unnoticed=Missing("beyond_the_scale", "not even a fall to 0 would be noticed four times in five"),
        floor=floor,
    )


def _honest(
    *,
    clusters: int,
    design_effect: Fraction | None,
    lower: tuple[float, str],
    drop: Drop | None,
    unnoticed: Missing,
    floor: Fraction,
) -> Honest:
    missing: dict[str, Missing] = {}
    if design_effect is None:
        missing["design_effect"] = Missing(
            "no_spread", "no item differs from another, so nothing shows what clusters do"
        )
    if drop is None:
        missing["would_notice"] = unnoticed
    bound = rounded_down(lower[0])
    return Honest(
        clusters=clusters,
        design_effect=None if design_effect is None else round(float(design_effect), ROUND),
        lower_bound=bound,
        lower_bound_method=lower[1],
        floor_resolved=bound >= floor,
        could_be_failing=float(1 - bound),
        would_notice=None if drop is None else float(rounded_up(drop.size)),
        would_notice_method=None if drop is None else drop.method,
        missing=missing,
    )


def rounded_down(value: float) -> Fraction:
    """The largest multiple of 1/10000 that is not above `value`, from 0 to 1."""
    return min(max(Fraction(Fraction(value) * _UNITS // 1, _UNITS), Fraction(0)), Fraction(1))


def rounded_up(value: float) -> Fraction:
    """The smallest multiple of 1/10000 that is not below `value`, from 0 to 1."""
    return min(max(Fraction(-(Fraction(-value) * _UNITS // 1), _UNITS), Fraction(0)), Fraction(1))
