"""Are the quantiles right, and owed to no mathematical library?"""

import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special, stats

from plumbline.statistics import beta as beta_module
from plumbline.statistics.beta import beta_cdf, beta_quantile, t_quantile

parameters = st.floats(0.3, 1e5)
probabilities = st.floats(1e-4, 1 - 1e-4)


@settings(deadline=None)
@given(parameters, parameters, probabilities)
def test_cdf_is_scipys(a, b, probability):
    x = float(special.betaincinv(a, b, probability))
    assume(0 < x < 1)
    assert beta_cdf(x, a, b) == pytest.approx(float(special.betainc(a, b, x)), abs=1e-9)


@settings(deadline=None)
@given(parameters, parameters, probabilities)
def test_quantile_is_scipys(a, b, probability):
    assert beta_quantile(probability, a, b) == pytest.approx(float(special.betaincinv(a, b, probability)), abs=1e-9)


@settings(deadline=None)
@given(st.floats(1, 1e6), st.floats(0.55, 0.999))
def test_t_is_scipys(freedom, probability):
    assert t_quantile(probability, freedom) == pytest.approx(
        float(stats.t.ppf(probability, freedom)), rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize(
    ("freedom", "expected"), [(1, 12.7062047362), (2, 4.3026527297), (9, 2.2621571628), (23, 2.0686576104)]
)
def test_t_as_printed_in_every_table(freedom, expected):
    assert t_quantile(0.975, freedom) == pytest.approx(expected, abs=1e-9)


def test_values_worked_by_hand():
    assert beta_cdf(0.25, 1, 1) == pytest.approx(0.25, abs=1e-13)
    assert beta_cdf(0.5, 3, 1) == pytest.approx(0.125, abs=1e-13)
    assert beta_quantile(0.025, 24, 1) == pytest.approx(0.025 ** (1 / 24), abs=1e-13)
    assert beta_cdf(0, 2, 3) == 0
    assert beta_cdf(1, 2, 3) == 1
    assert t_quantile(0.5, 3) == 0
    # A far tail: e**-700 and less counts as nothing.
    assert beta_cdf(1e-9, 1000, 1000) == 0
    assert beta_cdf(1 - 1e-9, 1000, 1000) == 1


@given(st.floats(1e-300, 1e300))
def test_the_series_are_the_functions(x):
    assert beta_module._log(x) == pytest.approx(math.log(x), rel=4e-16, abs=1e-16)
    small = min(x, 1 / x)
    assert beta_module._log_of_one_plus(small) == pytest.approx(math.log1p(small), rel=4e-16)
    exponent = math.log(x)
    assert beta_module._exp(exponent) == pytest.approx(math.exp(exponent), rel=4e-16)


@settings(deadline=None)
@given(st.floats(0.3, 1e7), st.floats(0.3, 1e3))
def test_the_beta_function_keeps_its_digits(a, b):
    # Theirs is a difference of logarithms of gamma functions and loses what those are larger than it.
    lost = 1e-15 * float(special.gammaln(a + b))
    assert beta_module._log_beta(a, b) == pytest.approx(float(special.betaln(a, b)), rel=1e-12, abs=lost + 1e-13)


def test_no_logarithm_of_the_platform(monkeypatch):
    expected = beta_quantile(0.025, 20.5, 3.25)
    beta_quantile.cache_clear()

    def never(*_):
        raise AssertionError("the platform's library was asked")

    for name in ("log", "log1p", "exp", "expm1", "gamma", "lgamma", "pow", "erf", "erfc"):
        monkeypatch.setattr(math, name, never)
    assert beta_quantile(0.025, 20.5, 3.25) == expected


@pytest.mark.parametrize(
    ("call", "arguments"),
    [
        (beta_cdf, (0.5, 0, 1)),
        (beta_cdf, (0.5, 1, -1)),
        (beta_cdf, (0.5, math.nan, 1)),
        (beta_cdf, (0.5, math.inf, 1)),
        (beta_cdf, (1.5, 1, 1)),
        (beta_quantile, (0, 1, 1)),
        (beta_quantile, (1, 1, 1)),
        (beta_quantile, (0.5, 0, 1)),
        (t_quantile, (0.4, 3)),
        (t_quantile, (1, 3)),
        (t_quantile, (0.9, 0)),
    ],
)
def test_what_cannot_be_is_refused(call, arguments):
    with pytest.raises(ValueError, match=r"must be|positive|lies"):
        call(*arguments)


def test_a_fraction_that_does_not_converge_is_told(monkeypatch):
    monkeypatch.setattr(beta_module, "_STEPS", 2)
    with pytest.raises(ArithmeticError, match="converge"):
        beta_cdf(0.5, 900, 900)
