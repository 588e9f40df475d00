"""What does an eval log of Inspect hold, as JSON or as its `.eval` archive?

One log is one model. Epochs of a sample are passes. A sample whose run ended in an error stays without an answer.
"""

from collections.abc import Callable
from itertools import islice
from pathlib import PurePath
from typing import Any

from plumbline.importers.archive import members
from plumbline.importers.base import Conversation, Extract, ForeignFileError, Origin, Row
from plumbline.importers.dialogue import USERS, conversation
from plumbline.importers.documents import json_of, kind_of, list_of, record_of, text_of
from plumbline.importers.mapping import value_at

SUMMARY = "an eval log of Inspect (.eval or .json)"

_SHOWN = 20
_ATTACHMENT = "attachment://"
_BULKY = ("events", "events_data", "attachments", "store")
_TAKEN = ("input", "epoch", "messages", "output.completion", "output.choices", "error", "attachments", "response")


def read(origin: Origin) -> Extract:
    """One row for each sample and epoch, in the order of the log's own list of samples.

    Raises:
        ForeignFileError: not such a log, or one that holds fewer samples than it was to run.
    """
    header, samples = _opened(origin)
    evaluation = record_of(header.get("eval"), f"{origin.name}: eval")
    order = _order(evaluation, origin.name)
    rows = [(*_place(sample, where), _row(where, sample)) for where, sample in samples]
    if order is not None:
        _refuse_gaps({(identity, epoch) for identity, epoch, _row in rows}, order, evaluation, origin.name)
        rank = {identity: n for n, identity in enumerate(order)}
        rows.sort(key=lambda row: (rank.get(row[0], len(rank)), row[1]))
    said = {
        "inspect_ai": value_at(evaluation, "packages.inspect_ai"),
        "created": evaluation.get("created"),
        "task": evaluation.get("task"),
        "model": evaluation.get("model"),
        "status": header.get("status"),
    }
    return Extract(
        rows=[row for _identity, _epoch, row in rows],
        said={key: value for key, value in said.items() if isinstance(value, str)},
        unmapped={key: 1 for key in header if key not in {"version", "status", "eval", "samples"} and header[key]},
    )


def _opened(origin: Origin) -> tuple[dict[str, Any], list[tuple[str, dict[str, Any]]]]:
    """The header, and the samples with their places."""
    if PurePath(origin.name).suffix == ".eval":
        held = members(origin, lambda name: name == "header.json" or _is_sample(name))
        if "header.json" not in held:
            raise ForeignFileError(
                f"{origin.name}: header.json is missing: the run did not end",
                remedy="Run it to its end, or recover the log with Inspect itself.",
            )
        documents = {
            name: record_of(json_of(text_of(data, f"{origin.name}/{name}"), f"{origin.name}/{name}"), name)
            for name, data in held.items()
        }
        header = documents.pop("header.json")
        return header, [(f"{origin.name}/{name}", documents[name]) for name in sorted(documents)]
    header = record_of(json_of(text_of(origin.data, origin.name), origin.name), origin.name)
    found = list_of(header.get("samples"), f"{origin.name}: samples")
    places = [f"{origin.name}: samples[{n}]" for n in range(len(found))]
    return header, [(where, record_of(sample, where)) for where, sample in zip(places, found, strict=True)]


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _place(sample: dict[str, Any], where: str) -> tuple[str, int]:
    identity, epoch = sample.get("id"), sample.get("epoch")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise ForeignFileError(f"{where}: id: {kind_of(identity)} stands where a text or a whole number is wanted")
    if isinstance(epoch, bool) or not isinstance(epoch, int):
        raise ForeignFileError(f"{where}: epoch: {kind_of(epoch)} stands where a whole number is wanted")
    return str(identity), epoch


def _order(evaluation: dict[str, Any], name: str) -> list[str] | None:
    ids = value_at(evaluation, "dataset.sample_ids")
    if not isinstance(ids, list):
        return None
    if not all(isinstance(identity, str | int) for identity in ids):
        raise ForeignFileError(f"{name}: eval.dataset.sample_ids: an id that is neither a text nor a number")
    return [str(identity) for identity in ids]


def _refuse_gaps(held: set[tuple[str, int]], order: list[str], evaluation: dict[str, Any], name: str) -> None:
    # A sample that never ran has no text in the log; without it the set of questions would be another one.
    told = value_at(evaluation, "config.epochs")
    epochs = max((epoch for _identity, epoch in held), default=1)
    if isinstance(told, int) and 1 <= told <= 1000:
        epochs = max(told, epochs)
    places = ((identity, epoch) for identity in dict.fromkeys(order) for epoch in range(1, epochs + 1))
    absent = list(islice((place for place in places if place not in held), _SHOWN + 1))
    if absent:
        told = [identity if epochs == 1 else f"{identity} (epoch {epoch})" for identity, epoch in absent[:_SHOWN]]
        shown = ", ".join(told) + (" and more" if len(absent) > _SHOWN else "")
        raise ForeignFileError(
            f"{name}: eval.dataset.sample_ids lists samples that the log does not hold: {shown}",
            remedy="A sample that never ran cannot be taken over as a question. Run the evaluation to its end.",
        )


def _row(where: str, sample: dict[str, Any]) -> Row:
    attachments = sample.get("attachments")

    def resolve(text: str) -> str:
        if text.startswith(_ATTACHMENT) and isinstance(attachments, dict):
            found = attachments.get(text.removeprefix(_ATTACHMENT))
            return found if isinstance(found, str) else text
        return text

    target = sample.get("target")
    expected = "target.0" if isinstance(target, list) and len(target) == 1 else "target"
    keys = {"id": "id"} if isinstance(target, list) and len(target) > 1 else {"id": "id", "expected": expected}
    bulky = {key: "kept by Inspect" for key in _BULKY if sample.get(key)}
    return Row(
        where=where,
        record={**sample, **bulky},
        keys=keys,
        conversation=_conversation(where, sample, resolve),
        taken=_TAKEN,
        failed=sample.get("error") is not None,
        repeats=True,
    )


def _conversation(where: str, sample: dict[str, Any], resolve: Callable[[str], str]) -> Conversation:
    given = sample.get("input")
    if isinstance(given, str):
        prompt = resolve(given)
    else:
        asked = conversation(given, f"{where}: input", resolve=resolve)
        if len(asked.users) > 1:
            raise ForeignFileError(
                f"{where}: input: a conversation of {len(asked.users)} turns is given before the question; a bundle "
                "holds only what the target itself was asked and said"
            )
        prompt = asked.users[0]
    messages = sample.get("messages") or []
    if sum(isinstance(one, dict) and one.get("role") in USERS for one in list_of(messages, f"{where}: messages")) > 1:
        said = conversation(messages, f"{where}: messages", resolve=resolve)
        # The question as the dataset has it: a template of the task may stand around what was sent.
        return Conversation(users=(prompt, *said.users[1:]), replies=said.replies)
    completion = value_at(sample, "output.completion")
    choices = value_at(sample, "output.choices")
    silent = not isinstance(completion, str) or not choices
    return Conversation(users=(prompt,), replies=(None if silent else resolve(completion),))
