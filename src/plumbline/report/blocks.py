"""Of which pieces are the Markdown renderings made?

Text of a report goes through a sink here or in the rendering itself; markup is only ever put around what a sink gave.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from plumbline.report import wording
from plumbline.report.document import Location
from plumbline.report.findings import Finding
from plumbline.report.sinks import code_span, markdown
from plumbline.report.wording import Excerpt

Link = Callable[[Location], str | None]
"""Where a reader can see a place: an address, or None."""

ID_LIMIT = 80
TEXT_LIMIT = 400

LEFT, RIGHT = ":--", "--:"

_LONGEST_ADDRESS = 2000
_NOT_IN_ADDRESS = re.compile(r"[^A-Za-z0-9._~:/?#=&%+,;@-]|%(?![0-9A-Fa-f]{2})")


def table(columns: Sequence[tuple[str, str]], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table.

    Args:
        columns: heading and alignment of each.
        rows: cells that a sink has made safe.
    """
    lines = ["| " + " | ".join(heading for heading, _ in columns) + " |"]
    lines.append("|" + "|".join(alignment for _, alignment in columns) + "|")
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return lines


def code(text: str, limit: int = ID_LIMIT) -> str:
    """An identifier, outside of tables. It can be copied as it is."""
    return code_span(text, limit, in_table=False)


def cell(text: str, limit: int = ID_LIMIT) -> str:
    """An identifier in a table."""
    return code_span(text, limit)


def excerpt(piece: Excerpt) -> str:
    """A piece of text with the part that matters in bold. A tag, because asterisks beside a letter are not bold."""
    marked = f"<strong>{markdown(piece.marked)}</strong>" if piece.marked else ""
    return f"{markdown(piece.before)}{marked}{markdown(piece.after)}"


def linked(shown: str, address: str | None) -> str:
    """What a sink gave, as a link where there is an address to trust."""
    if address is None or len(address) > _LONGEST_ADDRESS or not address.startswith(("https://", "http://")):
        return shown
    return f"[{shown}](<{_escaped(address)}>)"


def _escaped(address: str) -> str:
    # What a file is called stands in its address; nothing of it may end the link.
    return _NOT_IN_ADDRESS.sub(lambda found: "".join(f"%{b:02X}" for b in found[0].encode("utf-8", "replace")), address)


def nowhere(_: Location) -> None:
    """A link for readers who have no place to go to."""
    return


def place(location: Location, link: Link) -> str:
    """File, line and column."""
    return linked(code(f"{location.file}:{location.line}:{location.start_column}"), link(location))


def finding_lines(finding: Finding, link: Link) -> list[str]:
    """One finding as an item of a list: which, why, what was said and what is expected."""
    item = finding.item
    address = None if finding.place is None else link(finding.place)
    name = linked(code(item.item), address)
    if finding.place is not None and address is not None:
        # A link says where only to whoever follows it; a mail or a picture of the comment says it too.
        name += f" at {code(f'{finding.place.file}:{finding.place.line}')}"
    outright = ", fails the suite outright" if item.hard else ""
    note = markdown(item.note or item.reason or "failed", TEXT_LIMIT)
    lines = [f"- {name} {wording.DASH} {markdown(finding.suite.suite, ID_LIMIT)}{outright}: {note}"]
    for word, where, text in _texts(finding):
        if text is not None:
            named = linked(word, None if where is None else link(where))
            # Where nothing can be linked the place is written out; `nowhere` says that it stands elsewhere already.
            if where is not None and link is not nowhere and link(where) is None:
                named += f" ({place(where, link)})"
            lines.append(f"  - {named}: {wording.QUOTES[0]}{excerpt(text)}{wording.QUOTES[1]}")
    return lines


def _texts(finding: Finding) -> list[tuple[str, Location | None, Excerpt | None]]:
    """The two texts beside a finding, each with its name and its place."""
    item, places = finding.item, finding.item.where
    one, other = wording.labels(finding.suite.unit)
    # Of a pair the places of the second response come after all those of the first, in another line.
    seconds = [p for p in places[1:] if (p.file, p.line) != (places[0].file, places[0].line)]
    pair = finding.suite.unit == "pair"
    first = next((p for p in places if p.role in {"responses", "interface"}), None)
    second = next(iter(seconds), None) if pair else next((p for p in places if p.role == "items"), None)
    return [(one, first, wording.said(item)), (other, second, wording.wanted(item))]


def bullets(sentences: Iterable[str], limit: int = TEXT_LIMIT) -> list[str]:
    """Plain sentences as a list."""
    return [f"- {markdown(sentence, limit)}" for sentence in sentences]


def some(sentences: Sequence[str], number: int, where: str) -> list[str]:
    """The first of many sentences as a list, and how many there are besides."""
    lines = bullets(sentences[:number])
    if len(sentences) > number:
        lines.append(f"- and {len(sentences) - number:,} more, in {where}")
    return lines
