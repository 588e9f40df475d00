"""Is the variance of clustered items the one that the field computes, exactly?"""

from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from plumbline.statistics.bounds import bounds, effective, exact_lower, jeffreys, jeffreys_upper
from plumbline.statistics.clusters import cluster_sums, moments

SCALE = 10**9
items = st.lists(st.tuples(st.integers(0, SCALE), st.integers(0, 6)), min_size=2, max_size=40)
marks = st.lists(st.tuples(st.sampled_from([0, SCALE]), st.integers(0, 9)), min_size=2, max_size=40)


def of(pairs):
    return moments([value for value, _ in pairs], SCALE, [key for _, key in pairs])


@settings(deadline=None)
@given(items.filter(lambda pairs: len({key for _, key in pairs}) > 1 and len({value for value, _ in pairs}) > 1))
def test_the_variance_is_that_of_a_cluster_robust_regression(pairs):
    scores = np.array([value / SCALE for value, _ in pairs])
    keys = np.array([key for _, key in pairs])
    model = statsmodels.api.OLS(scores, np.ones(len(scores)))
    theirs = model.fit(cov_type="cluster", cov_kwds={"groups": keys})
    found = of(pairs)
    assert float(found.variance) == pytest.approx(float(theirs.bse[0]) ** 2, rel=1e-6, abs=1e-15)
    plain = model.fit()
    assert float(found.item_variance) == pytest.approx(float(plain.bse[0]) ** 2, rel=1e-6)


@given(items)
def test_moments_by_their_definitions(pairs):
    found = of(pairs)
    n, keys = len(pairs), {key for _, key in pairs}
    mean = Fraction(sum(value for value, _ in pairs), n * SCALE)
    residuals = [sum((Fraction(v, SCALE) - mean for v, k in pairs if k == key), Fraction(0)) for key in keys]
    assert (found.n, found.clusters, found.mean) == (n, len(keys), mean)
    if len(keys) > 1:
        assert found.variance == Fraction(len(keys), len(keys) - 1) * sum(r * r for r in residuals) / n**2
    else:
        assert found.variance is None
    sizes = [sum(1 for _, k in pairs if k == key) for key in keys]
    assert found.equal_clusters == Fraction(n * n, sum(size * size for size in sizes))
    fourth = sum(r**4 for r in residuals)
    assert found.contributing == (sum(r * r for r in residuals) ** 2 / fourth if fourth else 0)
    assert found.clustered == (len(keys) < n)


@given(st.lists(st.integers(0, SCALE), min_size=1, max_size=30))
def test_without_keys_every_item_is_a_cluster(scaled):
    found = moments(scaled, SCALE)
    assert found == moments(scaled, SCALE, list(range(len(scaled))))
    assert not found.clustered
    assert found.design_effect in (None, 1)


@given(items, st.randoms())
def test_the_order_of_items_is_irrelevant(pairs, random):
    shuffled = list(pairs)
    random.shuffle(shuffled)
    assert of(shuffled) == of(pairs)


def test_a_design_effect_worked_by_hand():
    # Two clusters of two, one passes and one fails: residuals 1 and -1, variance 2/1 * 2/16 = 1/4; items: 1/12.
    found = of([(SCALE, "a"), (SCALE, "a"), (0, "b"), (0, "b")])
    assert (found.variance, found.item_variance, found.design_effect) == (Fraction(1, 4), Fraction(1, 12), 3)


@settings(deadline=None)
@given(items)
def test_bounds_hold_the_score(pairs):
    found = of(pairs)
    between = bounds(found)
    if between is None:
        assert found.clusters == 1
    else:
        assert 0 <= between.lower <= float(found.mean) <= between.upper <= 1


@settings(deadline=None)
@given(marks)
def test_no_run_looks_safer_than_a_perfect_one(pairs):
    between = bounds(of(pairs))
    assert between is None or between.lower <= bounds(of([(SCALE, key) for _, key in pairs])).lower


def test_a_failure_that_shows_how_clusters_vary_makes_no_run_safer():
    # The one failure alone in its cluster of five speaks for items that fail alone; the bound would be above 0.82.
    keys = [key for key in range(15) for _ in range(5)]
    assert bounds(moments([0] + [SCALE] * 74, SCALE, keys)).lower == exact_lower(15)


