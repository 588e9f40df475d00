"""What do the intervals of plumbline.statistics say of thousands of samples at once?

The same formulas over arrays, for simulation only: doubles and the platform's logarithm do here. The simulation
compares the first samples of every cell with `plumbline.statistics` itself.
"""

import math

import numpy as np
import numpy.typing as npt

from plumbline.statistics.beta import t_quantile
from plumbline.statistics.bounds import SHRINK, exact_lower, quantile_ratio
from plumbline.statistics.intervals import normal_quantile
from plumbline.statistics.power import POWER

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_log_gamma = np.frompyfunc(math.lgamma, 1, 1)


def beta_cdf(x: Array, a: Array, b: Array, log_beta: Array | None = None) -> tuple[Array, Array]:
    """The regularised incomplete beta and the density, elementwise."""
    if log_beta is None:
        log_beta = log_beta_of(a, b)
    front = np.exp(a * np.log(x) + b * np.log1p(-x) - log_beta)
    swap = x >= (a + 1) / (a + b + 2)
    z, p, q = np.where(swap, 1 - x, x), np.where(swap, b, a), np.where(swap, a, b)
    c = np.ones_like(z)
    d = 1 / (1 - (p + q) * z / (p + 1))
    found = d.copy()
    for step in range(1, 400):
        twice = p + 2 * step
        for term in (
            step * (q - step) * z / ((twice - 1) * twice),
            -(p + step) * (p + q + step) * z / (twice * (twice + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            found *= c * d
        if np.abs(c * d - 1).max() < 1e-12:
            break
    part = front * found / p
    return np.where(swap, 1 - part, part), front / (x * (1 - x))


def log_beta_of(a: Array, b: Array) -> Array:
    """The logarithm of the beta function, elementwise."""
    gammas = [_log_gamma(value).astype(np.float64) for value in (a, b, a + b)]
    return gammas[0] + gammas[1] - gammas[2]


def beta_quantile(probability: float, a: Array, b: Array) -> Array:
    """The quantile of beta variables, elementwise."""
    log_beta = log_beta_of(a, b)
    mean = a / (a + b)
    found = mean + (2 * probability - 1) * 2 * np.sqrt(mean * (1 - mean) / (a + b + 1))
    found = np.where((found > 0) & (found < 1), found, mean)
    low, high = np.zeros_like(a), np.ones_like(a)
    left = np.arange(a.size)
    for _ in range(80):
        x = found[left]
        chance, density = beta_cdf(x, a[left], b[left], log_beta[left])
        above = chance > probability
        high[left], low[left] = np.where(above, x, high[left]), np.where(above, low[left], x)
        with np.errstate(all="ignore"):
            following = x - (chance - probability) / density
        inside = (following > low[left]) & (following < high[left])
        following = np.where(inside, following, (low[left] + high[left]) / 2)
        found[left] = following
        left = left[np.abs(following - x) > 1e-8]
        if left.size == 0:
            break
    return found


class Samples:
    """Many samples of one design: sums of scores and of squared scores, shape (samples, clusters)."""

    def __init__(self, sums: Array, squares: Array, sizes: npt.NDArray[np.int64]) -> None:
        self.n = int(sizes.sum())
        self.clusters = sizes.size
        self.mean = sums.sum(axis=1) / self.n
        residual = sums - self.mean[:, None] * sizes
        second, fourth = (residual**2).sum(axis=1), (residual**4).sum(axis=1)
        self.variance = self.clusters / (self.clusters - 1) * second / self.n**2
        items = (squares.sum(axis=1) - self.n * self.mean**2) / (self.n * (self.n - 1))
        equal = self.n**2 / float((sizes**2).sum())
        self.ratio = quantile_ratio(equal)
        widest = self.mean * (1 - self.mean) / equal
        with np.errstate(all="ignore"):
            contributing = np.where(fourth > 1e-20, second**2 / fourth, 0)
        share = SHRINK / (SHRINK + contributing**3)
        variance = np.maximum(self.variance, items)
        variance = np.minimum(widest, (1 - share) * variance + share * np.maximum(widest, variance))
        self.perfect = self.mean > 1 - 1e-12
        self.nothing = self.mean < 1e-12
        inside = ~(self.perfect | self.nothing)
        self.inside = inside
        safe = np.where(inside, variance, 1.0)
        self.size = np.where(inside, self.mean * (1 - self.mean) / safe, 1.0)
        self.exact = exact_lower(self.clusters)

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds."""
        mean = np.where(self.inside, self.mean, 0.5)
        lower, upper = jeffreys(mean, self.size * self.ratio)
        lower = np.minimum(lower, self.exact)
        lower = np.where(self.perfect, self.exact, np.where(self.nothing, 0, lower))
        upper = np.where(self.perfect, 1, np.where(self.nothing, 1 - self.exact, upper))
        return lower, upper

    def holds(self, truth: float) -> tuple[Flags, Flags]:
        """Whether each interval holds the truth, and whether it lies above it; without a quantile, so cheap."""
        mean = np.where(self.inside, self.mean, 0.5)
        size = self.size * self.ratio
        point = np.full_like(mean, min(max(truth, 1e-12), 1 - 1e-12))
        chance = beta_cdf(point, mean * size + 0.5, (1 - mean) * size + 0.5)[0]
        near = 1e-9
        above = (chance < 0.025) & (truth < mean - near) & (truth < self.exact - near)
        below = (chance > 0.975) & (truth > mean + near)
        above = np.where(self.perfect, truth < self.exact - near, above & ~self.nothing)
        below = np.where(self.nothing, truth > 1 - self.exact + near, below & ~self.perfect)
        return ~(above | below), above

    def would_notice(self, perfect: float) -> Array:
        """The drop that each sample would notice, NaN for none; `perfect` is that of a perfect sample."""
        mean = np.where(self.inside, self.mean, 0.5)
        size = self.size * self.ratio
        below = mean - np.minimum(jeffreys(mean, size)[0], self.exact)
        z = normal_quantile(POWER)

        def margin(drop: Array) -> Array:
            fallen = mean - drop
            above = jeffreys_upper(fallen, size) - fallen
            spread = np.sqrt((mean * (1 - mean) + fallen * (1 - fallen)) / self.size)
            return drop - z * spread - np.sqrt(below**2 + above**2)

        # Regula falsi, Illinois variant.
        low, high = np.zeros_like(mean), mean * (1 - 1e-9)
        at_low, at_high = margin(low), margin(high)
        never = at_high < 0
        side = np.zeros_like(mean)
        for _ in range(9):
            with np.errstate(all="ignore"):
                middle = (low * at_high - high * at_low) / (at_high - at_low)
            middle = np.where(never, mean / 2, middle)
            value = margin(middle)
            up = value >= 0
            at_low = np.where(up, np.where(side > 0, at_low / 2, at_low), value)
            at_high = np.where(up, value, np.where(side < 0, at_high / 2, at_high))
            low, high = np.where(up, low, middle), np.where(up, middle, high)
            side = np.where(up, 1, -1)
        found = np.where(never, np.nan, middle)
        return np.where(self.perfect, perfect, np.where(self.nothing, np.nan, found))


def jeffreys(mean: Array, size: Array) -> tuple[Array, Array]:
    """Jeffreys' interval, elementwise."""
    lower = beta_quantile(0.025, mean * size + 0.5, (1 - mean) * size + 0.5)
    return np.minimum(lower, mean), jeffreys_upper(mean, size)


def jeffreys_upper(mean: Array, size: Array) -> Array:
    """The upper bound of Jeffreys' interval, elementwise."""
    upper = 1 - beta_quantile(0.025, (1 - mean) * size + 0.5, mean * size + 0.5)
    return np.maximum(upper, mean)


class Gaps:
    """Many runs over groups: the mean of every cluster in every group, shape (samples, clusters, groups).

    Args:
        means: those means.
        paired: whether a cluster is the same in every group; else every group has its own.
    """

    def __init__(self, means: Array, *, paired: bool = True) -> None:
        self.clusters, groups = means.shape[1:]
        self.pairs = [(one, other) for one in range(groups) for other in range(one + 1, groups)]
        self.perfect = (means > 1 - 1e-12).all(axis=(1, 2))
        self.exact = exact_lower(self.clusters)
        self.sizes: list[Array] = []
        self.errors: list[Array] = []
        self.freedoms: list[Array] = []
        for one, other in self.pairs:
            first, second = means[:, :, one], means[:, :, other]
            self.sizes.append((first - second).mean(axis=1))
            errors = [_error(first - second)] if paired else [_error(first), _error(second)]
            error = sum(errors, np.zeros_like(errors[0]))
            self.errors.append(np.sqrt(error))
            # Welch and Satterthwaite's degrees of freedom; of one term, its own.
            terms = sum((term**2 for term in errors), np.zeros_like(error)) / (self.clusters - 1)
            self.freedoms.append(error**2 / terms)

    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper bounds of the score."""
        outer, inner = np.zeros_like(self.sizes[0]), np.zeros_like(self.sizes[0])
        for size, error, freedom in zip(self.sizes, self.errors, self.freedoms, strict=True):
            outer = np.maximum(outer, np.abs(size) + _t(0.975, freedom) * error)
            inner = np.maximum(inner, np.abs(size) - _t(1 - 0.05 / (2 * len(self.pairs)), freedom) * error)
        lower = np.where(self.perfect, self.exact, np.maximum(0, 1 - outer))
        return lower, np.where(self.perfect, 1, 1 - inner)

    def would_notice(self) -> Array:
        """The widening that each run over two groups would notice, NaN for none."""
        freedom = 2 * self.freedoms[0]
        quantiles = _t(0.975, freedom) + _t(POWER, freedom)
        size, error = np.abs(self.sizes[0]), self.errors[0]

        def short(drop: Array) -> Flags:
            more = np.maximum(0, drop - drop * (2 * size + drop))
            return drop < quantiles * np.sqrt(2 * error**2 + more / self.clusters)

        low, high = np.zeros_like(size), 1 - size
        never = short(high)
        for _ in range(24):
            middle = (low + high) / 2
            small = short(middle)
            low, high = np.where(small, middle, low), np.where(small, high, middle)
        return np.where(never, np.nan, high)

    def differ(self, other: "Gaps") -> Flags:
        """Whether the difference of two groups moved from one run to another."""
        error = np.sqrt(self.errors[0] ** 2 + other.errors[0] ** 2)
        return np.abs(self.sizes[0] - other.sizes[0]) > _t(0.975, 2 * self.freedoms[0]) * error


def _error(values: Array) -> Array:
    """The squared standard error of clusters' mean, with a made-up cluster on either side."""
    clusters = values.shape[1]
    residual = values - values.mean(axis=1)[:, None]
    second, fourth = (residual**2).sum(axis=1), (residual**4).sum(axis=1)
    with np.errstate(all="ignore"):
        contributing = np.where(fourth > 1e-20, second**2 / fourth, 0)
        far = np.where(second > 1e-20, fourth / second, 0)
    share = SHRINK / (SHRINK + contributing**3)
    reach = (1 - share) * np.minimum(1, far) + share
    plain = clusters / (clusters - 1) * second / clusters**2
    return np.maximum(plain, (second + 2 * reach) / ((clusters + 2) * (clusters + 1)))


def _t(probability: float, freedom: Array) -> Array:
    """Student's quantile, elementwise: interpolated between degrees of freedom unless all are the same."""
    low, high = float(freedom.min()), float(freedom.max())
    if high - low < 1e-6:
        return np.full_like(freedom, t_quantile(probability, round(low, 6)))
    inverse = np.linspace(1 / high, 1 / low, 200)
    return np.interp(1 / freedom, inverse, [t_quantile(probability, float(1 / value)) for value in inverse])
