"""Do the intervals keep the promises of exact arithmetic?"""

import math
import os
import subprocess
import sys
from fractions import Fraction

import pytest
import splitmix
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plumbline.statistics import intervals
from plumbline.statistics.intervals import bootstrap_gap, bootstrap_mean, normal_quantile, wilson

SCALE = 10**9
counts = st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
scores = st.lists(st.integers(0, SCALE), min_size=1, max_size=12)
seeds = st.integers(0, 2**64 - 1)


@given(counts)
def test_wilson_contains_the_proportion_and_stays_on_the_scale(count):
    successes, n = count
    interval = wilson(successes, n)
    assert 0 <= interval.lower <= successes / n <= interval.upper <= 1
    assert interval.lower < interval.upper


@given(counts)
def test_wilson_is_the_same_seen_from_the_failures(count):
    successes, n = count
    one, other = wilson(successes, n), wilson(n - successes, n)
    assert one.lower == pytest.approx(1 - other.upper, abs=1e-12)
    assert one.upper == pytest.approx(1 - other.lower, abs=1e-12)


@given(counts, st.floats(0.5, 0.99), st.floats(0.5, 0.99))
def test_wilson_of_less_confidence_lies_within(count, one, other):
    assume(abs(one - other) > 1e-6)
    inner, outer = wilson(*count, min(one, other)), wilson(*count, max(one, other))
    assert outer.lower <= inner.lower <= inner.upper <= outer.upper
    assert inner.upper - inner.lower < outer.upper - outer.lower


@given(counts, st.integers(2, 50))
def test_wilson_of_more_items_lies_within(count, times):
    successes, n = count
    few, many = wilson(successes, n), wilson(successes * times, n * times)
    assert few.lower <= many.lower <= many.upper <= few.upper


@given(counts)
def test_wilson_bounds_solve_the_score_equation(count):
    # Wilson's own definition: at a bound b, |p - b| is z standard errors of b.
    successes, n = count
    z = normal_quantile(0.975)
    for bound in (wilson(successes, n).lower, wilson(successes, n).upper):
        if 0 < bound < 1:
            distance = (successes / n - bound) ** 2
            assert distance == pytest.approx(z * z * bound * (1 - bound) / n, rel=1e-6, abs=1e-15)


def test_wilson_ends_exactly_at_the_ends_of_the_scale():
    assert wilson(0, 7).lower == 0.0
    assert wilson(7, 7).upper == 1.0
    # By hand: with no failure in n the lower bound is n / (n + z**2).
    assert wilson(12, 12).lower == pytest.approx(12 / (12 + 1.959963984540054**2), abs=1e-12)


@pytest.mark.parametrize(("successes", "n"), [(0, 0), (1, 0), (-1, 5), (6, 5), (0, -1)])
def test_wilson_refuses_a_count_that_cannot_be(successes, n):
    with pytest.raises(ValueError, match="item"):
        wilson(successes, n)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 1.5, math.nan])
def test_a_confidence_off_the_scale_is_refused(confidence):
    with pytest.raises(ValueError, match="must be in"):
        wilson(1, 2, confidence)
    with pytest.raises(ValueError, match="must be in"):
        bootstrap_mean([0, 1], 1, 1, 10, confidence)


@settings(max_examples=30, deadline=None)
@given(scores, seeds, st.integers(2, 60))
def test_mean_equals_the_plain_bootstrap(scaled, seed, resamples):
    found = bootstrap_mean(scaled, SCALE, seed, resamples)
    draws = splitmix.mean_draws(scaled, SCALE, seed, resamples)
    assert found.lower == splitmix.percentile(draws, Fraction(1, 40))
    assert found.upper == splitmix.percentile(draws, Fraction(39, 40))
    assert found.se == splitmix.deviation(draws)


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(max_size=3), scores, min_size=2, max_size=4), seeds, st.integers(2, 40))
def test_gap_equals_the_plain_bootstrap(groups, seed, resamples):
    found = bootstrap_gap(groups, SCALE, seed, resamples)
    draws = splitmix.gap_draws(groups, SCALE, seed, resamples)
    assert found.lower == splitmix.percentile(draws, Fraction(1, 40))
    assert found.upper == splitmix.percentile(draws, Fraction(39, 40))
    assert found.se == splitmix.deviation(draws)


