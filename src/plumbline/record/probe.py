"""Would a recording of this target work, and if not, what is set up wrongly?

Three neutral questions are asked, the last two in one conversation where the configuration carries one. Nothing is
scored and nothing is written: whether an answer is right is no matter of set-up.
"""

import json
import re
import statistics
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.record import suggest
from plumbline.record.adapters.base import Adapter, AdapterSettings, CallError, Conversation, Question, Reply
from plumbline.record.secret import Secrets
from plumbline.record.session import Clock, RealClock

QUESTIONS = (
    "What can you help me with?",
    "How can I reach a person?",
    "Is there anything else that I should know?",
)
LANG = "en"
TOO_LONG = 3600.0
"""Seconds of a whole recording from which it is worth a word."""

_HOPELESS = frozenset({"auth_rejected", "exited", "rate_limited", "redirected", "tls", "unreachable"})
_LINES = 200
_IN_PIECES = frozenset({"sse", "websocket"})
_EVENT = re.compile(r"\A\[[^\]\n]*\] (?=[{\[\"])")
_DIAGNOSES = {
    "auth_rejected": ("the target refuses the credential", "headers"),
    "bad_status": ("the target refuses the request", "endpoint"),
    "empty": ("the target sends nothing", "response_pointer"),
    "exited": ("the program ends in error", "command"),
    "malformed": ("the reply is not what this transport expects", "kind"),
    "never_ready": ("an answer never gets ready", "ready_field"),
    "no_identifier": ("the target gives no id to go on with", "conversation_pointer"),
    "not_extracted": ("no answer is found in the reply", "response_pointer"),
    "rate_limited": ("the target refuses so many calls", "min_interval_seconds"),
    "redirected": ("the target is somewhere else", "endpoint"),
    "secret_echoed": ("the target repeats its credential", "headers"),
    "timeout": ("the target takes too long", "timeout_seconds"),
    "tls": ("the connection is not to be trusted", "ca_file"),
    "too_large": ("the reply is larger than allowed", "max_response_bytes"),
    "unreachable": ("the target cannot be reached", "endpoint"),
    "wrong_type": ("what is found in the reply is no text", "response_pointer"),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one question brought."""

    question: str
    seconds: float
    reply: Reply | None
    fault: CallError | None

    @property
    def raw(self) -> str | None:
        """What came, before anything was read out of it."""
        return self.reply.raw if self.reply is not None else self.fault.raw if self.fault is not None else None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is set up wrongly, or that a recording would suffer from."""

    code: str
    title: str
    seen: str
    key: str
    """The key of `[adapter]` to change."""
    remedy: str | None
    blocking: bool
    suggestions: tuple[tuple[str, str], ...] = ()
    """JSONPaths, which are guesses, each with what stands there."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What came of it."""

    answers: tuple[Answer, ...]
    diagnoses: tuple[Diagnosis, ...]
    projected: float | None
    """Seconds that the whole recording would take; None where nothing was answered or nobody knows how many items."""

    @property
    def blocked(self) -> bool:
        """Whether a recording would fail."""
        return any(diagnosis.blocking for diagnosis in self.diagnoses)


def probe(
    adapter: Adapter,
    settings: AdapterSettings,
    secrets: Secrets,
    *,
    calls: int | None,
    watch: Callable[[Answer], None],
    clock: Clock | None = None,
) -> Probe:
    """Ask three questions and say what is wrong.

    Args:
        adapter: whom.
        settings: `[adapter]`.
        secrets: values that no answer may hold.
        calls: how many calls the recording would make, if that is known.
        watch: is given each answer as it comes.
        clock: where the time comes from.

    Raises:
        ConfigurationError: the configuration cannot be asked at all.
    """
    answers: list[Answer] = []
    for answer in _asked(adapter, settings, secrets, clock or RealClock()):
        answers.append(answer)
        watch(answer)
    found = {answer.fault.fault: answer for answer in reversed(answers) if answer.fault is not None}
    diagnoses = [_diagnosis(adapter.kind, answer, answers) for answer in reversed(found.values())]
    diagnoses += _not_captured(settings, answers)
    projected = _projected(settings, answers, calls)
    if projected is not None and projected >= TOO_LONG:
        diagnoses.append(
            Diagnosis(
                "run_too_long",
                "the whole recording would take long",
                f"{calls} calls at this pace are {projected / 3600:.1f} hours",
                "connections",
                "Raise it as far as the target bears, lower min_interval_seconds, or record in shards.",
                blocking=False,
            )
        )
    return Probe(tuple(answers), tuple(diagnoses), projected)


def _asked(adapter: Adapter, settings: AdapterSettings, secrets: Secrets, clock: Clock) -> Iterable[Answer]:
    groups = [QUESTIONS[:1], QUESTIONS[1:]] if adapter.conversational else [[text] for text in QUESTIONS]
    asked = 0
    for number, texts in enumerate(groups, start=1):
        question = Question(item=f"probe-{number}", lang=LANG, prompt=texts[0], turns=tuple(texts[1:]))
        conversation: Conversation | None = None
        try:
            for text in texts:
                if asked:
                    clock.wait(threading.Event(), settings.min_interval_seconds)
                asked += 1
                begun = clock.now()
                reply, fault = None, None
                try:
                    conversation = conversation or adapter.open(question)
                    reply = conversation.ask(text)
                    fault = _echo(reply, secrets)
                except CallError as failed:
                    fault = failed
                yield Answer(text, clock.now() - begun, None if fault else reply, fault)
                if fault is not None and fault.fault in _HOPELESS:
                    return
                if fault is not None:
                    break  # the next turn would be asked in a conversation that nobody had
        finally:
            if conversation is not None:
                conversation.close()


def _echo(reply: Reply, secrets: Secrets) -> CallError | None:
    name = secrets.found_in(reply.text)
    if name is None:
        return None
    return CallError(
        f"the answer holds the value of {name}, which is a secret",
        fault="secret_echoed",
        remedy="The target repeats its credential. Rotate it, and have the target mended before recording.",
    )


def _diagnosis(kind: str, answer: Answer, answers: Sequence[Answer]) -> Diagnosis:
    fault = answer.fault
    assert fault is not None  # noqa: S101 - only answers with a fault come here
    title, key = _DIAGNOSES[fault.fault]
    if fault.fault in {"timeout", "malformed"} and kind in _IN_PIECES and fault.raw:
        title, key = "the stream never ends, or not as declared", "stop_event" if kind == "sse" else "stop_field"
    elif fault.fault == "no_identifier" and kind == "submit_poll" and answer is answers[0]:
        key = "handle_pointer"
    guesses: list[tuple[str, str]] = []
    if fault.fault in {"not_extracted", "wrong_type"} and fault.raw:
        documents = _documents(fault.raw, kind)
        if kind in _IN_PIECES:
            guesses = suggest.pieces(documents)
        elif documents:
            guesses = suggest.answers(documents[0]) or suggest.answers(documents[0], least=1)
    return Diagnosis(fault.fault, title, fault.message, key, fault.remedy, blocking=True, suggestions=tuple(guesses))


def _not_captured(settings: AdapterSettings, answers: Sequence[Answer]) -> Iterable[Diagnosis]:
    replies = [answer.reply for answer in answers if answer.reply is not None]
    for key, part in (
        ("citations_pointer", "citations"),
        ("retrieved_pointer", "retrieved"),
        ("document_ids_pointer", "retrieved"),
    ):
        if (
            getattr(settings, key, None) is None
            or not replies
            or any(getattr(reply, part) is not None for reply in replies)
        ):
            continue
        documents = _documents(replies[0].raw or "", settings.kind)
        guesses = [guess for document in documents[:_LINES] for guess in suggest.identifiers(document)]
        yield Diagnosis(
            f"{part}_not_extracted",
            f"none of the answers came with what {key} should lead to",
            "a target may have nothing to cite for such questions, or the pointer is wrong",
            key,
            None,
            blocking=False,
            suggestions=tuple(dict(reversed(guesses)).items())[::-1][:5],
        )


def _documents(raw: str, kind: str) -> list[Any]:
    found = []
    for text in raw.split("\n")[:_LINES] if kind in _IN_PIECES else [raw]:
        try:
            found.append(json.loads(_EVENT.sub("", text)))
        except (ValueError, RecursionError):
            continue
    return found


def _projected(settings: AdapterSettings, answers: Sequence[Answer], calls: int | None) -> float | None:
    taken = [answer.seconds for answer in answers if answer.reply is not None]
    if calls is None or not taken:
        return None
    return max(statistics.median(taken) / settings.connections, settings.min_interval_seconds) * calls


def refuse_blocked(found: Probe) -> None:
    """Refuse a set-up with which a recording would fail.

    Raises:
        ConfigurationError: naming the faults.
    """
    blocking = [diagnosis for diagnosis in found.diagnoses if diagnosis.blocking]
    if blocking:
        raise ConfigurationError(
            f"a recording would fail: {', '.join(diagnosis.code for diagnosis in blocking)}",
            remedy=f"Change adapter.{blocking[0].key}, and probe again.",
        )
