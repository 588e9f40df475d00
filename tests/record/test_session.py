from __future__ import annotations

import threading

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.record.adapters.base import CallError, Question, Reply
from plumbline.record.secret import Secrets
from plumbline.record.session import Pacing, Session, Task
from plumbline.record.template import whole_text
from tests.record.fake_adapter import Fake, Settings, failing


class Clock:
    """Time that passes only where somebody waits."""

    def __init__(self):
        self.time = 0.0
        self.waits = []
        self.lock = threading.Lock()

    def now(self):
        with self.lock:
            return self.time

    def wait(self, stop, seconds):
        with self.lock:
            if seconds > 0:
                self.waits.append(seconds)
                self.time += seconds
        return stop.is_set()


class Watcher:
    def __init__(self):
        self.items = []

    def asking(self, item):
        self.items.append(item)

    def recorded(self, entry):
        pass

    def tick(self):
        pass


def session(fake, answer, **pacing):
    fake["answer"] = answer
    adapter = Fake(Settings(kind="fake", questions="q"))
    return Session(adapter=adapter, pacing=Pacing(**pacing), secrets=Secrets({}), watcher=Watcher(), clock=Clock())


def ask(run, count=3, turns=()):
    kept = []
    tasks = [Task(n, 1, Question(f"q{n}", "en", f"p{n}", turns)) for n in range(count)]
    run.run(tasks, kept.extend)
    return kept


def test_one_connection_asks_in_order(fake):
    run = session(fake, lambda question, *_: question.prompt)
    assert [entry.response for entry in ask(run)] == ["p0", "p1", "p2"]
    assert run.adapter.most_open == 1
    assert run.adapter.open_now == 0
    assert run.watcher.items == ["q0", "q1", "q2"]


def test_as_many_conversations_at_once_as_allowed(fake):
    barrier = threading.Barrier(4)

    def answer(*_):
        barrier.wait(timeout=30)  # passes only when four are here at once
        return "fine"

    run = session(fake, answer, connections=4)
    assert len(ask(run, 8)) == 8
    assert run.adapter.most_open == 4


def test_calls_keep_their_distance_over_all_turns(fake):
    run = session(fake, lambda *_: "fine", min_interval=2.0)
    ask(run, 2, turns=("and?",))
    assert run.clock.waits == [2.0, 2.0, 2.0]


def test_transient_faults_are_asked_again_with_a_doubling_delay(fake):
    faults = iter([failing("timeout", transient=True), failing("bad_status", transient=True)])
    run = session(fake, lambda *_: next(faults, "fine"), retries=2, retry_delay=0.5)
    (entry,) = ask(run, 1)
    assert run.clock.waits == [0.5, 1.0]
    assert (entry.response, entry.calls, entry.retries) == ("fine", 3, {"timeout": 1, "bad_status": 1})
    assert entry.waited_ms == 0
    assert run.adapter.open_now == 0


def test_retry_after_counts_where_it_is_longer_and_is_recorded(fake):
    faults = iter(
        [
            failing("rate_limited", transient=True, retry_after=7),
            failing("rate_limited", transient=True, retry_after=0.1),
            failing("rate_limited", transient=True, retry_after=86400),
        ]
    )
    run = session(fake, lambda *_: next(faults, "fine"), retries=3, retry_delay=1.0)
    (entry,) = ask(run, 1)
    assert run.clock.waits == [7, 2.0, 300.0]
    assert entry.waited_ms == 307_000
    assert entry.retries == {"rate_limited": 3}


@pytest.mark.parametrize(
    ("fault", "retries", "calls"),
    [
        (failing("timeout", transient=True), 0, 1),
        (failing("timeout", transient=True), 2, 3),
        (failing("auth_rejected"), 5, 1),
    ],
)
def test_what_is_not_asked_again(fake, fault, retries, calls):
    run = session(fake, lambda *_: fault, retries=retries)
    with pytest.raises(CallError) as caught:
        ask(run, 1)
    assert len(run.adapter.asked) == calls
    assert caught.value.fault == fault.fault
    assert "q0" in caught.value.message
    assert run.adapter.open_now == 0


def test_a_later_turn_is_repeated_in_its_own_conversation(fake):
    seen = []

    def answer(_question, _turn, text, _count):
        seen.append(text)
        return failing("timeout", transient=True) if text == "and?" and seen.count("and?") == 1 else text

    run = session(fake, answer, retries=1)
    (entry,) = ask(run, 1, turns=("and?",))
    assert entry.turn_responses == ["p0", "and?"]
    assert entry.calls == 3


def test_the_first_fault_ends_the_run_and_answers_in_flight_are_kept(fake):
    both = threading.Barrier(2)
    failed = threading.Event()

    def answer(question, *_):
        if question.item in {"q0", "q1"}:
            both.wait(timeout=30)
        if question.item == "q0":
            failed.set()
            return failing("bad_status")
        failed.wait(timeout=30)
        return "late"

    run = session(fake, answer, connections=2)
    kept = []
    tasks = [Task(n, 1, Question(f"q{n}", "en", "p")) for n in range(50)]
    with pytest.raises(CallError):
        run.run(tasks, kept.extend)
    assert "q1" in [entry.id for entry in kept]
    assert len(run.adapter.asked) < 50


def test_told_to_stop_it_asks_nothing_more(fake):
    run = session(fake, lambda *_: run.stop.set() or "fine")
    kept = ask(run, 10)
    assert [entry.id for entry in kept] == ["q0"]
    assert run.adapter.closed


def test_a_conversation_that_is_cut_short_is_not_kept(fake):
    run = session(fake, lambda *_: run.stop.set() or "fine")
    assert ask(run, 1, turns=("and?",)) == []


def test_it_does_not_wait_for_ever_for_calls_in_flight(fake):
    release = threading.Event()

    class Passing(Clock):
        def now(self):
            with self.lock:
                self.time += 1
                return self.time

    def answer(*_):
        run.stop.set()
        release.wait(timeout=60)
        return "late"

    run = session(fake, answer)
    run.clock = Passing()
    try:
        assert ask(run, 1) == []
        assert run.adapter.closed
    finally:
        release.set()


def test_a_fault_while_waiting_to_retry_can_be_stopped(fake):
    run = session(fake, lambda *_: run.stop.set() or failing("timeout", transient=True), retries=3)
    assert ask(run, 1) == []
    assert len(run.adapter.asked) == 1


def test_an_answer_that_cannot_be_written_ends_the_run(fake):
    run = session(fake, lambda *_: "fine")

    def full(_entries):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        run.run([Task(0, 1, Question("q", "en", "p"))], full)
    assert run.adapter.closed


def test_with_nothing_to_ask_nothing_is_asked(fake):
    run = session(fake, lambda *_: "fine")
    assert ask(run, 0) == []
    assert run.adapter.asked == []


def test_a_fault_that_is_recorded_goes_on(fake):
    run = session(fake, lambda question, *_: failing("timeout") if question.item == "q1" else Reply("fine"), go_on=True)
    kept = ask(run)
    assert [(entry.response, entry.fault and entry.fault.fault) for entry in kept] == [
        ("fine", None),
        (None, "timeout"),
        ("fine", None),
    ]


@given(st.text(alphabet=st.characters(exclude_categories=())))
@settings(deadline=None)
def test_whole_text_can_always_be_written_and_changes_nothing_else(text):
    whole = whole_text(text)
    whole.encode()
    if not any("\ud800" <= char <= "\udfff" for char in text):
        assert whole == text


def test_both_halves_of_a_pair_are_one_character():
    assert whole_text("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"
