"""Which keys of `[adapter]` do the adapters over a network share, and what do they bound?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.canonical import canonical_sha256
from plumbline.evidence.schema import Record
from plumbline.record.adapters.base import NetworkSettings
from plumbline.record.secret import Secrets
from plumbline.record.transport import Transport


class HistoryKeys(Record, frozen=True):
    """`[adapter.history]`: what the target calls the parts of a message in `{history}`."""

    role: str = "role"
    content: str = "content"
    user: str = "user"
    assistant: str = "assistant"


class CallSettings(NetworkSettings, frozen=True, kw_only=True):
    """Keys of `[adapter]` that every adapter over a network has."""

    endpoint: str
    headers: dict[str, Any] = {}
    query: dict[str, str] = {}
    body: dict[str, Any] | None = None
    response_pointer: str | None = None
    """Where the answer stands: JSONPath, or a dotted path."""
    response_join: str | None = None
    """What to put between several answers that the pointer leads to; without it they are refused."""
    citations_pointer: str | None = None
    retrieved_pointer: str | None = None
    """Where the passages stand that the target looked at; the next two lead into each of them."""
    retrieved_id_pointer: str = "id"
    retrieved_text_pointer: str = "text"
    document_ids_pointer: str | None = None
    """Ids of what the target looked at, where it returns no passages."""
    conversation_pointer: str | None = None
    """The conversation's id, which `{conversation}` sends back in later turns."""
    history: HistoryKeys = HistoryKeys()
    append_citations: bool = False
    """Append each id of `citations_pointer` to the recorded text as ` [id]`, for suites that read citations there."""
    ca_file: str | None = None
    """PEM certificates that are trusted instead of the usual ones, relative to the configuration file."""


def transport_of(settings: CallSettings, folder: Path, secrets: Secrets) -> Transport:
    """The transport that the settings describe.

    Raises:
        ConfigurationError: certificates that cannot be read.
    """
    ca_file = folder / settings.ca_file if settings.ca_file is not None else None
    return Transport(
        timeout=settings.timeout_seconds, ceiling=settings.max_response_bytes, secrets=secrets, ca_file=ca_file
    )


def described(kind: str, settings: CallSettings, call: Mapping[str, Any]) -> dict[str, Any]:
    """An adapter's description, with the digest of its call shape."""
    shape = {
        **call,
        "history": {name: getattr(settings.history, name) for name in settings.history.__struct_fields__},
        "own_authorities": settings.ca_file is not None,
        "bounds": {
            "timeout_seconds": settings.timeout_seconds,
            "max_response_bytes": settings.max_response_bytes,
            "retries": settings.retries,
            "retry_delay_seconds": settings.retry_delay_seconds,
        },
    }
    return {
        "kind": kind,
        "endpoint": settings.endpoint,
        "request_sha256": canonical_sha256(shape),
        "call": shape,
    }
