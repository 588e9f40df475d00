"""What does a results file of promptfoo hold (`promptfoo eval --output results.json`)?

One result is one test, one prompt and one provider. What was sent is the rendered prompt, and what is expected stands
in assertions of many kinds, so the reference answer is named with `--map`, mostly `expected=vars.NAME`.
"""

from collections.abc import Mapping
from typing import Any

from plumbline.importers.base import Extract, ForeignFileError, Origin, Row
from plumbline.importers.documents import json_of, list_of, record_of, text_of
from plumbline.importers.mapping import value_at

SUMMARY = "results.json of promptfoo; several providers need --only"

_PROVIDER_FAILED = 2
"""`failureReason` of a result whose provider gave no answer; 1 is an assertion that did not hold."""

_TAKEN = ("provider", "prompt.label", "testIdx", "promptIdx", "failureReason", "response.error")


def read(origin: Origin) -> Extract:
    """One row for each result, in the order of the tests.

    Raises:
        ForeignFileError: not a results file.
    """
    document = record_of(json_of(text_of(origin.data, origin.name), origin.name), origin.name)
    summary = record_of(document.get("results"), f"{origin.name}: results")
    results = [
        (f"{origin.name}: results.results[{n}]", record_of(result, f"{origin.name}: results.results[{n}]"))
        for n, result in enumerate(list_of(summary.get("results"), f"{origin.name}: results.results"))
    ]
    several = len({_prompt(result) for _where, result in results}) > 1
    results.sort(key=lambda found: (_number(found[1], "testIdx"), _number(found[1], "promptIdx")))
    said = {
        "promptfoo": value_at(document, "metadata.promptfooVersion"),
        "timestamp": summary.get("timestamp"),
        "description": value_at(document, "config.description"),
    }
    return Extract(
        rows=[_row(where, result, several=several) for where, result in results],
        said={key: value for key, value in said.items() if isinstance(value, str)},
        unmapped={key: 1 for key in document if key not in {"results", "metadata", "evalId"} and document[key]},
    )


def _row(where: str, result: dict[str, Any], *, several: bool) -> Row:
    provider = result.get("provider")
    if isinstance(provider, Mapping):
        provider = provider.get("label") or provider.get("id")
    if not isinstance(provider, str):
        raise ForeignFileError(f"{where}.provider: no id of a provider")
    response = result.get("response")
    output = response.get("output") if isinstance(response, Mapping) else None
    told = isinstance(response, Mapping) and bool(response.get("error"))
    failed = result.get("failureReason") == _PROVIDER_FAILED or told or output is None
    return Row(
        where=where,
        record=result,
        keys={"prompt": "prompt.raw", "response": "response.output"},
        # `error` repeats what an assertion found, so it does not say that there was no answer.
        taken=_TAKEN,
        variant=f"{provider} / {_prompt(result)}" if several else provider,
        question=str(result.get("testIdx")),
        failed=failed,
    )


def _prompt(result: dict[str, Any]) -> str:
    label = value_at(result, "prompt.label")
    return label if isinstance(label, str) else str(result.get("promptIdx"))


def _number(result: dict[str, Any], key: str) -> int:
    value = result.get(key)
    return value if isinstance(value, int) else 0
