"""How are commands given to a browser, and its answers read, within a time and a size?

The Chrome DevTools Protocol: JSON messages, each ended by a NUL. One command is waited for at a time; events that come
meanwhile go to a listener, which may send further commands but not wait.
"""

import json
import os
import select
import time
from collections.abc import Callable, Mapping
from typing import Any

from plumbline.capture.browser import Pipes
from plumbline.errors import ConfigurationError

MAX_MESSAGE = 64 * 1024 * 1024
"""Bytes of one message."""
MAX_TOTAL = 256 * 1024 * 1024
"""Bytes of all messages of one capture."""

_CHUNK = 1024 * 1024


class CaptureError(ConfigurationError):
    """A page that cannot be captured within the bounds (exit 4)."""


Listener = Callable[[str, Mapping[str, Any]], None]


class Connection:
    """A conversation with one browser.

    Args:
        pipes: to the browser.
        seconds: how long the whole conversation may last.
    """

    def __init__(self, pipes: Pipes, seconds: float) -> None:
        self._pipes = pipes
        self._seconds = seconds
        self._deadline = time.monotonic() + seconds
        self._last = 0
        self._received = bytearray()
        self._searched = 0
        self._total = 0
        self.session: str | None = None
        """The page that commands go to; None for the browser itself."""
        self.listener: Listener = lambda _method, _parameters: None

    def send(self, method: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Give a command without waiting for what becomes of it; its number."""
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters or {}}
        if self.session is not None:
            message["sessionId"] = self.session
        self._write(json.dumps(message).encode() + b"\0")
        return self._last

    def call(self, method: str, parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Give a command and wait for its result.

        Raises:
            CaptureError: the browser refuses it, ends, says too much, or time is over.
        """
        number = self.send(method, parameters)
        while True:
            message = self._message()
            if message.get("id") == number:
                if "error" in message:
                    raise CaptureError(f"the browser refused {method}: {message['error'].get('message', '')!s:.200}")
                return dict(message.get("result", {}))
            self._heard(message)

    def listen(self, until: Callable[[], bool], seconds: float | None = None) -> None:
        """Hear events until `until` holds, or, where `seconds` are given, until they are over.

        Raises:
            CaptureError: the browser ends, says too much, or the time of the whole capture is over.
        """
        end = None if seconds is None else time.monotonic() + seconds
        while not until():
            message = self._message(end)
            if message is None:
                return
            self._heard(message)

    def _heard(self, message: Mapping[str, Any]) -> None:
        if "method" in message:
            self.listener(message["method"], message.get("params", {}))

    def _message(self, end: float | None = None) -> Any:  # noqa: ANN401 - a JSON object, or None when `end` is over
        while True:
            stop = self._received.find(b"\0", self._searched)
            if stop >= 0:
                message = json.loads(self._received[:stop])
                del self._received[: stop + 1]
                self._searched = 0
                return message
            self._searched = len(self._received)
            if self._searched > MAX_MESSAGE or self._total > MAX_TOTAL:
                raise CaptureError(f"the page is too large: the browser sent more than {MAX_MESSAGE} bytes about it")
            if not self._ready(end):
                return None
            chunk = os.read(self._pipes.answers, _CHUNK)
            if not chunk:
                raise CaptureError(
                    "the browser ended before the page was captured",
                    remedy="Where it cannot confine pages, as in many containers: docs/capture.md, --no-sandbox.",
                )
            self._received += chunk
            self._total += len(chunk)

    def _ready(self, end: float | None) -> bool:
        left = self._left()
        if end is not None:
            left = min(left, max(0.0, end - time.monotonic()))
        if select.select([self._pipes.answers], [], [], left)[0]:
            return True
        self._left()
        return False if end is not None else self._ready(end)

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise CaptureError(
                f"the page was not captured within {self._seconds:g} seconds: an endless script or a slow answer",
                remedy="--timeout SECONDS gives it longer.",
            )
        return left

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            if not select.select([], [self._pipes.commands], [], self._left())[1]:
                continue
            try:
                view = view[os.write(self._pipes.commands, view) :]
            except BlockingIOError:
                continue
            except BrokenPipeError:
                return  # the next read says that it has ended