@settings(max_examples=15, deadline=None)
@given(scores, scores, seeds, st.sampled_from([1, 2, 7, 64, 1000]))
def test_blocks_of_replicates_change_nothing(one, other, seed, block):
    mean, gap = bootstrap_mean(one, SCALE, seed, 50), bootstrap_gap({"a": one, "b": other}, SCALE, seed, 50)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "BLOCK", block)
        assert bootstrap_mean(one, SCALE, seed, 50) == mean
        assert bootstrap_gap({"a": one, "b": other}, SCALE, seed, 50) == gap


@settings(max_examples=20, deadline=None)
@given(scores, seeds)
def test_less_confidence_lies_within(scaled, seed):
    inner, outer = (bootstrap_mean(scaled, SCALE, seed, 200, share) for share in (0.8, 0.95))
    assert 0 <= outer.lower <= inner.lower <= inner.upper <= outer.upper <= 1
    assert inner.se == outer.se


@settings(max_examples=20, deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), scores, min_size=2), seeds, st.randoms())
def test_the_order_of_groups_in_the_mapping_is_irrelevant(groups, seed, random):
    shuffled = list(groups.items())
    random.shuffle(shuffled)
    assert bootstrap_gap(dict(shuffled), SCALE, seed, 20) == bootstrap_gap(groups, SCALE, seed, 20)


@given(st.integers(0, SCALE), st.integers(1, 20), seeds)
def test_no_spread_gives_no_width(score, n, seed):
    found = bootstrap_mean([score] * n, SCALE, seed, 20)
    assert (found.lower, found.upper, found.se) == (score / SCALE, score / SCALE, 0.0)


def test_another_seed_gives_other_draws_near_by():
    scaled = [i * SCALE // 99 for i in range(100)]
    one, other = bootstrap_mean(scaled, SCALE, 1), bootstrap_mean(scaled, SCALE, 2)
    assert one != other
    assert one.lower == pytest.approx(other.lower, abs=0.01)


def test_group_means_are_compared_exactly():
    # Sizes whose common multiple is far beyond 64 bits.
    groups = {str(size): [SCALE] * size for size in (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)}
    found = bootstrap_gap(groups, SCALE, 5, 3)
    assert (found.lower, found.upper, found.se) == (1.0, 1.0, 0.0)


@pytest.mark.parametrize(
    ("scaled", "scale", "resamples"),
    [([], 1, 9), ([2], 1, 9), ([-1], 1, 9), ([1], 1, 1), ([1, 1], 2**62, 9)],
)
def test_what_cannot_be_resampled_is_refused(scaled, scale, resamples):
    with pytest.raises(ValueError, match=r"bootstrap|scale"):
        bootstrap_mean(scaled, scale, 1, resamples)


def test_a_gap_of_one_group_is_refused():
    with pytest.raises(ValueError, match="two groups"):
        bootstrap_gap({"a": [1, 0]}, 1, 1)


def test_a_large_suite_is_resampled_in_little_memory():
    script = (
        "import resource\n"
        "from plumbline.statistics.intervals import bootstrap_mean\n"
        "import numpy\n"
        "scaled = list(range(100_000))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "bootstrap_mean(scaled, 10**9, 1, 200)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    used = int(_run(script, {}))
    assert used < 64 * 1024  # KiB; all draws at once would take 160 MB


_DIGITS = (
    "from plumbline.statistics.intervals import bootstrap_gap, bootstrap_mean\n"
    "values = [i * i * 7919 % (10**9 + 1) for i in range(3001)]\n"
    "print(bootstrap_mean(values, 10**9, 11, 300))\n"
    "print(bootstrap_gap({'a': values[:1000], 'b': values[1000:]}, 10**9, 11, 300))\n"
)


def test_threads_and_vector_units_move_no_digit():
    plain = _run(_DIGITS, {"OPENBLAS_NUM_THREADS": "1"})
    assert _run(_DIGITS, {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}) == plain
    dispatched = _run(
        "from numpy._core import _multiarray_umath as m\n"
        "print(' '.join(f for f in m.__cpu_dispatch__ if m.__cpu_features__.get(f)))",
        {},
    ).strip()
    assert _run(_DIGITS, {"NPY_DISABLE_CPU_FEATURES": dispatched}) == plain


def _run(script: str, variables: dict[str, str]) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return done.stdout
