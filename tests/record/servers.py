"""A target on loopback that misbehaves on demand, over HTTP, TLS and WebSocket.

Each path is one behaviour, written in bytes, so that what goes over the wire is what the test says and not what a
server library makes of it. Every request is kept, and nothing outlives the `with`.
"""

from __future__ import annotations

import datetime as dt
import gzip
import json
import logging
import socket
import ssl
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address

from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol

_SILENT = logging.getLogger("tests.record.servers.silent")
_SILENT.setLevel(logging.CRITICAL + 1)
END = "0\r\n\r\n"
TICK = 0.02
"""Seconds between two signs of life of a behaviour that never ends."""


@dataclass
class Asked:
    """One request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


@dataclass
class Server:
    """`with Server(behaviours) as server:`; a behaviour is called with the connection and the request.

    Args:
        behaviours: path (without query) to function; it returns True to keep the connection open.
        certificate: file with key and certificate, for TLS.
    """

    behaviours: dict
    certificate: str | None = None
    asked: list = field(default_factory=list)
    connections: int = 0

    def __enter__(self):
        self.stop = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._context = None
        if self.certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(self.certificate)
        self._start(self._accept)
        return self

    def _start(self, target, *args):
        thread = threading.Thread(target=target, args=args)
        self._threads.append(thread)
        thread.start()

    def __exit__(self, *_):
        self.stop.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()

    def url(self, path, scheme=None):
        scheme = scheme or ("https" if self.certificate else "http")
        return f"{scheme}://127.0.0.1:{self.port}{path}"

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.add(connection)
            self._start(self._serve, connection)

    def _serve(self, plain):
        connection = plain
        try:
            if self._context is not None:
                connection = self._context.wrap_socket(plain, server_side=True)
            while not self.stop.is_set():
                head = self._head(connection)
                if head is None:
                    return
                if not self._answer(connection, *head):
                    return
        except OSError:
            pass
        finally:
            self._open.discard(plain)
            with suppress(OSError):
                connection.close()

    def _head(self, connection):
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = connection.recv(65536)
            if not chunk:
                return None
            data += chunk
        head, _, body = data.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ", 2)
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        while len(body) < int(headers.get("content-length", 0)):
            body += connection.recv(65536)
        return Asked(method, path, headers, body), data

    def _answer(self, connection, asked, data):
        self.asked.append(asked)
        behaviour = self.behaviours.get(asked.path.partition("?")[0])
        if behaviour is None:
            return reply(404, b'{"error": "no such path"}')(connection, asked, self)
        if asked.headers.get("upgrade", "").lower() == "websocket" and not getattr(behaviour, "raw", False):
            behaviour(Peer(connection, data), asked, self)
            return False
        return behaviour(connection, asked, self)


def raw(behaviour):
    """A behaviour that gets the connection itself even where a WebSocket is asked for."""
    behaviour.raw = True
    return behaviour


def head(status=200, **headers):
    lines = [f"HTTP/1.1 {status} Whatever", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def reply(status, body, **headers):
    """One whole reply; the connection stays open."""

    def behave(connection, _asked, _server):
        connection.sendall(head(status, **{"Content_Length": len(body), **headers}) + body)
        return True

    return raw(behave)


def replies(document, status=200, **headers):
    return reply(status, json.dumps(document).encode(), Content_Type="application/json", **headers)


def in_turn(*behaviours):
    """One behaviour after the other, the last one for ever."""
    left = list(behaviours)

    def behave(connection, asked, server):
        behaviour = left.pop(0) if len(left) > 1 else left[0]
        return behaviour(connection, asked, server)

    return raw(behave)


def echo(connection, asked, server):
    """Says what it was asked, with the conversation that it was asked in."""
    document = {"answer": f"You asked: {asked.json.get('q')}", "conversation": "c-1", "turns": asked.json}
    return replies(document)(connection, asked, server)


@raw
def hang(_connection, _asked, server):
    server.stop.wait()
    return False


@raw
def flood(connection, _asked, server):
    connection.sendall(head(Transfer_Encoding="chunked", Content_Type="application/json"))
    while not server.stop.is_set():
        connection.sendall(b"8000\r\n" + b"x" * 0x8000 + b"\r\n")
    return False


@raw
def flood_declared(connection, _asked, server):
    connection.sendall(head(Content_Length=10**12))
    server.stop.wait()
    return False


@raw
def gzip_bomb(connection, _asked, _server):
    body = gzip.compress(b" " * 50_000_000)
    connection.sendall(head(Content_Length=len(body), Content_Encoding="gzip") + body)
    return True


@raw
def drip(connection, _asked, server):
    """A byte now and then, for ever: no single read takes long."""
    connection.sendall(head(Content_Length=10_000))
    while not server.stop.wait(TICK):
        connection.sendall(b" ")
    return False


@raw
def drip_head(connection, _asked, server):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not server.stop.wait(TICK):
        connection.sendall(b"x")
    return False


@raw
def continues(connection, _asked, server):
    """Interim replies for ever."""
    while not server.stop.wait(TICK):
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    return False


@raw
def hang_up(_connection, _asked, _server):
    return False


@raw
def hang_up_midway(connection, _asked, _server):
    connection.sendall(head(Content_Length=1000) + b'{"answer": "half')
    return False


@raw
def hang_up_midchunk(connection, _asked, _server):
    connection.sendall(head(Transfer_Encoding="chunked") + b'40\r\n{"answer": "half')
    return False


@raw
def reset(connection, _asked, _server):
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


@raw
def garbage(connection, _asked, _server):
    connection.sendall(b"\x00\x01 what is this \xff\r\n\r\n")
    return False


@raw
def long_header(connection, _asked, _server):
    connection.sendall(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200_000 + b"\r\n\r\n")
    return False


@raw
def many_headers(connection, _asked, _server):
    connection.sendall(b"HTTP/1.1 200 OK\r\n" + b"X-Another: x\r\n" * 500 + b"\r\n")
    return False


def stream(*pieces, end=True, content_type="text/event-stream"):
    """An event stream of these pieces, each a chunk of its own."""

    @raw
    def behave(connection, _asked, _server):
        connection.sendall(head(Transfer_Encoding="chunked", Content_Type=content_type))
        for piece in pieces:
            data = piece if isinstance(piece, bytes) else piece.encode()
            connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        if end:
            connection.sendall(END.encode())
        return end

    return behave


def events(*documents, event=None):
    """Events as text, one for each JSON value or string."""
    name = f"event: {event}\n" if event else ""
    texts = (one if isinstance(one, str) else json.dumps(one) for one in documents)
    return "".join(f"{name}data: {text}\n\n" for text in texts)


def endless(piece):
    """A stream that sends the same piece for ever."""

    @raw
    def behave(connection, _asked, server):
        data = piece.encode()
        connection.sendall(head(Transfer_Encoding="chunked", Content_Type="text/event-stream"))
        while not server.stop.wait(TICK):
            connection.sendall(f"{len(data):x}\r\n".encode() + data + b"\r\n")
        return False

    return behave


class Peer:
    """The target's side of one WebSocket."""

    def __init__(self, connection, request):
        self.connection = connection
        self.protocol = ServerProtocol(max_size=None, logger=_SILENT)
        self.protocol.receive_data(request)
        (asked,) = self.protocol.events_received()
        self.protocol.send_response(self.protocol.accept(asked))
        self.flush()

    def flush(self):
        for data in self.protocol.data_to_send():
            if data:
                self.connection.sendall(data)

    def recv(self):
        """The next text message, or None at the end."""
        while True:
            for event in self.protocol.events_received():
                if isinstance(event, Frame) and event.opcode is Opcode.TEXT:
                    return json.loads(bytes(event.data))
            data = self.connection.recv(65536)
            if not data:
                return None
            self.protocol.receive_data(data)
            self.flush()

    def send(self, value):
        self.protocol.send_text((value if isinstance(value, str) else json.dumps(value)).encode())
        self.flush()

    def fragments(self, *parts):
        self.protocol.send_text(parts[0], fin=False)
        for part in parts[1:-1]:
            self.protocol.send_continuation(part, fin=False)
        self.protocol.send_continuation(parts[-1], fin=True)
        self.flush()

    def ping(self):
        self.protocol.send_ping(b"still there?")
        self.flush()

    def close(self, code=1000):
        self.protocol.send_close(code)
        self.flush()
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_WR)
            while self.connection.recv(65536):
                pass


def self_signed(folder, *, name="127.0.0.1"):
    """A file with a key and a certificate that nobody vouches for but itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.x509.oid import NameOID

    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    try:
        alternative = x509.IPAddress(ip_address(name))
    except ValueError:
        alternative = x509.DNSName(name)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([alternative]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / f"{name}.pem"
    file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return file
