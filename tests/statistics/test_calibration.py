"""Do formulas, independent libraries and simulated judges agree?"""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.inter_rater import cohens_kappa as their_kappa

from plumbline.statistics.calibration import (
    _BITS,
    Confusion,
    _at_least,
    cohens_kappa,
    exact_interval,
    prediction_powered,
    rogan_gladen,
)

cells = st.integers(0, 60)
tables = st.builds(Confusion, cells, cells, cells, cells).filter(lambda t: t.passed and t.failed)


@settings(deadline=None)
@given(st.integers(1, 3000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_exact_interval(count):
    found = exact_interval(*count)
    theirs = stats.binomtest(*count).proportion_ci(0.95, method="exact")
    # Outwards, by less than one step of the grid.
    assert theirs.low - 1.001e-6 <= found.lower <= theirs.low + 1e-9
    assert theirs.high - 1e-9 <= found.upper <= theirs.high + 1.001e-6


@given(st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(1, n), st.just(n), st.integers(1, 10**6 - 1))))
def test_the_tail_is_the_sum_of_its_terms(case):
    successes, n, p = case
    chance = Fraction(p, 10**6)
    exact = sum(comb(n, k) * chance**k * (1 - chance) ** (n - k) for k in range(successes, n + 1))
    assert abs(Fraction(_at_least(successes, n, p), 2**_BITS) - exact) < Fraction(1, 2**140)


@pytest.mark.parametrize("count", [(0, 0), (3, 2), (-1, 5)])
def test_counts_that_cannot_be(count):
    with pytest.raises(ValueError, match=r"cannot be|at least one"):
        exact_interval(*count)


full = st.integers(1, 60)


@given(st.builds(Confusion, full, full, full, full))
def test_kappa(table):
    value, interval = cohens_kappa(table)
    # Their test statistics divide by an error of 0 in a table with empty cells, so ours has none here.
    theirs = their_kappa(np.array([[table.pass_pass, table.pass_fail], [table.fail_pass, table.fail_fail]]))
    assert float(value) == pytest.approx(theirs.kappa, abs=1e-9)
    assert interval.lower == pytest.approx(max(theirs.kappa_low, -1), abs=1e-6)
    assert interval.upper == pytest.approx(min(theirs.kappa_upp, 1), abs=1e-6)


@given(tables)
def test_kappa_stays_in_its_range(table):
    value, interval = cohens_kappa(table)
    assert -1 <= value <= 1
    assert interval is None or -1 <= interval.lower <= value <= interval.upper <= 1


def test_kappa_of_full_agreement_has_no_interval():
    assert cohens_kappa(Confusion(20, 0, 0, 10)) == (1, None)


def test_kappa_of_one_class_is_no_number():
    with pytest.raises(ValueError, match="one class"):
        cohens_kappa(Confusion(20, 0, 0, 0))


def test_rogan_gladen_by_hand():
    # Se = 40/50, Sp = 18/20; the judge passes 120 of 200: (0.6 + 0.9 - 1) / (0.8 + 0.9 - 1) = 5/7.
    found = rogan_gladen(Confusion(40, 10, 2, 18), 120, 200)
    assert found.value == Fraction(5, 7)
    assert not found.clipped
    assert found.interval.lower < 5 / 7 < found.interval.upper


@given(tables)
def test_with_every_item_labelled_both_corrections_are_peoples_own_rate(table):
    assume(table.sensitivity + table.specificity > 1)
    judge = table.pass_pass + table.fail_pass
    own = Fraction(table.passed, table.labelled)
    assert rogan_gladen(table, judge, table.labelled).value == own
    counts = ((1, True, table.pass_pass), (0, True, table.pass_fail), (1, False, table.fail_pass))
    rows = [(Fraction(score), label) for score, label, count in counts for _ in range(count)]
    rows += [(Fraction(0), False)] * table.fail_fail
    found = prediction_powered(rows, [])
    assert found.value == own
    # Then nothing is left of the judge in the interval either.
    theirs = rogan_gladen(table, judge, table.labelled).interval
    assume(table.labelled >= 40)  # below that, n and n - 1 in a variance are not the same
    assert (found.interval.lower, found.interval.upper) == pytest.approx((theirs.lower, theirs.upper), abs=0.02)


