"""How is every question asked once, at a bearable pace, and each answer kept at once?

Conversations run in threads, as many as the configuration allows. The calling thread alone writes the journal and shows
progress. What was answered is journalled, also while the run is coming to its end, and nothing else is kept in memory.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Protocol

from plumbline.evidence.schema import RetrievedPassage
from plumbline.record.adapters.base import Adapter, CallError, Conversation, Question, Reply
from plumbline.record.journal import Entry, Fault
from plumbline.record.secret import Secrets
from plumbline.record.template import whole_text

LONGEST_WAIT = 300.0
"""Seconds that a target's Retry-After is obeyed for at most."""

GRACE = 5.0
"""Seconds that calls in flight get to end once the run is told to stop."""

_POLL = 0.2


@dataclass(frozen=True, slots=True)
class Task:
    """One item in one pass."""

    position: int
    number: int
    """The pass, from 1. Every pass is a conversation of its own, with all turns."""
    question: Question


@dataclass(frozen=True, slots=True)
class Pacing:
    """How fast and how stubbornly to ask."""

    connections: int = 1
    min_interval: float = 0.0
    retries: int = 0
    retry_delay: float = 0.0
    go_on: bool = False
    """Record a failed call as silence, rather than stop."""


class Watcher(Protocol):
    """Whoever is told how it goes."""

    def asking(self, item: str) -> None:
        """A call for an item begins. Called from any thread."""
        ...

    def recorded(self, entry: Entry) -> None:
        """An answer, or the lack of one, is on the disk."""
        ...

    def tick(self) -> None:
        """Time has passed."""
        ...


class Clock(Protocol):
    """Time as the session sees it."""

    def now(self) -> float:
        """Seconds that never go back."""
        ...

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait, at most until `stop` is set; whether it is."""
        ...


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds that never go back."""
        return time.monotonic()

    def wait(self, stop: threading.Event, seconds: float) -> bool:
        """Wait, at most until `stop` is set; whether it is."""
        return stop.wait(seconds) if seconds > 0 else stop.is_set()


class StoppedError(Exception):
    """The run was told to stop before this call was made."""


