"""What is asked, and which part of it by this run?"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from plumbline.audit.scope import warnings
from plumbline.errors import BundleError, ConfigurationError
from plumbline.evidence.bundle import parse
from plumbline.evidence.schema import Item, Manifest
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, read_inventory
from plumbline.record.adapters.base import Question

RESPONSES = "responses.jsonl"
"""The file that recorded answers go to."""

MOST_PASSES = 10
MOST_SHARDS = 1000

_SHARD = re.compile(r"([1-9][0-9]{0,3})/([1-9][0-9]{0,3})")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several runs that share a question set: every `of`-th item from the `index`-th on."""

    index: int
    """From 1."""
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read `2/5`.

        Raises:
            ValueError: it is no such thing.
        """
        match = _SHARD.fullmatch(text)
        if match is None or not int(match[1]) <= int(match[2]) <= MOST_SHARDS:
            raise ValueError(f"{text!r} is not of the form i/n with 1 <= i <= n <= {MOST_SHARDS}")
        return cls(int(match[1]), int(match[2]))

    def holds(self, position: int) -> bool:
        """Whether the item at a 0-based position is this shard's."""
        return position % self.of == self.index - 1

    def __str__(self) -> str:
        return f"{self.index}/{self.of}"


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """A verified question set: its items, and every file that a recording carries over byte for byte."""

    name: str
    manifest: Manifest
    sha256: str
    items: tuple[Item, ...]
    carried: Mapping[str, bytes]
    """Name to content: all that was sealed but the manifest and earlier answers."""
    warnings: tuple[str, ...]
    """What a reader should know of the set itself."""

    def question(self, position: int) -> Question:
        """What the item at a 0-based position asks."""
        item = self.items[position]
        return Question(item=item.id, lang=item.lang, prompt=item.prompt, turns=tuple(item.turns))

    def positions(self, shard: Shard | None) -> list[int]:
        """The 0-based positions that a shard, or the whole recording, asks."""
        return [place for place in range(len(self.items)) if shard is None or shard.holds(place)]

    def calls(self, passes: int) -> int:
        """How many calls the whole recording makes where nothing is retried: every pass asks every turn."""
        return passes * sum(1 + len(item.turns) for item in self.items)


def load_questions(folder: Path) -> QuestionSet:
    """Read and verify a question set; answers that it already has are left behind.

    Raises:
        IntegrityError: the bytes are not what was sealed.
        ConfigurationError: the folder cannot be read, or is no question set.
    """
    inventory = read_inventory(folder)
    bundle = parse(inventory)
    if "shard" in (bundle.manifest.recording or {}):
        raise BundleError(
            f"{folder}: this is one shard of a recording and no question set", remedy="plumbline merge joins shards."
        )
    files = bundle.manifest.files.declared()
    left_behind = {CHECKSUMS, MANIFEST, files.pop("responses", MANIFEST)} - set(files.values())
    carried = {name: data for name, data in inventory.items() if name not in left_behind}
    if RESPONSES in carried:
        raise BundleError(
            f"{folder}: {RESPONSES} is a part of the question set, and recorded answers go to a file of that name",
            remedy="Give that file another name and seal the question set again.",
        )
    return QuestionSet(
        name=bundle.name,
        manifest=bundle.manifest,
        sha256=bundle.sha256,
        items=bundle.items,
        carried=carried,
        warnings=tuple(warnings(bundle)),
    )


def refuse_too_many(questions: QuestionSet, most: int) -> None:
    """Refuse a set that is larger than the configuration allows.

    Raises:
        ConfigurationError: it is.
    """
    if len(questions.items) > most:
        raise ConfigurationError(
            f"the question set {questions.name} has {len(questions.items)} items, and adapter.max_items allows {most}",
            remedy="If this is the set you mean, raise adapter.max_items.",
        )
