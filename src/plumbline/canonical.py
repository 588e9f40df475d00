"""Which bytes stand for a JSON value when it is hashed?

RFC 8785 (JSON Canonicalization Scheme), so that an auditor can recompute every digest with any implementation of it.
"""

import hashlib
from typing import Any

SHORT_ID_LENGTH = 12
"""Hex digits of a digest that are shown where the whole would not be read."""


def sha256_hex(data: bytes) -> str:
    """The SHA-256 digest of `data` as 64 lowercase hex digits."""
    return hashlib.sha256(data).hexdigest()


def canonical_json(value: Any) -> bytes:  # noqa: ANN401 - any JSON value
    """The RFC 8785 serialisation of `value`, made of dict, list, tuple, str, int, float, bool and None.

    Raises:
        rfc8785.CanonicalizationError: an integer beyond 2**53 - 1, a NaN or an infinity.
    """
    import rfc8785  # noqa: PLC0415 - only commands that hash JSON pay for it

    return rfc8785.dumps(value)


def canonical_sha256(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """SHA-256, as hex, over the RFC 8785 serialisation of `value`."""
    return sha256_hex(canonical_json(value))
