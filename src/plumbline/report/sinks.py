"""How does hostile text reach a reader without becoming anything but text?

A response, a prompt or a file name may hold anything. There is one function here for every place that such
text is written to, and none of it goes anywhere by another way. All are pure functions of the text.

Each first makes the text `visible`. Limits count what is shown, before the sink's own escapes.
"""

import itertools
import re
from unicodedata import ucd_3_2_0

from plumbline.judge.unicode import by_unicode_14

LEAST_LIMIT = 32
"""The smallest limit there is: below it the mark that counts what was left out would not fit."""

WORKFLOW_LIMIT = 4096
"""UTF-16 code units of an annotation's message that the workflow runner keeps."""

JOINER = "\u2060"
"""Word joiner: no width, no letter, no line break. `markdown` puts it where a link would start.

`visible` shows every joiner of the text itself as an escape, so each one in a sink's output is ours.
"""

# Written out and not asked of unicodedata, so that a text looks the same under every interpreter: control,
# format, private-use and surrogate code points, line and paragraph separators, noncharacters, and letters and
# marks that by definition show nothing. U+FE0E and U+FE0F stay: they only choose between text and emoji.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u17b4\u17b5"
    "\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufe00-\ufe0d\ufeff"
    "\uffa0\ufff0-\ufffb\ufffe\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
    + "".join(f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(1, 15))
    + "]"
)
_SHORT_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_LONGEST_CLUSTER = 32


def visible(text: str, limit: int | None = None) -> str:
    r"""`text` on one line, with characters that show nothing or move others as escapes like \u202e.

    Backslashes of the text stay as they are: this is for reading, not for reading back.

    Args:
        text: anything.
        limit: code points of the result, the mark `… (+N more)` included, where N counts code points of
            `text`; None does not cut. A cut spares escapes, combining sequences, surrogate pairs and flags.

    Raises:
        ValueError: `limit` is below `LEAST_LIMIT`.
    """
    return _shown(text, limit)


def terminal(text: str, limit: int | None = None) -> str:
    """`text` for a terminal: one line, in which no control sequence is left.

    A library that gives square brackets or colons a meaning of its own must be told that this is plain text.

    Raises:
        ValueError: as `visible`.
    """
    return _shown(text, limit)


def log_line(text: str, limit: int | None = None) -> str:
    r"""`text` as one line of a workflow's log that the runner does not take for a command.

    The runner looks for `::` at the start of a line, after white space, and for the older `##[` anywhere. Its
    string search may skip characters without weight in collation, such as variation selectors. So a line that
    begins with a colon, a hash or something beyond ASCII is put behind `| `, and a hash before another one or
    before a bracket gets a backslash, whatever stands between.

    Args:
        text: anything.
        limit: as in `visible`, before prefix and backslashes.

    Raises:
        ValueError: as `visible`.
    """
    line = re.sub(r"#(?=[^\x20-\x7e]*+[#\[])", r"#\\", _shown(text, limit))
    return line if re.match(r' *+(?:[!"$-9;-~]|\Z)', line) else f"| {line}"


def workflow_data(text: str, limit: int | None = WORKFLOW_LIMIT) -> str:
    """`text` as the message of a workflow command such as `::error::`. Line breaks survive.

    Args:
        text: anything.
        limit: as in `visible`, but in UTF-16 code units, in which the runner counts.

    Raises:
        ValueError: as `visible`.
    """
    shown = _shown(text.replace("\r\n", "\n"), limit, keep="\n", wide=2)
    return shown.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def workflow_property(text: str, limit: int | None = WORKFLOW_LIMIT) -> str:
    """`text` as a property of a workflow command, such as `file` or `title`: one line.

    Raises:
        ValueError: as `visible`.
    """
    shown = _shown(text, limit, wide=2)
    return shown.replace("%", "%25").replace(":", "%3A").replace(",", "%2C")


def html(text: str, limit: int | None = None) -> str:
    """`text` for HTML: the content of an element or a quoted attribute. Line feeds and tabs survive.

    It makes no text safe as a script, a style, an address, or an attribute without quotes.

    Raises:
        ValueError: as `visible`.
    """
    return _shown(text, limit, keep="\n\t").translate(_HTML)


_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"})


def sarif_text(text: str, limit: int | None = None) -> str:
    r"""`text` within the text of a SARIF message, where `[text](1)` is a link and `{0}` a placeholder.

    SARIF 2.1.0, sections 3.11.5 and 3.11.6: braces are doubled, and square brackets get a backslash.
    Backslashes right before a bracket are doubled too. Others are not, so that \u202e stays readable where
    nothing is unescaped.

    Raises:
        ValueError: as `visible`.
    """
    shown = _shown(text, limit).replace("{", "{{").replace("}", "}}")
    # The look-behind starts every run of backslashes only once, or a long run would cost its square.
    return re.sub(r"(?<!\\)(\\*+)([\[\]])", r"\1\1\\\2", shown)


def code_span(text: str, limit: int | None = None, *, in_table: bool = True) -> str:
    r"""`text` as a Markdown code span (CommonMark 0.31, 6.1), in which nothing is markup, mention or link.

    Args:
        text: anything; an empty text is shown as a space, since there is no empty code span.
        limit: as in `visible`, before backticks.
        in_table: write `|` as `\|`. A table removes that backslash again and any other place shows it.

    Raises:
        ValueError: as `visible`.
    """
    shown = _shown(text, limit) or " "
    if in_table:
        shown = shown.replace("|", "\\|")
    fence = "`" * (1 + max((len(run) for run in re.findall(r"`++", shown)), default=0))
    # One space on either side is taken off again. It parts a backtick from the fence and saves own spaces.
    padded = shown[0] == "`" or shown[-1] == "`" or (shown[0] == shown[-1] == " " and shown.strip(" "))
    return f"{fence} {shown} {fence}" if padded else f"{fence}{shown}{fence}"


