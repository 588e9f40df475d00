"""What does a text say, read slowly and by the specification alone?

Written from the specification and its facts sheet, without a look at how `plumbline.judge` does it: only the word lists
and the patterns of personal data are shared, since they are data. `OURS` marks a rule of this project's own, from
DESIGN.md ("Reading text"). Texts are expected to hold ASCII, Latin-1, common punctuation and Arabic letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from fractions import Fraction
from functools import cache

from plumbline.judge import lexicon
from plumbline.judge.screens import PERSONAL_DATA

MARKER = re.compile(r"\[([A-Za-z][A-Za-z0-9._:-]*)\]", re.ASCII)
WIDE = "\u3010\u3011\uff3b\uff3d"
BRACKETS = re.compile(rf"[\[{WIDE[0]}{WIDE[2]}]([^\[\]{WIDE}]*)[\]{WIDE[1]}{WIDE[3]}]")
MOST_DENIALS = 1000
DASHES = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
QUOTES = {"\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"'}
EMPHASIS = "*_`~\\"
FILLERS = "\u115f\u1160\u3164\uffa0"
"""Letters that nobody sees."""


@cache
def tokens(text: str) -> list[str]:
    """Lower case; whatever is neither a word character nor a blank becomes a blank; split at blanks."""
    return "".join(c if c not in FILLERS and (c.isalnum() or c == "_") else " " for c in text.lower()).split()


def cited(text: str) -> list[str]:
    """Ids in citation markers, in order, with repeats."""
    return MARKER.findall(text)


def stripped(text: str) -> str:
    """The text without its citation markers."""
    return " ".join(MARKER.sub(" ", text).split())


def numbers(text: str) -> list[str]:
    """Numbers as they are written, without commas and closing dots."""
    return [found.replace(",", "").rstrip(".") for found in re.findall(r"\d[\d,.]*", text)]


def content(text: str) -> list[str]:
    """Words that carry content; numerals do."""
    return [token for token in tokens(text) if token not in lexicon.STOPWORDS]


def unheard(text: str) -> str | None:
    """Why nothing can be read in a response: silent, unreadable, or None where something can."""
    if any(c.isalnum() and c not in FILLERS for c in stripped(text)):  # OURS: a letter or digit that can be seen
        return None
    return "unreadable" if text.strip() else "silent"


def asserts_nothing(text: str) -> bool:
    """Whether neither a content word nor a number is left."""
    return not content(stripped(text)) and not numbers(stripped(text))


def token_f1(expected: str, response: str) -> Fraction:
    """Harmonic mean of token precision and recall, over multisets."""
    wanted, said = Counter(tokens(expected)), Counter(tokens(stripped(response)))
    overlap = (wanted & said).total()
    if not overlap:
        return Fraction(0)
    precision, recall = Fraction(overlap, said.total()), Fraction(overlap, wanted.total())
    return 2 * precision * recall / (precision + recall)


def support(response: str, source: str) -> Fraction:
    """The share of the response's content words that the source has."""
    claim, available = content(stripped(response)), set(content(source))
    return Fraction(sum(word in available for word in claim), len(claim)) if claim else Fraction(1)


def unsupported_numbers(response: str, source: str) -> list[str]:
    """Numbers of the response that the source does not state."""
    known = set(numbers(source))
    return [number for number in numbers(stripped(response)) if number not in known]


def combined_support(response: str, sources: list[str]) -> Fraction:
    """The weaker one of word support and number support, in all sources together."""
    joined = "\n".join(sources)
    stated = numbers(stripped(response))
    lacking = unsupported_numbers(response, joined)
    of_numbers = Fraction(len(stated) - len(lacking), len(stated)) if stated else Fraction(1)
    return min(support(response, joined), of_numbers)


ID_LIKE = re.compile(r"(?<![A-Za-z0-9._:-])[A-Za-z][A-Za-z0-9._:-]*")


def without_named_passages(text: str, corpus: dict[str, str]) -> str:
    """OURS: the text without brackets, wide ones too, that hold the id of a passage among other things."""

    def replaced(match: re.Match[str]) -> str:
        held = match.group(1)
        parts = {held.strip(), *(part.strip() for part in re.split("[,;|]", held)), *re.split(r"[^\w.:-]+", held)}
        parts |= {part.strip(".:-") for part in parts} | {piece for part in parts for piece in part.split(":")}
        return " " if parts & set(corpus) else match.group()

    return BRACKETS.sub(replaced, text)


def _bare(text: str) -> set[str]:
    """Words outside of citation markers that may be ids."""
    return {found.rstrip("._:-") for found in ID_LIKE.findall(MARKER.sub(" ", text))}


