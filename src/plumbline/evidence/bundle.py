"""What is in a bundle, once its seal is known to hold?"""

import gc
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Generic, TypeVar

from plumbline.canonical import SHORT_ID_LENGTH
from plumbline.errors import BundleError, IntegrityError
from plumbline.evidence.files import real
from plumbline.evidence.schema import (
    FORMAT_VERSION,
    MANIFEST_FORMAT,
    Checksums,
    Item,
    Manifest,
    Response,
    Source,
    decode,
    decode_records,
    place,
)
from plumbline.evidence.seal import MANIFEST, Inventory, read_inventory, verify_inventory

_DEEPEST = 32
_LARGEST = 2**53 - 1
_PLAIN_PATH = re.compile(r"(?!-)[\w./-]+", re.ASCII)
_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U000e0000-\U000e0fff]"
)

T = TypeVar("T", Item, Response, Source)


class _Records(Mapping[str, int], Generic[T]):
    """The records of one file by id, and as a mapping the 1-based line of each id.

    Lines are looked up where something is to be shown, which of most records is never: the index is made when asked.
    """

    def __init__(self, file: str, numbers: Sequence[int]) -> None:
        self.file = file
        self.by_id: dict[str, T] = {}
        """In file order."""
        self._numbers = numbers
        self._index: dict[str, int] | None = None

    def __getitem__(self, identity: str) -> int:
        if self._index is None:
            self._index = dict(zip(self.by_id, self._numbers, strict=True))
        return self._index[identity]

    def __iter__(self) -> Iterator[str]:
        return iter(self.by_id)

    def __len__(self) -> int:
        return len(self.by_id)

    def place(self, identity: str) -> str:
        """`file:line` of a record."""
        return place(self.file, self[identity])


@dataclass(frozen=True, slots=True)
class Bundle:
    """A verified bundle: loaded once, never changed."""

    manifest: Manifest
    sha256: str
    """The dataset hash."""
    items: tuple[Item, ...]
    """In file order; ids are unique."""
    responses: Mapping[str, Response] | None
    """By item id; None for a question set."""
    sources: Mapping[str, Source]
    """By id; empty where the bundle has no corpus."""
    lines: Mapping[str, Mapping[str, int]]
    """Role (`items`, `responses`, `sources`) to record id to 1-based line."""
    contents: Mapping[str, bytes]
    """Role to the very bytes that were hashed and parsed."""

    @property
    def name(self) -> str:
        """What the bundle calls itself."""
        return self.manifest.name or "unnamed"

    @property
    def dataset_id(self) -> str:
        """The short form of the dataset hash: its first 12 hex digits."""
        return self.sha256[:SHORT_ID_LENGTH]

    def response_text(self, item_id: str) -> str:
        """What the target said to an item; a missing record and null are the empty string."""
        record = (self.responses or {}).get(item_id)
        return (record.response if record is not None else None) or ""

    @property
    def page(self) -> str | None:
        """The captured page as text, or None where the bundle has none; what is not UTF-8 becomes U+FFFD."""
        content = self.contents.get("interface")
        return None if content is None else content.decode("utf-8", errors="replace")

    def file_of(self, role: str) -> str:
        """The name, relative to the bundle, of the file with this role."""
        return self.manifest.files.declared()[role]


def load(folder: Path) -> Bundle:
    """Read, verify and parse a bundle folder.

    Raises:
        IntegrityError: the bytes are not what was sealed (exit 3).
        ConfigurationError: the folder cannot be read, or its sealed content is not a bundle (exit 4).
    """
    try:
        return parse(read_inventory(folder))
    except IntegrityError as error:
        # The command to run is one that can be run as it stands.
        short = os.path.normpath(folder)
        if error.remedy is not None and _PLAIN_PATH.fullmatch(short) and real(Path(short)) == real(folder):
            error.remedy = error.remedy.replace("<bundle>", short)
        raise


def parse(inventory: Inventory) -> Bundle:
    """Verify and parse the files of a bundle, read by whoever calls.

    Raises:
        IntegrityError: the bytes are not what was sealed (exit 3).
        BundleError: the sealed content is not a bundle (exit 4).
    """
    sums = verify_inventory(inventory)
    collecting = gc.isenabled()
    gc.disable()  # nothing here is garbage; looking for it costs more than the decoding
    try:
        return _parse(inventory, sums)
    finally:
        if collecting:
            gc.enable()


def _parse(inventory: Inventory, sums: Checksums) -> Bundle:
    manifest = _read_manifest(inventory, sums.files)
    names = manifest.files.declared()
    contents = {role: inventory[name] for role, name in names.items()}
    items = _read(contents["items"], Item, names["items"], _check_item)
    if not items.by_id:
        raise BundleError(f"{names['items']}: the bundle has no items")
    sources = _read(contents.get("sources", b""), Source, names.get("sources", ""), _check_source)
    for item in items.by_id.values():
        if fault := _fault_in_references(item, items.by_id, sources.by_id):
            raise BundleError(f"{items.place(item.id)}: {fault}")
    responses = _read(contents.get("responses", b""), Response, names.get("responses", ""))
    for item_id, response in responses.by_id.items():
        if item_id not in items.by_id:
            raise BundleError(f"{responses.place(item_id)}: response to an unknown item {item_id!r}")
        if fault := _fault_in_response(response, items.by_id[item_id]):
            raise BundleError(f"{responses.place(item_id)}: {fault}")
    return Bundle(
        manifest=manifest,
        sha256=sums.bundle_sha256,
        items=tuple(items.by_id.values()),
        responses=responses.by_id if "responses" in names else None,
        sources=sources.by_id,
        lines={"items": items, "responses": responses, "sources": sources},
        contents=contents,
    )


