"""How is a service asked that talks over a WebSocket?

An answer is complete when a message says so, as declared. Silence ends one only where `idle_seconds` says that it does.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Adapter, CallError, Conversation, Question, Reply
from plumbline.record.adapters.calls import NetworkAdapter, keeping
from plumbline.record.adapters.dialogue import refuse_forgetful
from plumbline.record.adapters.gather import Gathering, Scalar, StopRules, StreamSettings
from plumbline.record.adapters.pointers import Pointers
from plumbline.record.extract import Pointer, any_equal, parse_json
from plumbline.record.messages import MessageChannel, handshake_headers
from plumbline.record.template import Template
from plumbline.record.transport import Deadline, Request


class Settings(StreamSettings, frozen=True, kw_only=True):
    """`[adapter]` with `kind = "websocket"`: `body` is the message that asks."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {"idle_seconds": (0.05, 60)}

    init_message: dict[str, Any] | None = None
    """Sent once, right after the connection is open."""
    ready_field: str | None = None
    """A pointer into a message; nothing is asked before it leads to `ready_value`."""
    ready_value: Scalar | None = None
    answer_field: str | None = None
    """A pointer into a message; only where it leads to `answer_value` the message holds a part of the answer."""
    answer_value: Scalar | None = None
    single_message: bool = False
    """The first message that holds an answer is the whole answer."""
    idle_seconds: float | None = None
    """0.05 to 60: an answer is complete when nothing has followed its last piece for so long."""
    one_connection: bool = True
    """Ask the turns of one item over one connection, which is then the conversation."""


