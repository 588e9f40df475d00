"""How much do items that belong together vary, exactly?

Items that ask the same fact tend to pass or fail together, so the cluster is what was sampled. Everything here is an
integer or a fraction of integers; floats begin where a quantile is taken.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True, slots=True)
class Moments:
    """What an interval needs to know of one sample of scores in [0, 1]."""

    n: int
    """Items, at least one."""
    clusters: int
    mean: Fraction
    variance: Fraction | None
    """Squared standard error of the mean with clusters as the draws; None for one cluster."""
    item_variance: Fraction | None
    """The same as if items were independent; None for one item."""
    equal_clusters: Fraction
    """n**2 / (sum of squared cluster sizes): how many clusters of one size would weigh as these do."""
    contributing: Fraction
    """(sum r**2)**2 / (sum r**4) over cluster residuals r: on how many clusters the variance rests; 0 without any."""

    @property
    def clustered(self) -> bool:
        """Whether some cluster has two items or more."""
        return self.clusters < self.n

    @property
    def design_effect(self) -> Fraction | None:
        """How many times larger clusters make the variance; None where no item differs from another."""
        if self.variance is None or not self.item_variance:
            return None
        return self.variance / self.item_variance


def moments(scaled: Sequence[int], scale: int, clusters: Sequence[Hashable] | None = None) -> Moments:
    """Mean and variances of a sample.

    Clustered variance: C/(C - 1) * sum over clusters of (sum of the items' deviations)**2 / n**2, the sandwich
    estimator of a mean (Liang and Zeger, Biometrika 73, 1986) with its usual correction for few clusters.

    Args:
        scaled: scores times `scale`, integers in [0, scale], at least one.
        scale: what a score of 1 is.
        clusters: one key per score; None when every item is its own cluster.

    Raises:
        ValueError: there is no score, or not one key per score.
    """
    n = len(scaled)
    if n == 0:
        raise ValueError("a sample needs at least one item")
    values = Counter(scaled)
    total = sum(value * count for value, count in values.items())
    parts = Counter(cluster_sums(scaled, clusters).values()) if clusters is not None else _singles(values)
    # A residual is (n * sum - total * size) / n, times the scale; the integers in brackets are summed.
    second = fourth = 0
    for (part, size), count in parts.items():
        square = (n * part - total * size) ** 2
        second += count * square
        fourth += count * square * square
    items = n * sum(value * value * count for value, count in values.items()) - total * total
    number = parts.total()
    return Moments(
        n=n,
        clusters=number,
        mean=Fraction(total, n * scale),
        variance=None if number < 2 else Fraction(number * second, (number - 1) * n**4 * scale**2),
        item_variance=None if n < 2 else Fraction(items, n * n * (n - 1) * scale**2),
        equal_clusters=Fraction(n * n, sum(size * size * count for (_, size), count in parts.items())),
        contributing=Fraction(second * second, fourth) if fourth else Fraction(0),
    )


def cluster_sums(scaled: Sequence[int], clusters: Sequence[Hashable]) -> Mapping[Hashable, tuple[int, int]]:
    """Sum and size of every cluster, by its key, in order of appearance.

    Raises:
        ValueError: there is not one key per score.
    """
    if len(clusters) != len(scaled):
        raise ValueError(f"{len(clusters)} cluster keys do not go with {len(scaled)} scores")
    sums: dict[Hashable, int] = {}
    get = sums.get
    for key, value in zip(clusters, scaled, strict=True):
        sums[key] = get(key, 0) + value
    sizes = Counter(clusters)
    return {key: (total, sizes[key]) for key, total in sums.items()}


def _singles(values: Mapping[int, int]) -> Counter[tuple[int, int]]:
    return Counter({(value, 1): count for value, count in values.items()})