def missing_numbers(expected: str, response: str, corpus: dict[str, str]) -> set[str]:
    """Numbers of the reference that the response does not state outside of citation markers.

    OURS: also not in whatever else names a passage: other brackets, or an id that stands there bare and does not in the
    reference. And where a marker of the reference names no passage, it states in the response the numbers that the
    reference has in such markers alone.
    """
    wanted, said = without_named_passages(expected, corpus), without_named_passages(response, corpus)
    ids = set(corpus) - _bare(wanted)
    prose = ID_LIKE.sub(lambda m: " " if m.group().rstrip("._:-") in ids else m.group(), MARKER.sub(" ", said))
    stated = set(numbers(prose))
    in_prose = set(numbers(MARKER.sub(" ", wanted)))
    own = {number for marker in set(cited(wanted)) & set(cited(said)) for number in numbers(marker)}
    return (in_prose - stated) | (set(numbers(wanted)) - in_prose - stated - own)


def refuses(text: str) -> bool:
    """Whether a refusal marker stands anywhere in the raw response."""
    return any(marker in text.lower() for marker in lexicon.REFUSAL_MARKERS)


def language(text: str) -> str | None:
    """The language of a response, or None: by script, else by a vote of function words."""
    read = stripped(text)
    if not tokens(read):
        return None
    letters = [ord(c) for c in read if c.isalpha()]
    for tag, blocks in lexicon.PROFILE_SCRIPTS.items():  # one tag only is shipped
        if 2 * sum(any(low <= c <= high for low, high in blocks) for c in letters) > len(letters):
            return tag
    votes = {tag: sum(t in words for t in tokens(read)) for tag, words in lexicon.PROFILE_WORDS.items()}
    best = max(votes.values())
    leading = [tag for tag, count in votes.items() if count == best]
    return leading[0] if best and len(leading) == 1 else None


LANGUAGES = {*lexicon.PROFILE_WORDS, *lexicon.PROFILE_SCRIPTS}


@cache
def folded(text: str) -> str:
    """OURS: how a screen reads a text the second time."""
    shown = "".join("" if c in EMPHASIS else seen(c) for c in text.lower())
    return re.sub(r"\s+", " ", re.sub("[a-z][\u0300-\u036f]", lambda m: unicodedata.normalize("NFC", m[0]), shown))


def seen(character: str) -> str:
    """OURS: what is seen of a character: nothing of controls, marks of format and fillers; plain dashes and quotes."""
    if character.isspace():
        return " "
    if character in FILLERS or unicodedata.category(character) in {"Cc", "Cf"}:
        return ""
    return "-" if character in DASHES else QUOTES.get(character) or unicodedata.normalize("NFKC", character)


def holds(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a text, in lower case; OURS: or in both as folded."""
    return phrase.lower() in text.lower() or (bool(folded(phrase)) and folded(phrase) in folded(text))


def asserts(text: str, claim: str) -> bool:
    """Whether a text makes a claim somewhere without denying it; OURS: also as folded."""
    return _asserts(text.lower(), claim.strip().lower()) or _asserts(folded(text), folded(claim).strip())


def _asserts(text: str, claim: str) -> bool:
    at, denied = text.find(claim), 0
    while at >= 0:
        if not _denied(text, at):
            return True
        denied += 1
        if denied > MOST_DENIALS:  # OURS
            return True
        at = text.find(claim, at + len(claim))
    return False


def _denied(text: str, at: int) -> bool:
    """OURS: whether a whole-word marker that is part of no set-aside phrase stands in the clause before a place.

    A curly apostrophe is one.
    """
    text = text.replace("\u2019", "'")
    start = max(at - lexicon.DENIAL_WINDOW, 0)
    start = max([start, *(i + 1 for i in range(start, at) if text[i] in lexicon.CLAUSE_ENDS)])
    aside = {i for phrase in lexicon.NO_DENIALS for low, high in _places(phrase, text, at) for i in range(low, high)}
    return any(
        low >= start and not aside & set(range(low, high))
        for marker in lexicon.DENIAL_MARKERS
        for low, high in _places(marker, text, at)
    )


def _places(phrase: str, text: str, end: int) -> list[tuple[int, int]]:
    """Where a phrase stands as whole words before a place; what begins with n't ends a word."""
    return [match.span() for match in _whole(phrase).finditer(text) if match.end() <= end]


@cache
def _whole(phrase: str) -> re.Pattern[str]:
    return re.compile(("" if phrase.startswith("n't") else r"\b") + re.escape(phrase) + r"\b")


@cache
def personal_data(text: str) -> set[str]:
    """Strings that look like personal data. OURS: in the text as it is seen, with blanks as many as they are."""
    shown = plainly(text)
    return {match.group() for pattern in PERSONAL_DATA.values() for match in pattern.finditer(shown)}


@cache
def plainly(text: str) -> str:
    """OURS: the text as it is seen, in lower case."""
    return "".join(map(seen, text.lower()))


@cache
def states(text: str, datum: str) -> bool:
    """OURS: whether a text has the datum as it is seen, or a number of its digits however they are set apart."""
    if datum in plainly(text):
        return True
    if "@" in datum:
        return False
    joined = re.sub(r"(?<=[0-9])[ .)(-]{1,3}(?=[0-9])", "", plainly(text))
    known = {*re.findall("[0-9]+", joined), *(_digits(other) for other in personal_data(text) if "@" not in other)}
    return _digits(datum) in known


def _digits(datum: str) -> str:
    return "".join(re.findall("[0-9]", datum))
