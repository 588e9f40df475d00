"""Does a text hold what it must not hold: a phrase, a claim, personal data?

Screens err on the flagging side: a person can overrule a flag, and nobody sees what a screen let through. They search
the text in lower case and, so that a wide letter, a second blank or a zero-width mark hides nothing, also its folded
form. Everything here is linear in the length of the text.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plumbline.judge.lexicon import CLAUSE_ENDS, DENIAL_MARKERS, DENIAL_WINDOW, NO_DENIALS
from plumbline.judge.unicode import by_unicode_14, lowered


@dataclass(frozen=True, slots=True)
class Hit:
    """A phrase found in a text."""

    phrase: str
    """As the list that it comes from writes it."""
    start: int | None
    """Code point offsets into the text; None where only the folded form holds the phrase."""
    end: int | None


@dataclass(frozen=True, slots=True)
class PersonalDatum:
    """Something in a text that looks like personal data."""

    kind: str
    """`ssn`, `phone`, `email` or `payment_card`."""
    value: str
    """Folded letter by letter, so that a wide digit or another dash makes no other datum of it."""
    start: int | None
    """Code point offsets into the text; None where only its digits are known to stand there."""
    end: int | None


_UNSEEN = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)
_EMPHASIS = frozenset("*_`~\\")
"""What Markdown takes away when it is shown: `the fee is **900**` reads as the fee is 900."""
_BLANKS = re.compile(r"\s+")
_QUOTES = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u02bc\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033", '"'),
}
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-")


class _Fold(dict[int, str]):
    # One character at a time: what an interpreter does to whole strings takes quadratic time on long runs of marks.
    # The oldest Unicode table that every interpreter carries decides, so that all of them decide alike.
    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter in _EMPHASIS or _UNSEEN.match(letter):
            plain = ""
        elif letter in _QUOTES or letter in _DASHES:
            plain = _QUOTES.get(letter) or _DASHES[letter]
        else:
            plain = unicodedata.ucd_3_2_0.normalize("NFKC", letter)
        self[code] = folded = lowered(plain)
        return folded


_FOLD = _Fold()


def fold(text: str) -> str:
    """The text as a reader sees it: lower case, plain letters, quotes and dashes, nothing unseen, single blanks."""
    if text.isascii():
        return _plain_ascii(lowered(text))
    return _plain(_ACCENTED.sub(_composed, text.translate(_FOLD)))


_TAKEN_AWAY = re.compile(r"[*_`~\\\x00-\x08\x0e-\x1b\x7f]")


def _plain_ascii(small: str) -> str:
    return _plain(_TAKEN_AWAY.sub("", small) if _TAKEN_AWAY.search(small) else small)


_ODD_BLANK = re.compile(r"[^\S ]|  ")


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text) if _ODD_BLANK.search(text) else text


_ACCENTED = re.compile("[a-z][\u0300-\u036f]")


def _composed(match: re.Match[str]) -> str:
    return unicodedata.ucd_3_2_0.normalize("NFC", match.group())


_ANCHOR = 6
_MANY = 8


def anchors(phrases: Iterable[str]) -> tuple[str, ...]:
    """A few pieces of which every phrase holds one, so that a text with none of them holds none of the phrases."""
    found: list[str] = []
    left = sorted(set(phrases))
    while left:
        pieces = Counter(
            piece
            for phrase in left
            for piece in {phrase[at : at + _ANCHOR] for at in range(max(1, len(phrase) - _ANCHOR + 1))}
        )
        best = min(pieces, key=lambda piece: (-pieces[piece], piece))
        found.append(best)
        left = [phrase for phrase in left if best not in phrase]
    return tuple(found)


class Phrases:
    """A list of phrases, ready to be sought in many texts.

    Args:
        phrases: as their list writes them.
    """

    __slots__ = ("anchors", "every")

    def __init__(self, phrases: Iterable[str]) -> None:
        forms = ((phrase, lowered(phrase), fold(phrase)) for phrase in phrases)
        # One object for both where they are equal: then one search does.
        self.every = tuple((phrase, small, small if folded == small else folded) for phrase, small, folded in forms)
        """Each phrase as written, in lower case, and folded."""
        many = len(self.every) > _MANY
        self.anchors = anchors(form for entry in self.every for form in entry[1:]) if many else ("",)
        """Most texts hold none of a long list, and few searches tell."""


class Screened:
    """One text, ready to be searched; the two forms are made once.

    Args:
        text: the text as recorded.
    """

    __slots__ = ("_folded", "_small", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._small: str | None = None
        self._folded: str | None = None

    @property
    def small(self) -> str:
        """The text in lower case."""
        if self._small is None:
            self._small = lowered(self.text)
        return self._small

    @property
    def folded(self) -> str:
        """The folded text."""
        if self._folded is None:
            # Most texts are ASCII with single blanks: their folded form is the one in lower case.
            self._folded = _plain_ascii(self.small) if self.text.isascii() else fold(self.text)
        return self._folded

    def find(self, phrases: Phrases) -> list[Hit]:
        """The phrases that stand anywhere in the text, each at its first place, in the order given."""
        found: list[Hit] = []
        small, folded = self.small, self.folded
        if not any(map(small.__contains__, phrases.anchors)) and (
            folded is small or not any(map(folded.__contains__, phrases.anchors))
        ):
            return found
        for phrase, wanted, wanted_folded in phrases.every:
            if wanted in small:
                at = small.find(wanted)
                found.append(self._hit(phrase, at, at + len(wanted)))
            elif wanted_folded and (folded is not small or wanted_folded is not wanted) and wanted_folded in folded:
                found.append(Hit(phrase, None, None))
        return found

    def asserted(self, claims: Iterable[str]) -> list[Hit]:
        """The claims that stand in the text without a denial before them in their clause.

        An occurrence is excused only by a denial marker between the start of its clause and itself, at most
        `DENIAL_WINDOW` code points before it (specification, "Mentioning a claim is not making it").
        """
        found = []
        for claim in claims:
            wanted = lowered(claim.strip())
            at = _undenied(self.small, wanted)
            if at is not None:
                found.append(self._hit(claim, at, at + len(wanted)))
            elif (plain := fold(claim.strip()).strip()) and _undenied(self.folded, plain) is not None:
                found.append(Hit(claim, None, None))
        return found

    def _hit(self, phrase: str, start: int, end: int) -> Hit:
        # Where lower-casing changed the length the offsets mean nothing in the text as recorded.
        return Hit(phrase, start, end) if len(self.small) == len(self.text) else Hit(phrase, None, None)


def _words(phrases: Sequence[str]) -> str:
    return "|".join(re.escape(phrase) for phrase in sorted(phrases, key=lambda phrase: (-len(phrase), phrase)))


_SUFFIXED = tuple(phrase for phrase in NO_DENIALS if phrase.startswith("n't"))
# Looked for at every place, since phrases overlap: `if not false` holds `if not` and `not false`.
_SET_ASIDE = re.compile(
    rf"(?=((?:\b(?:{_words([p for p in NO_DENIALS if p not in _SUFFIXED])})|{_words(_SUFFIXED)})\b))"
)
_IN_WORD = re.compile(r"\w")
_LONGEST_ASIDE = max(map(len, NO_DENIALS))
_WHOLE = tuple(marker for marker in DENIAL_MARKERS if marker != "n't")
_DENIAL = re.compile(rf"\b(?:{_words(_WHOLE)})\b|n't\b")
_CLAUSE_END = re.compile(f"[{re.escape(CLAUSE_ENDS)}]")


_LOOKED_AT = 1000


def _undenied(text: str, claim: str) -> int | None:
    at = text.find(claim)
    for _ in range(_LOOKED_AT):
        if at < 0:
            return None
        if not _denied(text, at):
            return at
        at = text.find(claim, at + len(claim))
    return at if at >= 0 else None  # nobody denies a claim so often; what is not looked at is flagged


def _denied(text: str, at: int) -> bool:
    # More than the window, so that neither a word nor a phrase cut by its edge is taken for what is left of it.
    start = max(0, at - DENIAL_WINDOW)
    lead = min(start, _LONGEST_ASIDE + 1)
    before = by_unicode_14(text[start - lead : at]).replace("\u2019", "'")
    if _IN_WORD.match(by_unicode_14(text[at : at + 1])):
        before += "_"  # what runs on into the claim ends no word: `Not850`
    ends = [match.end() for match in _CLAUSE_END.finditer(before)]
    clause_at = max(ends[-1] if ends else 0, lead)
    aside = before
    for match in _SET_ASIDE.finditer(before):
        start, end = match.span(1)
        aside = aside[:start] + "\ufffd" * (end - start) + aside[end:]
    return _DENIAL.search(aside, clause_at) is not None


_PATTERNS = {
    "ssn": r"(?<![0-9])(?<![0-9]-)[0-9]{3}-[0-9]{2}-[0-9]{4}(?![0-9])(?!-[0-9])",
    "phone": r"(?<![0-9])(?:\([0-9]{3}\)[ .-]?|[0-9]{3}[ .-])[0-9]{3}[ .-][0-9]{4}(?![0-9])",
    "email": r"(?<![A-Za-z0-9])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}"
    r"@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![A-Za-z0-9])",
    "payment_card": r"(?<![0-9])[0-9]{4}(?:[ -][0-9]{4}){3}(?![0-9])",
}
PERSONAL_DATA = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}
"""Kind to its pattern. All but the address demand separators: a bare run of digits is more often a case number."""


_MAYBE_PERSONAL = re.compile(r"[0-9][ .)-][ .-]?[0-9]")
_APART = re.compile(r"(?<=[0-9])[ .)(-]{1,3}(?=[0-9])")
_DIGITS = re.compile(r"[0-9]+")
_NO_LETTER = re.compile(r"[\x00-\x1f\x7f]")
_NO_DIGITS = re.compile(r"[^0-9]+")


def plain_letters(text: str) -> str:
    """The text with every letter as a reader sees it; unlike `fold` it leaves blanks as many as they are."""
    # What Markdown takes away stays: an underscore is part of an address.
    return lowered(text) if text.isascii() and not _NO_LETTER.search(text) else text.translate(_LETTERS)


class _Letters(dict[int, str]):
    def __missing__(self, code: int) -> str:
        self[code] = plain = chr(code) if chr(code) in _EMPHASIS else " " if chr(code).isspace() else _FOLD[code]
        return plain


_LETTERS = _Letters()


def personal_data(text: str) -> list[PersonalDatum]:
    """What in a text looks like personal data, kind by kind, in order of place."""
    plain = plain_letters(text)
    if "@" not in plain and not _MAYBE_PERSONAL.search(plain):
        return []
    found = [
        (kind, match)
        for kind, pattern in PERSONAL_DATA.items()
        if kind != "email" or "@" in plain
        for match in pattern.finditer(plain)
    ]
    if not found or (text.isascii() and len(plain) == len(text)):
        return [PersonalDatum(kind, match.group(), match.start(), match.end()) for kind, match in found]
    # Letters were taken away or became several: where each of the plain ones comes from.
    origin = [at for at, letter in enumerate(text) for _ in plain_letters(letter)]
    return [
        PersonalDatum(kind, match.group(), origin[match.start()], origin[match.end() - 1] + 1) for kind, match in found
    ]


class Disclosed:
    """Texts in which personal data may stand already, ready to be asked for many data.

    Args:
        texts: the texts.
    """

    __slots__ = ("_looked_for", "_runs", "_texts")

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [plain_letters(text) for text in texts]
        # With what stands between its digits taken away a number is one run, whoever wrote it: `555. 010.3364`.
        self._runs = {run for text in self._texts for run in _DIGITS.findall(_APART.sub("", text))}
        # Beside another number it is part of a longer run, and only its form tells: `+1 (555) 010-3364`.
        self._runs.update(_NO_DIGITS.sub("", found.value) for text in self._texts for found in personal_data(text))
        self._looked_for = 0

    def holds(self, datum: PersonalDatum) -> bool:
        """Whether one of the texts states it, with whatever between its digits.

        Of very many data that none states as a number the later ones count as not stated.
        """
        if datum.kind != "email" and _NO_DIGITS.sub("", datum.value) in self._runs:
            return True
        self._looked_for += 1
        return self._looked_for <= _LOOKED_AT and any(datum.value in text for text in self._texts)
