"""At which point has a beta or a t variable this chance, to the same digit on every machine?

No logarithm or exponential of the platform's mathematical library is called: those may differ in the last bit from
one processor or C library to the next. Series stand in for them, made of the addition, multiplication, division and
square root of doubles, which IEEE 754 fixes to the bit and which Python never fuses.
"""

import math
from functools import lru_cache

_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156)
_HALF_LOG_TWO_PI = 0.9189385332046728
_LOG_TWO = 0.6931471805599453
_LOG_TWO_HIGH = 0.693147180369123816490
"""The first 33 bits, so that its small multiples are exact."""
_LOG_TWO_LOW = 1.90821492927058770002e-10
_LARGE = 16
_TINY = 1e-300
_PRECISION = 1e-15
_STEPS = 100_000


def beta_cdf(x: float, a: float, b: float) -> float:
    """The chance that a beta variable with parameters `a` and `b` is at most `x`: the regularised incomplete beta.

    Source: the continued fraction of DLMF 8.17.22, by the algorithm of Lentz (Applied Optics 15, 1976) as changed by
    Thompson and Barnett. Absolute error below 1e-10 for parameters up to 1e6.

    Raises:
        ValueError: a parameter is not a positive finite number, or `x` is not in [0, 1].
    """
    _check(a, b)
    if not 0 <= x <= 1:
        raise ValueError(f"a beta variable lies in [0, 1], not at {x}")
    if x in (0, 1):
        return float(x)
    return _cdf(x, a, b, _front(x, a, b, _log_beta(a, b)))


@lru_cache(maxsize=4096)
def beta_quantile(probability: float, a: float, b: float) -> float:
    """The x at which `beta_cdf(x, a, b)` is `probability`; within 1e-10 of it.

    Newton's steps, and a bisection wherever a step would leave the bracket.

    Raises:
        ValueError: a parameter is not a positive finite number, or `probability` is not in (0, 1).
    """
    _check(a, b)
    if not 0 < probability < 1:
        raise ValueError(f"a probability must be in (0, 1), not {probability}")
    log_beta = _log_beta(a, b)
    low, high = 0.0, 1.0
    mean = a / (a + b)
    x = mean + (2 * probability - 1) * 2 * math.sqrt(mean * (1 - mean) / (a + b + 1))
    x = x if 0 < x < 1 else mean
    for _ in range(200):
        front = _front(x, a, b, log_beta)
        above = _cdf(x, a, b, front) - probability
        if above > 0:
            high = x
        else:
            low = x
        density = front / (x * (1 - x))
        following = x - above / density if density > 0 else -1.0
        if not low < following < high:
            following = (low + high) / 2
        if abs(following - x) <= 1e-15 + 1e-11 * min(x, 1 - x) or not low < following < high:
            return following
        x = following
    return x


@lru_cache(maxsize=4096)
def t_quantile(probability: float, freedom: float) -> float:
    """Student's t at `probability`, in [0.5, 1), with `freedom` > 0 degrees, which need not be whole.

    The square of t over (freedom + its square) is a beta variable with parameters 1/2 and freedom/2.

    Raises:
        ValueError: `probability` or `freedom` is outside its range.
    """
    if not 0.5 <= probability < 1:
        raise ValueError(f"a probability must be in [0.5, 1), not {probability}")
    if probability == 0.5:
        return 0.0
    if freedom < 2:
        # The other tail of the same variable: near 1 a double has too few digits.
        other = beta_quantile(2 * (1 - probability), freedom / 2, 0.5)
        return math.sqrt(freedom * (1 - other) / other)
    share = beta_quantile(2 * probability - 1, 0.5, freedom / 2)
    return math.sqrt(freedom * share / (1 - share))


def _check(a: float, b: float) -> None:
    if not (0 < a < math.inf and 0 < b < math.inf):
        raise ValueError(f"parameters of a beta variable are positive, not {a} and {b}")


def _cdf(x: float, a: float, b: float, front: float) -> float:
    # The fraction converges fast only below the mean.
    if x < (a + 1) / (a + b + 2):
        return min(1.0, front * _fraction(x, a, b) / a)
    return max(0.0, 1 - front * _fraction(1 - x, b, a) / b)


def _front(x: float, a: float, b: float, log_beta: float) -> float:
    """x**a * (1 - x)**b / B(a, b)."""
    return _exp(a * _log(x) + b * _log(1 - x) - log_beta)


def _fraction(x: float, a: float, b: float) -> float:
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d if abs(d) > _TINY else _TINY)
    found = d
    for step in range(1, _STEPS):
        twice = a + 2 * step
        for term in (
            step * (b - step) * x / ((twice - 1) * twice),
            -(a + step) * (a + b + step) * x / (twice * (twice + 1)),
        ):
            d = 1 + term * d
            d = 1 / (d if abs(d) > _TINY else _TINY)
            c = 1 + term / c
            c = c if abs(c) > _TINY else _TINY
            found *= c * d
        if abs(c * d - 1) < _PRECISION:
            return found
    raise ArithmeticError(f"the incomplete beta of {a} and {b} at {x} did not converge")


def _log_beta(a: float, b: float) -> float:
    """Stirling's series, after the recurrence has carried small parameters to where the series is exact enough."""
    product = 1.0
    while a < _LARGE:
        product *= (a + b) / a
        a += 1
    while b < _LARGE:
        product *= (a + b) / b
        b += 1
    small, large = min(a, b), max(a, b)
    # Written so that no two large terms cancel (DiDonato and Morris, ACM TOMS 18, 1992, algorithm 708).
    found = (small - 0.5) * _log(small / (small + large)) - 0.5 * _log(large) + _HALF_LOG_TWO_PI
    found -= large * _log_of_one_plus(small / large)
    return found + _rest(small) + _rest(large) - _rest(small + large) + _log(product)


def _rest(x: float) -> float:
    """What Stirling's formula lacks of the logarithm of the gamma function."""
    inverse = 1 / x
    square = inverse * inverse
    series = 0.0
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    return series * inverse


def _log(x: float) -> float:
    mantissa, exponent = math.frexp(x)
    if mantissa < 0.7071067811865476:
        mantissa *= 2
        exponent -= 1
    return exponent * _LOG_TWO_LOW + _twice_artanh((mantissa - 1) / (mantissa + 1)) + exponent * _LOG_TWO_HIGH


def _log_of_one_plus(x: float) -> float:
    return _twice_artanh(x / (2 + x)) if x < 0.4 else _log(1 + x)


def _twice_artanh(x: float) -> float:
    """The logarithm of (1 + x) / (1 - x), for |x| below 0.18."""
    square = x * x
    series = 0.0
    for odd in range(23, 0, -2):
        series = series * square + 1 / odd
    return 2 * x * series


def _exp(x: float) -> float:
    if x < -700:
        return 0.0
    doublings = math.floor(x / _LOG_TWO + 0.5)
    rest = (x - doublings * _LOG_TWO_HIGH) - doublings * _LOG_TWO_LOW
    series = 1.0
    for term in range(15, 0, -1):
        series = 1 + series * rest / term
    return math.ldexp(series, doublings)
