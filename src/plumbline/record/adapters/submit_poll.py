"""How is a service asked that takes a question, hands out a handle, and has the answer ready later?"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal
from urllib.parse import urlsplit

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Adapter, CallError
from plumbline.record.adapters.calls import Exchanged, NetworkAdapter, register_literals
from plumbline.record.adapters.gather import Scalar
from plumbline.record.adapters.pointers import Pointers
from plumbline.record.adapters.request import RequestTemplate
from plumbline.record.adapters.settings import CallSettings
from plumbline.record.extract import Pointer, any_equal, identifier, parse_json, shape
from plumbline.record.template import PLACEHOLDERS
from plumbline.record.transport import Deadline, Request

_NAMES = {**PLACEHOLDERS, "handle": "what the target returned for the question"}
_LONGEST_WAIT = 300.0


class Settings(CallSettings, frozen=True, kw_only=True):
    """`[adapter]` with `kind = "submit_poll"`: `endpoint` takes the question, `poll_endpoint` has the answer."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "poll_interval_seconds": (0.01, 60),
        "poll_timeout_seconds": (0.1, 3600),
    }

    method: Literal["POST", "PUT"] = "POST"
    handle_pointer: str
    """Where the reply to the question holds the handle, which `{handle}` stands for."""
    poll_endpoint: str
    poll_method: Literal["GET", "POST"] = "GET"
    poll_headers: dict[str, Any] | None = None
    """Default: `headers`, if `poll_endpoint` is on the same host."""
    poll_query: dict[str, str] = {}
    poll_body: dict[str, Any] | None = None
    ready_field: str
    """A pointer into the reply of a poll; where it leads to `ready_value` the answer is there."""
    ready_value: Scalar | list[Scalar]
    failed_value: Scalar | list[Scalar] | None = None
    """Where `ready_field` leads to this, the target gave up."""
    poll_interval_seconds: float = 2.0
    """0.01 to 60; a Retry-After of the target counts where it is longer."""
    poll_timeout_seconds: float = 180.0
    """0.1 to 3600: for the whole of an answer; `timeout_seconds` is for each request."""


def create(settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> Adapter:
    """The adapter.

    Raises:
        ConfigurationError: a key that is wrong, or an environment variable that is not set.
    """
    return _Poll(settings, folder=folder, environ=environ)


class _Poll(NetworkAdapter):
    def __init__(self, settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> None:
        super().__init__(
            "submit_poll",
            settings,
            folder=folder,
            environ=environ,
            method=settings.method,
            pointers=Pointers(settings),
        )
        self._own = settings
        self._handle = Pointer(settings.handle_pointer, key="adapter.handle_pointer")
        self._ready = Pointer(settings.ready_field, key="adapter.ready_field")
        self._ready_values = _listed(settings.ready_value)
        self._failed_values = [] if settings.failed_value is None else _listed(settings.failed_value)
        if settings.poll_headers is None and settings.headers and not _same_host(settings):
            raise ConfigurationError(
                "adapter.poll_headers: poll_endpoint is on another host than endpoint, which must not see its headers",
                remedy="Set [adapter.poll_headers], empty if that host needs none.",
            )
        headers = settings.headers if settings.poll_headers is None else settings.poll_headers
        if settings.poll_method == "GET" and settings.poll_body is not None:
            raise ConfigurationError("adapter.poll_body: a GET request has none", remedy="Use [adapter.poll_query].")
        self._poll = RequestTemplate(
            method=settings.poll_method,
            endpoint=settings.poll_endpoint,
            headers=headers,
            query=settings.poll_query,
            body=settings.poll_body,
            secrets=self.secrets,
            key="adapter.poll_",
            names=_NAMES,
        )
        register_literals(headers, self.secrets)
        if not self._poll.uses("handle"):
            raise ConfigurationError(
                "adapter.poll_endpoint: {handle} is used nowhere, so every poll would ask for the same answer",
                remedy="Put {handle} into poll_endpoint, poll_query, poll_headers or poll_body.",
            )

    def shape(self) -> dict[str, Any]:
        own = self._own
        return {
            "handle_pointer": own.handle_pointer,
            "poll": self._poll.describe(),
            "ready_field": own.ready_field,
            "ready_value": own.ready_value,
            "failed_value": own.failed_value,
            "poll_interval_seconds": own.poll_interval_seconds,
            "poll_timeout_seconds": own.poll_timeout_seconds,
        }

    def exchange(self, request: Request, values: Mapping[str, Any]) -> Exchanged:
        deadline = Deadline(self._own.poll_timeout_seconds)
        _, body = self.transport.call(request, timeout=self._own.poll_timeout_seconds)
        submitted = parse_json(body, request.where, self.secrets.quote)
        handle = identifier(self._handle, submitted, request.where)
        if handle is None:
            raise CallError(
                f"{request.where}: adapter.handle_pointer leads to nothing; the reply is {shape(submitted)}",
                fault="no_identifier",
                remedy="Point adapter.handle_pointer at what the target calls the question it took.",
            )
        poll = self._poll.build({**values, "handle": handle})
        polls, wait = 0, self._own.poll_interval_seconds
        while True:
            try:
                pause = min(wait, deadline.left())
                time.sleep(pause)
                left = deadline.left()
            except TimeoutError:
                raise self._never_ready(poll, polls) from None
            document, raw, wait = self._once(poll, left)
            polls += 1
            if document is not None:
                text = self.pointers.read_answer(document, poll.where)
                return Exchanged(text, [submitted, document], raw)

    def _once(self, poll: Request, left: float) -> tuple[Any, str, float]:
        """The document once it is ready, or None, and how long to wait before the next poll."""
        interval = self._own.poll_interval_seconds
        try:
            with self.transport.stream(poll, timeout=left) as incoming:
                wait = incoming.retry_after
                body = b"".join(incoming.chunks())
        except CallError as fault:
            # Told to wait is not told no; anything else that is wrong is wrong at once.
            if fault.retry_after is not None and fault.fault in {"rate_limited", "bad_status"}:
                return None, "", _pause(interval, fault.retry_after)
            raise
        if not body.strip():  # 202 and 204 come without one
            return None, "", _pause(interval, wait)
        document = parse_json(body, poll.where, self.secrets.quote)
        if any_equal(self._ready, document, self._failed_values):
            raise CallError(
                f"{poll.where}: the target says that it gave up ({self._ready.key} has a value of failed_value)",
                fault="bad_status",
            )
        if any_equal(self._ready, document, self._ready_values):
            return document, body.decode("utf-8", "replace"), 0.0
        return None, "", _pause(interval, wait)

    def _never_ready(self, poll: Request, polls: int) -> CallError:
        return CallError(
            f"{poll.where}: not ready after {polls} polls within {self._own.poll_timeout_seconds:g} s",
            fault="never_ready",
            remedy="Check adapter.ready_field and ready_value, or raise adapter.poll_timeout_seconds.",
        )


def _pause(interval: float, asked: float | None) -> float:
    return interval if asked is None else max(interval, min(asked, _LONGEST_WAIT))


def _listed(value: Scalar | list[Scalar]) -> list[Scalar]:
    return value if isinstance(value, list) else [value]


def _same_host(settings: Settings) -> bool:
    ask, poll = urlsplit(settings.endpoint), urlsplit(settings.poll_endpoint)
    return (ask.scheme, ask.netloc.lower()) == (poll.scheme, poll.netloc.lower())
