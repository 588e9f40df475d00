"""How does a request reach a target, and nothing else than that target?

The only module of Plumbline that opens a socket. Every bound of the specification ("The one module that talks to the
network") is enforced here: http and ws with or without TLS and no other scheme, no redirects, no credentials in an
address, no proxy or certificate store from the environment, one deadline over the whole call, an exact ceiling on what
is read. Each socket counts its own time: a server that sends a byte now and then gets no second more than one that is
silent.
"""

import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import certifi
from requests.adapters import HTTPAdapter
from requests.models import PreparedRequest
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.exceptions import HTTPError
from urllib3.poolmanager import PoolManager
from urllib3.util.retry import Retry

from plumbline.errors import ConfigurationError
from plumbline.record.breaks import broken
from plumbline.record.reply import Incoming, refuse_status
from plumbline.record.secret import Secrets

_PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
_READ = 64 * 1024


class Deadline:
    """A moment at which waiting ends.

    Args:
        seconds: from now.
    """

    def __init__(self, seconds: float) -> None:
        self.restart(seconds)

    def restart(self, seconds: float) -> None:
        """Begin anew: a connection that is kept open serves one call after the other."""
        self.seconds = seconds
        self._end = self._until = time.monotonic() + seconds

    def wait_at_most(self, seconds: float | None) -> None:
        """End the next wait sooner than the whole, or, with None, no longer."""
        self._until = self._end if seconds is None else min(self._end, time.monotonic() + seconds)

    @property
    def over(self) -> bool:
        """Whether the whole time has passed."""
        return time.monotonic() >= self._end

    def left(self) -> float:
        """Seconds that are left, more than 0.

        Raises:
            TimeoutError: none.
        """
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("the time for the whole call is over")
        return left


class _Socket(socket.socket):
    """A socket on which every operation ends at the deadline. `settimeout` alone would count each read anew."""

    deadline: Deadline

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        self.settimeout(self.deadline.left())
        return super().recv(bufsize, flags)

    def recv_into(self, buffer: Any, nbytes: int = 0, flags: int = 0) -> int:  # noqa: ANN401 - any buffer
        self.settimeout(self.deadline.left())
        return super().recv_into(buffer, nbytes, flags)

    def sendall(self, data: Any, flags: int = 0, /) -> None:  # noqa: ANN401 - any buffer
        self.settimeout(self.deadline.left())
        super().sendall(data, flags)


class _TLSSocket(ssl.SSLSocket):
    """The same for TLS. The handshake has the time that was left when it began."""

    deadline: Deadline | None = None

    def _count(self) -> None:
        if self.deadline is not None:
            self.settimeout(self.deadline.left())

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        self._count()
        return super().recv(buflen, flags)

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:  # noqa: ANN401 - any buffer
        self._count()
        return super().recv_into(buffer, nbytes, flags)

    def send(self, data: Any, flags: int = 0) -> int:  # noqa: ANN401 - any buffer
        self._count()
        return super().send(data, flags)


def tls_context(ca_file: Path | None) -> ssl.SSLContext:
    """A context that verifies, with the authorities that come with `requests` or those of a file, and no others.

    Raises:
        ConfigurationError: the file cannot be read or holds no certificate.
    """
    # Not create_default_context: it also reads SSLKEYLOGFILE, SSL_CERT_FILE and whatever a machine trusts.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.sslsocket_class = _TLSSocket
    try:
        context.load_verify_locations(ca_file or certifi.where())
    except (OSError, ssl.SSLError):
        name = ca_file.name if ca_file else "the bundled authorities"
        raise ConfigurationError(f"adapter.ca_file: {name} cannot be read as PEM certificates") from None
    return context


def open_socket(host: str, port: int, deadline: Deadline) -> _Socket:
    """A connected socket whose operations end at the deadline.

    Raises:
        OSError: no address, or none that could be reached in time.
    """
    addresses = _resolve(host, port, deadline)
    for place, (family, kind, protocol, _, address) in enumerate(addresses, start=1):
        connection = _Socket(family, kind, protocol)
        connection.deadline = deadline
        try:
            # One address that swallows packets must not eat the time of the next.
            connection.settimeout(deadline.left() / (len(addresses) - place + 1))
            connection.connect(address)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except BaseException as fault:
            connection.close()
            if place == len(addresses) or not isinstance(fault, OSError):
                raise
        else:
            connection.settimeout(deadline.left())  # what a TLS handshake may take
            return connection
    raise OSError("the name has no address")


def _resolve(host: str, port: int, deadline: Deadline) -> list[Any]:
    # The resolver cannot be interrupted; a thread of its own can be left behind.
    found: list[Any] = []

    def resolve() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as fault:
            found.append(OSError(f"the name cannot be resolved: {type(fault).__name__}"))

    if re.fullmatch(r"[0-9.]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*", host):
        resolve()
    else:
        thread = threading.Thread(target=resolve, daemon=True)
        thread.start()
        thread.join(deadline.left())
    if not found:
        raise TimeoutError("resolving the name took all the time there was")
    if isinstance(found[0], OSError):
        raise found[0]
    return list(found[0])


