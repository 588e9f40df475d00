"""What does a dataset or a test run of DeepEval hold?

Datasets as `EvaluationDataset.save_as` writes them (JSON, JSON Lines, CSV) and test runs as they lie in
`DEEPEVAL_RESULTS_FOLDER`. In JSON Lines and CSV the tool joins passages with `|`, and splits them there when it reads
them again; so does this.
"""

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

from plumbline.importers.base import Extract, ForeignFileError, Origin, Row
from plumbline.importers.dialogue import conversation
from plumbline.importers.documents import csv_rows, json_lines, json_of, list_of, record_of, text_of

SUMMARY = "a dataset (.json, .jsonl, .csv) or a test run (.json) of DeepEval"

_GOLDEN = {
    "prompt": "input",
    "response": "actual_output",
    "expected": "expected_output",
    "retrieved": "retrieval_context",
    "answering": "context",
}
_CASE = {
    "prompt": "input",
    "response": "actualOutput",
    "expected": "expectedOutput",
    "retrieved": "retrievalContext",
    "answering": "context",
}
_JOINED = ("retrieval_context", "context")
_NESTED = ("turns", "additional_metadata", "custom_column_key_values")


def read(origin: Origin) -> Extract:
    """One row for each golden or test case.

    Raises:
        ForeignFileError: neither a dataset nor a test run.
    """
    suffix = PurePath(origin.name).suffix
    if suffix == ".jsonl":
        return Extract(rows=[_golden(where, _split(record)) for where, record in json_lines(origin)])
    if suffix == ".csv":
        return Extract(rows=[_golden(where, _split(_opened(record, where))) for where, record in csv_rows(origin)])
    document = json_of(text_of(origin.data, origin.name), origin.name)
    if isinstance(document, list):
        return Extract(rows=[_golden(where, record) for where, record in _records(document, origin.name, "")])
    run = record_of(document, origin.name)
    if "testCases" not in run:
        raise ForeignFileError(f"{origin.name}: neither a list of goldens nor a test run with the key 'testCases'")
    cases = _records(run["testCases"], origin.name, "testCases")
    dialogues = _records(run.get("conversationalTestCases") or [], origin.name, "conversationalTestCases")
    taken = {"testCases", "conversationalTestCases"}
    return Extract(
        rows=[
            *(Row(where=where, record=case, keys=_CASE) for where, case in cases),
            *(_dialogue(where, case) for where, case in dialogues),
        ],
        unmapped={key: 1 for key in run if key not in taken and run[key]},
    )


def _records(found: Any, name: str, key: str) -> Iterator[tuple[str, dict[str, Any]]]:  # noqa: ANN401 - any JSON value
    for n, record in enumerate(list_of(found, f"{name}: {key}")):
        where = f"{name}: {key}[{n}]"
        yield where, record_of(record, where)


def _golden(where: str, record: dict[str, Any]) -> Row:
    if "scenario" in record and "turns" in record:
        return _dialogue(where, record)
    return Row(where=where, record=record, keys=_GOLDEN, asked=record.get("actual_output") is not None)


def _dialogue(where: str, record: dict[str, Any]) -> Row:
    said = conversation(record.get("turns"), f"{where}: turns")
    asked = any(reply is not None for reply in said.replies)
    return Row(where=where, record=record, keys={}, conversation=said, taken=("turns",), asked=asked)


def _split(record: dict[str, Any]) -> dict[str, Any]:
    joined = {key: record[key].split("|") for key in _JOINED if isinstance(record.get(key), str)}
    return {**record, **joined}


def _opened(record: dict[str, Any], where: str) -> dict[str, Any]:
    cells = {key: json_of(record[key], f"{where}: {key}") for key in _NESTED if isinstance(record.get(key), str)}
    return {**record, **cells}
