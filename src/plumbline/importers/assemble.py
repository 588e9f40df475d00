"""Which evidence bundle do the rows of another tool's file make, or what is missing for one?

Nothing is guessed: what neither the file nor an option says is refused with the list of what is missing, and what the
file says beyond the bundle's fields is listed.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from plumbline._version import __version__
from plumbline.canonical import canonical_sha256, sha256_hex
from plumbline.evidence.bundle import Bundle, parse
from plumbline.evidence.schema import FORMAT_VERSION, MANIFEST_FORMAT
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, digests, render_checksums
from plumbline.importers.base import Extract, ForeignFileError, Origin, Row
from plumbline.importers.fields import Draft, drafts, shown
from plumbline.importers.mapping import counted, leaves, shortened

_ID_DIGITS = 12
_SOURCE_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the user says beyond the file."""

    kind: str
    lang: str | None = None
    """For rows that name no language."""
    behavior: str | None = None
    """For rows that do not say whether an answer or a refusal is expected."""
    name: str | None = None
    """What the bundle calls itself; the file's name without its ending unless given."""
    only: str | None = None
    """The provider or model whose answers are taken."""
    keys: Mapping[str, str] = field(default_factory=dict)
    """Field to key or column."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A finished bundle, not yet written."""

    files: Mapping[str, bytes]
    """Name to content, the seal among them."""
    bundle: Bundle
    unmapped: Mapping[str, int]
    """Key to how many rows hold it."""
    silent: int
    """Items that stayed without an answer."""
    repeated: int
    """Items that were asked more than once."""


