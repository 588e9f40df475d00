"""Do the intervals hold what they promise, and is the printed drop noticed four times in five?

Draws samples from known truths and counts. Items of one cluster come from an urn (Blackwell and MacQueen, Annals of
Statistics 1, 1973): each item copies an earlier one of its cluster or is fresh, so that any two items of a cluster
correlate exactly as asked, whatever the distribution of a score. For passes and failures that is the beta-binomial.

Run as `python -m tools.simulate_statistics`; writes proof/statistics.md, and `--check` compares it with what is
there. Seeds are fixed and the words SplitMix64's, so every run of the tool writes the same bytes.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plumbline.statistics.bounds import bounds
from plumbline.statistics.clusters import Moments, moments
from plumbline.statistics.gap import gap, gap_bounds
from plumbline.statistics.power import would_notice, would_notice_gap
from plumbline.statistics.rng import Stream, suite_seed
from tools.vector_statistics import Array, Flags, Gaps, Samples

PROOF = Path(__file__).resolve().parent.parent / "proof" / "statistics.md"
SAMPLES = 4000
USUAL = 1000
"""Samples that show which drop is usually printed."""
SPOT = 3
"""Samples of every cell that plumbline.statistics itself is asked about."""
SCALE = 10**9
MIXED = "1 to 6"
CORRELATIONS = (0.0, 0.3, 0.6, 0.9)
TRUTHS = (0.7, 0.9, 0.98, 1.0)
COUNTS = (20, 50, 200)
EDGE = 1e-9

Score = Callable[[Array, Array], Array]
"""From a latent number in (0, 1) and a true mean to a score."""


def passes(latent: Array, mean: Array) -> Array:
    """Pass or fail."""
    return (latent < mean).astype(np.float64)


def graded(latent: Array, mean: Array) -> Array:
    """Mostly 1, otherwise a tenth from 0 to 0.9; below a mean of 0.45 tenths only, made smaller."""
    whole = np.clip((mean - 0.45) / 0.55, 0, 1)
    with np.errstate(all="ignore"):
        rest = (9 - np.floor(10 * np.clip((latent - whole) / (1 - whole), 0, 1 - EDGE))) / 10
    return np.where(latent < whole, 1.0, rest * np.minimum(1, mean / 0.45))


def smooth(latent: Array, mean: Array) -> Array:
    """One minus a power of a uniform number: no two alike, and never quite 1."""
    power = round(float(mean) / (1 - float(mean)))
    found = np.ones_like(latent)
    for _ in range(power):
        found *= latent
    return 1 - found


KINDS: dict[str, tuple[Score, tuple[float, ...]]] = {
    "proportion": (passes, TRUTHS),
    "mean, graded": (graded, TRUTHS),
    "mean, smooth": (smooth, (0.75, 0.9, 0.98)),
}


POWER_KINDS = ("proportion", "mean, graded")
GAPS = ((0.9, 0.0), (0.98, 0.02), (0.9, 0.1), (0.7, 0.2))
"""Mean of the better groups, and by how much the last is worse."""
NOTHING = np.zeros(0, dtype=np.bool_)


class Row(NamedTuple):
    """One row of a table: a design and what was counted for each truth, mostly in percent."""

    table: str
    design: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]


def latents(seed: str, samples: int, clusters: int, items: int, correlation: float) -> Array:
    """Latent uniform numbers, shape (samples, clusters, items)."""
    words = Stream(suite_seed(0, seed)).words(samples * clusters * items).reshape(samples, clusters, items)
    fresh = ((words >> np.uint64(32)).astype(np.float64) + 0.5) / 2**32
    if correlation == 0:
        return fresh
    urn = ((words & np.uint64(2**32 - 1)).astype(np.float64) + 0.5) / 2**32
    weight = (1 - correlation) / correlation
    found = fresh.copy()
    for place in range(1, items):
        drawn = urn[:, :, place] * (weight + place)
        earlier = np.clip(np.floor(drawn - weight), 0, place - 1).astype(np.int64)
        copied = np.take_along_axis(found[:, :, :place], earlier[:, :, None], axis=2)[:, :, 0]
        found[:, :, place] = np.where(drawn < weight, fresh[:, :, place], copied)
    return found


def sizes_of(clusters: int, size: str) -> npt.NDArray[np.int64]:
    """Items of every cluster."""
    if size == MIXED:
        return np.arange(clusters) % 6 + 1
    return np.full(clusters, int(size))


def sample(latent: Array, size: str, score: Score, mean: float) -> tuple[Samples, Array]:
    """Samples of one truth with their scores; a score that is not there is NaN."""
    sizes = sizes_of(latent.shape[1], size)
    there = np.arange(latent.shape[2])[None, :] < sizes[:, None]
    scores = score(latent, np.array(mean))
    kept = np.where(there, scores, 0)
    return Samples(kept.sum(axis=2), (kept**2).sum(axis=2), sizes), np.where(there, scores, np.nan)


def coverage(samples: int = SAMPLES, counts: Sequence[int] = COUNTS) -> list[Row]:
    """How often the interval of a share or an average holds the truth, and how often it lies above it."""
    rows = []
    designs = [*product(counts, (MIXED, "3"), CORRELATIONS), *((clusters, "1", 0.0) for clusters in counts)]
    for clusters, size, correlation in designs:
        items = int(sizes_of(clusters, size).max())
        latent = latents(f"coverage {clusters} {size} {correlation}", samples, clusters, items, correlation)
        for kind, (score, truths) in KINDS.items():
            cells = []
            for truth in truths:
                found, scores = sample(latent, size, score, truth)
                holds, above = found.holds(truth)
                spot_mean(scores, truth, holds, above)
                cells.append((percent(holds), percent(above)))
            rows.append(Row(kind, (str(clusters), size, f"{correlation:.1f}"), tuple(cells)))
    return sorted(rows, key=lambda row: (list(KINDS).index(row.table), int(row.design[0])))


def power(samples: int = SAMPLES, counts: Sequence[int] = COUNTS) -> list[Row]:
    """How often the usual printed drop is noticed, what it is, and how often nothing is taken for a change."""
    rows = []
    for clusters, correlation in product(counts, CORRELATIONS):
        first, second = (
            latents(f"power {run} {clusters} {correlation}", samples, clusters, 6, correlation)
            for run in ("one", "two")
        )
        for kind in POWER_KINDS:
            score = KINDS[kind][0]
            cells = []
            for truth in TRUTHS:
                found, scores = sample(first, MIXED, score, truth)
                drop = sample(first[:USUAL], MIXED, score, truth)[0].would_notice(perfect_drop(clusters))
                spot_power(scores, drop)
                usual = middle(drop)
                noticed = differ(found, sample(second, MIXED, score, truth - usual)[0]) if usual <= truth else NOTHING
                same = sample(second, MIXED, score, truth)[0]
                alarms = differ(found, same) | differ(same, found)
                cells.append((percent(noticed), usual, percent(alarms)))
            rows.append(Row(kind, (str(clusters), f"{correlation:.1f}"), tuple(cells)))
    return sorted(rows, key=lambda row: POWER_KINDS.index(row.table))


def middle(drop: Array) -> float:
    """The usual drop: the middle one, counting one that is not there as larger than any other; NaN if that is none."""
    found = float(np.sort(np.where(np.isnan(drop), np.inf, drop))[drop.size // 2])
    return found if found <= 1 else float("nan")


def perfect_drop(clusters: int) -> float:
    """What a perfect sample would notice."""
    keys = np.repeat(np.arange(clusters), sizes_of(clusters, MIXED)).tolist()
    found = would_notice(moments([1] * len(keys), 1, keys))
    return float("nan") if found is None else found.size


def differ(first: Samples, second: Samples) -> Flags:
    """Whether the second run is told to be worse than the first."""
    lower, upper = first.bounds()[0], second.bounds()[1]
    return first.mean - second.mean > np.sqrt((first.mean - lower) ** 2 + (upper - second.mean) ** 2)


def gaps(samples: int = SAMPLES, counts: Sequence[int] = COUNTS) -> list[Row]:
    """Coverage of the gap between paired groups, and for two groups how often the usual printed widening is noticed."""
    rows = []
    for groups, clusters, correlation in product((2, 3), counts, CORRELATIONS):
        first, second = (
            latents(f"gap {run} {groups} {clusters} {correlation}", samples, clusters, groups, correlation)
            for run in ("one", "two")
        )
        for kind in POWER_KINDS:
            cells = []
            for truth, apart in GAPS:
                found, means = sample_gap(first, KINDS[kind][0], truth, apart)
                lower, upper = found.bounds()
                spot_gap(means, found, lower, upper)
                holds = (lower <= 1 - apart + EDGE) & (1 - apart - EDGE <= upper)
                if groups > 2:
                    cells.append((percent(holds),))
                    continue
                usual = middle(found.would_notice())
                room = usual <= truth - apart
                noticed = found.differ(sample_gap(second, KINDS[kind][0], truth, apart + usual)[0]) if room else NOTHING
                cells.append((percent(holds), percent(noticed), usual))
            rows.append(
                Row(
                    f"gap of {groups} groups over the same facts, {kind}",
                    (str(clusters), f"{correlation:.1f}"),
                    tuple(cells),
                )
            )
    for clusters, kind in product(counts, POWER_KINDS):
        score, cells = KINDS[kind][0], []
        for truth, apart in GAPS:
            parts = [
                latents(f"apart {group} {clusters} {truth}", samples, clusters, 1, 0)[:, :, 0]
                for group in ("one", "two")
            ]
            means = np.stack([score(parts[0], np.array(truth)), score(parts[1], np.array(truth - apart))], axis=2)
            found = Gaps(means, paired=False)
            lower, upper = found.bounds()
            spot_gap(means, found, lower, upper, paired=False)
            cells.append((percent((lower <= 1 - apart + EDGE) & (1 - apart - EDGE <= upper)),))
        rows.append(Row(f"gap of 2 groups over other facts, {kind}", (str(clusters), "0.0"), tuple(cells)))
    return sorted(rows, key=lambda row: row.table)


def sample_gap(latent: Array, score: Score, truth: float, apart: float) -> tuple[Gaps, Array]:
    """Runs in which every fact is asked once in every group; the last group is `apart` worse than the others."""
    mean = np.full((1, 1, latent.shape[2]), truth)
    mean[0, 0, -1] -= apart
    means = score(latent, mean)
    return Gaps(means), means


def percent(flags: Flags) -> float:
    """The share of flags that are set, in percent; NaN of none."""
    return float("nan") if flags.size == 0 else round(100 * int(flags.sum()) / flags.size, 1)


def spot_mean(scores: Array, truth: float, holds: Flags, above: Flags) -> None:
    """Compare the first samples with plumbline.statistics."""
    for place in range(SPOT):
        found = bounds(_moments(scores[place]))
        if found is None:
            raise SystemExit("a sample of many clusters has no bounds")
        _same(found.lower <= truth <= found.upper, bool(holds[place]))
        _same(found.lower > truth, bool(above[place]))


def spot_power(scores: Array, drop: Array) -> None:
    """Compare the first samples with plumbline.statistics."""
    for place in range(SPOT):
        found = would_notice(_moments(scores[place]))
        _same(-1.0 if found is None else found.size, -1.0 if np.isnan(drop[place]) else drop[place], 2e-4)


def spot_gap(means: Array, found: Gaps, lower: Array, upper: Array, *, paired: bool = True) -> None:
    """Compare the first samples with plumbline.statistics."""
    for place in range(SPOT):
        names = [str(group) for group in range(means.shape[2])]
        scores = {name: [round(value * SCALE) for value in means[place, :, int(name)]] for name in names}
        keys = {name: [(cluster, paired or name) for cluster in range(means.shape[1])] for name in names}
        plain = gap(scores, SCALE, keys)
        if plain is None:
            raise SystemExit("a sample of many clusters has no gap")
        between = gap_bounds(plain)
        _same(between.lower, lower[place])
        _same(between.upper, upper[place])
        drop = would_notice_gap(plain)
        if drop is not None and len(names) == 2 and paired:
            _same(drop.size, found.would_notice()[place])


def _moments(scores: Array) -> Moments:
    kept = [
        (round(value * SCALE), cluster) for cluster, row in enumerate(scores) for value in row if not np.isnan(value)
    ]
    return moments([value for value, _ in kept], SCALE, [cluster for _, cluster in kept])


def _same(plain: float, vector: float, tolerance: float = 1e-5) -> None:
    if abs(plain - vector) > tolerance:
        raise SystemExit(f"the vector twin says {vector}, plumbline.statistics {plain}")


def document(covered: list[Row], powered: list[Row], spread: list[Row]) -> str:
    """The whole proof as Markdown."""
    two = [row for row in spread if len(row.cells[0]) > 1]
    coverages = [cell[0] for row in covered + spread for cell in row.cells]
    powers = [cell[0] for row in powered for cell in row.cells] + [cell[1] for row in two for cell in row.cells]
    powers = [value for value in powers if not np.isnan(value)]
    alarms = max(cell[2] for row in powered for cell in row.cells)
    lines = [
        "# Do the intervals hold what they promise?",
        "",
        f"Simulated by `tools/simulate_statistics.py`, which wrote this file: {SAMPLES} samples a cell,",
        "so that a share near 95 % is known to about 0.7 points, and one near 80 % to about 1.3.",
        "",
        f"- Coverage of the 95 % intervals is at least {min(coverages):.1f} %. {_spread(coverages, 93, 97)}",
        "- Above 97 % lie cells in which few clusters fail, or differ between groups: what can be counted there is a",
        "  few whole clusters, and an interval that keeps its promise for every truth promises more for most. A lower",
        "  bound is also never above that of a perfect score. At a true score of 1 there is nothing to miss.",
        f"- The usual printed drop is noticed in {min(powers):.1f} % of pairs of runs or more."
        f" {_spread(powers, 77, 83)}",
        "- Above 83 % lie cells in which few clusters fail, or none: such a run does not show how clusters vary, so",
        "  what is printed is the worst case, clusters that fail as a whole. Graded scores vary less than is assumed",
        "  when they fall far.",
        f"- Two runs of one truth are told apart in at most {alarms:.1f} % of pairs.",
        "",
        "Correlation is that of two items of one cluster. Samples of one design share their random numbers over kinds",
        "and truths. *Graded* scores are 1 or else a tenth below it; *smooth* scores are never quite 1.",
        "",
    ]
    for kind, (_, truths) in KINDS.items():
        head = ["clusters", "items in each", "correlation", *(f"true score {truth}" for truth in truths)]
        lines += [f"## Coverage: {kind}", "", "In percent: the interval holds the truth / lies wholly above it.", ""]
        lines += _table(head, [row for row in covered if row.table == kind], "{:.1f} / {:.1f}")
    for kind in POWER_KINDS:
        head = ["clusters", "correlation", *(f"true score {truth}" for truth in TRUTHS)]
        lines += [f"## Power: {kind}, 1 to 6 items in each cluster", ""]
        lines += ["Noticed, in percent, of falls by the usual printed drop (the drop) / false alarms in percent.", ""]
        lines += _table(head, [row for row in powered if row.table == kind], "{:.1f} ({:.3f}) / {:.1f}")
    for name in dict.fromkeys(row.table for row in spread):
        rows = [row for row in spread if row.table == name]
        head = ["clusters", "correlation", *(f"{truth:.2f} and {truth - apart:.2f}" for truth, apart in GAPS)]
        lines += [f"## {name[0].upper()}{name[1:]}", ""]
        several = len(rows[0].cells[0]) > 1
        tail = " / the usual printed widening (in brackets) is noticed" if several else ""
        lines += [
            f"True means of the better groups and of the last; in percent: the interval holds the truth{tail}.",
            "",
        ]
        lines += _table(head, rows, "{:.1f} / {:.1f} ({:.3f})" if several else "{:.1f}")
    return "\n".join(lines)


def _table(head: list[str], rows: list[Row], form: str) -> list[str]:
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return [*lines, *(line(row, form) for row in rows), ""]


def _spread(values: Sequence[float], low: int, high: int) -> str:
    within = sum(low <= value <= high for value in values)
    above, below = sum(value > high for value in values), sum(value < low for value in values)
    return f"Of {len(values)} cells {within} lie from {low} to {high} %, {above} above and {below} below."


def line(row: Row, form: str) -> str:
    """One row in Markdown; a figure that does not exist is a dash."""
    cells = [form.format(*cell) for cell in row.cells]
    return f"| {' | '.join([*row.design, *cells]).replace('nan', '-')} |"


def main() -> int:
    """Write the proof, or with `--check` say whether it is what would be written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if proof/statistics.md differs")
    check = parser.parse_args().check
    text = document(coverage(), power(), gaps())
    if check:
        return int(PROOF.read_text(encoding="utf-8") != text)
    PROOF.parent.mkdir(exist_ok=True)
    PROOF.write_text(text, encoding="utf-8", newline="\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
