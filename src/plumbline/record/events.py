"""Which events does a stream of bytes hold?

Server-Sent Events by the rules of the WHATWG HTML standard, 9.2.6 "Interpreting an event stream", with one exception:
bytes that are not UTF-8 are a fault there and no replacement characters, since a recording keeps what was said exactly.
`id` and `retry` only matter to a client that connects again, which a recording never does.
"""

import codecs
import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class Event:
    """One dispatched event."""

    name: str
    """`message` where the stream names none."""
    data: str


class EventParser:
    """Takes bytes in any pieces and gives events as soon as their blank line has come."""

    def __init__(self) -> None:
        self._partial: list[bytes] = []
        self._after_cr = False
        self._begun = False
        self._head = b""
        self._name = ""
        self._data: list[str] = []

    def feed(self, chunk: bytes) -> list[Event]:
        """The events that `chunk` completes.

        Raises:
            UnicodeDecodeError: a line is not UTF-8.
        """
        if not self._begun:
            # A byte order mark may be there once, before everything else, and may come in pieces.
            self._head += chunk
            if len(self._head) < len(codecs.BOM_UTF8) and codecs.BOM_UTF8.startswith(self._head):
                return []
            chunk, self._head, self._begun = self._head.removeprefix(codecs.BOM_UTF8), b"", True
        if self._after_cr and chunk:
            chunk = chunk.removeprefix(b"\n")
            self._after_cr = False
        # A line feed may still follow a carriage return at the end; the line is over either way.
        self._after_cr = self._after_cr or chunk.endswith(b"\r")
        *complete, rest = _LINE_END.split(chunk)
        events = []
        for piece in complete:
            line = b"".join([*self._partial, piece]) if self._partial else piece
            self._partial = []
            event = self._line(line.decode("utf-8"))
            if event is not None:
                events.append(event)
        if rest:
            self._partial.append(rest)
        return events

    def _line(self, line: str) -> Event | None:
        if not line:
            name, data = self._name or "message", self._data
            self._name, self._data = "", []
            return Event(name, "\n".join(data)) if data else None
        field, colon, value = line.partition(":")
        if not field and colon:
            return None  # a comment, which services send to keep a connection open
        value = value.removeprefix(" ")
        if field == "event":
            self._name = value
        elif field == "data":
            self._data.append(value)
        return None
