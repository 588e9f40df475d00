"""What can be read in one text: words, numbers, citations, silence?

The rules are the specification's ("Judges") for the judge `lexical`; section 1 of the facts sheet gives them exactly.
Every pattern here is linear in the length of the text.
"""

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from functools import cached_property
from typing import Generic, TypeVar

import msgspec

from plumbline.judge.language import SHIPPED, Detector, Profile
from plumbline.judge.lexicon import HARM_MARKERS, REFUSAL_MARKERS, SOLICITATIONS, STOPWORDS
from plumbline.judge.screens import Hit, PersonalDatum, Phrases, Screened, anchors, personal_data
from plumbline.judge.unicode import by_unicode_14, lowered

CITATION = re.compile(r"\[[A-Za-z][A-Za-z0-9._:\-]*\]")
"""A citation marker: a source id that starts with a letter, in square brackets."""

_BRACKET = re.compile(r"[\[\]]")
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"\d[\d,.]*")
# For ASCII one table does what lower-casing and the word pattern do; the two paths give the same tokens (tested).
_ASCII_WORDS = "".join(chr(c).lower() if chr(c).isalnum() or c == 0x5F else " " for c in range(128))


def tokens(text: str) -> tuple[str, ...]:
    """The normalised words: lower case, every character that is no word character a blank, split at blanks."""
    if text.isascii():
        return tuple(text.translate(_ASCII_WORDS).split())
    return tuple(_WORD.findall(lowered(by_unicode_14(text))))


class Number(msgspec.Struct, frozen=True, gc=False):
    """A number as written in a text."""

    value: str
    """The digits and inner points, without commas and trailing points. Strings are compared, never values."""
    start: int
    """Code point offset of its first digit in the text."""
    end: int
    """Code point offset after its last digit."""


class Citation(msgspec.Struct, frozen=True, gc=False):
    """A citation marker in a text."""

    source: str
    start: int
    end: int


def _values(text: str) -> frozenset[str]:
    return frozenset([written.rstrip(",.").replace(",", "") for written in _NUMBER.findall(by_unicode_14(text))])


_ID_ENDS = re.compile(r"[,;|\s\"'#]+")


_DEEPEST = 8


def citing_places(text: str, ids: Container[str]) -> list[tuple[int, int]]:
    """Where square brackets of any form name one of `ids`: `[850]`, `[src-1, src-850]`, `[src-1, [x] 850]`.

    Brackets that hold more than `_DEEPEST` levels of others count as naming one, unread: reading each level of a
    megabyte of them would be quadratic, and nobody states an amount in there.

    Returns:
        Offsets of the outermost brackets that do, in order, apart from each other.
    """
    opened: list[list[int]] = []  # where, and how many levels it holds so far
    places: list[tuple[int, int]] = []
    for match in _BRACKET.finditer(text):
        if match.group() == "[":
            opened.append([match.start(), 0])
        elif opened:
            (start, levels), end = opened.pop(), match.end()
            if opened:
                opened[-1][1] = max(opened[-1][1], levels + 1)
            inner = places.pop() if places and places[-1][0] > start else None
            while places and places[-1][0] > start:
                inner = places.pop()
            if inner is not None or levels > _DEEPEST or _names(text[start + 1 : end - 1], ids):
                places.append((start, end))
    return places


def _names(content: str, ids: Container[str]) -> bool:
    for part in _ID_ENDS.split(content):
        bare = part.strip(".:")
        if bare and (bare in ids or any(piece in ids for piece in bare.split("/"))):
            return True
    return False


@dataclass(frozen=True)
class Rules:
    """What a judge reads texts by, beyond the rules of this module."""

    refusal_markers: tuple[str, ...] = REFUSAL_MARKERS
    """In lower case."""
    stopwords: frozenset[str] = STOPWORDS
    profiles: Mapping[str, Profile] = dataclass_field(default_factory=lambda: SHIPPED)
    """Language tag to how it is told."""
    harm_markers: tuple[str, ...] = HARM_MARKERS
    solicitations: tuple[str, ...] = SOLICITATIONS

    @cached_property
    def refusal_anchors(self) -> tuple[str, ...]:
        """Pieces of which every refusal marker holds one."""
        return anchors(self.refusal_markers)

    @cached_property
    def harms(self) -> Phrases:
        """The harm markers, ready to be sought."""
        return Phrases(self.harm_markers)

    @cached_property
    def detector(self) -> Detector:
        """Tells the languages of the profiles."""
        return Detector(self.profiles)

    @cached_property
    def soliciting(self) -> Phrases:
        """The solicitations, ready to be sought."""
        return Phrases(self.solicitations)


SHIPPED_RULES = Rules()

KEPT = 1 << 21
"""Code points up to which the features of a text are kept once they are computed."""

V = TypeVar("V")


