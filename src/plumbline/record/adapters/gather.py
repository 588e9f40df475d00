"""When is an answer that comes in pieces complete, and what is it then?

For the transports whose replies are many small documents: events of a stream, messages of a WebSocket.
"""

from typing import Any, Literal

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import CallError
from plumbline.record.adapters.calls import Exchanged
from plumbline.record.adapters.pointers import Pointers
from plumbline.record.adapters.settings import CallSettings
from plumbline.record.extract import Pointer, any_equal, shape

_RAW = 64 * 1024

Scalar = str | int | bool


class StreamSettings(CallSettings, frozen=True, kw_only=True):
    """Keys of `[adapter]` for an answer in pieces."""

    accumulate: Literal["append", "replace"] = "append"
    """Whether pieces follow one another, or each holds the whole answer so far."""
    stop_payload: str | None = None
    """A piece that is exactly this text ends the answer."""
    stop_field: str | None = None
    """A pointer into a piece; where it leads to `stop_value` the answer is complete."""
    stop_value: Scalar | None = None
    end_on_close: bool = False
    """The target marks the end of an answer by closing the connection."""


class StopRules:
    """What ends an answer, as configured.

    Raises:
        ConfigurationError: half of a rule.
    """

    def __init__(self, settings: StreamSettings) -> None:
        if (settings.stop_field is None) != (settings.stop_value is None):
            raise ConfigurationError("adapter.stop_field: needs adapter.stop_value, and the other way round")
        self.field = None if settings.stop_field is None else Pointer(settings.stop_field, key="adapter.stop_field")
        self.value = settings.stop_value
        self.payload = settings.stop_payload
        self.end_on_close = settings.end_on_close
        self.accumulate = settings.accumulate

    @property
    def declared(self) -> bool:
        """Whether anything at all ends an answer."""
        return self.field is not None or self.payload is not None or self.end_on_close

    def is_payload(self, data: str) -> bool:
        """Whether a piece is the text that ends an answer."""
        return self.payload is not None and data.strip() == self.payload

    def is_met(self, document: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Whether a piece holds the field that ends an answer."""
        return self.field is not None and any_equal(self.field, document, [self.value])

    def describe(self) -> dict[str, Any]:
        """The rules for the call shape."""
        return {
            "accumulate": self.accumulate,
            "stop_payload": self.payload,
            "stop_field": None if self.field is None else self.field.text,
            "stop_value": self.value,
            "end_on_close": self.end_on_close,
        }


class Gathering:
    """The pieces of one answer."""

    def __init__(self, pointers: Pointers, rules: StopRules, where: str) -> None:
        self.where = where
        self.units = 0
        """Pieces that came, whatever they held."""
        self._pointers = pointers
        self._rules = rules
        self._texts: list[str] = []
        self.found = False
        """Whether any piece held a part of the answer."""
        self._documents: list[Any] = []
        self._raw: list[str] = []
        self._raw_length = 0
        self._last = "no document"

    def note(self, data: str) -> None:
        """Count a piece and keep it for `probe`, up to a bound."""
        self.units += 1
        if self._raw_length < _RAW:
            self._raw.append(data[: _RAW - self._raw_length])
            self._raw_length += len(data) + 1

    def add(self, text: str) -> None:
        """Take a piece of the answer."""
        self.found = True
        if self._rules.accumulate == "replace":
            self._texts = [text]
        else:
            self._texts.append(text)

    def take(self, document: Any, *, answers: bool) -> bool:  # noqa: ANN401 - any JSON value
        """Take a piece that is JSON; True where it ends the answer.

        Args:
            document: the piece.
            answers: whether it may hold a part of the answer.

        Raises:
            CallError: `wrong_type`, where the pointer leads to something that is no text.
        """
        pointer = self._pointers.answer
        if answers and pointer is not None:
            # A piece without the field is no fault: the first often names only a role, the last only a reason.
            for value in pointer.matches(document):
                if isinstance(value, str):
                    self.add(value)
                elif value is not None:
                    raise CallError(
                        f"{self.where}: {pointer.key} leads to {shape(value)} where a piece of text was expected",
                        fault="wrong_type",
                        remedy=f"Point {pointer.key} at the text itself.",
                    )
        self._last = shape(document)
        if self._says_more(document):
            self._documents.append(document)
        return self._rules.is_met(document)

    def _says_more(self, document: Any) -> bool:  # noqa: ANN401 - any JSON value
        # Only what is read again is kept, or a long stream would be held in memory twice.
        pointers = self._pointers
        more = (pointers.citations, pointers.retrieved, pointers.document_ids, pointers.conversation)
        return any(pointer is not None and pointer.matches(document) for pointer in more)

    def result(self) -> Exchanged:
        """The whole answer.

        Raises:
            CallError: no piece held any of it.
        """
        if not self.found:
            pointer = self._pointers.answer
            told = f"{pointer.key} leads nowhere in any of them" if pointer is not None else "none holds text"
            raise CallError(
                f"{self.where}: {self.units} pieces came and {told}; the last is {self._last}",
                fault="not_extracted" if self.units else "empty",
                remedy="Point adapter.response_pointer at the text within one piece; see `plumbline probe`.",
            )
        return Exchanged("".join(self._texts), self._documents, "\n".join(self._raw))

    def never_ended(self, seconds: float, units: str) -> CallError:
        """The fault of a stream that sent something and never ended."""
        return CallError(
            f"{self.where}: the stream never ended: {self.units} {units} came within {seconds:g} s, "
            "and none of them ends an answer",
            fault="timeout",
            transient=True,
            remedy="Say how this target ends an answer (stop_event, stop_payload, stop_field).",
        )

    def cut_short(self, units: str) -> CallError:
        """The fault of a stream that ended without the mark that ends an answer."""
        return CallError(
            f"{self.where}: the stream stopped after {self.units} {units} without the mark that ends an answer",
            fault="malformed",
            remedy="Correct stop_event, stop_payload or stop_field; end_on_close = true only if closing is the mark.",
        )
