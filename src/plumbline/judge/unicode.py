"""Which characters may be part of a word, on every interpreter alike?

An interpreter brings its own Unicode tables, so a letter that Unicode added last year would be a word on one machine
and none on another, and a verdict would depend on the machine. Plumbline reads text by Unicode 14.0, the tables of the
oldest interpreter it supports: letters and digits that came later are set aside before words are read.
"""

import re

_LATER = (
    "558 58B-58C 88F C5C CDC 1C89-1C8A 208F 209D-209F A7CB-A7CF A7D2 A7D4 A7DA-A7F1 AB6C-AB6D 105C0-105F3 "
    "107BB-107BF 10940-10959 10D40-10D85 10EC2-10EEE 1123F-11240 11380-113D3 116D0-116E3 11B0A-11BF9 11DB0-11DF1 "
    "11F02-11F59 1246F 12475-1247F 12550-12686 1342F 13441-143FA 16100-16139 16D40-16D79 16EA0-16ED3 16FF2-16FF6 "
    "187F8-187FF 18CD6-18CFF 18D09-191D2 1B123-1B132 1B155 1B168 1CCF0-1CCF9 1D2C0-1D2D3 1D6A6 1DF1F-1DFFF "
    "1E030-1E06D 1E4D0-1E6FF 2B739-2B73F 2B81E 2CEA2-2CEAD 2EBF0-2EE5D 31350-3FC3F"
)
"""Ranges that hold the letters and digits of Unicode 15.0 to 18.0, as hexadecimal code points."""


def _pattern(ranges: str) -> str:
    return "".join("-".join(f"\\U{int(end, 16):08x}" for end in entry.split("-")) for entry in ranges.split())


_FILLERS = "115F-1160 3164 FFA0"
"""Letters by the tables, and nothing to be seen: an answer of them says as much as one of blanks."""

_SET_ASIDE = re.compile(f"[{_pattern(_LATER)}{_pattern(_FILLERS)}]")


def by_unicode_14(text: str) -> str:
    """The text with every letter that Unicode 14.0 lacks or nobody sees replaced by U+FFFD, which is part of no word.

    One code point stands for one, so offsets stay what they are.
    """
    return text if text.isascii() else _SET_ASIDE.sub("\ufffd", text)


def lowered(text: str) -> str:
    """`text` in lower case, one letter at a time.

    Python writes a capital sigma at the end of a word as a final one, and which characters a word may end with depends
    on the interpreter's Unicode tables. Both small sigmas are one letter here.
    """
    return text.replace("\u03a3", "\u03c3").lower().replace("\u03c2", "\u03c3")