def test_clusters_that_even_out_count_as_items_at_most():
    # Most clusters have one failure and one pass: between clusters less varies than between items.
    scaled = [0, SCALE] * 20 + [0, 0] * 5 + [SCALE, SCALE] * 5
    found = moments(scaled, SCALE, [key for key in range(30) for _ in range(2)])
    assert found.design_effect < 0.7
    assert 55 < effective(found).size <= 60


def test_a_single_failing_cluster_is_taken_for_the_worst():
    # What one cluster says of the variance is next to nothing, so the largest possible has most of the weight.
    found = moments([0] + [SCALE] * 119, SCALE, [key for key in range(40) for _ in range(3)])
    assert found.contributing < 1.1
    assert 40 <= effective(found).size < 50
    # Two say more, of the 120 items that they would be if items were independent.
    two = moments(([0] + [SCALE] * 59) * 2, SCALE, [key for key in range(40) for _ in range(3)])
    assert 60 < effective(two).size < 90
    many = moments(([0] + [SCALE] * 5) * 20, SCALE, [key for key in range(40) for _ in range(3)])
    assert effective(many).size > 100


@settings(deadline=None)
@given(st.integers(1, 300), st.integers(1, 5), st.integers(1, 6))
def test_more_of_the_same_clusters_never_narrows_the_exact_interval(clusters, one, other):
    few = bounds(moments([SCALE] * clusters * one, SCALE, list(range(clusters)) * one))
    many = bounds(moments([SCALE] * clusters * one * other, SCALE, list(range(clusters)) * one * other))
    assert few == many


@settings(deadline=None)
@given(marks.filter(lambda pairs: (of(pairs).design_effect or 0) >= 1), st.integers(2, 4))
def test_repeating_every_item_never_narrows_the_interval(pairs, times):
    assert bounds(of(pairs * times)) == bounds(of(pairs))


@pytest.mark.parametrize("clusters", [1, 2, 24, 500])
def test_a_perfect_score_has_clopper_and_pearsons_bound(clusters):
    theirs = proportion_confint(clusters, clusters, 0.05, method="beta")
    assert exact_lower(clusters) == pytest.approx(theirs[0], abs=1e-9)
    assert bounds(moments([SCALE] * clusters * 2, SCALE, [*range(clusters)] * 2)).lower == exact_lower(clusters)
    failed = bounds(moments([0] * clusters * 2, SCALE, [*range(clusters)] * 2))
    assert (failed.lower, failed.upper) == (0, pytest.approx(1 - theirs[0], abs=1e-9))


@settings(deadline=None)
@given(st.integers(2, 3000).flatmap(lambda n: st.tuples(st.integers(1, n - 1), st.just(n))))
def test_whole_numbers_have_jeffreys_interval(count):
    passes, n = count
    found = jeffreys(passes / n, n)
    theirs = proportion_confint(passes, n, 0.05, method="jeffreys")
    # Wilson's stands in where neither passes nor failures are few.
    assert (found.lower, found.upper) == pytest.approx(theirs, abs=1e-9 if min(passes, n - passes) <= 1000 else 1e-4)
    assert jeffreys_upper(passes / n, n) == found.upper


def test_independent_items_count_as_themselves():
    scaled = [0] * 60 + [SCALE] * 140
    sample = effective(moments(scaled, SCALE))
    assert sample.size == pytest.approx(200, rel=1e-9)
    assert sample.quantile_ratio == pytest.approx((1.959963984540054 / stats.t.ppf(0.975, 199)) ** 2, rel=1e-9)


def test_clusters_that_agree_count_once():
    scaled = ([0] * 60 + [SCALE] * 140) * 3
    sample = effective(moments(scaled, SCALE, list(range(200)) * 3))
    assert sample.size == pytest.approx(200, rel=0.01)


@pytest.mark.parametrize("score", [0, SCALE])
def test_nothing_is_effective_at_the_ends(score):
    assert effective(moments([score] * 4, SCALE)) is None
    assert effective(moments([score, 1], SCALE, [0, 0])) is None


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="item"):
        moments([], SCALE)
    with pytest.raises(ValueError, match="keys"):
        moments([1, 1], SCALE, [1])
    with pytest.raises(ValueError, match="keys"):
        cluster_sums([1], [1, 2])
