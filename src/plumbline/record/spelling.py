"""How may a secret look once it has been through somebody's serialiser?

A target that repeats its credential seldom does so byte for byte: JSON writers disagree on what they escape, addresses
are percent-encoded, pages are HTML, and HTTP's own scheme for passwords is base64. Letters, digits and `-_.` look the
same everywhere; for everything else all the usual spellings count. What somebody hides on purpose is found by nothing.
"""

import base64
import re
from functools import cache
from html.entities import codepoint2name

LEAST_PART = 4
"""Characters from which a part of a secret at the edge of a text counts."""

_PLAIN = re.compile(r"[0-9A-Za-z_.~-]")
_SHORT = {"\b": "b", "\t": "t", "\n": "n", "\f": "f", "\r": "r"}
_LEAST_BASE64 = 8
_LONGEST_SPELLING = 80
"""Characters of one character's longest spelling, generously."""


@cache
def _unit(run: str) -> str:
    """The pattern of one character, or of a run of backslashes."""
    if _PLAIN.fullmatch(run):
        return re.escape(run)
    if run[0] == "\\":
        # Each may be doubled, and that twice; a run is one unit, since a share for each would be tried in every way.
        return rf"(?:\\{{{len(run)},{4 * len(run)}}}|{_encoded(run[0]) * len(run)})"
    found = [re.escape(run), _encoded(run), _referenced(run)]
    if run in _SHORT:
        found.append(rf"\\{{1,4}}{_SHORT[run]}")
    elif run in "\"'/":
        found.append(rf"\\{{1,4}}{run}")
    elif run == " ":
        found.append(r"\+")
    return f"(?:{'|'.join(found)})"


def _encoded(char: str) -> str:
    # UTF-16 as JSON has it, UTF-8 as addresses have it, and what Python's `repr` writes.
    code = ord(char)
    wide = char.encode("utf-16-be", "surrogatepass")
    pairs = "".join(rf"\\{{1,4}}u(?i:{wide[at : at + 2].hex()})" for at in range(0, len(wide), 2))
    percent = "".join(f"%(?:25){{0,2}}(?i:{byte:02x})" for byte in char.encode("utf-8", "surrogateescape"))
    python = rf"\\{{1,4}}(?:x(?i:{code:02x})|U(?i:{code:08x}))" if code < 256 else rf"\\{{1,4}}U(?i:{code:08x})"
    return f"(?:{pairs}|{percent}|{python})"


def _referenced(char: str) -> str:
    code = ord(char)
    name = "apos" if char == "'" else codepoint2name.get(code)
    named = "" if name is None else f"|{name}"
    return f"&(?:amp;){{0,2}}(?:#(?:0{{0,6}}{code}|[xX]0{{0,6}}(?i:{code:x})){named});"


@cache
def units(word: str) -> tuple[str, ...]:
    """The pattern of each character of a word, where a run of backslashes is one."""
    return tuple(_unit(run) for run in re.findall(r"\\+|[^\\]", word, re.DOTALL))


def pattern(word: str) -> str:
    """A pattern without groups for every usual spelling of a word."""
    return "".join(units(word))


def anchor(word: str) -> str:
    """The longest part of a word that looks the same in every spelling; empty where there is none."""
    return max(re.findall(rf"{_PLAIN.pattern}+", word), key=len, default="")


def base64_cores(word: str) -> set[str]:
    """What is in every base64 text of something that holds the word, wherever in it the word stands."""
    data = word.encode("utf-8", "surrogateescape")
    found = set()
    for before in range(3):
        text = base64.b64encode(b"\0" * before + data).decode()
        # The first and the last character also hold bits of what stands beside the word.
        core = text[(0, 2, 3)[before] : len(text) if (before + len(data)) % 3 == 0 else text.find("=") - 1]
        if len(core) >= _LEAST_BASE64:
            found |= {core, core.replace("+", "-").replace("/", "_")}
    return found


def begun_at_end(word: str, text: str) -> int | None:
    """Where in a text the word begins that its end cuts off; None where it does not."""
    parts = _compiled(word)
    for start in range(max(0, len(text) - _LONGEST_SPELLING * len(parts)), len(text) - LEAST_PART + 1):
        place, matched = start, 0
        while matched < len(parts) and (found := parts[matched].match(text, place)) is not None:
            place, matched = found.end(), matched + 1
        # An escape may be cut, too.
        rest = text[place:]
        if matched >= LEAST_PART and (not rest or (len(rest) < _LONGEST_SPELLING and re.fullmatch(r"[\\%&]\S*", rest))):
            return start
    return None


def ended_at_begin(word: str, text: str) -> int | None:
    """Where in a text the word ends of which only the rest is there, at its beginning; None where it is not."""
    parts = _compiled(word)
    for first in range(1, len(parts) - LEAST_PART + 1):
        place, matched = 0, first
        while matched < len(parts) and (found := parts[matched].match(text, place)) is not None:
            place, matched = found.end(), matched + 1
        if matched == len(parts):
            return place
    return None


@cache
def _compiled(word: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(unit) for unit in units(word))
