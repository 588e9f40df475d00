"""What does a model say about the answers of a bundle, and how is that kept?

Fills the judgment cache of a target from its judge's endpoint (specification, "The optional model judge"). Every
judgment goes into a journal beside the cache as soon as it is there, so that an interruption loses the one in flight
and no other; the cache itself is replaced whole, at the end. Only scores and item ids are written. A reply that is not
one number in range ends the recording: it is neither clipped, nor guessed at, nor asked again until it fits.
"""

import json
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

from plumbline._version import __version__
from plumbline.audit.config import Target
from plumbline.audit.judge_table import FromEnvironment, ModelSettings
from plumbline.audit.judges import Wanted, load_judgments, wanted
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import load
from plumbline.evidence.files import real, write_atomically
from plumbline.evidence.seal import CHECKSUMS, MANIFEST
from plumbline.judge.judgments import NOTE_LIMIT, Entry, Judgments, render_judgments
from plumbline.judge.prompt import filled, reply_score
from plumbline.record.adapters.base import CallError, Fault
from plumbline.record.judgment_journal import JudgmentJournal
from plumbline.record.repeats import RepeatedKeyError, each_key_once
from plumbline.record.secret import Secrets
from plumbline.record.transport import Request, Transport

_LONGEST_WAIT = 300.0
_ROUNDS = 10
"""A suite may ask for more once it has an answer; one that never stops asking is at fault."""
_MISSING = object()

_REMEDIES: Mapping[Fault, str] = {
    "auth_rejected": "Check the credential in judge.headers, and the environment variable that it names.",
    "rate_limited": "Allow judge.retries, or go on later: what was judged so far is kept.",
    "timeout": "Raise judge.timeout_seconds if the model may take that long.",
    "too_large": "Raise judge.max_response_bytes if the replies are really that long.",
    "redirected": "If that address is the service's own, make it judge.endpoint.",
    "bad_status": "Check judge.endpoint, and judge.body against what the service takes.",
    "unreachable": "Check judge.endpoint, and that the service is up and reachable from here.",
    "not_extracted": "Compare judge.response_pointer with what the endpoint returns.",
}


@dataclass(frozen=True, slots=True)
class Filled:
    """What a recording of judgments did."""

    cache: Path
    asked: int
    """Judgments that were made now."""
    recovered: int
    """Judgments of an interrupted recording, taken from its journal."""
    total: int
    """Judgments in the cache."""
    sha256: str


def fill(
    target: Target,
    *,
    environ: Mapping[str, str],
    told: Callable[[int, int], None] = lambda _done, _of: None,
    wait: Callable[[float], None] = time.sleep,
) -> Filled:
    """Ask for every judgment that the enabled suites need and the cache does not hold, and write the cache.

    Args:
        target: a configuration with a model judge, in either mode.
        environ: where `{ env = "NAME" }` is looked up.
        told: called after every judgment with how many there are and how many it takes.
        wait: how to wait between attempts.

    Raises:
        IntegrityError: the evidence is not what was sealed; nobody was asked.
        ConfigurationError: the judge is no model, or a question got no usable answer. What was judged before that is
            in the journal, and the next recording goes on from there.
    """
    settings = target.model
    if settings is None:
        raise ConfigurationError('judge.kind is "lexical", so there is nothing to record')
    place = real(settings.cache)
    if any((folder / MANIFEST).is_file() and (folder / CHECKSUMS).is_file() for folder in place.parents):
        raise ConfigurationError(
            f"judge.cache: {settings.cache.name} lies in a sealed bundle, whose bytes are the evidence"
        )
    bundle = load(target.dataset)
    if bundle.responses is None:
        raise ConfigurationError(f"{bundle.name}: this is a question set; it holds no responses to judge")
    identity = settings.instrument.identity
    had = load_judgments(settings) if settings.cache.exists() else Judgments(identity, {})
    asker = Asker(settings, environ, wait=wait)
    with closing(asker), JudgmentJournal(settings.cache, identity) as journal:
        entries = {**journal.entries, **had.entries}
        asked = 0
        for _ in range(_ROUNDS):
            missing = wanted(target, bundle, Judgments(identity, entries))
            if not missing:
                break
            for done, (key, question) in enumerate(missing.items(), start=1):
                entries[key] = entry = Entry(asker.ask(question), _note(question.items))
                journal.add(key, entry)
                asked += 1
                told(done, len(missing))
        judgments = Judgments(identity, entries)
        if judgments != had or not settings.cache.exists():
            write_atomically(settings.cache, render_judgments(judgments))
        recovered = len(journal.entries.keys() - had.entries.keys())
        journal.discard()
    return Filled(settings.cache, asked, recovered, len(entries), judgments.sha256)