def _read_manifest(inventory: Inventory, sealed: Mapping[str, str]) -> Manifest:
    if MANIFEST not in inventory:
        raise BundleError(f"{MANIFEST}: the bundle has no manifest")
    manifest = decode(inventory[MANIFEST], Manifest, file=MANIFEST)
    if manifest.format != MANIFEST_FORMAT:
        raise BundleError(f"{MANIFEST}: format {manifest.format!r} is not {MANIFEST_FORMAT!r}")
    if manifest.format_version != FORMAT_VERSION:
        raise BundleError(f"{MANIFEST}: format_version {manifest.format_version} is not {FORMAT_VERSION}")
    if manifest.name is not None and not manifest.name.strip():
        raise BundleError(f"{MANIFEST}: the name is blank")
    if fault := _fault_in_recording(manifest.recording):
        raise BundleError(f"{MANIFEST}: the key 'recording' {fault}")
    for role, name in manifest.files.declared().items():
        if name not in sealed:
            raise BundleError(f"{MANIFEST}: files.{role} names {name!r}, which is no file covered by the seal")
    return manifest


def _fault_in_recording(value: object) -> str | None:
    # It goes into the report as it is, and the report is sealed over a canonical form that has its limits.
    level = [value]
    for _ in range(_DEEPEST):
        if any(isinstance(found, int) and abs(found) > _LARGEST for found in level):
            return "holds an integer that not every reader of JSON keeps exactly"
        inner = (
            found.values() if isinstance(found, dict) else found for found in level if isinstance(found, dict | list)
        )
        level = list(chain.from_iterable(inner))
        if not level:
            return None
    return f"is nested deeper than {_DEEPEST} levels"


def _read(
    data: bytes, kind: type[T], file: str, check: Callable[[T], str | None] = lambda _record: None
) -> _Records[T]:
    decoded, numbers = decode_records(data, kind, file=file)
    records = _Records[T](file, numbers)
    by_id = records.by_id
    for number, record in zip(numbers, decoded, strict=True):
        if fault := _fault_in_id(record.id) or check(record):
            raise BundleError(f"{place(file, number)}: {fault}")
        if record.id in by_id:
            first = numbers[list(by_id).index(record.id)]
            raise BundleError(f"{place(file, number)}: the id {record.id!r} stands already in line {first}")
        by_id[record.id] = record
    return records


def unprintable(text: str) -> bool:
    """Whether a name holds a character that cannot be seen: a control, a line break, a zero-width mark and the like.

    A fixed list and no Unicode table, so that every interpreter decides alike.
    """
    return _UNPRINTABLE.search(text) is not None


def _fault_in_id(identity: str) -> str | None:
    if not identity.strip():
        return "the id is blank"
    if not (identity.isascii() and identity.isprintable()) and unprintable(identity):
        # Ids are shown in logs, comments and links; one that holds a line break could forge a line of its own.
        return f"the id {identity!r} holds characters that cannot be printed"
    return None


def _check_item(item: Item) -> str | None:
    if not item.lang.strip():
        return "the key 'lang' is blank"
    if not item.prompt.strip():
        return "the key 'prompt' is blank"
    if item.behavior == "answer" and not (item.expected or "").strip():
        return "an answer item needs a reference answer at the key 'expected'"
    if item.answering_sources is not None:
        if not item.answering_sources:
            return "the list 'answering_sources' is empty"
        if item.behavior == "refuse":
            return "a refuse item cannot declare 'answering_sources'"
    if item.cluster is not None and not item.cluster.strip():
        return "the key 'cluster' is blank"
    if item.turns and not all(turn.strip() for turn in item.turns):
        return "a turn in 'turns' is blank"
    if not all(text.strip() for text in (*item.forbidden, *item.forbidden_claims)):
        return "a blank string in 'forbidden' or 'forbidden_claims' would match everything"
    return None


def _check_source(source: Source) -> str | None:
    return None if source.text.strip() else "a blank passage would support anything"


def _fault_in_response(response: Response, item: Item) -> str | None:
    if response.passes is not None and (not response.passes or response.passes[0] != response.response):
        return "the first of 'passes' must be the text at the key 'response'"
    if response.turn_responses is not None:
        asked = 1 + len(item.turns)
        if len(response.turn_responses) != asked:
            return f"'turn_responses' has {len(response.turn_responses)} entries, and the item asks {asked} turns"
    return None


def _fault_in_references(item: Item, items: Mapping[str, Item], sources: Mapping[str, Source]) -> str | None:
    for source_id in (*item.sources, *(item.answering_sources or ())):
        if source_id not in sources:
            return f"the source {source_id!r} is not in the corpus"
    if item.translation is not None and item.translation.of not in items:
        return f"translation.of names {item.translation.of!r}, which is no item"
    return None
