"""Which random integers does a resampling draw, on every machine and in every year?

SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Its n-th
word is a function of the seed and n alone, so numpy can make many words at once and they are still the scalar
generator's. numpy's own streams are not used: they are promised for one build on one machine only.
"""

import hashlib
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

WORD = 1 << 64
"""Words lie in [0, WORD)."""

_GAMMA = 0x9E3779B97F4A7C15
_FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9
_SECOND_MULTIPLIER = 0x94D049BB133111EB

Words = npt.NDArray[np.uint64]


def suite_seed(run_seed: int, suite_id: str) -> int:
    """The seed of one suite, below 2**64: the first 16 hex digits of SHA-256 over "run_seed:suite_id".

    Every suite has its own, so two suites of a run never resample in step.
    """
    return int(hashlib.sha256(f"{run_seed}:{suite_id}".encode()).hexdigest()[:16], 16)


def bounded(seed: int, bound: int, count: int) -> Words:
    """The first `count` integers in [0, bound) that `seed` gives, shape (count,).

    Raises:
        ValueError: as `Stream.bounded`.
    """
    return Stream(seed).bounded(bound, count)


class Stream:
    """Successive draws from one seed. How draws are batched never changes what is drawn.

    Args:
        seed: any integer; only its residue modulo 2**64 counts.
    """

    __slots__ = ("_position", "_seed")

    def __init__(self, seed: int) -> None:
        self._seed = np.uint64(seed % WORD)
        self._position = 0

    def words(self, count: int) -> Words:
        """The next `count` raw 64-bit words, shape (count,)."""
        mixed = np.arange(self._position + 1, self._position + count + 1, dtype=np.uint64)
        self._position += count
        # In place: a fresh array for each step would cost more than the arithmetic. Overflow is the modulus.
        mixed *= np.uint64(_GAMMA)
        mixed += self._seed
        mixed ^= mixed >> np.uint64(30)
        mixed *= np.uint64(_FIRST_MULTIPLIER)
        mixed ^= mixed >> np.uint64(27)
        mixed *= np.uint64(_SECOND_MULTIPLIER)
        mixed ^= mixed >> np.uint64(31)
        return mixed

    def bounded(self, bound: int, count: int) -> Words:
        """The next `count` integers in [0, bound), each equally likely, shape (count,).

        Words below 2**64 mod bound are thrown away; the others are reduced modulo `bound`.

        Raises:
            ValueError: `bound` is not in [1, 2**64), or `count` is negative.
        """
        _check(bound, count)
        floor = np.uint64(WORD % bound)
        drawn = self.words(count)
        # Asking for exactly as many words as were thrown away never takes one word too many.
        while drawn.size and drawn.min() < floor:
            kept = drawn[drawn >= floor]
            drawn = np.concatenate([kept, self.words(count - kept.size)])
        _reduce(drawn, bound)
        return drawn

    def rows(self, runs: Sequence[tuple[int, int]], count: int) -> Words:
        """The next `count` rows, made of runs of integers in [0, bound), shape (count, sum of lengths).

        The order is that of drawing row after row and, within a row, run after run.

        Args:
            runs: (bound, length) of each run of a row.
            count: how many rows.

        Raises:
            ValueError: a bound is not in [1, 2**64), or a length or `count` is negative.
        """
        for bound, length in runs:
            _check(bound, length)
        width = sum(length for _, length in runs)
        _check(1, count)
        start = self._position
        drawn = self.words(count * width).reshape(count, width)
        left = 0
        for bound, length in runs:
            part = drawn[:, left : left + length]
            left += length
            if part.size and part.min() < np.uint64(WORD % bound):
                # A word thrown away moves all later ones by a place. With bounds the size of a suite this
                # happens once in some 10**15 words, so the plain way is fast enough.
                self._position = start
                parts = [self.bounded(bound, length) for _ in range(count) for bound, length in runs]
                return np.concatenate(parts).reshape(count, width)
            _reduce(part, bound)
        return drawn


def _check(bound: int, count: int) -> None:
    if not 1 <= bound < WORD:
        raise ValueError(f"a bound must be in [1, 2**64), not {bound}")
    if count < 0:
        raise ValueError(f"cannot draw {count} integers")


def _reduce(words: Words, bound: int) -> None:
    """Replace `words` by `words` mod `bound`: numpy divides by one integer faster than it reduces."""
    divisor = np.uint64(bound)
    quotients = words // divisor
    quotients *= divisor
    words -= quotients
