"""Does a JSON object say the same key twice?

Readers of JSON resolve that differently (RFC 8259, section 4): which of the two is the answer, nobody can say.
"""

from collections.abc import Sequence
from typing import Any


class RepeatedKeyError(ValueError):
    """The first key that stands twice is its only argument."""


def each_key_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """The object of these pairs: an `object_pairs_hook` of the standard library's reader.

    Raises:
        RepeatedKeyError: a key stands twice.
    """
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _value in pairs:
            if key in seen:
                raise RepeatedKeyError(key)
            seen.add(key)
    return found
