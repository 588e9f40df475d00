"""Are the vectorised draws the scalar generator's, word for word?"""

import hashlib
from itertools import islice

import numpy as np
import pytest
import splitmix
from hypothesis import given
from hypothesis import strategies as st

from plumbline.statistics.rng import Stream, bounded, suite_seed

seeds = st.integers(0, 2**64 - 1)
# Small ones, ones of any size, and ones that make nearly every second word be thrown away.
bounds = st.integers(1, 50) | st.integers(1, 2**64 - 1) | st.integers(2**63 + 1, 2**63 + 9)


def scalar(seed: int, bound: int, count: int) -> list[int]:
    source = splitmix.words(seed)
    return [splitmix.below(source, bound) for _ in range(count)]


def test_words_published_with_the_algorithm():
    # The first outputs for seed 1234567, as the algorithm's common test vector has them.
    assert Stream(1234567).words(5).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@given(seed=seeds, count=st.integers(0, 300))
def test_words_are_the_scalar_generators(seed, count):
    assert Stream(seed).words(count).tolist() == list(islice(splitmix.words(seed), count))


@given(seed=seeds, bound=bounds, count=st.integers(0, 300))
def test_bounded_is_the_scalar_generators(seed, bound, count):
    drawn = bounded(seed, bound, count)
    assert drawn.dtype == np.uint64
    assert drawn.tolist() == scalar(seed, bound, count)


@given(seed=seeds, parts=st.lists(st.tuples(bounds, st.integers(0, 60)), max_size=8))
def test_batches_never_change_what_is_drawn(seed, parts):
    source = splitmix.words(seed)
    stream = Stream(seed)
    for bound, count in parts:
        assert stream.bounded(bound, count).tolist() == [splitmix.below(source, bound) for _ in range(count)]
    assert stream.words(1)[0] == next(source)


@given(seed=seeds, runs=st.lists(st.tuples(bounds, st.integers(0, 20)), max_size=5), count=st.integers(0, 20))
def test_rows_walk_their_runs_in_order(seed, runs, count):
    source = splitmix.words(seed)
    stream = Stream(seed)
    expected = [[splitmix.below(source, bound) for bound, length in runs for _ in range(length)] for _ in range(count)]
    drawn = stream.rows(runs, count)
    assert drawn.shape == (count, sum(length for _, length in runs))
    assert drawn.tolist() == expected
    assert stream.words(1)[0] == next(source)


def test_a_thrown_away_word_is_really_met():
    # Otherwise the tests above would say nothing about rejection.
    bound = 2**63 + 1
    raw = Stream(3).words(100)
    assert (raw < np.uint64(2**64 % bound)).sum() > 10


@given(run_seed=st.integers(-(10**6), 10**20), suite_id=st.text(st.characters(codec="utf-8"), max_size=20))
def test_suite_seed(run_seed, suite_id):
    digest = hashlib.sha256(f"{run_seed}:{suite_id}".encode()).digest()
    assert suite_seed(run_seed, suite_id) == int.from_bytes(digest[:8], "big")


def test_a_known_suite_seed():
    # printf '20260801:accuracy' | sha256sum
    assert f"{suite_seed(20260801, 'accuracy'):016x}" == "484e81999b2d7202"


@pytest.mark.parametrize("bound", [0, -1, 2**64])
def test_a_bound_that_cannot_be_is_refused(bound):
    with pytest.raises(ValueError, match="bound"):
        bounded(1, bound, 1)
    with pytest.raises(ValueError, match="bound"):
        Stream(1).rows([(bound, 1)], 1)


def test_a_negative_count_is_refused():
    with pytest.raises(ValueError, match="draw -1"):
        bounded(1, 5, -1)
    with pytest.raises(ValueError, match="draw -1"):
        Stream(1).rows([(5, -1)], 1)
    with pytest.raises(ValueError, match="draw -1"):
        Stream(1).rows([(5, 1)], -1)
