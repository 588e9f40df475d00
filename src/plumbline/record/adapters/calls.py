"""How is one user turn asked, whatever the transport?

What the adapters that send HTTP requests share: a conversation fills in the templates, lets its adapter exchange the
request for documents, and reads the reply out of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Conversation, Question, Reply
from plumbline.record.adapters.dialogue import Dialogue, refuse_forgetful
from plumbline.record.adapters.pointers import Pointers
from plumbline.record.adapters.request import RequestTemplate, preview
from plumbline.record.adapters.settings import CallSettings, described, transport_of
from plumbline.record.secret import Secrets, looks_secret
from plumbline.record.template import refuse_unasked
from plumbline.record.transport import Request


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What a target sent for one turn."""

    text: str
    documents: Sequence[Any]
    """JSON values that citations and the rest are read out of, in the order they came."""
    raw: str


class NetworkAdapter:
    """One configured target that is asked by HTTP requests.

    Args:
        kind: name of the transport.
        settings: `[adapter]`.
        folder: where relative paths begin.
        environ: what `{ env = "NAME" }` is looked up in.
        method: of the request that asks.
        pointers: into what comes back.
        accept: the media type that is asked for.
        schemes: that an address may have.

    Raises:
        ConfigurationError: a key that is wrong, or a variable that is not set.
    """

    def __init__(
        self,
        kind: str,
        settings: CallSettings,
        *,
        folder: Path,
        environ: Mapping[str, str],
        method: str,
        pointers: Pointers,
        accept: str = "application/json",
        schemes: tuple[str, ...] = ("http", "https"),
    ) -> None:
        self.kind = kind
        self.settings = settings
        self.pointers = pointers
        self.secrets = Secrets(environ)
        if method == "GET" and settings.body is not None:
            raise ConfigurationError("adapter.body: a GET request has none", remedy="Use [adapter.query].")
        template = partial(
            RequestTemplate,
            method=method,
            endpoint=settings.endpoint,
            headers=settings.headers,
            query=settings.query,
            body=settings.body,
            secrets=self.secrets,
            accept=accept,
            schemes=schemes,
        )
        self.template = template()
        register_literals(settings.headers, self.secrets)
        self.conversational = prove_template(self.template, pointers)
        self.opening = template(opening=True) if pointers.conversation is not None else self.template
        self.transport = transport_of(settings, folder, self.secrets)

    def exchange(self, request: Request, values: Mapping[str, Any]) -> Exchanged:
        """Send a request and take what comes back.

        Raises:
            CallError: no answer.
        """
        raise NotImplementedError

    def shape(self) -> dict[str, Any]:
        """What this transport adds to the call shape."""
        return {}

    def describe(self) -> Mapping[str, Any]:
        """See `Adapter.describe`."""
        call = self.template.describe() | self.pointers.describe() | self.shape()
        return described(self.kind, self.settings, call)

    def open(self, question: Question) -> Conversation:
        """See `Adapter.open`.

        Raises:
            ConfigurationError: the item has follow-up turns that this configuration cannot ask.
        """
        refuse_forgetful(question, carries=self.conversational)
        return _TurnByTurn(self, question)

    def preview(self, question: Question) -> str:
        """See `Adapter.preview`."""
        dialogue = self.dialogue(question)
        return preview(self.opening.build(dialogue.values(question.prompt, self.template.where)), self.secrets)

    def dialogue(self, question: Question) -> Dialogue:
        """A conversation in which nothing has been said."""
        return Dialogue(question, self.settings.history, given=self.pointers.conversation is not None)

    def close(self) -> None:
        """See `Adapter.close`."""
        self.transport.close()


class _TurnByTurn:
    """A conversation in which every turn is a request of its own."""

    def __init__(self, adapter: NetworkAdapter, question: Question) -> None:
        self._adapter = adapter
        self._dialogue = adapter.dialogue(question)

    def ask(self, text: str) -> Reply:
        """See `Conversation.ask`."""
        adapter = self._adapter
        where = adapter.template.where
        values = self._dialogue.values(text, where)
        template = adapter.template if self._dialogue.turns else adapter.opening
        got = adapter.exchange(template.build(values), values)
        given = [adapter.pointers.read_conversation(document, where) for document in got.documents]
        self._dialogue.learn(text, got.text, next((name for name in reversed(given) if name is not None), None))
        return adapter.pointers.reply(got.text, got.documents, got.raw, where)

    def close(self) -> None:
        """See `Conversation.close`; connections belong to the adapter."""


def prove_template(template: RequestTemplate, pointers: Pointers) -> bool:
    """Whether a request carries a conversation from turn to turn.

    Raises:
        ConfigurationError: the question is nowhere in it, or the conversation's id is read and never sent.
    """
    refuse_unasked(template.carriers, "[adapter]")
    if pointers.conversation is not None and not template.uses("conversation"):
        raise ConfigurationError(
            "adapter.conversation_pointer: {conversation} is used nowhere, so the id would never be sent back",
            remedy='Put "{conversation}" where the target reads the conversation\'s id.',
        )
    return template.uses("conversation") or template.uses("history")


def register_literals(headers: Mapping[str, Any], secrets: Secrets) -> None:
    """Mask a literal credential, too; that it is one is warned about where the configuration is read."""
    for name, value in headers.items():
        if isinstance(value, str) and looks_secret(name) and len(value.strip()) >= 4:
            secrets.add(value, name)
