"""How is a file of another tool read, so that every fault has a place and none is a crash?"""

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from plumbline.importers.base import ForeignFileError, Origin

MAX_BYTES = 256 * 1024 * 1024
"""The largest file that is read; what is unpacked from an archive counts too."""

_LARGEST_CELL = 16 * 1024 * 1024
_BOM = "\ufeff"


class _RepeatedKeyError(ValueError):
    pass


def text_of(data: bytes, where: str) -> str:
    """UTF-8 text, without a byte order mark at its beginning.

    Raises:
        ForeignFileError: it is not UTF-8; names the line.
    """
    try:
        return data.decode().removeprefix(_BOM)
    except UnicodeDecodeError as fault:
        number = data.count(b"\n", 0, fault.start) + 1
        raise ForeignFileError(f"{where}:{number}: not UTF-8: byte {data[fault.start]:#04x}") from None


def json_of(text: str, where: str, *, line: int | None = None) -> Any:  # noqa: ANN401 - any JSON value
    """One JSON document. NaN and infinities, which Python tools write among scores, are let through.

    Args:
        text: the document.
        where: the file, for messages.
        line: the line it stands in, for JSON Lines.

    Raises:
        ForeignFileError: malformed, nested too deeply, or with a key twice in one object.
    """
    at = where if line is None else f"{where}:{line}"
    try:
        return json.loads(text, object_pairs_hook=_pairs)
    except json.JSONDecodeError as fault:
        place = f"{where}:{fault.lineno if line is None else line}"
        raise ForeignFileError(f"{place}: not valid JSON: {fault.msg} at column {fault.colno}") from None
    except _RepeatedKeyError as fault:
        raise ForeignFileError(f"{at}: the key {fault.args[0]!r} stands twice in one object") from None
    except RecursionError:
        raise ForeignFileError(f"{at}: JSON is nested too deeply") from None
    except ValueError as fault:  # a number of more digits than Python reads
        raise ForeignFileError(f"{at}: not valid JSON: {fault}") from None


def _pairs(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _value in pairs:
            if key in seen:
                raise _RepeatedKeyError(key)
            seen.add(key)
    return found


def json_lines(origin: Origin) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each object of a JSON Lines file with its place. Blank lines are passed over.

    Raises:
        ForeignFileError: a line is no JSON object.
    """
    for number, line in enumerate(text_of(origin.data, origin.name).split("\n"), start=1):
        if line.strip(" \t\r"):
            yield (
                f"{origin.name}:{number}",
                record_of(json_of(line, origin.name, line=number), f"{origin.name}:{number}"),
            )


def csv_rows(origin: Origin) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each row of a CSV file as column to cell, with its place. An empty cell is None; an empty row is passed over.

    Raises:
        ForeignFileError: no header, a column twice, a row of another length, or broken quoting; names the line.
    """
    text = text_of(origin.data, origin.name)
    before = csv.field_size_limit(_LARGEST_CELL)
    try:
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        header: list[str] | None = None
        line = 1
        try:
            for cells in reader:
                where = f"{origin.name}:{line}"
                line = reader.line_num + 1
                if not any(cells):
                    continue
                if header is None:
                    header = _header(cells, where)
                elif len(cells) != len(header):
                    raise ForeignFileError(f"{where}: {len(cells)} cells, and the header has {len(header)} columns")
                else:
                    yield where, dict(zip(header, (cell or None for cell in cells), strict=True))
        except csv.Error as fault:
            raise ForeignFileError(f"{origin.name}:{line}: not valid CSV: {fault}") from None
        if header is None:
            raise ForeignFileError(f"{origin.name}: it is empty")
    finally:
        csv.field_size_limit(before)


def _header(cells: list[str], where: str) -> list[str]:
    seen: set[str] = set()
    for column in cells:
        if not column.strip():
            raise ForeignFileError(f"{where}: a column without a name")
        if column in seen:
            raise ForeignFileError(f"{where}: the column {column!r} stands twice")
        seen.add(column)
    return cells


def record_of(value: Any, where: str) -> dict[str, Any]:  # noqa: ANN401 - any JSON value
    """`value` if it is a JSON object.

    Raises:
        ForeignFileError: it is something else.
    """
    if not isinstance(value, dict):
        raise ForeignFileError(f"{where}: {kind_of(value)} stands where an object is wanted")
    return value


def list_of(value: Any, where: str) -> list[Any]:  # noqa: ANN401 - any JSON value
    """`value` if it is a JSON list.

    Raises:
        ForeignFileError: it is something else.
    """
    if not isinstance(value, list):
        raise ForeignFileError(f"{where}: {kind_of(value)} stands where a list is wanted")
    return value


def kind_of(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """What JSON calls the type of `value`, with its article."""
    names = {dict: "an object", list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
