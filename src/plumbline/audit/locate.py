"""On which line, and in which columns, does a fault stand?"""

from dataclasses import dataclass

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.position import locate
from plumbline.suites.base import Role, Span


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
        bundle: the evidence the spans are about. Its files are split into lines once, when first asked for.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._lines: dict[Role, list[bytes]] = {}

    def place(self, span: Span) -> Place:
        """Where `span` stands.

        Raises:
            KeyError: the span names a record that the bundle does not have.
        """
        number = self._bundle.lines[span.role][span.record]
        if span.role not in self._lines:
            self._lines[span.role] = self._bundle.contents[span.role].split(b"\n")
        columns = locate(self._lines[span.role][number - 1], span.path, span.start, span.end)
        return Place(
            role=span.role,
            file=self._bundle.file_of(span.role),
            line=number,
            start_column=columns.start_column,
            end_column=columns.end_column,
            note=span.note,
        )
