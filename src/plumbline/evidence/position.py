"""Where on a line of a JSON Lines file does a piece of a decoded string stand?

Findings point at code points of decoded text, editors and code scanning at columns of the file. Between
the two lie JSON escapes, UTF-8 and surrogate pairs. The line is walked once per step of the path, and
nothing is decoded that the path does not lead to. Every pattern is possessive and anchored, so time is
linear in the line even if it is not JSON at all.
"""

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = re.compile(rb'"([^"\\]*+(?:\\.[^"\\]*+)*+)"', re.DOTALL)
_SCALAR = re.compile(rb"[^][{}\",: \t\r\n]++")
# Up to and with the next brackets that stand outside of strings: opening ones, or else closing ones.
_BRACKETS = re.compile(rb'(?:[^][{}"]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+(?:([\[{]++)|([\]}]++))', re.DOTALL)
# Runs of code points of one written width: plain ones, surrogate pairs of escapes, other \u escapes, a lone
# high surrogate, short escapes. A run of the third kind stops before a high surrogate: it may begin a pair.
_RUN = re.compile(
    r"(?P<plain>[^\\]++)"
    r"|(?P<pairs>(?:\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})++)"
    r"|(?P<units>(?:\\u(?![dD][89abAB])[0-9a-fA-F]{4})++)"
    r"|(?P<lone>\\u[0-9a-fA-F]{4})"
    r"|(?P<short>(?:\\[^u])++)"
)
_WIDTHS = {"plain": 1, "pairs": 12, "units": 6, "lone": 6, "short": 2}


class PositionError(ValueError):
    """The line has no such string, or the string no such piece."""


class Columns(NamedTuple):
    """A region of one line, in UTF-16 code units: 1-based start, exclusive end (SARIF 2.1.0, 3.30)."""

    start_column: int
    end_column: int


def locate(line: bytes, path: Sequence[str | int], start: int | None = None, end: int | None = None) -> Columns:
    """The columns of code points [start, end) of the string at `path`.

    An escape counts whole: a code point written as a surrogate pair of escapes is twelve columns wide.

    Args:
        line: one JSON value as it stands in the file, in UTF-8, with or without the line's end.
        path: keys and indices that lead to a string; of equal keys in one object the last counts, as decoded.
        start: first code point of the decoded string; None is its beginning, just after the quote.
        end: code point after the last; None is the string's end, just before the quote.

    Raises:
        PositionError: the path leads nowhere or to no string, the piece is not within the string, or what
            had to be read of the line is not JSON in UTF-8.
    """
    place = _skip_space(line, 0)
    for step in path:
        place = _enter(line, place, step)
    string = _STRING.match(line, place)
    if string is None:
        raise PositionError(f"{list(path)} does not lead to a string")
    try:
        before = line[: string.start(1)].decode()
        body = string[1].decode()
    except UnicodeDecodeError as error:
        raise PositionError(f"the line is not UTF-8: {error}") from error
    first, last = _raw_offsets(body, start, end)
    origin = 1 + _utf16_length(before)
    start_column = origin + _utf16_length(body[:first])
    return Columns(start_column, start_column + _utf16_length(body[first:last]))


def _raw_offsets(body: str, start: int | None, end: int | None) -> tuple[int, int]:
    """Offsets in `body`, the text between the quotes as written, of decoded offsets `start` and `end`."""
    first = 0 if start is None else start
    if first < 0 or (end is not None and end < first):
        raise PositionError(f"[{start}, {end}) is no piece of a string")
    found: list[int] = []
    raw, decoded, width, count = 0, 0, 1, 0
    for offset in (first, end):
        if offset is None:
            return found[0], len(body)
        while offset > decoded + count:
            raw, decoded = raw + width * count, decoded + count
            width, count = _run(body, raw)
            if not count:
                raise PositionError(f"the string has {decoded} code points, not {offset}")
        found.append(raw + width * (offset - decoded))
    return found[0], found[1]


def _run(body: str, place: int) -> tuple[int, int]:
    """(width, count): from `place` on, `count` code points are written with `width` characters each."""
    run = _RUN.match(body, place)
    if run is None:
        if place < len(body):
            raise PositionError(f"no escape of JSON: {body[place : place + 6]!r}")
        return 1, 0
    width = _WIDTHS[run.lastgroup or "plain"]
    return width, (run.end() - place) // width


def _enter(line: bytes, place: int, step: str | int) -> int:
    """Where the value under a key or index of the container at `place` begins."""
    if isinstance(step, str):
        return _member(line, place, step)
    if line[place : place + 1] != b"[":
        raise PositionError(f"no list at byte {place} to take item {step} of")
    if step >= 0:
        for index, value in enumerate(_items(line, place)):
            if index == step:
                return value
    raise PositionError(f"the list at byte {place} has no item {step}")


def _member(line: bytes, place: int, name: str) -> int:
    if line[place : place + 1] != b"{":
        raise PositionError(f"no object at byte {place} to take {name!r} of")
    plain = name.encode("utf-8", "surrogatepass")
    found = None
    for key in _items(line, place):
        string = _STRING.match(line, key)
        if string is None:
            raise PositionError(f"no key at byte {key}")
        value = _skip_space(line, string.end())
        if line[value : value + 1] != b":":
            raise PositionError(f"no colon at byte {value}")
        if string[1] == plain or (b"\\" in string[1] and _decoded(string[0]) == name):
            found = _skip_space(line, value + 1)
    if found is None:
        raise PositionError(f"the object at byte {place} has no {name!r}")
    return found


def _items(line: bytes, place: int) -> Iterator[int]:
    """Where each item of the list, or key of the object, at `place` begins."""
    closing = b"]" if line[place : place + 1] == b"[" else b"}"
    place = _skip_space(line, place + 1)
    if line[place : place + 1] == closing:
        return
    while True:
        yield place
        place = _skip_space(line, _skip_value(line, place))
        if closing == b"}":
            # The key is behind; its colon was looked at by whoever took the key.
            place = _skip_space(line, _skip_value(line, _skip_space(line, place + 1)))
        match line[place : place + 1]:
            case b",":
                place = _skip_space(line, place + 1)
            case mark if mark == closing:
                return
            case _:
                raise PositionError(f"neither a comma nor an end at byte {place}")


def _skip_value(line: bytes, place: int) -> int:
    """Where the value at `place` ends."""
    if line[place : place + 1] in (b"[", b"{"):
        end, depth = place, 0
        while brackets := _BRACKETS.match(line, end):
            end = brackets.end()
            depth += len(brackets[1] or b"") - len(brackets[2] or b"")
            if depth <= 0:
                return end + depth
        raise PositionError(f"what begins at byte {place} has no end")
    found = _STRING.match(line, place) or _SCALAR.match(line, place)
    if found is None:
        raise PositionError(f"no value at byte {place}")
    return found.end()


def _skip_space(line: bytes, place: int) -> int:
    found = _SPACE.match(line, place)
    return found.end() if found else place


def _decoded(string: bytes) -> object:
    try:
        return json.loads(string)
    except ValueError as error:
        raise PositionError(f"a key is not a JSON string: {error}") from error


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2
