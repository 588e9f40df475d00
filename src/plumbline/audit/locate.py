"""On which line, and in which columns, does a fault stand?"""

import re
from array import array
from dataclasses import dataclass

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.position import locate
from plumbline.suites.base import Role, Span

_BREAK = re.compile(rb"\n")


@dataclass(frozen=True, slots=True)
class Place:
    """A region of one line of a bundle file."""

    role: Role
    file: str
    """POSIX path relative to the bundle."""
    line: int
    """1-based."""
    start_column: int
    """1-based, in UTF-16 code units."""
    end_column: int
    """The column after the region's last one."""
    note: str


class Locator:
    """Turns spans of decoded text into places in the bundle's files.

    Args:
        bundle: the evidence the spans are about. The lines of its files are counted once, when first asked for.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._starts: dict[Role, array[int]] = {}
        self._page: str | None = None

    def place(self, span: Span) -> Place:
        """Where `span` stands.

        Raises:
            KeyError: the span names a record that the bundle does not have.
        """
        if span.role == "interface":
            return self._in_page(span)
        number = self._bundle.lines[span.role][span.record]
        columns = locate(self._line(span.role, number), span.path, span.start, span.end)
        return Place(
            role=span.role,
            file=self._bundle.file_of(span.role),
            line=number,
            start_column=columns.start_column,
            end_column=columns.end_column,
            note=span.note,
        )

    def _line(self, role: Role, number: int) -> bytes:
        content = self._bundle.contents[role]
        if role not in self._starts:
            # Where lines begin, and no list of them: the file is in memory already.
            self._starts[role] = array("Q", [0, *(found.end() for found in _BREAK.finditer(content))])
        starts = self._starts[role]
        end = starts[number] - 1 if number < len(starts) else len(content)
        return content[starts[number - 1] : end]

    def _in_page(self, span: Span) -> Place:
        # A page is shown by the line where the region begins: SARIF regions here stay within one line.
        page = self._page = self._bundle.page or "" if self._page is None else self._page
        start = span.start or 0
        before = page[:start]
        line_start = before.rfind("\n") + 1
        line_end = page.find("\n", start)
        line_end = len(page) if line_end < 0 else line_end
        end = min(span.end if span.end is not None else line_end, line_end)
        return Place(
            role="interface",
            file=self._bundle.file_of("interface"),
            line=before.count("\n") + 1,
            start_column=_utf16(page[line_start:start]) + 1,
            end_column=_utf16(page[line_start : max(end, start)]) + 1,
            note=span.note,
        )


def _utf16(text: str) -> int:
    return len(text) + sum(character > "\uffff" for character in text)
