"""Does the minimum detectable effect say what it should at the edges and between them?"""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, stats

from plumbline.statistics.bounds import bounds
from plumbline.statistics.clusters import moments
from plumbline.statistics.gap import gap
from plumbline.statistics.power import (
    mde_from_se,
    mde_proportion,
    rule_of_three,
    would_notice,
    would_notice_gap,
)

counts = st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def test_a_value_worked_by_hand():
    assert mde_from_se(0.01, 50) == pytest.approx((1.959964 + 0.841621) * 1.414214 * 0.01, abs=1e-7)


@pytest.mark.parametrize(("n", "expected"), [(1, 1.0), (2, 1.0), (3, 1.0), (4, 0.75), (12, 0.25), (300, 0.01)])
def test_rule_of_three(n, expected):
    assert rule_of_three(n) == expected


@pytest.mark.parametrize("se", [0.0, -1e-9])
def test_no_spread_falls_back_to_the_rule_of_three(se):
    assert mde_from_se(se, 12) == 0.25


@given(st.floats(1e-12, 10), st.integers(1, 10**6))
def test_an_effect_is_on_the_scale_and_larger_than_the_error(se, n):
    assert min(1.0, se) <= mde_from_se(se, n) <= 1


@given(st.floats(1e-6, 0.2), st.floats(1.01, 2))
def test_more_error_hides_more(se, times):
    assert mde_from_se(se, 9) < mde_from_se(se * times, 9)


@given(counts)
def test_a_proportion_uses_its_own_standard_error(count):
    successes, n = count
    se = math.sqrt(successes / n * (n - successes) / n / n)
    assert mde_proportion(successes, n) == pytest.approx(mde_from_se(se, n), rel=1e-9)
    assert mde_proportion(successes, n) == mde_proportion(n - successes, n)


def test_perfect_proportions_use_the_rule_of_three():
    assert mde_proportion(0, 60) == mde_proportion(60, 60) == 0.05


def test_more_power_or_confidence_asks_for_a_larger_effect():
    assert mde_from_se(0.01, 9, power=0.9) > mde_from_se(0.01, 9)
    assert mde_from_se(0.01, 9, confidence=0.99) > mde_from_se(0.01, 9)


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="item"):
        rule_of_three(0)
    with pytest.raises(ValueError, match="item"):
        mde_from_se(0.1, 0)
    with pytest.raises(ValueError, match="successes"):
        mde_proportion(3, 2)
    with pytest.raises(ValueError, match="number"):
        mde_from_se(math.nan, 5)
    for more in ({"power": 1}, {"confidence": 0}, {"confidence": -0.5}):
        with pytest.raises(ValueError, match="must be in"):
            mde_from_se(0.1, 5, **more)


def sample(passes, failures, per=1):
    keys = [key for key in range(passes + failures) for _ in range(per)]
    return moments([1] * passes * per + [0] * failures * per, 1, keys)


def exact_power(found, drop):
    """The chance that two runs differ by Newcombe's interval, by counting all pairs of binomial outcomes."""
    n, truth = found.n, float(found.mean)
    between = [bounds(sample(k, n - k)) for k in range(n + 1)]
    first = stats.binom.pmf(range(n + 1), n, truth)
    second = stats.binom.pmf(range(n + 1), n, truth - drop)
    return sum(
        first[a] * second[b]
        for a in range(n + 1)
        for b in range(a)
        if (a - b) / n > math.hypot(a / n - between[a].lower, between[b].upper - b / n)
    )


@pytest.mark.parametrize(("passes", "failures"), [(40, 10), (80, 20), (30, 30), (90, 10)])
def test_a_drop_is_noticed_four_times_in_five(passes, failures):
    found = sample(passes, failures)
    assert exact_power(found, would_notice(found).size) == pytest.approx(0.8, abs=0.03)


@pytest.mark.parametrize("n", [12, 24, 50, 120])
def test_from_a_perfect_score_a_drop_is_noticed_exactly_four_times_in_five(n):
    found = sample(n, 0)
    drop = would_notice(found).size
    assert exact_power(found, drop) == pytest.approx(0.8, abs=1e-6)
    # The rule of three is no such drop.
    assert drop > 1.5 * rule_of_three(n)


@pytest.mark.parametrize("n", [12, 24, 50, 120])
def test_what_must_fail_is_what_fishers_test_asks_or_one_less(n):
    drop = would_notice(sample(n, 0)).size
    enough = next(k for k in range(n + 1) if stats.fisher_exact([[n, 0], [n - k, k]]).pvalue <= 0.05)
    rates = [stats.beta.ppf(0.8, k, n - k + 1) for k in (enough - 1, enough)]
    assert min(abs(drop - rate) for rate in rates) < 1e-9


@given(st.integers(2, 60), st.integers(0, 20), st.integers(2, 5))
@settings(deadline=None, max_examples=30)
def test_more_items_of_the_same_clusters_notice_no_more(passes, failures, per):
    one, more = would_notice(sample(passes, failures)), would_notice(sample(passes, failures, per))
    assert (one is None) == (more is None)
    # Not to the last digit: as single items the clusters' variance is drawn from n, not from n - 1.
    assert one is None or more.size >= one.size * 0.999


def test_clusters_of_unlike_sizes_count_as_fewer():
    keys = [key for key in range(30) for _ in range(key % 6 + 1)]
    uneven = would_notice(moments([1] * len(keys), 1, keys))
    assert would_notice(sample(30, 0)).size < uneven.size < would_notice(sample(20, 0)).size


def test_nothing_to_notice():
    assert would_notice(sample(0, 9)) is None
    assert would_notice(sample(2, 0)) is None
    assert would_notice(sample(1, 1)) is None
    assert would_notice(moments([1, 0], 1, ["a", "a"])) is None
    assert would_notice(moments([1, 1], 1, ["a", "a"])) is None
    assert would_notice(moments([1] * 5, 1, ["a", "b", "c", "d", "d"])) is None


@pytest.mark.parametrize("falls", [0, 2, 6])
def test_a_wider_gap_is_noticed_where_its_formula_says(falls):
    # The groups are `falls` of 60 apart already; what a wider gap adds to the variance is d(1 - d) less the gap's own.
    first = [1] * 54 + [0] * 6
    second = first[:-12] + [0] * falls + [1] * (6 - falls) + first[-6:]
    found = gap({"a": first, "b": second}, 1)
    size, pair = float(found.widest.size), found.widest
    assert size == pytest.approx(falls / 60)
    assert found.perfect is False
    freedom = 2 * pair.freedom
    quantiles = stats.t.ppf(0.975, freedom) + stats.t.ppf(0.8, freedom)

    def margin(drop):
        more = (size + drop) * (1 - size - drop) - size * (1 - size)
        return drop - quantiles * math.sqrt(2 * pair.error**2 + max(0.0, more) / found.fewest)

    assert would_notice_gap(found).size == pytest.approx(optimize.brentq(margin, 0, 1 - size), abs=2e-6)


def test_the_fewest_perfect_clusters_that_notice_anything_must_all_fail():
    drop = would_notice(moments([1] * 4, 1))
    assert drop.size == pytest.approx(0.8 ** (1 / 4), rel=1e-12)
    assert "clusters failing as a whole" in drop.method
    assert would_notice(moments([1] * 3, 1)) is None


def test_power_and_confidence_reach_a_proportion():
    se = math.sqrt(0.25 / 400)
    assert mde_proportion(200, 400, 0.9, 0.95) == pytest.approx(
        (stats.norm.ppf(0.95) + stats.norm.ppf(0.95)) * math.sqrt(2) * se
    )
