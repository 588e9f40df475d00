from __future__ import annotations

import io
import os
import re
import sys

import pytest

from plumbline.record.journal import Entry, Fault
from plumbline.record.progress import BarProgress, PlainProgress, duration, progress


class Clock:
    def __init__(self):
        self.time = 100.0

    def __call__(self):
        return self.time


def entry(fault=None):
    return Entry(position=0, id="q", number=1, response="x", calls=1, fault=fault and Fault(fault=fault, turn=1))


def plain(wanted=10, already=0):
    clock, stream = Clock(), io.StringIO()
    return PlainProgress(wanted, already, stream, clock), clock, stream


def test_a_line_every_few_seconds_and_one_at_the_end():
    shown, clock, stream = plain()
    shown.asking("fare.en")
    for _ in range(10):
        clock.time += 1
        shown.recorded(entry())
    lines = stream.getvalue().splitlines()
    assert lines == [
        "recording: 5/10, 1.0/s, 0:05 left, 0 failed, at fare.en",
        "recording: 10/10, 1.0/s, 0:00 left, 0 failed, at fare.en",
    ]


def test_a_slow_target_is_told_of_too():
    shown, clock, stream = plain()
    clock.time += 6
    shown.tick()
    assert "0/10, 0.0/s, ? left" in stream.getvalue()


def test_answers_of_an_earlier_run_are_no_speed():
    shown, clock, _ = plain(10, 8)
    clock.time += 2
    shown.recorded(entry("timeout"))
    assert (shown.done, shown.rate, shown.failed) == (9, 0.5, 1)


HOSTILE = "\x1b[2J::error::[red]x[/red]\n::warning::" + "y" * 500


def test_ids_stay_on_their_line():
    shown, clock, stream = plain()
    shown.asking(HOSTILE)
    clock.time += 6
    shown.tick()
    (line,) = stream.getvalue().splitlines()
    assert "\x1b" not in line
    assert len(line) < 150


def test_the_bar_shows_numbers_and_plain_text():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    stream, clock = Terminal(), Clock()
    shown = BarProgress(4, 1, stream, clock)
    try:
        shown.asking("[red]::id::[/red]")
        clock.time += 1
        shown.recorded(entry("timeout"))
        shown.tick()
    finally:
        shown.end()
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", stream.getvalue())
    assert "2/4" in text
    assert "1 failed" in text
    shown = BarProgress(4, 1, stream, clock)
    shown.end()


@pytest.mark.parametrize(
    ("tty", "term", "has_rich", "kind"),
    [
        (True, "xterm", True, BarProgress),
        (True, "xterm", False, PlainProgress),
        (True, "dumb", True, PlainProgress),
        (False, "xterm", True, PlainProgress),
    ],
)
def test_which_kind_suits(monkeypatch, tty, term, has_rich, kind):
    class Stream(io.StringIO):
        def isatty(self):
            return tty

    monkeypatch.setitem(os.environ, "TERM", term)
    if not has_rich:
        monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    shown = progress(3, 0, Stream())
    shown.end()
    assert type(shown) is kind


def test_rich_is_imported_for_a_terminal_only(place, monkeypatch):
    for name in [name for name in sys.modules if name == "rich" or name.startswith("rich.")]:
        monkeypatch.delitem(sys.modules, name)  # and back again: two copies of a module do not know each other
    assert place.run()[0] == 0
    assert "rich" not in sys.modules


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (5.4, "0:05"), (95, "1:35"), (3600, "1:00:00"), (4000, "1:06:40")]
)
def test_durations(seconds, text):
    assert duration(seconds) == text
