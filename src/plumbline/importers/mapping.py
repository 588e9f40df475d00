"""Which value does a key name, and which keys did nobody take?"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ABSENT: Any = object()
"""What a key names that is not there."""

_DEEPEST = 6
_LONGEST = 80


def value_at(record: Mapping[str, Any], key: str) -> Any:  # noqa: ANN401 - any JSON value
    """The value that `key` names: a key of the record itself, or else a path of keys and list places with dots.

    `ABSENT` where there is none.
    """
    if key in record:
        return record[key]
    value: Any = record
    for part in key.split("."):
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif (
            isinstance(value, list) and part.isascii() and part.isdigit() and len(part) < 10 and int(part) < len(value)
        ):
            value = value[int(part)]
        else:
            return ABSENT
    return value


def leaves(record: Mapping[str, Any], taken: Iterable[str]) -> list[str]:
    """The keys of a record that hold something and that nobody has taken, as paths; list places are written `[]`.

    An object deeper than six levels is one entry. `taken` are keys as `value_at` reads them; what lies under a taken
    key is taken too.
    """
    spoken = {tuple(key.split(".")) for key in taken} | {(key,) for key in taken if key in record}
    found: dict[str, None] = {}
    pending: list[tuple[tuple[str, ...], str, Any]] = [((), "", record)]
    while pending:
        path, shown, value = pending.pop()
        if path in spoken or value is None or (isinstance(value, str | list | dict) and not value):
            continue
        if isinstance(value, Mapping) and len(path) < _DEEPEST:
            inner = [((*path, key), f"{shown}.{key}" if shown else key, value[key]) for key in value]
        elif isinstance(value, list) and len(path) < _DEEPEST and any(isinstance(part, dict) for part in value):
            inner = [((*path, str(place)), f"{shown}[]", part) for place, part in enumerate(value)]
        else:
            found[shortened(shown)] = None
            continue
        pending.extend(reversed(inner))
    return list(found)


def shortened(key: str) -> str:
    """Text of a file as it can stand in a manifest: UTF-8 and not long."""
    plain = key.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
    return plain if len(plain) <= _LONGEST else plain[: _LONGEST - 1] + "…"


def counted(rows: Iterable[Sequence[str]]) -> dict[str, int]:
    """How many rows hold each unmapped key, by key."""
    counts: dict[str, int] = {}
    for keys in rows:
        for key in keys:
            counts[key] = counts.get(key, 0) + 1
    return dict(sorted(counts.items()))
