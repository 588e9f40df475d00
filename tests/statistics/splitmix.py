"""The scalar generator and the bootstrap as a page of plain Python: what the vectorised ones must equal."""

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

MASK = (1 << 64) - 1


def words(seed: int) -> Iterator[int]:
    state = seed & MASK
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield z ^ (z >> 31)


def below(source: Iterator[int], bound: int) -> int:
    reject = (1 << 64) % bound
    while True:
        word = next(source)
        if word >= reject:
            return word % bound


def gap_draws(groups: dict[str, Sequence[int]], scale: int, seed: int, resamples: int) -> list[Fraction]:
    source = words(seed)
    draws = []
    for _ in range(resamples):
        means = []
        for name in sorted(groups):
            group = groups[name]
            total = sum(group[below(source, len(group))] for _ in group)
            means.append(Fraction(total, len(group) * scale))
        draws.append(1 - (max(means) - min(means)))
    return draws


def mean_draws(scaled: Sequence[int], scale: int, seed: int, resamples: int) -> list[Fraction]:
    source = words(seed)
    return [
        Fraction(sum(scaled[below(source, len(scaled))] for _ in scaled), len(scaled) * scale) for _ in range(resamples)
    ]


def percentile(draws: Sequence[Fraction], share: Fraction) -> float:
    ordered = sorted(draws)
    place = share * (len(ordered) - 1)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return float(low + (high - low) * (place - math.floor(place)))


def deviation(draws: Sequence[Fraction]) -> float:
    middle = sum(draws, Fraction(0)) / len(draws)
    return math.sqrt(sum(((draw - middle) ** 2 for draw in draws), Fraction(0)) / (len(draws) - 1))
