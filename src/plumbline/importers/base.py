"""What is an importer, and what does it return?

An importer knows how one tool lays out its file, and nothing of bundles: it hands back one `Row` per question asked,
with the places of Plumbline's fields in it. What is missing, repeated or left over is decided once, for every tool, in
`plumbline.importers.assemble`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from plumbline.errors import ConfigurationError

TEXT_FIELDS = ("id", "lang", "behavior", "prompt", "expected", "response", "fact_id", "group", "cluster")
LIST_FIELDS = ("retrieved", "answering", "forbidden", "forbidden_claims")
FLAG_FIELDS = ("load_bearing", "adversarial")
FIELDS = (*TEXT_FIELDS, *LIST_FIELDS, *FLAG_FIELDS, "error")
"""What `--map` can fill. `retrieved` are passages the target looked at, `answering` those that hold the answer, and a
row whose `error` is not empty stays without an answer."""


class ForeignFileError(ConfigurationError):
    """A file that is not what its kind says, or that leaves something open (exit 4)."""


@dataclass(frozen=True, slots=True)
class Origin:
    """The file that is imported, read once."""

    name: str
    """Its name without a folder: machine paths have no place in evidence."""
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """What a dialogue holds: the user's turns and what was said to each."""

    users: tuple[str, ...]
    """At least one; the first is the item's prompt."""
    replies: tuple[str | None, ...]
    """As many as `users`; null where a turn stayed without an answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One question that a tool asked once."""

    where: str
    """File and line, or file and key, for messages."""
    record: Mapping[str, Any]
    """The row as the tool wrote it; `--map` and the list of unmapped fields look in here."""
    keys: Mapping[str, str]
    """Field to the key that it has in `record`."""
    conversation: Conversation | None = None
    """Instead of keys for `prompt` and `response`, where the tool keeps a dialogue."""
    taken: tuple[str, ...] = ()
    """Keys that the importer has read itself, so that they are not listed as unmapped."""
    variant: str | None = None
    """Which provider or model answered, where a file can hold several."""
    question: str | None = None
    """Which question of the file this is, where several variants were asked the same ones."""
    asked: bool = True
    """Whether anybody was asked. A file in which nobody was is a question set."""
    failed: bool = False
    """The tool got no answer. The row stays, as silence."""
    repeats: bool = False
    """Whether the tool asks one id several times on purpose; then each is a pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extract:
    """Everything that an importer took from a file."""

    rows: Sequence[Row]
    said: Mapping[str, str] = field(default_factory=dict)
    """What the file says of itself (the tool's version, a time, a model); goes into the manifest as it is."""
    unmapped: Mapping[str, int] = field(default_factory=dict)
    """Keys outside the rows that were not taken over, and how often each occurs."""


class Importer(Protocol):
    """A module of this package with these two names."""

    SUMMARY: str
    """One line for `plumbline import --help`."""

    def read(self, origin: Origin) -> Extract:
        """Take a file apart.

        Raises:
            ForeignFileError: it is not what this tool writes; the message names file and line or key.
        """
        ...
