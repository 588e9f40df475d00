"""What did a model decide, and is that record fit to grade by?

The judgment cache (specification, "The optional model judge"): a small JSON file, sorted by key, that is committed and
read in review like any other evidence. Each entry is one answer of one model to one prompt about two texts. The key is
a digest of all of that, so a judgment can neither be moved to another text nor outlive a change of model or prompt.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from plumbline.canonical import canonical_sha256
from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import Record, decode, place

FORMAT = "plumbline-judgments"
FORMAT_VERSION = 1
DECIMALS = 6
"""Digits after the point of a score: what is kept is exact, and what a reviewer reads is all there is."""
_MILLION = 10**DECIMALS
NOTE_LIMIT = 2000

_KEY = re.compile(r"[0-9a-f]{64}")
_SCORE = re.compile(rf"0(?:\.[0-9]{{1,{DECIMALS}}})?|1(?:\.0{{1,{DECIMALS}}})?")


class Identity(Record, frozen=True):
    """Who was asked, and how: what a judgment is bound to."""

    model: str
    prompt_sha256: str


class Judgment(Record, frozen=True):
    """One entry as it stands in the file."""

    score: msgspec.Raw
    note: str | None = None
    """For whoever reads the file: the ids of the items it was asked for. Nothing is decided by it."""


class _File(Record, frozen=True):
    format: str
    format_version: int
    judge: Identity
    judgments: dict[str, msgspec.Raw]


@dataclass(frozen=True, slots=True)
class Entry:
    """One judgment."""

    score: Fraction
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Judgments:
    """A whole cache."""

    identity: Identity
    entries: Mapping[str, Entry]

    @property
    def sha256(self) -> str:
        """SHA-256 over the canonical JSON of key to score: part of the judge's configuration hash."""
        return canonical_sha256({key: float(entry.score) for key, entry in self.entries.items()})


def judgment_key(identity: Identity, expected: str, actual: str) -> str:
    """The key of one judgment: SHA-256 over the canonical JSON of identity and texts.

    Args:
        identity: model and prompt.
        expected: the reference answer.
        actual: the answer, without its citation markers.
    """
    return canonical_sha256(
        {"model": identity.model, "prompt_sha256": identity.prompt_sha256, "expected": expected, "actual": actual}
    )


def parse_judgments(data: bytes, identity: Identity, *, file: str) -> Judgments:
    """Read a cache that must belong to `identity`.

    Raises:
        ConfigurationError: naming file, line and key: it is no cache of this version, it holds the answers of another
            model or to another prompt, or an entry is not one.
    """
    try:
        found = decode(data, _File, file=file, error=ConfigurationError)
    except ValueError:  # an integer longer than the interpreter reads
        raise ConfigurationError(f"{file}: holds a number that no judgment has") from None
    if found.format != FORMAT or found.format_version != FORMAT_VERSION:
        raise ConfigurationError(
            f"{file}: {found.format!r} version {found.format_version} is not {FORMAT!r} version {FORMAT_VERSION}"
        )
    for name, was, now in (
        ("model", found.judge.model, identity.model),
        ("prompt_sha256", found.judge.prompt_sha256, identity.prompt_sha256),
    ):
        if was != now:
            raise ConfigurationError(
                f"{file}: the key 'judge.{name}' is {was!r} and the configuration asks {now!r}: "
                "these judgments answer another question",
                remedy="Restore the model and prompt they were recorded with, or record anew into another file: "
                "plumbline judge record --config <target>",
            )
    return Judgments(identity, {key: _entry(data, key, raw, file) for key, raw in found.judgments.items()})


def _entry(data: bytes, key: str, raw: msgspec.Raw, file: str) -> Entry:
    try:
        judgment = msgspec.json.decode(raw, type=Judgment)
        return judged(key, bytes(judgment.score).decode(), judgment.note, where=file)
    except (msgspec.ValidationError, ConfigurationError):
        # Only a fault is worth looking for its line, and for words a reader can act on.
        where = _place(data, key, file)
        judgment = decode(bytes(raw), Judgment, file=f"{where}: judgment {key[:80]!r}", error=ConfigurationError)
        return judged(key, bytes(judgment.score).decode(), judgment.note, where=where)


def judged(key: str, score: str, note: str | None, *, where: str) -> Entry:
    """One checked judgment.

    Args:
        key: as written.
        score: as written; JSON's own spelling of a number.
        note: as written.
        where: file and line, for messages.

    Raises:
        ConfigurationError: the key is no digest, or the score no number from 0 to 1 with at most six decimals.
    """
    if not _KEY.fullmatch(key):
        raise ConfigurationError(f"{where}: the key {key[:80]!r} is not 64 lower-case hex digits")
    if not _SCORE.fullmatch(score):
        raise ConfigurationError(
            f"{where}: the score of judgment {key!r} is {score[:40]}, not a number from 0 to 1 with at most {DECIMALS} "
            "digits after the point"
        )
    if note is not None and len(note) > NOTE_LIMIT:
        raise ConfigurationError(f"{where}: the note of judgment {key!r} is longer than {NOTE_LIMIT} characters")
    return Entry(Fraction(score), note)


def _place(data: bytes, key: str, file: str) -> str:
    at = data.find(json.dumps(key, ensure_ascii=False).encode())
    # A key that the file spells with escapes is not found; then the file is all there is to name.
    return place(file, None if at < 0 else data.count(b"\n", 0, at) + 1)


def render_judgments(judgments: Judgments) -> bytes:
    """The bytes of a cache: sorted by key, one fact a line, the same for the same judgments."""
    entries = []
    for key, entry in sorted(judgments.entries.items()):
        note = "" if entry.note is None else f',\n      "note": {json.dumps(entry.note, ensure_ascii=False)}'
        entries.append(f'    "{key}": {{\n      "score": {score_text(entry.score)}{note}\n    }}')
    head = {"model": judgments.identity.model, "prompt_sha256": judgments.identity.prompt_sha256}
    identity = json.dumps(head, ensure_ascii=False, indent=2).replace("\n", "\n  ")
    body = "{\n" + ",\n".join(entries) + "\n  }" if entries else "{}"
    return (
        f'{{\n  "format": "{FORMAT}",\n  "format_version": {FORMAT_VERSION},\n'
        f'  "judge": {identity},\n  "judgments": {body}\n}}\n'
    ).encode()


def score_text(score: Fraction) -> str:
    """A score as the file writes it: the shortest decimal, at most six digits after the point."""
    millionths = score * _MILLION
    if millionths.denominator != 1 or not 0 <= score <= 1:
        raise ValueError(f"{score} is no score of a judgment")
    whole, rest = divmod(int(millionths), _MILLION)
    digits = f"{rest:0{DECIMALS}}".rstrip("0")
    return f"{whole}.{digits}" if digits else str(whole)
