"""Are these the shards of one recording, all of them, and what do they make together?

A matrix of CI jobs records a shard each. Joined they are the bundle that one job would have written: the same items
and answers, byte for byte. Anything that could make them the answers of two targets, or of a part, is refused.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from plumbline.errors import BundleError, ConfigurationError
from plumbline.evidence.bundle import load, parse
from plumbline.evidence.schema import Item, Manifest, Response, decode_lines
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, read_inventory
from plumbline.record.place import Workplace, refuse_place
from plumbline.record.questions import QuestionSet, Shard
from plumbline.record.writing import manifest_bytes, write_bundle

_SAME: Mapping[str, Callable[["_Part"], object]] = {
    "the question set": lambda part: part.recording["questions"],
    "the call shape (request_sha256)": lambda part: part.recording["request_sha256"],
    "the target": lambda part: (part.recording["target"], part.recording["adapter"]),
    "passes": lambda part: part.recording["passes"],
    "Plumbline's own code (harness_source_sha256)": lambda part: part.recording["harness_source_sha256"],
    "on_error": lambda part: part.recording["bounds"]["on_error"],
    "the authorisation": lambda part: part.recording.get("authorisation"),
    "synthetic": lambda part: part.manifest.synthetic,
    "files of the question set": lambda part: part.carried,
    "name, version or description": lambda part: (
        part.manifest.name,
        part.manifest.version,
        part.manifest.description,
        part.manifest.files,
    ),
}
"""What all shards of one recording have alike, and how to call it."""


@dataclass(frozen=True, slots=True)
class _Part:
    folder: Path
    sha256: str
    manifest: Manifest
    recording: Mapping[str, Any]
    shard: Shard
    items: tuple[Item, ...]
    carried: Mapping[str, bytes]
    lines: Sequence[bytes]
    """Of its responses file, in order of the items."""


@dataclass(frozen=True, slots=True)
class Merged:
    """What came of it."""

    sha256: str
    items: int
    shards: int
    empty: int


def merge(out: Path, folders: Sequence[Path], *, overwrite: bool) -> Merged:
    """Join shards into one sealed bundle.

    Args:
        out: where it will be.
        folders: the shards, in any order.
        overwrite: replace an older bundle there.

    Raises:
        IntegrityError: a shard is not what was sealed.
        ConfigurationError: they are not all the shards of one recording, or `out` is no place for a bundle.
    """
    refuse_place(out, list(folders), overwrite=overwrite)
    parts = sorted((_read(folder) for folder in folders), key=lambda part: part.shard.index)
    _refuse_incomplete(parts)
    _refuse_different(parts)
    first = parts[0]
    try:
        recording = _joined(parts)
    except (KeyError, TypeError, AttributeError) as fault:
        raise BundleError(f"the recording block of a shard is not whole: {fault}") from None
    questions = QuestionSet(
        name=first.manifest.name or "unnamed",
        manifest=first.manifest,
        sha256=first.recording["questions"]["sha256"],
        items=first.items,
        carried=first.carried,
        warnings=(),
    )
    place = Workplace(out)
    with place.held():
        if place.journal.exists():
            raise ConfigurationError(
                f"{out}: an unfinished recording of this place is there; finish or remove it first"
            )
        folder = place.clear_bundle()
        sha256 = write_bundle(
            folder,
            first.carried,
            _dealt_back(parts),
            lambda: manifest_bytes(questions, recording, synthetic=first.manifest.synthetic, whole=True),
        )
        load(folder)
        place.publish(overwrite=overwrite)
    return Merged(sha256, len(first.items), len(parts), len(recording["responses_recorded_empty"]))


def _read(folder: Path) -> _Part:
    inventory = read_inventory(folder)
    bundle = parse(inventory)
    recording = bundle.manifest.recording or {}
    shard, responses = _mark(folder, recording, inventory)
    try:
        records = decode_lines(inventory[responses], Response, file=responses)
        found = [record.id for _, record in records]
        texts = inventory[responses].split(b"\n")
        for told in _SAME.values():  # whatever a recording must say is there
            told(_Part(folder, bundle.sha256, bundle.manifest, recording, shard, bundle.items, {}, ()))
    except (KeyError, TypeError) as fault:
        raise BundleError(f"{folder}: its recording block is not whole: {fault}") from None
    wanted = [item.id for place, item in enumerate(bundle.items) if shard.holds(place)]
    if found != wanted:
        raise BundleError(f"{folder}: {responses} does not answer the items of shard {shard}, each once and in order")
    for item, (number, record) in zip(
        (item for place, item in enumerate(bundle.items) if shard.holds(place)), records, strict=True
    ):
        _refuse_part_of_an_answer(f"{folder}: {responses}:{number}", item, record, recording["passes"])
    return _Part(
        folder=folder,
        sha256=bundle.sha256,
        manifest=bundle.manifest,
        recording=recording,
        shard=shard,
        items=bundle.items,
        carried={name: data for name, data in inventory.items() if name not in {CHECKSUMS, MANIFEST, responses}},
        lines=[texts[number - 1] + b"\n" for number, _ in records],
    )


def _refuse_part_of_an_answer(where: str, item: Item, record: Response, passes: object) -> None:
    said = len(record.passes) if record.passes else 1
    if said != passes:
        raise BundleError(f"{where}: {record.id!r} has answers of {said} passes, and the recording has {passes}")
    turns = len(record.turn_responses) if record.turn_responses else 1
    if turns != 1 + len(item.turns):
        raise BundleError(f"{where}: {record.id!r} has answers to {turns} turns, and {1 + len(item.turns)} were asked")


def _mark(folder: Path, recording: Mapping[str, Any], inventory: Mapping[str, bytes]) -> tuple[Shard, str]:
    mark = recording.get("shard")
    if not isinstance(mark, dict):
        raise BundleError(f"{folder}: is no shard of a recording", remedy="plumbline record --shard I/N writes shards.")
    responses = mark.get("responses")
    try:
        shard = Shard.parse(f"{mark.get('index')}/{mark.get('of')}")
    except ValueError as fault:
        raise BundleError(f"{folder}: recording.shard: {fault}") from None
    if not isinstance(responses, str) or responses not in inventory or responses in {CHECKSUMS, MANIFEST}:
        raise BundleError(f"{folder}: recording.shard.responses names no file of the shard")
    return shard, responses


def _refuse_incomplete(parts: Sequence[_Part]) -> None:
    of = parts[0].shard.of
    for part in parts:
        if part.shard.of != of:
            raise ConfigurationError(
                f"{part.folder}: is one of {part.shard.of} shards, and {parts[0].folder} one of {of}"
            )
    seen: dict[int, Path] = {}
    for part in parts:
        if part.shard.index in seen:
            raise ConfigurationError(f"shard {part.shard} is there twice: {seen[part.shard.index]} and {part.folder}")
        seen[part.shard.index] = part.folder
    missing = [f"{index}/{of}" for index in range(1, of + 1) if index not in seen]
    if missing:
        raise ConfigurationError(
            f"{len(missing)} of {of} shards are missing: {', '.join(missing[:10])}",
            remedy="A part of a recording is no evidence of the whole; record what is missing first.",
        )


def _refuse_different(parts: Sequence[_Part]) -> None:
    first = parts[0]
    for part in parts[1:]:
        differing = [told for told, value in _SAME.items() if value(part) != value(first)]
        if differing:
            raise ConfigurationError(
                f"{part.folder} and {first.folder} are not shards of one recording; they differ in:\n"
                + "\n".join(f"  {told}" for told in differing)
            )


def _dealt_back(parts: Sequence[_Part]) -> Iterator[bytes]:
    waiting = [iter(part.lines) for part in parts]
    for position in range(len(parts[0].items)):
        yield next(waiting[position % len(parts)])


def _joined(parts: Sequence[_Part]) -> dict[str, Any]:
    blocks = [part.recording for part in parts]
    order = {item.id: place for place, item in enumerate(parts[0].items)}
    retries: dict[str, int] = {}
    for block in blocks:
        for fault, count in block["attempts"]["retries"].items():
            retries[fault] = retries.get(fault, 0) + count
    joined = {key: value for key, value in blocks[0].items() if key not in {"shard", "note"}}
    joined |= {
        "recorded_at": max(block["recorded_at"] for block in blocks),
        "started_at": min(block["started_at"] for block in blocks),
        "bounds": {
            key: value
            for key, value in blocks[0]["bounds"].items()
            if all(block["bounds"].get(key) == value for block in blocks)
        },
        "responses_recorded": sum(block["responses_recorded"] for block in blocks),
        # Sorting is stable, so turns and passes of one item stay in their order.
        "responses_recorded_empty": sorted(
            (entry for block in blocks for entry in block["responses_recorded_empty"]),
            key=lambda entry: order[entry["id"]],
        ),
        "attempts": {
            "calls": sum(block["attempts"]["calls"] for block in blocks),
            "retries": dict(sorted(retries.items())),
            "retry_after_seconds": round(sum(block["attempts"]["retry_after_seconds"] for block in blocks), 3),
        },
        "shards": [
            {
                "index": part.shard.index,
                "dataset_sha256": part.sha256,
                "started_at": part.recording["started_at"],
                "recorded_at": part.recording["recorded_at"],
                "attempts": part.recording["attempts"],
                "bounds": part.recording["bounds"],
            }
            for part in parts
        ],
    }
    replaced = [item for block in blocks for item in block.get("surrogates_replaced", ())]
    if replaced:
        joined["surrogates_replaced"] = sorted(replaced, key=order.__getitem__)
    notes = dict.fromkeys(block["note"] for block in blocks if "note" in block)
    if notes:
        joined["note"] = "; ".join(notes)
    return joined