def assemble(origin: Origin, extract: Extract, choices: Choices) -> Imported:
    """Make the files of a sealed bundle. The same bytes and choices give the same bytes.

    Raises:
        ForeignFileError: something is missing, ambiguous or of a wrong type; names file and line or key.
    """
    if not extract.rows:
        raise ForeignFileError(f"{origin.name}: it holds no question")
    rows = _chosen(extract.rows, choices.only, origin.name)
    found = drafts(rows, choices.keys, lang=choices.lang, behavior=choices.behavior, name=origin.name)
    sources = _sources(found)
    items, responses = _records(found, sources)
    asked = any(row.asked and _can_answer(row, choices.keys) for row in rows)
    unmapped = counted(
        leaves(row.record, _taken(row, draft, choices.keys)) for row, draft in zip(rows, found, strict=True)
    )
    unmapped = dict(
        sorted(
            {
                **unmapped,
                **counted(draft.left for draft in found),
                **{shortened(key): count for key, count in extract.unmapped.items()},
            }.items()
        )
    )
    parts = {"items": "items.jsonl"}
    files = {"items.jsonl": _json_lines(items)}
    if asked:
        parts["responses"] = "responses.jsonl"
        files["responses.jsonl"] = _json_lines(responses)
    if sources:
        parts["sources"] = "sources.jsonl"
        files["sources.jsonl"] = _json_lines([{"id": identity, "text": text} for text, identity in sources.items()])
    manifest = {
        "format": MANIFEST_FORMAT,
        "format_version": FORMAT_VERSION,
        "name": choices.name or PurePath(origin.name).stem,
        "files": parts,
        "recording": {"mode": "import", "import": _account(origin, extract, choices, unmapped)},
    }
    files[MANIFEST] = (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()
    files[CHECKSUMS] = render_checksums(digests(files))
    return Imported(
        files=files,
        bundle=parse(files),
        unmapped=unmapped,
        silent=sum(response["response"] is None for response in responses) if asked else 0,
        repeated=sum("passes" in response for response in responses),
    )


def _chosen(rows: Sequence[Row], only: str | None, name: str) -> Sequence[Row]:
    variants = list(dict.fromkeys(row.variant for row in rows if row.variant is not None))
    listed = ", ".join(shown(variant) for variant in variants[:20])
    if only is None:
        if len(variants) > 1:
            raise ForeignFileError(
                f"{name}: it holds the answers of {len(variants)} providers or models: {listed}",
                remedy="Choose one with --only NAME; a bundle is the evidence of one target.",
            )
        return rows
    if only not in variants:
        raise ForeignFileError(f"{name}: --only {shown(only)}: it holds {listed or 'the answers of one target only'}")
    chosen = [row for row in rows if row.variant == only]
    absent = {row.question for row in rows} - {row.question for row in chosen}
    if absent:
        first = next(row for row in rows if row.question in absent)
        raise ForeignFileError(
            f"{first.where}: {len(absent)} questions were asked of others and not of {shown(only)}; this is the first",
            remedy="A bundle's questions are fixed before anybody answers. Run the evaluation to its end.",
        )
    return chosen


def _sources(found: Sequence[Draft]) -> dict[str, str]:
    texts = dict.fromkeys(text for draft in found for text in (*(draft.retrieved or ()), *draft.answering))
    return {text: f"src-{sha256_hex(text.encode())[:_SOURCE_DIGITS]}" for text in texts}


def _records(found: Sequence[Draft], sources: Mapping[str, str]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    items: dict[str, dict[str, Any]] = {}
    responses: dict[str, dict[str, Any]] = {}
    first: dict[str, Draft] = {}
    for draft in found:
        identity = draft.id or f"q-{canonical_sha256([draft.prompt, *draft.turns])[:_ID_DIGITS]}"
        item = _item(identity, draft, sources)
        response = _response(identity, draft, sources)
        if identity not in items:
            items[identity], responses[identity], first[identity] = item, response, draft
            continue
        _refuse_other(identity, draft, first[identity], same=_as_asked(item) == _as_asked(items[identity]))
        kept = responses[identity]
        kept.setdefault("passes", [kept["response"]]).append(response["response"])
    return list(items.values()), [_ordered(response) for response in responses.values()]


def _as_asked(item: Mapping[str, Any]) -> dict[str, Any]:
    # What was retrieved may differ from one pass to the next: it belongs to the answer.
    return {key: value for key, value in item.items() if key != "sources"}


def _refuse_other(identity: str, draft: Draft, first: Draft, *, same: bool) -> None:
    places = f"{draft.where}: the id {identity!r} stands already at {first.where}"
    if draft.id is None and first.id is None:
        places = f"{draft.where}: the same question stands already at {first.where}"
        if not same:
            raise ForeignFileError(
                f"{places}, with something else expected of it", remedy="Give each an id of its own: --map id=KEY"
            )
    elif not (draft.repeats and first.repeats):
        raise ForeignFileError(places)
    elif not same:
        raise ForeignFileError(f"{places}, with another question or another reference answer")
    if draft.turns:
        raise ForeignFileError(f"{places}: only questions of one turn can be kept with several answers")


def _item(identity: str, draft: Draft, sources: Mapping[str, str]) -> dict[str, Any]:
    item: dict[str, Any] = {
        "id": identity,
        "lang": draft.lang,
        "behavior": draft.behavior,
        "prompt": draft.prompt,
        **draft.more,
    }
    if draft.turns:
        item["turns"] = list(draft.turns)
    if draft.retrieved:
        item["sources"] = list(dict.fromkeys(sources[text] for text in draft.retrieved))
    if draft.answering:
        item["answering_sources"] = list(dict.fromkeys(sources[text] for text in draft.answering))
    return item


def _response(identity: str, draft: Draft, sources: Mapping[str, str]) -> dict[str, Any]:
    response: dict[str, Any] = {"id": identity, "response": draft.response}
    if draft.turns:
        response["turn_responses"] = list(draft.replies)
    if draft.retrieved is not None:
        response["retrieved"] = [{"id": sources[text], "text": text} for text in draft.retrieved]
    return response


def _ordered(response: dict[str, Any]) -> dict[str, Any]:
    keys = ("id", "response", "turn_responses", "passes", "retrieved")
    return {key: response[key] for key in keys if key in response}


def _can_answer(row: Row, keys: Mapping[str, str]) -> bool:
    return row.conversation is not None or row.failed or "response" in {**row.keys, **keys}


def _taken(row: Row, draft: Draft, keys: Mapping[str, str]) -> list[str]:
    return [*row.taken, *draft.read, *keys.values()]


def _account(origin: Origin, extract: Extract, choices: Choices, unmapped: Mapping[str, int]) -> dict[str, Any]:
    options = {
        "lang": choices.lang,
        "behavior": choices.behavior,
        "only": choices.only,
        "map": dict(sorted(choices.keys.items())) or None,
    }
    return {
        "kind": choices.kind,
        "file": {"name": origin.name, "sha256": sha256_hex(origin.data), "bytes": len(origin.data)},
        "harness_version": __version__,
        "options": {key: value for key, value in options.items() if value is not None},
        "file_says": {key: shortened(value) for key, value in extract.said.items()},
        "rows": len(extract.rows),
        "unmapped": dict(unmapped),
    }


def _json_lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
