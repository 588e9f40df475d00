"""How does an exact score become an integer that sums are made of?"""

from collections.abc import Sequence
from fractions import Fraction

SCALE = 10**9
"""What a score of 1 is when scores become integers.

A score is rounded to the nearest multiple of 10**-9, ties to the even one, which can move a mean by at most
5 * 10**-10. Scores that differ by less count as equal.
"""


def scaled(scores: Sequence[Fraction]) -> list[int]:
    """Scores times `SCALE`, rounded to the nearest integer, ties to the even one.

    Raises:
        ValueError: a score is not in [0, 1].
    """
    # Many items share few scores, mostly the very same objects, and arithmetic on fractions is dear.
    known: dict[tuple[int, int], int] = {}
    by_identity: dict[int, int] = {}
    for identity, score in {id(score): score for score in scores}.items():
        ratio = above, below = score.as_integer_ratio()
        if ratio not in known:
            if not 0 <= above <= below:
                raise ValueError(f"a score must be in [0, 1], not {score}")
            known[ratio] = round(Fraction(above * SCALE, below))
        by_identity[identity] = known[ratio]
    return [by_identity[id(score)] for score in scores]
