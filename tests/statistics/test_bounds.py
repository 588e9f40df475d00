"""Is every bound the one of its formula, to the last digit that a double has?"""

import math
from fractions import Fraction

import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from plumbline.statistics.bounds import bounds, effective, exact_lower, jeffreys, jeffreys_upper, quantile_ratio
from plumbline.statistics.clusters import moments


@pytest.mark.parametrize("passes", [1_500, 3_000, 4_500])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_a_large_sample_gets_wilsons_interval(passes, confidence):
    low, high = proportion_confint(passes, 6_000, 1 - confidence, method="wilson")
    found = jeffreys(passes / 6_000, 6_000, confidence)
    assert (found.lower, found.upper) == (pytest.approx(low, abs=1e-12), pytest.approx(high, abs=1e-12))
    assert jeffreys_upper(passes / 6_000, 6_000, confidence) == found.upper


def test_a_thousand_of_each_are_not_yet_many():
    found = jeffreys(0.5, 2_000)
    beta = stats.beta(1_000.5, 1_000.5)
    assert (found.lower, found.upper) == (pytest.approx(beta.ppf(0.025)), pytest.approx(beta.ppf(0.975)))
    assert found.upper != pytest.approx(proportion_confint(1_000, 2_000, 0.05, method="wilson")[1], abs=1e-12)
    assert jeffreys_upper(0.5, 2_000) == found.upper


@pytest.mark.parametrize(("clusters", "freedom"), [(1, 1), (1.5, 1), (2, 1), (2.5, 1.5), (3, 2), (30, 29)])
def test_the_quantile_is_students_for_as_many_clusters(clusters, freedom):
    expected = (stats.norm.ppf(0.975) / stats.t.ppf(0.975, freedom)) ** 2
    assert quantile_ratio(clusters) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("sizes", [[2, 2, 2, 2, 2], [1, 2, 3, 4], [4, 4, 3]])
def test_a_variance_is_drawn_towards_the_largest_the_fewer_clusters_it_rests_on(sizes):
    keys = [key for key, size in enumerate(sizes) for _ in range(size)]
    scores = [0 if index in {0, 3} else 1 for index in range(len(keys))]
    found = moments(scores, 1, keys)
    product = found.mean * (1 - found.mean)
    widest = float(product / found.equal_clusters)
    share = 4 / (4 + float(found.contributing) ** 3)
    assert 0 < share < 1
    own = float(max(found.variance, found.item_variance))
    expected = min(widest, own + share * max(0.0, widest - own))
    assert effective(found).size == pytest.approx(float(product) / expected, rel=1e-9)


def test_a_variance_rests_on_the_clusters_that_differ():
    # Residuals 1, -1 and eight of 0 out of ten clusters of two: contributing is 2, so the share is 4 / (4 + 8).
    found = moments([1, 1, 0, 0] + [0, 1] * 8, 1, [key for key in range(10) for _ in range(2)])
    assert found.contributing == 2
    variance, items = Fraction(10, 9) * 2 / 400, Fraction(1, 4) / 19
    assert (found.variance, found.item_variance) == (variance, items)
    widest = Fraction(1, 40)
    drawn = Fraction(2, 3) * items + Fraction(1, 3) * widest
    assert effective(found).size == pytest.approx(float(Fraction(1, 4) / drawn), rel=1e-12)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_a_score_of_0_is_a_perfect_score_seen_from_the_other_side(confidence):
    found = bounds(moments([0] * 12, 1), confidence)
    assert (found.lower, found.upper) == (0, 1 - exact_lower(12, confidence))
    assert exact_lower(12, confidence) == pytest.approx(math.pow((1 - confidence) / 2, 1 / 12))