@pytest.mark.parametrize("table", [Confusion(5, 5, 5, 5), Confusion(1, 9, 9, 1)])
def test_a_judge_like_chance_is_not_corrected(table):
    with pytest.raises(ValueError, match="chance"):
        rogan_gladen(table, table.pass_pass + table.fail_pass, 20)


@pytest.mark.parametrize(("passes", "n"), [(29, 40), (60, 70), (45, 69)])
def test_labelled_items_are_among_all_items(passes, n):
    with pytest.raises(ValueError, match="among all"):
        rogan_gladen(Confusion(40, 10, 2, 18), passes, n)


def test_what_leaves_the_range_is_cut_and_said():
    found = rogan_gladen(Confusion(40, 10, 2, 18), 42 + 130, 200)
    assert (found.value, found.clipped) == (1, True)
    assert found.interval.upper == 1


def test_prediction_powered_by_hand():
    # mean over all (1 + 1/2 + 1/2 + 0)/4 = 1/2; mean difference ((0 - 1) + (1 - 1/2))/2 = -1/4.
    half = Fraction(1, 2)
    found = prediction_powered([(Fraction(1), False), (half, True)], [half, Fraction(0)])
    assert (found.value, found.clipped) == (Fraction(1, 4), False)


def test_prediction_powered_interval_by_numpy():
    rng = np.random.default_rng(5)
    scores = [Fraction(int(x), 1000) for x in rng.integers(0, 1001, 300)]
    labels = [bool(rng.random() < s) for s in scores[:80]]
    found = prediction_powered(list(zip(scores[:80], labels, strict=True)), scores[80:])
    weight = 220 / 300
    gap = np.array([*(label - weight * float(s) for s, label in zip(scores, labels, strict=False)), 1, -weight])
    rest = np.array([float(s) for s in scores[80:]])
    se = (gap.var(ddof=1) / gap.size + weight**2 * rest.var(ddof=1) / rest.size) ** 0.5
    theta = rest.mean() * weight + gap[:-2].mean()
    assert float(found.value) == pytest.approx(theta)
    assert found.interval.lower == pytest.approx(theta - 1.959963984540 * se)
    assert found.interval.upper == pytest.approx(theta + 1.959963984540 * se)


def test_nothing_labelled_is_no_difference():
    with pytest.raises(ValueError, match="labelled"):
        prediction_powered([], [Fraction(1)])


def test_full_agreement_still_has_an_interval():
    labelled = [(Fraction(1), True)] * 30 + [(Fraction(0), False)] * 10
    found = prediction_powered(labelled, [Fraction(1)] * 30 + [Fraction(0)] * 10)
    assert found.interval.upper - found.interval.lower > 0.2


@pytest.mark.parametrize(
    ("truth", "se", "sp", "n", "m"), [(0.8, 0.9, 0.8, 300, 100), (0.7, 0.95, 0.9, 500, 100), (0.7, 1, 1, 200, 200)]
)
def test_intervals_cover_the_truth(truth, se, sp, n, m):
    rng = np.random.default_rng(11)
    runs, covered, powered = 150, 0, 0
    for _ in range(runs):
        people = rng.random(n) < truth
        judge = np.where(people, rng.random(n) < se, rng.random(n) < 1 - sp)
        first, said = people[:m], judge[:m]
        pairs = ((first & said), (first & ~said), (~first & said), (~first & ~said))
        interval = rogan_gladen(Confusion(*(int(pair.sum()) for pair in pairs)), int(judge.sum()), n).interval
        covered += interval.lower <= truth <= interval.upper
        rows = [(Fraction(int(score)), bool(label)) for score, label in zip(said, first, strict=True)]
        interval = prediction_powered(rows, [Fraction(int(score)) for score in judge[m:]]).interval
        powered += interval.lower <= truth <= interval.upper
    # Of 150 intervals that cover 95 times in a hundred, 135 or fewer do once in three hundred.
    assert covered > 135
    assert powered > 135
