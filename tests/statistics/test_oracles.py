"""Do independent libraries agree? They are in the development lock, so a missing one fails, never skips."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.power import NormalIndPower
from statsmodels.stats.proportion import proportion_confint

from plumbline.statistics.intervals import bootstrap_mean, normal_quantile, wilson
from plumbline.statistics.power import mde_from_se, mde_proportion, rule_of_three

SCALE = 10**9
counts = st.integers(1, 10**5).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.floats(0.5, 0.999))
def test_wilson(count, confidence):
    successes, n = count
    found = wilson(successes, n, confidence)
    theirs = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    assert (found.lower, found.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-9)
    others = proportion_confint(successes, n, 1 - confidence, method="wilson")
    assert (found.lower, found.upper) == pytest.approx(others, abs=1e-9)


@given(st.floats(0.001, 0.999))
def test_normal_quantile(probability):
    assert normal_quantile(probability) == pytest.approx(stats.norm.ppf(probability), abs=1e-11)


@given(st.integers(40, 10**5))
def test_mde_of_a_mean(n):
    # With a standard deviation of 1 theirs is in standard deviations, as ours is with SE = 1/sqrt(n).
    assert NormalIndPower().power(mde_from_se(n**-0.5, n), n, 0.05) == pytest.approx(0.8, abs=1e-5)


@given(st.integers(1, 199))
def test_mde_of_a_proportion(successes):
    deviation = (successes * (200 - successes)) ** 0.5 / 200
    effect = mde_proportion(successes, 200) / deviation
    assert NormalIndPower().power(effect, 200, 0.05) == pytest.approx(0.8, abs=1e-5)


@given(st.integers(30, 10**5))
def test_rule_of_three_bounds_the_exact_rate(n):
    exact = stats.binomtest(0, n).proportion_ci(0.90, method="exact").high  # two-sided 90 % is one-sided 95 %
    assert exact <= rule_of_three(n) <= exact * 1.06


@settings(max_examples=5, deadline=None)
@given(st.integers(0, 2**32))
def test_bootstrap_of_a_mean(seed):
    values = np.random.default_rng(seed).beta(5, 2, 150)
    scaled = [round(value * SCALE) for value in values]
    found = bootstrap_mean(scaled, SCALE, seed)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=9999, method="percentile", rng=np.random.default_rng(seed))
    assert found.se == pytest.approx(theirs.standard_error, rel=0.1)
    noise = 0.35 * theirs.standard_error
    assert found.lower == pytest.approx(theirs.confidence_interval.low, abs=noise)
    assert found.upper == pytest.approx(theirs.confidence_interval.high, abs=noise)


def test_percentiles_are_numpys_default():
    from plumbline.statistics.intervals import _summary

    draws = [int(draw) for draw in np.random.default_rng(4).integers(0, 1000, 2000)]
    found = _summary(draws, 1000, 0.95)
    assert (found.lower, found.upper) == pytest.approx(tuple(np.percentile(draws, [2.5, 97.5]) / 1000))
    assert found.se == pytest.approx(np.std(draws, ddof=1) / 1000)
