"""How is a service asked that sends its answer piece by piece as Server-Sent Events?

An answer is complete when the stream says so in the way that the configuration declares, and in no other: a stream that
goes quiet, or that is cut, is half an answer.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Adapter, CallError
from plumbline.record.adapters.calls import Exchanged, NetworkAdapter
from plumbline.record.adapters.gather import Gathering, StopRules, StreamSettings
from plumbline.record.adapters.pointers import Pointers
from plumbline.record.events import Event, EventParser
from plumbline.record.extract import parse_json
from plumbline.record.reply import Incoming
from plumbline.record.transport import Request

_QUOTED = 120


class Settings(StreamSettings, frozen=True, kw_only=True):
    """`[adapter]` with `kind = "sse"`."""

    method: Literal["GET", "POST", "PUT"] = "POST"
    answer_event: str | None = None
    """Only events of this name hold the answer; without it all do."""
    stop_event: str | None = None
    """An event of this name ends the answer."""
    error_event: str = "error"
    """An event of this name means that the target gave up."""


def create(settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> Adapter:
    """The adapter.

    Raises:
        ConfigurationError: a key that is wrong, or an environment variable that is not set.
    """
    rules = StopRules(settings)
    if settings.stop_event is None and not rules.declared:
        raise ConfigurationError(
            "[adapter]: nothing says when an answer is complete",
            remedy="Set stop_event, stop_payload, or stop_field with stop_value; end_on_close = true if the service "
            "marks the end by closing and in no other way.",
        )
    return _Sse(settings, rules, folder=folder, environ=environ)


class _Sse(NetworkAdapter):
    def __init__(self, settings: Settings, rules: StopRules, *, folder: Path, environ: Mapping[str, str]) -> None:
        super().__init__(
            "sse",
            settings,
            folder=folder,
            environ=environ,
            method=settings.method,
            pointers=Pointers(settings, needs_answer=False),
            accept="text/event-stream",
        )
        self._own = settings
        self._rules = rules

    def shape(self) -> dict[str, Any]:
        names = {"answer_event": self._own.answer_event, "stop_event": self._own.stop_event}
        return self._rules.describe() | names | {"error_event": self._own.error_event}

    def exchange(self, request: Request, values: Mapping[str, Any]) -> Exchanged:  # noqa: ARG002 - poll needs them
        gathering = Gathering(self.pointers, self._rules, request.where)
        try:
            with self.transport.stream(request) as incoming:
                self._refuse_other_type(incoming)
                complete = self._read(incoming, gathering)
            if not complete and not self._rules.end_on_close:
                raise gathering.cut_short("events")
            return gathering.result()
        except CallError as fault:
            raise gathering.told(fault, self.transport.timeout, "events") from None

    def _refuse_other_type(self, incoming: Incoming) -> None:
        media = incoming.headers.get("Content-Type", "").partition(";")[0].strip()
        if media.lower() != "text/event-stream":
            said = incoming.begins()
            raise CallError(
                f"{incoming.where}: the reply is no event stream but {self.secrets.quote(media, 60) or 'of no type'}"
                + (f": {said}" if said else ""),
                fault="malformed",
                remedy='If the service answers with one JSON document, use kind = "http_json".',
            )

    def _read(self, incoming: Incoming, gathering: Gathering) -> bool:
        parser = EventParser()
        try:
            for chunk in incoming.chunks():
                for event in parser.feed(chunk):
                    if self._take(event, gathering):
                        return True
        except UnicodeDecodeError:
            raise CallError(f"{incoming.where}: the stream is not UTF-8", fault="malformed") from None
        return False

    def _take(self, event: Event, gathering: Gathering) -> bool:
        """Take one event in; True where it ends the answer."""
        own, where = self._own, gathering.where
        gathering.note(event.data if event.name == "message" else f"[{event.name}] {event.data}")
        if event.name == own.error_event:
            raise CallError(
                f"{where}: the target sent an event {own.error_event!r}: {self.secrets.quote(event.data, _QUOTED)}",
                fault="bad_status",
            )
        ends = event.name == own.stop_event
        if self._rules.is_payload(event.data):
            return True
        answers = own.answer_event is None or event.name == own.answer_event
        if self.pointers.answer is None:
            # The data is the text; an event that only marks the end holds none.
            if answers and not (ends and own.answer_event is None):
                gathering.add(event.data)
            return ends
        if ends and not answers and not event.data.lstrip().startswith("{"):
            return True
        try:
            document = parse_json(event.data.encode(), where, self.secrets.quote)
        except CallError:
            if ends or not answers:
                return ends
            raise
        return gathering.take(document, answers=answers) or ends