def markdown(text: str, limit: int | None = 500) -> str:
    """`text` within a line of GitHub-flavoured Markdown: a paragraph, a table cell, a list, a summary tag.

    Two layers, because two things read it:

    - The Markdown parser must see no markup. What could mean something becomes a character reference, which
      by the CommonMark specification never stands for structure. A backslash depends on its neighbours.
    - GitHub looks through the finished text for mentions, issues, commits, addresses and emoji names. It sees
      what a character reference stands for, so those do not help. A word joiner at each such place does:
      dependency bots have long put an invisible character after `@` so that changelogs mention nobody.

    How GitHub finds mathematics in plain text is not documented; a dollar sign is a character reference here.

    Args:
        text: anything.
        limit: as in `visible`, before references and joiners.

    Raises:
        ValueError: as `visible`.
    """
    unlinked = _HEX_WORD.sub(_broken_hex, _unlinked(_shown(text, limit)))
    escaped = unlinked.translate(_MARKUP)
    # A first character, or one after a first number, can begin a list, a heading or a bot's command; white
    # space at either end is trimmed, or begins code.
    number = re.match(r"[0-9]*+", escaped)
    start = number.end() if number else 0
    return escaped[:start] + re.sub(r"\A[-+=/.)\s]|\s\Z", _reference, escaped[start:])


_MARKUP = str.maketrans(
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"} | {char: f"&#{ord(char)};" for char in "\\`*_[]{}#|~$"}
)

_LINK_STARTS = re.compile(
    r"(?<=[@#])"  # a person or a team, an issue
    r"|(?<=:)(?=[^\s\d])"  # a scheme, an emoji name
    r"|(?<=:)(?=[\w+-]++:)"  # an emoji name of digits
    r"|(?<=/)(?=/)"  # an address, with or without a scheme
    r"|(?<=\w\.)(?=[^\W\d_])"  # a domain; GitHub leaves bare ones alone, mail readers do not
    r"|(?<=[wW]{3})(?=\.)"  # a domain that begins with www
    r"|(?<=[A-Za-z]-)(?=\d)"  # GH-1, CVE-2020-1, and the prefix of another tracker
    r"|(?<=[Gg][Hh][Ss][Aa]-)"  # a security advisory
)

_HEX_WORD = re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{7,}+(?![0-9A-Za-z])")
"""What may be a commit: GitHub takes 7 to 40 digits of a word that is nothing else."""


def _unlinked(text: str) -> str:
    # What is a letter depends on the interpreter; the places are looked for in a text that looks alike on all of them.
    places = [match.start() for match in _LINK_STARTS.finditer(by_unicode_14(text))]
    pieces = (text[start:end] for start, end in itertools.pairwise([0, *places, len(text)]))
    return JOINER.join(pieces)


def _broken_hex(word: re.Match[str]) -> str:
    return JOINER.join(word[0][place : place + 6] for place in range(0, len(word[0]), 6))


def _reference(char: re.Match[str]) -> str:
    return f"&#{ord(char[0])};"


def _shown(text: str, limit: int | None, *, keep: str = "", wide: int = 1) -> str:
    """As `visible`. Characters of `keep` stay, and code points beyond U+FFFF count `wide`."""
    if limit is None:
        return _HIDDEN.sub(lambda found: _escape(found[0], keep), text)
    if limit < LEAST_LIMIT:
        raise ValueError(f"a limit must be at least {LEAST_LIMIT}, not {limit}")
    shown = [_escape(char, keep) if _HIDDEN.match(char) else char for char in text[:limit]]
    if len(text) <= limit and _size(shown, wide) <= limit:
        return "".join(shown)
    room = limit - len(_mark(len(text)))
    fits = 0
    for piece in shown:
        room -= _size(piece, wide)
        if room < 0:
            break
        fits += 1
    fits = _before_cluster(text, fits)
    return "".join(shown[:fits]) + _mark(len(text) - fits)


def _mark(left_out: int) -> str:
    return f"… (+{left_out} more)"


def _size(pieces: str | list[str], wide: int) -> int:
    return sum(wide if char > "\uffff" else 1 for piece in pieces for char in piece)


def _escape(char: str, keep: str) -> str:
    if char in keep:
        return char
    code = ord(char)
    return _SHORT_ESCAPES.get(char) or (f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}")


def _before_cluster(text: str, cut: int) -> int:
    """`cut`, or where the cluster begins that a cut there would split. Endless clusters are split."""
    place = cut
    while 0 < place < len(text) and cut - place < _LONGEST_CLUSTER:
        if not _continues(text, place):
            return place
        place -= 1
    return cut


def _continues(text: str, place: int) -> bool:
    """Whether the code point at `place` belongs to the one before it."""
    char = text[place]
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        flags = re.search("[\U0001f1e6-\U0001f1ff]*\\Z", text[max(0, place - _LONGEST_CLUSTER) : place])
        return flags is not None and len(flags[0]) % 2 == 1
    return (
        ucd_3_2_0.category(char).startswith("M")  # the one table that every interpreter has alike
        or "\U0001f3fb" <= char <= "\U0001f3ff"
        or "\u1160" <= char <= "\u11ff"
        or ("\udc00" <= char <= "\udfff" and "\ud800" <= text[place - 1] <= "\udbff")
    )