def create(settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> Adapter:
    """The adapter.

    Raises:
        ConfigurationError: a key that is wrong, or an environment variable that is not set.
    """
    return _WebSocket(settings, folder=folder, environ=environ)


class _WebSocket(NetworkAdapter):
    def __init__(self, settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> None:
        if settings.body is None:
            raise ConfigurationError("adapter.body: the key is missing; it is the message that asks the question")
        super().__init__(
            "websocket",
            settings,
            folder=folder,
            environ=environ,
            method="WebSocket",
            pointers=Pointers(settings, needs_answer=False),
            schemes=("ws", "wss"),
        )
        self.own = settings
        self.rules = StopRules(settings)
        if not (self.rules.declared or settings.single_message or settings.idle_seconds is not None):
            raise ConfigurationError(
                "[adapter]: nothing says when an answer is complete",
                remedy="Set stop_field with stop_value, stop_payload, or single_message = true; idle_seconds or "
                "end_on_close = true if the service marks the end in no other way.",
            )
        self.ready = _test("ready", settings.ready_field, settings.ready_value)
        self.answers = _test("answer", settings.answer_field, settings.answer_value)
        self.init: Template | None = None
        if settings.init_message is not None:
            self.template.resolve_within(settings.init_message, self.secrets, "adapter.init_message")
            self.init = Template(settings.init_message, key="adapter.init_message")
        self.conversational = self.conversational or settings.one_connection

    def shape(self) -> dict[str, Any]:
        own = self.own
        return self.rules.describe() | {
            "init_message_template": None if self.init is None else self.template.shown(self.init),
            "ready_field": own.ready_field,
            "ready_value": own.ready_value,
            "answer_field": own.answer_field,
            "answer_value": own.answer_value,
            "single_message": own.single_message,
            "idle_seconds": own.idle_seconds,
            "one_connection": own.one_connection,
        }

    def open(self, question: Question) -> Conversation:
        refuse_forgetful(question, carries=self.conversational)
        return _Talk(self, question)

    def preview(self, question: Question) -> str:
        values = self.dialogue(question).values(question.prompt, self.template.where)
        request = self.opening.build(values)
        prepared = request.prepared()
        lines = [f"GET {prepared.path_url} HTTP/1.1", f"Host: {self.template.host}"]
        lines += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Key: (made up anew each time)"]
        lines += ["Sec-WebSocket-Version: 13", *(f"{name}: {value}" for name, value in handshake_headers(request))]
        sent = [] if self.init is None else [self.template.fill(self.init, values)]
        sent.append((request.body or b"").decode())
        return self.secrets.mask("\n".join([*lines, "", *sent]))


class _Talk:
    """One item's turns, over one connection unless configured otherwise."""

    def __init__(self, adapter: _WebSocket, question: Question) -> None:
        self._adapter = adapter
        self._dialogue = adapter.dialogue(question)
        self._channel: MessageChannel | None = None

    def ask(self, text: str) -> Reply:
        """See `Conversation.ask`."""
        adapter, where = self._adapter, self._adapter.template.where
        if self._dialogue.turns and self._channel is None and adapter.own.one_connection:
            # What was said so far went with it, and a new one would take this turn for the first.
            raise CallError(f"{where}: the connection that was the conversation is gone", fault="unreachable")
        values = self._dialogue.values(text, where)
        template = adapter.template if self._dialogue.turns else adapter.opening
        request = template.build(values)
        gathering = Gathering(adapter.pointers, adapter.rules, where)
        try:
            self._exchange(request, values, gathering)
            got = gathering.result()
        except CallError as fault:
            # What may still come would be taken for the answer to what is asked next.
            self.close()
            raise gathering.told(fault, adapter.transport.timeout, "messages") from None
        if not adapter.own.one_connection:
            self.close()
        given = [adapter.pointers.read_conversation(document, where) for document in got.documents]
        self._dialogue.learn(text, got.text, next((name for name in reversed(given) if name is not None), None))
        with keeping(got.raw):
            return adapter.pointers.reply(got.text, got.documents, got.raw, where)

    def _exchange(self, request: Request, values: Mapping[str, Any], gathering: Gathering) -> None:
        adapter = self._adapter
        seconds = adapter.transport.timeout
        if self._channel is None:
            self._channel = MessageChannel(adapter.transport, request, Deadline(seconds))
            if adapter.init is not None:
                self._channel.send(adapter.template.fill(adapter.init, values))
            self._await_ready(self._channel, gathering.where)
            self._channel.unasked()  # a greeting answers nothing
        else:
            self._channel.begin(seconds)
            self._refuse_surplus(self._channel.unasked(), gathering.where)
            self._channel.begin(seconds)
        self._channel.send((request.body or b"").decode())
        self._gather(self._channel, gathering)

    def _refuse_surplus(self, messages: list[str], where: str) -> None:
        # What says nothing, like a sign of life, is dropped. A piece of an answer belongs to the turn before, which is
        # then recorded cut short, or to nobody.
        spare = Gathering(self._adapter.pointers, self._adapter.rules, where)
        for message in messages:
            if self._adapter.rules.is_payload(message) or self._take(message, spare) or spare.found:
                raise CallError(
                    f"{where}: more of an answer came after the message that ended it, and before the next question",
                    fault="malformed",
                    remedy="Correct stop_field, stop_payload, single_message or idle_seconds.",
                )

    def _await_ready(self, channel: MessageChannel, where: str) -> None:
        ready = self._adapter.ready
        while ready is not None:
            message = channel.receive()
            if message is None:
                raise CallError(
                    f"{where}: the target closed the connection before it was ready to be asked",
                    fault="malformed",
                    remedy="Check adapter.init_message, ready_field and ready_value.",
                )
            if any_equal(ready[0], parse_json(message.encode(), where, self._adapter.secrets.quote), [ready[1]]):
                return

    def _gather(self, channel: MessageChannel, gathering: Gathering) -> None:
        own, rules = self._adapter.own, self._adapter.rules
        begun = False
        while True:
            try:
                message = channel.receive(own.idle_seconds if begun else None)
            except TimeoutError:
                return  # declared: silence after a piece of the answer ends it
            if message is None:
                if rules.end_on_close:
                    return
                raise gathering.cut_short("messages")
            gathering.note(message)
            if rules.is_payload(message):
                return
            held = gathering.found
            if self._take(message, gathering) or (own.single_message and gathering.found):
                return
            begun = begun or gathering.found or held

    def _take(self, message: str, gathering: Gathering) -> bool:
        adapter = self._adapter
        if adapter.pointers.answer is None and adapter.answers is None and adapter.rules.field is None:
            gathering.add(message)
            return False
        document = parse_json(message.encode(), gathering.where, adapter.secrets.quote)
        answers = adapter.answers is None or any_equal(adapter.answers[0], document, [adapter.answers[1]])
        if answers and adapter.pointers.answer is None:
            raise CallError(
                f"{gathering.where}: a message is JSON, and nothing says where in it the text stands",
                fault="not_extracted",
                remedy="Set adapter.response_pointer.",
            )
        return gathering.take(document, answers=answers)

    def close(self) -> None:
        """See `Conversation.close`."""
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()


def _test(name: str, field: str | None, value: Scalar | None) -> tuple[Pointer, Scalar] | None:
    if field is None and value is None:
        return None
    if field is None or value is None:
        raise ConfigurationError(f"adapter.{name}_field: needs adapter.{name}_value, and the other way round")
    return Pointer(field, key=f"adapter.{name}_field"), value