def _note(items: tuple[str, ...]) -> str | None:
    note = ", ".join(items)
    return (note if len(note) <= NOTE_LIMIT else note[: NOTE_LIMIT - 2] + " …") or None


class Asker:
    """Asks one model, within the bounds of the configuration.

    Args:
        settings: whom, how, and within which bounds.
        environ: where secrets are looked up.
        wait: how to wait between attempts.

    Raises:
        ConfigurationError: a variable that a header names is not set.
    """

    def __init__(self, settings: ModelSettings, environ: Mapping[str, str], *, wait: Callable[[float], None]) -> None:
        self._settings = settings
        self._secrets = Secrets(environ)
        self._wait = wait
        given = {
            name: self._secrets.resolve(_plain(value), key=f"judge.headers.{name}")
            for name, value in settings.headers.items()
        }
        lower = {name.lower() for name in given}
        ours = {"User-Agent": f"plumbline/{__version__}", "Accept": "application/json"}
        self._headers = (
            *((name, value) for name, value in ours.items() if name.lower() not in lower),
            ("Content-Type", "application/json"),
            *given.items(),
        )
        self._transport = Transport(
            timeout=settings.bounds.timeout_seconds, ceiling=settings.bounds.max_response_bytes, secrets=self._secrets
        )

    def ask(self, question: Wanted) -> Fraction:
        """The model's score.

        Raises:
            ConfigurationError: naming the items: no answer, or one that is no score.
        """
        where = f"judging {', '.join(question.items[:3]) or 'an answer'}"
        try:
            return self._score(self._call(question))
        except CallError as fault:
            # The fault's own remedy names keys of [adapter].
            raise ConfigurationError(f"{where}: {fault.message}", remedy=_REMEDIES.get(fault.fault)) from None

    def close(self) -> None:
        """Close the connection."""
        self._transport.close()

    def _call(self, question: Wanted) -> bytes:
        made, bounds = self._settings.instrument, self._settings.bounds
        body = json.dumps(filled(made.body, question.expected, question.actual), ensure_ascii=False).encode()
        request = Request(made.method, self._settings.url, self._headers, body, f"{made.method} {made.endpoint}")
        for attempt in range(bounds.retries + 1):
            try:
                return self._transport.call(request)[1]
            except CallError as fault:
                delay = max(bounds.retry_delay_seconds * 2**attempt, fault.retry_after or 0)
                if not fault.transient or attempt == bounds.retries or delay > _LONGEST_WAIT:
                    raise
                self._wait(delay)
        raise AssertionError("the loop ends by a return or a raise")

    def _score(self, data: bytes) -> Fraction:
        made = self._settings.instrument
        try:
            document = json.loads(
                data, parse_float=Decimal, parse_constant=_refuse_constant, object_pairs_hook=each_key_once
            )
        except RepeatedKeyError:
            raise CallError(f"{made.endpoint}: a key stands twice in the response", fault="malformed") from None
        except (ValueError, ArithmeticError, RecursionError):
            raise CallError(f"{made.endpoint}: the response is not valid JSON", fault="malformed") from None
        found = pointed(document, made.response_pointer)
        if found is _MISSING:
            raise CallError(
                f"{made.endpoint}: the response holds nothing at {made.response_pointer}", fault="not_extracted"
            )
        try:
            return reply_score(found)
        except ConfigurationError as fault:
            said = self._secrets.quote(found if isinstance(found, str) else f"a {type(found).__name__}")
            raise CallError(f"{made.endpoint}: {fault.message}: {said}", fault="wrong_type") from None


def pointed(document: Any, pointer: str) -> Any:  # noqa: ANN401 - any JSON value
    """What stands in a document at keys and list places with points between; `-1` is the last of a list."""
    here = document
    for part in pointer.split("."):
        if isinstance(here, Mapping):
            here = here.get(part, _MISSING)
        elif isinstance(here, list) and part.removeprefix("-").isdecimal() and part.isascii() and len(part) < 8:
            place = int(part)
            here = here[place] if -len(here) <= place < len(here) else _MISSING
        else:
            return _MISSING
    return here


def _plain(value: str | FromEnvironment) -> object:
    return value if isinstance(value, str) else {"env": value.env, "prefix": value.prefix}


def _refuse_constant(word: str) -> float:
    raise ValueError(word)
