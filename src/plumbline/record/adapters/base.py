"""What is an adapter, and what does it return?

An adapter asks one target, by one transport, and hands back exactly what was said or why nothing was. It knows nothing
of bundles, journals, pacing or retries: `plumbline.record.session` has those, the same for every transport
(specification, "Live-target adapters").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import Record

Fault = Literal[
    "auth_rejected",
    "bad_status",
    "empty",
    "exited",
    "malformed",
    "never_ready",
    "no_identifier",
    "not_extracted",
    "rate_limited",
    "redirected",
    "secret_echoed",
    "timeout",
    "tls",
    "too_large",
    "unreachable",
    "wrong_type",
]
"""What went wrong with one call, machine-readable; the same words in journals, manifests and `plumbline probe`."""


class CallError(ConfigurationError):
    """One call did not give an answer (exit 4 unless the recording is told to go on).

    Args:
        message: what was found; never holds a secret, and quotes of the target are cut short and printable.
        fault: what kind of fault it is.
        transient: whether asking again can help; only such calls are retried.
        retry_after: seconds that the target asked to wait, where it said so.
        remedy: what to do about it.
    """

    def __init__(
        self,
        message: str,
        *,
        fault: Fault,
        transient: bool = False,
        retry_after: float | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.fault: Fault = fault
        self.transient = transient
        self.retry_after = retry_after
        self.raw: str | None = None
        """What came instead of an answer, cut to a bound; only `plumbline probe` shows it, nothing stores it."""


@dataclass(frozen=True, slots=True)
class Question:
    """What one item asks."""

    item: str
    """The item's id."""
    lang: str
    prompt: str
    turns: tuple[str, ...] = ()
    """Follow-up user turns, asked in the same conversation after `prompt`."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A passage that the target says it looked at."""

    id: str | None
    text: str | None


@dataclass(frozen=True, slots=True)
class Reply:
    """What the target said to one turn. For every part None says that it was not captured, () that there was none."""

    text: str
    """Verbatim; may be empty only where the transport can tell an empty answer from a broken one."""
    citations: tuple[str, ...] | None = None
    """Ids of passages that the target returned beside the text."""
    retrieved: tuple[Retrieved, ...] | None = None
    raw: str | None = None
    """The raw body as text, cut to a bound; only `plumbline probe` shows it, nothing stores it."""


class Conversation(Protocol):
    """One item's turns, asked in order. Used by one thread."""

    def ask(self, text: str) -> Reply:
        """Send one user turn and return what came back.

        Raises:
            CallError: no answer.
        """
        ...

    def close(self) -> None:
        """Release connections and children; never raises."""
        ...


class Adapter(Protocol):
    """One configured target. `open` may be called from several threads at once."""

    kind: str
    conversational: bool
    """Whether a second turn reaches the target as part of the conversation; else items with `turns` are refused."""

    def describe(self) -> Mapping[str, Any]:
        """What goes into the manifest: `kind`, `endpoint` (no query, no credentials), `request_sha256`, `call`.

        `call` is the call shape: templates, header names, pointers, bounds; never a secret and no machine path.
        `request_sha256` is the SHA-256 of its canonical JSON.
        """
        ...

    def open(self, question: Question) -> Conversation:
        """Begin a conversation for one item. The first `ask` gets `question.prompt`, later ones its turns."""
        ...

    def preview(self, question: Question) -> str:
        """The exact first request as text, with every secret masked, for `--dry-run`; sends nothing."""
        ...

    def close(self) -> None:
        """Release what conversations share; never raises."""
        ...


class AdapterSettings(Record, frozen=True, kw_only=True):
    """Keys of `[adapter]` that every transport has. Each adapter module adds its own in a subclass `Settings`.

    Bounds that are no plain type are checked by the code that reads them, with file and key in the message.
    """

    kind: str
    questions: str
    """Folder of the sealed question set, relative to the configuration file."""
    max_items: int = 250
    """1 to 100,000: pointing the recorder at the wrong set should cost one refusal, not ten thousand requests."""
    min_interval_seconds: float = 0.0
    """0 to 60: least time between the starts of two calls, over all connections."""
    connections: int = 1
    """1 to 64 conversations at once."""
    on_error: Literal["abort", "record_empty"] = "abort"


class NetworkSettings(AdapterSettings, frozen=True, kw_only=True):
    """What the adapters that open a socket have in common."""

    timeout_seconds: float = 30.0
    """0.1 to 300: for the whole call, not for each read."""
    max_response_bytes: int = 256 * 1024
    """1 to 8 MiB: more is an error and no truncation."""
    retries: int = 0
    """0 to 5: only for transient faults."""
    retry_delay_seconds: float = 0.0
    """0 to 60: doubled at each attempt; a Retry-After of the target counts where it is longer, up to 300."""
