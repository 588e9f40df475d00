"""How is it going?

On a terminal one line that moves; in a log a plain line every few seconds. Ids of items and words of the target are
text that others wrote: no line of theirs becomes more than a line.
"""

import importlib.util
import os
import time
from collections.abc import Callable
from typing import Any, TextIO

from plumbline.record.journal import Entry
from plumbline.report.sinks import log_line, terminal

EVERY = 5.0
"""Seconds between two plain lines."""

_ID_LIMIT = 40


class _Count:
    """What both kinds of progress count."""

    def __init__(self, wanted: int, already: int, clock: Callable[[], float]) -> None:
        self.wanted = wanted
        self.already = already
        self.done = already
        self.failed = 0
        self.item = ""
        self._clock = clock
        self._began = clock()

    def asking(self, item: str) -> None:
        """A call for an item begins."""
        self.item = item

    def count(self, entry: Entry) -> None:
        """An answer came, or none."""
        self.done += 1
        self.failed += entry.fault is not None

    @property
    def rate(self) -> float:
        """Answers per second of this run."""
        spent = self._clock() - self._began
        return (self.done - self.already) / spent if spent > 0 else 0.0

    @property
    def remaining(self) -> str:
        """How long it will take at this rate."""
        return duration((self.wanted - self.done) / self.rate) if self.rate else "?"


class PlainProgress(_Count):
    """Plain lines for a log.

    Args:
        wanted: answers in all.
        already: of those, answers that an earlier run left.
        stream: where lines go.
        clock: seconds that never go back.
    """

    def __init__(self, wanted: int, already: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(wanted, already, clock)
        self._stream = stream
        self._next = clock() + EVERY

    def recorded(self, entry: Entry) -> None:
        """An answer came, or none."""
        self.count(entry)
        if self.done == self.wanted:
            self._say()
        else:
            self.tick()

    def tick(self) -> None:
        """Time has passed."""
        if self._clock() >= self._next:
            self._next = self._clock() + EVERY
            self._say()

    def _say(self) -> None:
        text = (
            f"recording: {self.done}/{self.wanted}, {self.rate:.1f}/s, {self.remaining} left, {self.failed} failed, "
            f"at {terminal(self.item, _ID_LIMIT)}"
        )
        print(log_line(text), file=self._stream, flush=True)

    def end(self) -> None:
        """Nothing more will come."""


class BarProgress(_Count):
    """A moving line on a terminal, drawn by rich.

    Args:
        wanted: answers in all.
        already: of those, answers that an earlier run left.
        stream: the terminal.
        clock: seconds that never go back.
    """

    def __init__(self, wanted: int, already: int, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        from rich.console import Console  # noqa: PLC0415 - only a terminal needs it
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn  # noqa: PLC0415

        super().__init__(wanted, already, clock)
        plain: dict[str, Any] = {"markup": False}
        self._bar = Progress(
            TextColumn("recording"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[pace]}", **plain),
            TextColumn("{task.fields[item]}", **plain),
            console=Console(file=stream, markup=False, emoji=False, highlight=False),
            get_time=clock,
        )
        self._task = self._bar.add_task("recording", total=wanted, completed=already, pace="", item="")
        self._bar.start()

    def recorded(self, entry: Entry) -> None:
        """An answer came, or none."""
        self.count(entry)
        self.tick()

    def tick(self) -> None:
        """Time has passed."""
        self._bar.update(
            self._task,
            completed=self.done,
            pace=f"{self.rate:.1f}/s, {self.remaining} left, {self.failed} failed",
            item=terminal(self.item, _ID_LIMIT),
        )

    def end(self) -> None:
        """Nothing more will come."""
        self._bar.stop()


def progress(wanted: int, already: int, stream: TextIO) -> PlainProgress | BarProgress:
    """The kind of progress that suits a stream."""
    moving = stream.isatty() and os.environ.get("TERM", "dumb") != "dumb"
    if moving and importlib.util.find_spec("rich") is not None:
        return BarProgress(wanted, already, stream)
    return PlainProgress(wanted, already, stream)


def duration(seconds: float) -> str:
    """`95` as `1:35`, `4000` as `1:06:40`."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
