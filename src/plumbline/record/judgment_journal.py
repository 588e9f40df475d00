"""Which judgments did an interrupted recording already make?

One line per judgment, written through to the disk before the next question is asked. The file lies beside the cache and
is gone once the cache is whole. Its first line says which model and prompt it belongs to.
"""

import fcntl
import os
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from plumbline.errors import ConfigurationError
from plumbline.evidence.files import refuse_special
from plumbline.evidence.schema import Record, decode
from plumbline.judge.judgments import Entry, Identity, judged, score_text

FORMAT = "plumbline-judgments-journal"
FORMAT_VERSION = 1


class _Head(Record, frozen=True):
    format: str
    format_version: int
    judge: Identity


class _Line(Record, frozen=True):
    key: str
    score: str
    note: str | None = None


class JudgmentJournal:
    """The journal beside a cache, held by one recording at a time.

    Args:
        cache: the judgment cache.
        identity: model and prompt.

    Attributes:
        entries: what an earlier recording left.

    Raises:
        ConfigurationError: another recording holds it, it belongs to another judge, or it is no journal.
    """

    def __init__(self, cache: Path, identity: Identity) -> None:
        self.path = cache.with_name(f"{cache.name}.journal")
        refuse_special(self.path)
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError as fault:
            raise ConfigurationError(f"{self.path.name}: cannot be written: {fault.strerror}") from None
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self.entries = self._begin(identity)
            self._empty = not self.entries
        except OSError as fault:
            os.close(self._fd)
            raise ConfigurationError(
                f"{self.path.name}: another recording is at work, or the file cannot be locked: {fault.strerror}"
            ) from None
        except BaseException:
            os.close(self._fd)
            raise

    def _begin(self, identity: Identity) -> dict[str, Entry]:
        data = bytearray()
        while chunk := os.read(self._fd, 1 << 20):
            data += chunk
        # A line without its end was in flight when something stopped; the next write takes its place.
        whole = bytes(data[: data.rfind(b"\n") + 1])
        os.ftruncate(self._fd, len(whole))
        os.lseek(self._fd, 0, os.SEEK_END)
        file, lines = self.path.name, whole.split(b"\n")[:-1]
        if not lines:
            self._write(_Head(format=FORMAT, format_version=FORMAT_VERSION, judge=identity))
            return {}
        head = decode(lines[0], _Head, file=file, line=1, error=ConfigurationError)
        if (head.format, head.format_version) != (FORMAT, FORMAT_VERSION) or head.judge != identity:
            raise ConfigurationError(
                f"{file}:1: this journal belongs to another model or prompt",
                remedy="Finish that recording with its own configuration, or delete the journal.",
            )
        found = {}
        for number, text in enumerate(lines[1:], start=2):
            line = decode(text, _Line, file=file, line=number, error=ConfigurationError)
            found[line.key] = judged(line.key, line.score, line.note, where=f"{file}:{number}")
        return found

    def add(self, key: str, entry: Entry) -> None:
        """Keep a judgment.

        Raises:
            ConfigurationError: it cannot be written.
        """
        self._empty = False
        self._write(_Line(key=key, score=score_text(Fraction(entry.score)), note=entry.note))

    def _write(self, record: Record) -> None:
        line = msgspec.json.encode(record) + b"\n"
        try:
            while line:
                line = line[os.write(self._fd, line) :]
            os.fsync(self._fd)
        except OSError as fault:
            raise ConfigurationError(f"{self.path.name}: cannot be written: {fault.strerror}") from None

    def discard(self) -> None:
        """Remove the file: everything in it is in the cache."""
        self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._empty:
            self.discard()
        os.close(self._fd)
