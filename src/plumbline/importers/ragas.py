"""What does a dataset of Ragas hold, as `EvaluationDataset.to_jsonl` and `to_csv` write it?

In CSV the tool writes lists as Python shows them; `literal` reads that.
"""

import json
import re
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from plumbline.importers.base import Extract, ForeignFileError, Origin, Row
from plumbline.importers.dialogue import conversation
from plumbline.importers.documents import csv_rows, json_lines, json_of

SUMMARY = "an EvaluationDataset of Ragas (.jsonl or .csv)"

_KEYS = {
    "prompt": "user_input",
    "response": "response",
    "expected": "reference",
    "retrieved": "retrieved_contexts",
    "answering": "reference_contexts",
}
_LISTS = ("retrieved_contexts", "reference_contexts", "retrieved_context_ids", "reference_context_ids")

_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")|(?P<word>None|True|False)|(?P<rest>[\[\]{},:\s]+|[-+.\deE]+)"""
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8})|(.))")
_PLAIN = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
_WORDS = {"None": "null", "True": "true", "False": "false"}


def read(origin: Origin) -> Extract:
    """One row for each sample.

    Raises:
        ForeignFileError: not such a dataset.
    """
    table = PurePath(origin.name).suffix == ".csv"
    return Extract(rows=[_row(where, record) for where, record in (_cells(origin) if table else json_lines(origin))])


def _row(where: str, record: dict[str, Any]) -> Row:
    if "user_input" not in record:
        raise ForeignFileError(f"{where}: the key 'user_input' is missing")
    if isinstance(record["user_input"], list):
        said = conversation(record["user_input"], f"{where}: user_input", role_key="type")
        asked = any(reply is not None for reply in said.replies)
        keys = {"expected": "reference"}
        return Row(where=where, record=record, keys=keys, conversation=said, taken=("user_input",), asked=asked)
    return Row(where=where, record=record, keys=_KEYS, asked=record.get("response") is not None)


def _cells(origin: Origin) -> Iterator[tuple[str, dict[str, Any]]]:
    for where, record in csv_rows(origin):
        lists = {key: literal(record[key], f"{where}: {key}") for key in _LISTS if record.get(key)}
        question = record.get("user_input")
        if isinstance(question, str) and question.startswith("[{'content': "):
            lists["user_input"] = literal(question, f"{where}: user_input")
        yield where, {**record, **lists}


def literal(text: str, where: str) -> Any:  # noqa: ANN401 - what stands in the cell
    """The lists, texts and numbers that Python's `repr` shows.

    Texts are rewritten as JSON and the whole is read as that: Python's own parser can be crashed by deep nesting.

    Raises:
        ForeignFileError: anything else.
    """
    written, end = [], 0
    while end < len(text):
        token = _TOKEN.match(text, end)
        if token is None:
            raise ForeignFileError(f"{where}: not a list as Python writes it, at character {end + 1}")
        end = token.end()
        if token["text"] is not None:
            written.append(json.dumps(_ESCAPE.sub(lambda found: _unescaped(found, where), token["text"][1:-1])))
        else:
            written.append(_WORDS[token["word"]] if token["word"] is not None else token["rest"])
    return json_of("".join(written), where)


def _unescaped(found: re.Match[str], where: str) -> str:
    digits = found[1] or found[2] or found[3]
    if digits is None:
        if found[4] not in _PLAIN:
            raise ForeignFileError(f"{where}: the escape {found[0]!r} is none that Python writes")
        return _PLAIN[found[4]]
    code = int(digits, 16)
    if code > 0x10FFFF:
        raise ForeignFileError(f"{where}: {found[0]!r} is no character")
    return chr(code)