class _Lane(HTTPAdapter):
    """One connection that is kept open, with the deadline of the call that uses it now.

    The transport adapter of `requests` alone and no `Session`: what only a session does (redirects, cookies, .netrc,
    proxies of the environment) is then not merely switched off.
    """

    def __init__(self, context: ssl.SSLContext, authorities: str) -> None:
        self.deadline = Deadline(0)
        self.authorities = authorities
        self._context = context
        super().__init__(pool_connections=1, pool_maxsize=1, max_retries=Retry(0, read=False), pool_block=False)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **_: Any) -> None:  # noqa: ANN401 - as its base
        deadline = self.deadline

        class Plain(HTTPConnection):
            def _new_conn(self) -> socket.socket:
                return open_socket(self.host, self.port or 80, deadline)

        class Secure(HTTPSConnection):
            def _new_conn(self) -> socket.socket:
                return open_socket(self.host, self.port or 443, deadline)

            def connect(self) -> None:
                super().connect()
                if isinstance(self.sock, _TLSSocket):
                    self.sock.deadline = deadline

        class PlainPool(HTTPConnectionPool):
            ConnectionCls = Plain

        class SecurePool(HTTPSConnectionPool):
            ConnectionCls = Secure

        self.poolmanager = PoolManager(num_pools=connections, maxsize=maxsize, block=block, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = {"http": PlainPool, "https": SecurePool}


@dataclass(frozen=True, slots=True)
class Request:
    """One HTTP request, ready to send."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes | None
    where: str
    """What messages call it: method and address as configured, without query and without what was filled in."""

    def prepared(self) -> PreparedRequest:
        """Exactly what goes out, but for `Host`, which follows from the address."""
        request = PreparedRequest()
        request.prepare(method=self.method, url=self.url, headers=dict(self.headers), data=self.body)
        return request


class Transport:
    """Sends requests to one target. Safe to use from several threads.

    Args:
        timeout: seconds for a whole call.
        ceiling: bytes of a body, as sent and as decoded; one more is an error.
        secrets: what must not be seen in a message.
        ca_file: PEM certificates that are trusted instead of the usual ones.
    """

    def __init__(self, *, timeout: float, ceiling: int, secrets: Secrets, ca_file: Path | None = None) -> None:
        self.timeout = timeout
        self.ceiling = ceiling
        self.secrets = secrets
        self._context = tls_context(ca_file)
        self._authorities = str(ca_file or certifi.where())
        self._lock = threading.Lock()
        self._idle: list[_Lane] = []
        self._closed = False

    @contextmanager
    def stream(self, request: Request, *, timeout: float | None = None) -> Iterator[Incoming]:
        """Send a request and hand its body over as it arrives.

        Args:
            request: what to send.
            timeout: seconds for this call, where less are left than usual.

        Raises:
            CallError: no answer with a status of 200 to 299; also from reading what is handed over.
        """
        with self._lock:
            lane = self._idle.pop() if self._idle else _Lane(self._context, self._authorities)
        seconds = min(self.timeout, timeout) if timeout is not None else self.timeout
        lane.deadline.restart(seconds)
        response = None
        try:
            try:
                response = lane.send(
                    request.prepared(), stream=True, timeout=(seconds, seconds), verify=lane.authorities, proxies={}
                )
            except (OSError, ValueError, HTTPError) as fault:
                raise broken(fault, request.where, seconds) from None
            incoming = Incoming(
                response.status_code,
                response.headers,
                response.raw,
                where=request.where,
                ceiling=self.ceiling,
                secrets=self.secrets,
                deadline=lane.deadline,
            )
            refuse_status(incoming.status, incoming.headers, request.where, secrets=self.secrets, said=incoming.begins)
            yield incoming
        finally:
            if response is not None:
                with suppress(OSError):
                    response.close()
            with self._lock:
                closed = self._closed
                if not closed:
                    self._idle.append(lane)
            if closed:
                lane.close()

    def call(self, request: Request, *, timeout: float | None = None) -> tuple[int, bytes]:
        """Send a request and read the whole body.

        Returns:
            Status and body.

        Raises:
            CallError: no complete answer.
        """
        with self.stream(request, timeout=timeout) as incoming:
            return incoming.status, b"".join(incoming.chunks())

    def connect(self, url: str, deadline: Deadline, where: str) -> socket.socket:
        """A connected socket for ws and wss, its TLS verified.

        Raises:
            CallError: there is none.
        """
        address = urlsplit(url)
        host = address.hostname or ""
        try:
            plain = open_socket(host, address.port or _PORTS[address.scheme], deadline)
            if address.scheme != "wss":
                return plain
            try:
                plain.settimeout(deadline.left())
                secure = self._context.wrap_socket(plain, server_hostname=host)
            except BaseException:
                plain.close()
                raise
        except (OSError, ValueError) as fault:
            raise broken(fault, where, deadline.seconds) from None
        assert isinstance(secure, _TLSSocket)  # noqa: S101 - the context makes no other
        secure.deadline = deadline
        return secure

    def close(self) -> None:
        """Close every connection that is kept open, and keep none from here on."""
        with self._lock:
            lanes, self._idle, self._closed = self._idle, [], True
        for lane in lanes:
            lane.close()