@dataclass
class Session:
    """One run of a recording.

    Args:
        adapter: who is asked.
        pacing: how.
        secrets: values that no answer may hold.
        watcher: who is told.
        stop: set from outside to bring the run to an end; set by the run itself when a call fails for good.
        clock: where the time comes from.
    """

    adapter: Adapter
    pacing: Pacing
    secrets: Secrets
    watcher: Watcher
    stop: threading.Event = field(default_factory=threading.Event)
    clock: Clock = field(default_factory=RealClock)

    def __post_init__(self) -> None:
        self._turn = threading.Lock()
        self._next_start = float("-inf")
        self._next_task = threading.Lock()
        # Bounded, so that answers wait for the disk and not in memory.
        self._done: queue.Queue[Entry | BaseException | None] = queue.Queue(4 * self.pacing.connections)

    def run(self, tasks: Sequence[Task], keep: Callable[[Sequence[Entry]], None]) -> None:
        """Ask every task.

        Args:
            tasks: in the order in which they begin.
            keep: writes answers down; called from this thread, with all that came since the last time.

        Raises:
            CallError: a call failed and the recording is not told to go on. Answers in flight were kept.
            OSError: an answer could not be written.

        Returns where `stop` was set from outside, too: the caller knows from what was kept.
        """
        waiting = iter(tasks)
        count = min(self.pacing.connections, len(tasks))
        threads = [threading.Thread(target=self._work, args=(waiting,), daemon=True) for _ in range(count)]
        for thread in threads:
            thread.start()
        try:
            fault = self._collect(count, keep)
        finally:
            self.stop.set()
            self.adapter.close()
        if fault is not None:
            raise fault

    def _collect(self, working: int, keep: Callable[[Sequence[Entry]], None]) -> BaseException | None:
        first: BaseException | None = None
        deadline = float("inf")
        while working:
            if self.stop.is_set():
                deadline = min(deadline, self.clock.now() + GRACE)
                if self.clock.now() >= deadline:
                    break
            entries: list[Entry] = []
            for found in self._came():
                if found is None:
                    working -= 1
                elif isinstance(found, Entry):
                    entries.append(found)
                else:
                    first = first or found
                    self.stop.set()
            if entries:
                keep(entries)
            for entry in entries:
                self.watcher.recorded(entry)
            self.watcher.tick()
        return first

    def _came(self) -> Iterator[Entry | BaseException | None]:
        # All that is there, so that answers that came together wait for the disk together.
        with suppress(queue.Empty):
            yield self._done.get(timeout=_POLL)
            for _ in range(self._done.maxsize):
                yield self._done.get_nowait()

    def _work(self, waiting: Iterator[Task]) -> None:
        try:
            while not self.stop.is_set():
                with self._next_task:
                    task = next(waiting, None)
                if task is None:
                    break
                self._done.put(self._answered(task))
        except StoppedError:
            pass
        except BaseException as fault:  # noqa: BLE001 - it is raised in the thread that started this one
            self._done.put(fault)
        finally:
            self._done.put(None)

    def _answered(self, task: Task) -> Entry:
        question = task.question
        texts = (question.prompt, *question.turns)
        told = _Told(task, len(question.turns))
        conversation: Conversation | None = None
        try:
            for text in texts:
                conversation, reply = self._ask(conversation, text, told)
                told.add(self._fit_to_keep(reply, question))
        except CallError as fault:
            if not self.pacing.go_on:
                raise self._named(fault, question, told) from None
            told.fault = Fault(fault=fault.fault, turn=len(told.answers) + 1)
        finally:
            if conversation is not None:
                conversation.close()
        return told.entry()

    def _ask(self, conversation: Conversation | None, text: str, told: "_Told") -> tuple[Conversation, Reply]:
        attempt = 0
        while True:
            self._await_turn()
            self.watcher.asking(told.task.question.item)
            told.calls += 1
            try:
                if conversation is None:
                    conversation = self.adapter.open(told.task.question)
                return conversation, conversation.ask(text)
            except CallError as fault:
                if not fault.transient or attempt >= self.pacing.retries:
                    if conversation is not None and not told.answers:
                        conversation.close()
                    raise
                if not told.answers and conversation is not None:
                    # Nothing was said yet: the next attempt begins anew, whatever state the transport is in.
                    conversation.close()
                    conversation = None
                told.retries[fault.fault] = told.retries.get(fault.fault, 0) + 1
                self._wait_to_retry(fault, attempt, told)
                attempt += 1

    def _await_turn(self) -> None:
        with self._turn:
            now = self.clock.now()
            start = max(now, self._next_start)
            self._next_start = start + self.pacing.min_interval
        if self.clock.wait(self.stop, start - now):
            raise StoppedError

    def _wait_to_retry(self, fault: CallError, attempt: int, told: "_Told") -> None:
        delay = self.pacing.retry_delay * 2**attempt
        asked = min(fault.retry_after or 0.0, LONGEST_WAIT)
        if asked > delay:
            delay = asked
            told.waited_ms += round(asked * 1000)
        if self.clock.wait(self.stop, delay):
            raise StoppedError

    def _fit_to_keep(self, reply: Reply, question: Question) -> Reply:
        parts = [reply.text, *(reply.citations or ())]
        for passage in reply.retrieved or ():
            parts += [passage.id or "", passage.text or ""]
        for part in parts:
            if (name := self.secrets.found_in(part)) is not None:
                raise CallError(
                    f"the answer to {question.item!r} holds the value of {name}, which is a secret",
                    fault="secret_echoed",
                    remedy="The target repeats its credential. Rotate it, and have the target mended before recording.",
                )
        return reply

    def _named(self, fault: CallError, question: Question, told: "_Told") -> CallError:
        turn = f", turn {len(told.answers) + 1}" if question.turns else ""
        tried = f" after {told.calls} calls" if told.retries else ""
        return CallError(
            self.secrets.mask(f"item {question.item!r}{turn}: {fault.message} ({fault.fault}{tried})"),
            fault=fault.fault,
            transient=fault.transient,
            retry_after=fault.retry_after,
            remedy=fault.remedy,
        )


@dataclass
class _Told:
    """What one task has brought so far."""

    task: Task
    turns: int
    answers: list[str] = field(default_factory=list)
    last: Reply | None = None
    fault: Fault | None = None
    calls: int = 0
    retries: dict[str, int] = field(default_factory=dict)
    waited_ms: int = 0
    replaced: bool = False

    def add(self, reply: Reply) -> None:
        self.last = reply
        self.answers.append(self._text(reply.text))

    def _text(self, text: str) -> str:
        whole = whole_text(text)
        self.replaced = self.replaced or whole != text
        return whole

    def entry(self) -> Entry:
        every: list[str | None] = [*self.answers, *[None] * (1 + self.turns - len(self.answers))]
        # What the answer rests on is told of the answer that is graded: the last, where the conversation came so far.
        last = self.last if every[-1] is not None else None
        citations, retrieved = None, None
        if last is not None and last.citations is not None:
            citations = [self._text(citation) for citation in last.citations]
        if last is not None and last.retrieved is not None:
            retrieved = [
                RetrievedPassage(
                    id=None if passage.id is None else self._text(passage.id),
                    text=None if passage.text is None else self._text(passage.text),
                )
                for passage in last.retrieved
            ]
        return Entry(
            position=self.task.position,
            id=self.task.question.item,
            number=self.task.number,
            response=every[-1],
            turn_responses=every if self.turns else None,
            citations=citations if self.task.number == 1 else None,
            retrieved=retrieved if self.task.number == 1 else None,
            fault=self.fault,
            calls=self.calls,
            retries=self.retries,
            waited_ms=self.waited_ms,
            replaced=self.replaced,
        )