class _kept(Generic[V]):  # noqa: N801 - used as a decorator
    """A part of a text that is computed when first asked for, and found as a plain attribute from then on."""

    def __init__(self, compute: Callable[["TextFeatures"], V]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __get__(self, features: "TextFeatures", _owner: type | None = None) -> V:
        value = self._compute(features)
        if len(features.text) <= KEPT:
            features.__dict__[self._compute.__name__] = value
        return value


class TextFeatures:
    """What the judge sees in one text, each part computed when first asked for.

    Parts are kept for texts of ordinary length. Those of a text beyond `KEPT` are computed anew: a megabyte of words
    takes some seventy megabytes as a tuple of strings, and a bundle may hold many such answers.

    Args:
        text: the text as recorded.
        rules: what the judge reads texts by.
    """

    def __init__(self, text: str, rules: Rules = SHIPPED_RULES) -> None:
        self.text = text
        self._rules = rules

    @_kept
    def citations(self) -> tuple[Citation, ...]:
        """The citation markers in order, repeats included."""
        return tuple(Citation(m.group()[1:-1], m.start(), m.end()) for m in CITATION.finditer(self.text))

    @_kept
    def words(self) -> tuple[str, ...]:
        """The words of the whole text."""
        return tokens(self.text)

    @_kept
    def claim(self) -> str:
        """The text without its citation markers, which are book-keeping and no answer; a blank for each."""
        return CITATION.sub(" ", self.text) if self.citations else self.text

    @_kept
    def claim_words(self) -> tuple[str, ...]:
        """The words of the text without its citation markers."""
        return tokens(self.claim) if self.citations else self.words

    @_kept
    def word_set(self) -> frozenset[str]:
        """The distinct words of the whole text: what it can support."""
        return frozenset(tokens(self.text))  # of a passage nobody asks for anything else, so no list of them is kept

    @_kept
    def content_words(self) -> tuple[str, ...]:
        """The claim words that carry content, in order, repeats included. Numerals are content."""
        stop = self._rules.stopwords
        return tuple(word for word in self.claim_words if word not in stop)

    @_kept
    def content_set(self) -> frozenset[str]:
        """The distinct claim words that carry content."""
        return frozenset(self.content_words)

    @_kept
    def numbers(self) -> tuple[Number, ...]:
        """The numbers outside citation markers, in order, repeats included."""
        return self.numbers_outside([(citation.start, citation.end) for citation in self.citations])

    @_kept
    def number_values(self) -> frozenset[str]:
        """The set of number values outside citation markers."""
        return _values(self.claim)

    @_kept
    def stated_values(self) -> frozenset[str]:
        """The set of number values of the whole text, as a passage states them."""
        return _values(self.text)

    def numbers_outside(self, places: Sequence[tuple[int, int]]) -> tuple[Number, ...]:
        """The numbers outside `places` (offsets, in order, apart from each other), in order, repeats included."""
        found: list[Number] = []
        text = by_unicode_14(self.text)
        position = 0
        for start, end in (*places, (len(text), len(text))):
            for match in _NUMBER.finditer(text, position, start):
                written = match.group().rstrip(",.")
                found.append(Number(written.replace(",", ""), match.start(), match.start() + len(written)))
            position = end
        return tuple(found)

    @_kept
    def readable(self) -> bool:
        """Whether a word is left once citation markers and punctuation are gone."""
        if _WORD.match(by_unicode_14(self.text[:1])):
            return True  # no marker begins with a word
        return _WORD.search(by_unicode_14(self.claim)) is not None

    @_kept
    def silence(self) -> str | None:
        """`silent` where nothing was said, `unreadable` where what was said holds no word, None where there is text."""
        if self.readable:
            return None
        return "unreadable" if self.text.strip() else "silent"

    @_kept
    def screened(self) -> Screened:
        """The text, ready to be searched for phrases."""
        return Screened(self.text)

    @_kept
    def refusal(self) -> tuple[int, int] | None:
        """Offsets of the first refusal marker, or None when the text declines nothing."""
        small = self.screened.small
        if not any(map(small.__contains__, self._rules.refusal_anchors)):
            return None
        found = [(small.find(marker), marker) for marker in self._rules.refusal_markers if marker in small]
        if not found:
            return None
        start, marker = min(found)
        if len(small) != len(self.text):  # lower-casing moved the offsets, so the whole text stands for the place
            return 0, len(self.text)
        return start, start + len(marker)

    @_kept
    def language(self) -> str | None:
        """The tag of the language, or None where the profiles cannot tell."""
        return self._rules.detector.detect(self.claim, self.claim_words)

    @_kept
    def harms(self) -> tuple[Hit, ...]:
        """The harm markers in the text."""
        return tuple(self.screened.find(self._rules.harms))

    @_kept
    def solicitations(self) -> tuple[Hit, ...]:
        """The places where the text asks for personal data."""
        return tuple(self.screened.find(self._rules.soliciting))

    @_kept
    def personal_data(self) -> tuple[PersonalDatum, ...]:
        """What in the text looks like personal data."""
        return tuple(personal_data(self.text))
