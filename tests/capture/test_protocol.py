"""Does every way in which a browser can fail end in exit 4?"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager

import pytest

from plumbline.capture import protocol
from plumbline.capture.browser import Pipes
from plumbline.capture.protocol import CaptureError, Connection


@contextmanager
def browser(*messages, raw=b"", seconds=20.0, ended=True):
    """A browser that has said all this already."""
    theirs_in, commands = os.pipe()
    answers, theirs_out = os.pipe()
    os.set_blocking(commands, False)
    os.write(theirs_out, b"".join(json.dumps(message).encode() + b"\0" for message in messages) + raw)
    if ended:
        os.close(theirs_out)
    try:
        yield Connection(Pipes(commands, answers), seconds)
    finally:
        for end in (theirs_in, commands, answers, *(() if ended else (theirs_out,))):
            os.close(end)


def test_events_on_the_way_are_heard_and_the_result_is_returned():
    heard = []
    with browser({"method": "A", "params": {"x": 1}}, {"id": 9}, {"id": 1, "result": {"y": 2}}) as connection:
        connection.listener = lambda method, told: heard.append((method, told))
        assert connection.call("Do") == {"y": 2}
    assert heard == [("A", {"x": 1})]


def test_a_refused_command():
    with (
        browser({"id": 1, "error": {"message": "no"}}) as connection,
        pytest.raises(CaptureError, match="refused Do: no"),
    ):
        connection.call("Do")


def test_a_browser_that_ends():
    with browser(raw=b'{"id": 1, "res') as connection, pytest.raises(CaptureError, match="ended before"):
        connection.call("Do")


@pytest.mark.parametrize("bound", ["MAX_MESSAGE", "MAX_TOTAL"])
def test_a_message_without_an_end(bound, monkeypatch):
    monkeypatch.setattr(protocol, bound, 1000)
    with browser(raw=b"x" * 2000, ended=False) as connection, pytest.raises(CaptureError, match="too large"):
        connection.call("Do")


def test_silence_ends_with_the_time():
    with browser(ended=False, seconds=0.2) as connection, pytest.raises(CaptureError, match=r"0\.2 seconds"):
        connection.call("Do")


def test_a_command_that_nobody_reads_ends_with_the_time():
    with browser(ended=False, seconds=0.2) as connection, pytest.raises(CaptureError, match=r"0\.2 seconds"):
        connection.send("Do", {"x": "y" * 2**20})


def test_listening_ends_when_its_own_time_is_over():
    heard = []
    with browser({"method": "A"}, ended=False) as connection:
        connection.listener = lambda method, _told: heard.append(method)
        connection.listen(lambda: False, 0.05)
        connection.listen(lambda: True)
    assert heard == ["A"]


def test_commands_go_to_the_page():
    theirs_in, commands = os.pipe()
    connection = Connection(Pipes(commands, theirs_in), 5)
    connection.session = "s"
    assert connection.send("Do") == 1
    assert json.loads(os.read(theirs_in, 1000).removesuffix(b"\0")) == {
        "id": 1,
        "method": "Do",
        "params": {},
        "sessionId": "s",
    }
    os.close(theirs_in)
    assert connection.send("Do") == 2  # that the browser has gone is said by the next answer
    os.close(commands)
