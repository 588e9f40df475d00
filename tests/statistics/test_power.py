"""Does the minimum detectable effect say what it should at the edges and between them?"""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.statistics.power import mde_from_se, mde_proportion, rule_of_three

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
