"""What has been answered so far, whatever happens next?

One JSON document a line: a header that says which recording this is, then one line for each answered item and pass.
Every line is flushed to the disk before it counts (lines that came together are flushed together), so an interrupted
recording loses what was in flight and no more.
A last line without its line break was being written when the machine stopped, and is dropped.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Self

import msgspec

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import Record, RetrievedPassage, decode

FORMAT = "plumbline-journal"
VERSION = 1


class Header(Record, frozen=True, kw_only=True):
    """Which recording a journal belongs to."""

    format: str = FORMAT
    format_version: int = VERSION
    started_at: str
    """UTC, to the second."""
    target: str
    questions_sha256: str
    adapter_sha256: str
    """Over the whole description of the adapter; for a local program this includes the program's bytes."""
    request_sha256: str
    harness_source_sha256: str
    on_error: str
    passes: int
    shard: str | None
    """`i/n`."""
    authorisation: dict[str, str] | None
    synthetic: bool
    note: str | None


BOUND = {
    "target": "the target's name ([target])",
    "questions_sha256": "the question set",
    "request_sha256": "the call shape ([adapter])",
    "adapter_sha256": "what [adapter] describes: address, program, pointers, or a file that the command names",
    "harness_source_sha256": "Plumbline's own code",
    "on_error": "adapter.on_error",
    "passes": "--passes",
    "shard": "--shard",
    "authorisation": "[authorisation]",
    "synthetic": "--synthetic",
    "note": "--note",
}
"""What must be the same for a recording to be taken up again, and what to call it. Pacing may change: it is no part of
what is asked."""


class Fault(Record, frozen=True, kw_only=True):
    """A call that gave no answer, in a recording that goes on all the same."""

    fault: str
    turn: int
    """From 1."""


class Entry(Record, frozen=True, kw_only=True):
    """What one item was answered in one pass."""

    position: int
    """0-based, in the question set."""
    id: str
    number: int
    """The pass, from 1."""
    response: str | None
    turn_responses: list[str | None] | None = None
    citations: list[str] | None = None
    retrieved: list[RetrievedPassage] | None = None
    fault: Fault | None = None
    calls: int
    retries: dict[str, int] = {}
    """Fault to how often it was retried."""
    waited_ms: int = 0
    """Time spent waiting because the target asked for it (Retry-After)."""
    replaced: bool = False
    """Half surrogate pairs of the answer, which no UTF-8 file can hold, became U+FFFD."""


class Journal:
    """An open journal: appended to by one thread, read by place.

    Use `create` or `reopen`.
    """

    def __init__(self, path: Path, file: BinaryIO, header: Header) -> None:
        self.path = path
        self.header = header
        self._file = file
        self._places: dict[tuple[int, int], tuple[int, int]] = {}
        self._end = file.seek(0, os.SEEK_END)

    @classmethod
    def create(cls, path: Path, header: Header) -> "Journal":
        """Begin a journal in place of whatever was there.

        Raises:
            OSError: the place cannot be written.
        """
        file = path.open("w+b")
        journal = cls(path, file, header)
        journal._write([header])
        return journal

    @classmethod
    def reopen(cls, path: Path) -> "Journal | None":
        """Take up a journal; None where there is none, or one that ends within its header.

        Raises:
            ConfigurationError: a line other than the last is damaged, or stands twice.
            OSError: it cannot be read.
        """
        try:
            file = path.open("r+b")
        except FileNotFoundError:
            return None
        try:
            first = file.readline()
            if not first.endswith(b"\n"):
                file.close()
                return None
            journal = cls(path, file, _header(first, path.name))
            journal._index(len(first))
        except BaseException:
            file.close()
            raise
        return journal

    def _index(self, start: int) -> None:
        self._file.seek(start)
        place = start
        for number, line in enumerate(self._file, start=2):
            if not line.endswith(b"\n"):
                break
            entry = decode(line, Entry, file=self.path.name, line=number, error=ConfigurationError)
            self._remember(entry, place, len(line), number)
            place += len(line)
        self._file.truncate(place)
        self._end = place

    def _remember(self, entry: Entry, place: int, length: int, number: int | None = None) -> None:
        key = (entry.position, entry.number)
        if key in self._places:
            raise ConfigurationError(f"{self.path.name}:{number}: pass {entry.number} of {entry.id!r} stands twice")
        self._places[key] = (place, length)

    def append(self, entries: Sequence[Entry]) -> None:
        """Write answers, a line each; once this returns they are on the disk.

        Raises:
            OSError: they cannot be written.
        """
        place = self._end
        for entry, length in zip(entries, self._write(entries), strict=True):
            self._remember(entry, place, length)
            place += length

    def _write(self, records: Sequence[Header | Entry]) -> list[int]:
        lines = [msgspec.json.encode(record) + b"\n" for record in records]
        self._file.seek(self._end)
        self._file.write(b"".join(lines))
        self._file.flush()
        os.fsync(self._file.fileno())
        lengths = [len(line) for line in lines]
        self._end += sum(lengths)
        return lengths

    def __contains__(self, key: tuple[int, int]) -> bool:
        """Whether the item at a position was answered in a pass."""
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def entry(self, position: int, number: int) -> Entry:
        """The answer of the item at `position` in a pass, read from the file."""
        place, length = self._places[position, number]
        self._file.seek(place)
        return msgspec.json.decode(self._file.read(length), type=Entry)

    def entries(self, positions: list[int]) -> Iterator[list[Entry]]:
        """The answers in order of their items; each list has every pass of one item."""
        for position in positions:
            yield [self.entry(position, number) for number in range(1, self.header.passes + 1)]

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _header(line: bytes, file: str) -> Header:
    header = decode(line, Header, file=file, line=1, error=ConfigurationError)
    if header.format != FORMAT or header.format_version != VERSION:
        raise ConfigurationError(f"{file}:1: {header.format!r} is not {FORMAT!r} version {VERSION}")
    return header


def refuse_another(found: Header, wanted: Header) -> None:
    """Refuse to take up a recording of something else.

    Raises:
        ConfigurationError: naming everything that differs.
    """
    differing = [told for key, told in BOUND.items() if getattr(found, key) != getattr(wanted, key)]
    if differing:
        raise ConfigurationError(
            "the unfinished recording cannot be taken up, because this has changed since it began:\n"
            + "\n".join(f"  {told}" for told in differing),
            remedy="Restore what it was, or begin anew with --restart, which drops the answers so far.",
        )
