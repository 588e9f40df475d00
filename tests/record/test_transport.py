"""What holds below every adapter."""

import ast
import datetime as dt
import gc
import http.client
import socket
import ssl
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import plumbline
from plumbline.record import transport
from plumbline.record.breaks import broken
from plumbline.record.reply import retry_after
from plumbline.record.secret import Secrets
from plumbline.record.transport import Deadline, Request, Transport, open_socket
from tests.record.servers import Server, echo, replies

SOURCE = Path(plumbline.__file__).parent
NOW = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)


def imports(file):
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def test_one_module_opens_sockets():
    opens = {
        "requests", "urllib3.connection", "urllib3.connectionpool", "urllib3.poolmanager", "urllib.request", "asyncio",
        "websockets.sync.client", "websockets.asyncio.client", "websockets",
    }  # fmt: skip
    found = {
        file.name
        for file in (SOURCE / "record").rglob("*.py")
        for name in imports(file)
        if name in opens or name.startswith("requests.") or name == "socket"
    }
    # messages.py only names a constant of the socket module; it is handed its socket.
    assert found == {"transport.py", "messages.py"}
    assert "socket.socket(" not in (SOURCE / "record" / "messages.py").read_text()


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0), ("7", 7.0), (" 7 ", 7.0), ("999999999", 999999999.0),
        ("Fri, 02 Jan 2026 03:05:05 GMT", 60.0), ("Fri, 02 Jan 2026 03:00:00 GMT", 0.0),
        ("Friday, 02-Jan-26 03:05:05 GMT", 60.0), ("Fri Jan  2 03:05:05 2026", 60.0),
        ("", None), ("-1", None), ("1.5", None), ("soon", None), ("\u0667", None), ("9" * 30, None), ("x" * 100, None),
        (None, None), ("Fri, 99 Jan 2026 99:99:99 GMT", None),
    ],
)  # fmt: skip
def test_retry_after(value, seconds):
    assert retry_after(value, NOW) == seconds


@given(st.text(max_size=70))
def test_retry_after_of_anything(value):
    found = retry_after(value, NOW)
    assert found is None or found >= 0


def test_retry_after_of_now():
    assert retry_after("Fri, 02 Jan 2015 03:05:05 GMT") == 0


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (TimeoutError(), "timeout"),
        (ConnectionRefusedError(111, "Connection refused"), "unreachable"),
        (OSError("odd"), "unreachable"),
        (ssl.SSLEOFError(), "unreachable"),
        (ssl.SSLError(1, "WRONG_VERSION_NUMBER"), "tls"),
        (http.client.BadStatusLine("x"), "malformed"),
        (http.client.RemoteDisconnected(), "unreachable"),
        (http.client.IncompleteRead(b""), "unreachable"),
        (http.client.LineTooLong("header line"), "too_large"),
        (http.client.HTTPException("got more than 100 headers"), "too_large"),
        (ValueError("odd"), "malformed"),
    ],
)
def test_the_fault_of_what_a_library_raised(fault, told):
    assert broken(fault, "POST http://t.example/", 1.0).fault == told
    wrapped = RuntimeError("wrapped", fault)
    assert broken(wrapped, "POST http://t.example/", 1.0).fault == told
    looped = RuntimeError("looped")
    looped.__context__ = fault
    fault.__context__ = looped
    assert broken(looped, "POST http://t.example/", 1.0).fault == told


class TestDeadline:
    def test_it_ends(self):
        deadline = Deadline(60)
        assert 0 < deadline.left() <= 60
        deadline.wait_at_most(0)
        assert not deadline.over
        with pytest.raises(TimeoutError):
            deadline.left()
        deadline.wait_at_most(None)
        assert deadline.left() > 0
        deadline.restart(0)
        assert deadline.over
        deadline.wait_at_most(60)
        with pytest.raises(TimeoutError):
            deadline.left()

    def test_a_resolver_that_hangs_is_left_behind(self, monkeypatch):
        stop = threading.Event()
        monkeypatch.setattr(transport.socket, "getaddrinfo", lambda *_, **__: stop.wait() and [])
        with pytest.raises(TimeoutError):
            open_socket("slow.example", 80, Deadline(0.1))
        stop.set()

    def test_the_next_address_gets_its_turn(self, monkeypatch):
        with Server({}) as server:
            found = [
                (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port)) for port in (unused(), server.port)
            ]
            monkeypatch.setattr(transport.socket, "getaddrinfo", lambda *_, **__: found)
            connection = open_socket("twice.example", 80, Deadline(5))
            assert connection.getpeername()[1] == server.port
            connection.close()

    def test_a_name_without_an_address(self, monkeypatch):
        monkeypatch.setattr(transport.socket, "getaddrinfo", lambda *_, **__: [])
        with pytest.raises(OSError, match="no address"):
            open_socket("none.example", 80, Deadline(5))


def unused():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def request(url):
    return Request("GET", url, (("X-A", "1"),), None, f"GET {url}")


def test_a_shorter_time_for_one_call():
    sent = Transport(timeout=60, ceiling=100, secrets=Secrets({}))
    with Server({"/": replies({})}) as server:
        assert sent.call(request(server.url("/")), timeout=5) == (200, b"{}")
        sent.close()


def test_many_threads_share_one_transport_and_leave_nothing_open():
    sent = Transport(timeout=10, ceiling=1000, secrets=Secrets({}))
    with Server({"/": replies({"answer": "x"})}) as server:
        address = server.url("/")
        threads = [threading.Thread(target=lambda: [sent.call(request(address)) for _ in range(20)]) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(server.asked) == 160
        assert server.connections <= 8
        sent.close()
        sent.close()
    gc.collect()  # a socket that was left open would warn, and warnings are errors


def test_what_is_half_read_is_not_used_again():
    sent = Transport(timeout=10, ceiling=100_000, secrets=Secrets({}))
    with Server({"/": replies({"answer": "x" * 90_000}), "/echo": echo}) as server:
        for _ in range(3):
            with sent.stream(request(server.url("/"))) as incoming:
                next(incoming.chunks())
        assert sent.call(request(server.url("/")))[1].endswith(b'x"}')
        sent.close()


def test_a_call_that_ends_after_the_transport_was_closed_keeps_nothing_open(monkeypatch):
    closed = []
    monkeypatch.setattr(transport._Lane, "close", closed.append)
    sent = Transport(timeout=10, ceiling=1000, secrets=Secrets({}))
    with Server({"/": replies({})}) as server:
        with sent.stream(request(server.url("/"))) as incoming:
            sent.close()
            assert list(incoming.chunks()) == [b"{}"]
        assert sent._idle == []
    (lane,) = closed
    monkeypatch.undo()
    lane.close()
