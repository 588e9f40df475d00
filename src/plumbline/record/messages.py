"""How do text messages travel over one WebSocket?

RFC 6455 by the `websockets` library's protocol core, which does no input and output of its own: the socket is ours,
with its deadline, so there are no redirects, no proxies, no threads and no waiting that nobody bounds. No compression
is offered, so a small frame cannot become a large message.
"""

import logging
import socket
from collections import deque
from contextlib import suppress

from websockets.client import ClientProtocol
from websockets.exceptions import PayloadTooBig, SecurityError
from websockets.frames import Frame, Opcode
from websockets.http11 import Response
from websockets.uri import parse_uri

from plumbline.record.adapters.base import CallError
from plumbline.record.breaks import broken, unreachable
from plumbline.record.reply import refuse_status
from plumbline.record.transport import Deadline, Request, Transport

_READ = 64 * 1024
_QUOTED = 120
_MOMENT = 0.1
"""Seconds that what was sent earlier may still take: a second small packet waits for the first to be acknowledged."""
_CLEAN = frozenset({1000, 1001, 1005})
_ASKED_OF_HTTP = frozenset({"accept", "accept-encoding", "content-type"})
_SILENT = logging.getLogger("plumbline.record.messages.silent")
# The library writes every header into its debug log, and one of them is the credential.
_SILENT.setLevel(logging.CRITICAL + 1)
_SILENT.propagate = False


def handshake_headers(request: Request) -> list[tuple[str, str]]:
    """The headers of a request that its handshake sends: those about a body would mean nothing."""
    return [(name, value) for name, value in request.headers if name.lower() not in _ASKED_OF_HTTP]


class MessageChannel:
    """One open WebSocket.

    Args:
        transport: opens the socket and knows the bounds.
        request: address and headers of the handshake.
        deadline: of the call that opens it; later calls restart it.

    Raises:
        CallError: no connection, or the target refused the handshake.
    """

    def __init__(self, transport: Transport, request: Request, deadline: Deadline) -> None:
        self._where = request.where
        self._secrets = transport.secrets
        self._ceiling = transport.ceiling
        self._deadline = deadline
        self._received = 0
        self._messages: deque[str] = deque()
        self._parts: list[bytes] = []
        address = parse_uri(request.url)
        self._protocol = ClientProtocol(address, max_size=transport.ceiling, logger=_SILENT)
        self._socket: socket.socket = transport.connect(request.url, deadline, request.where)
        try:
            self._shake_hands(request)
        except BaseException:
            self.close()
            raise

    def _shake_hands(self, request: Request) -> None:
        handshake = self._protocol.connect()
        for name, value in handshake_headers(request):
            handshake.headers[name] = value
        self._protocol.send_request(handshake)
        self._flush()
        while True:
            events = self._read()
            response = next((event for event in events if isinstance(event, Response)), None)
            if response is not None and response.status_code != 101:
                self._refuse(response)
            if self._protocol.handshake_exc is not None:
                raise self._no_handshake(self._protocol.handshake_exc)
            if response is not None:
                # What a target says at once may come in one piece with its handshake.
                for event in events:
                    if isinstance(event, Frame):
                        self._take(event)
                return

    def _refuse(self, response: Response) -> None:
        headers = {name.title(): value for name, value in response.headers.raw_items()}
        begin = bytes(response.body or b"")[:8192].decode("utf-8", "replace").strip()
        refuse_status(
            response.status_code,
            headers,
            self._where,
            secrets=self._secrets,
            said=lambda: self._secrets.quote(begin, _QUOTED),
        )

    def _no_handshake(self, fault: BaseException) -> CallError:
        causes = [fault, fault.__cause__]
        if any(isinstance(cause, SecurityError) for cause in causes):
            return CallError(f"{self._where}: the head of the reply is too large", fault="too_large")
        if any(isinstance(cause, EOFError) for cause in causes):
            return unreachable(f"{self._where}: the connection broke off during the handshake")
        return CallError(
            f"{self._where}: the reply to the handshake is none of RFC 6455 ({type(fault).__name__})",
            fault="malformed",
            remedy="Check that adapter.endpoint is a WebSocket.",
        )

    def begin(self, seconds: float) -> None:
        """A new turn: its time and its size count from here."""
        self._deadline.restart(seconds)
        self._received = 0

    def send(self, text: str) -> None:
        """Send one text message.

        Raises:
            CallError: the connection is gone.
        """
        if self._protocol.close_rcvd is not None:
            raise unreachable(f"{self._where}: the target closed the connection before it was asked")
        if self._protocol.parser_exc is not None:
            raise self._against_protocol(self._protocol.parser_exc)
        self._protocol.send_text(text.encode())
        self._flush()

    def receive(self, idle: float | None = None) -> str | None:
        """The next message; None where the target closed the connection in order.

        Args:
            idle: seconds after which waiting for it ends, where that is sooner than the deadline.

        Raises:
            TimeoutError: `idle` has passed.
            CallError: out of time, too large, broken off, or against the protocol.
        """
        self._deadline.wait_at_most(idle)
        while not self._messages:
            if self._protocol.close_rcvd is not None and self._protocol.parser_exc is None:
                code = self._protocol.close_rcvd.code
                if code in _CLEAN:
                    return None
                raise unreachable(f"{self._where}: the target closed the connection with code {int(code)}")
            if self._protocol.parser_exc is not None:
                raise self._against_protocol(self._protocol.parser_exc)
            for event in self._read():
                if isinstance(event, Frame):
                    self._take(event)
        self._deadline.wait_at_most(None)
        return self._messages.popleft()

    def unasked(self) -> list[str]:
        """The messages that came before anything was sent that they could answer; waits a moment for more.

        Raises:
            CallError: out of time, too large, broken off, or against the protocol.
        """
        found: list[str] = []
        with suppress(TimeoutError):
            while (message := self.receive(_MOMENT)) is not None:
                found.append(message)
        self._deadline.wait_at_most(None)
        return found

    def _take(self, frame: Frame) -> None:
        if frame.opcode not in {Opcode.TEXT, Opcode.BINARY, Opcode.CONT}:
            return
        self._received += len(frame.data)
        if self._received > self._ceiling:
            raise self._too_large()
        self._parts.append(bytes(frame.data))
        if frame.fin:
            data, self._parts = b"".join(self._parts), []
            try:
                self._messages.append(data.decode("utf-8"))
            except UnicodeDecodeError:
                raise CallError(f"{self._where}: a message is not UTF-8", fault="malformed") from None

    def _against_protocol(self, fault: BaseException) -> CallError:
        if isinstance(fault, PayloadTooBig):
            return self._too_large()
        if isinstance(fault, EOFError):
            return unreachable(f"{self._where}: the connection broke off after {self._received} bytes")
        return CallError(f"{self._where}: what came is against RFC 6455 ({type(fault).__name__})", fault="malformed")

    def _too_large(self) -> CallError:
        return CallError(
            f"{self._where}: the messages are larger than {self._ceiling} bytes",
            fault="too_large",
            remedy="Raise adapter.max_response_bytes if the answers of this target are really that long.",
        )

    def _read(self) -> list[object]:
        try:
            data = self._socket.recv(_READ)
        except OSError as fault:
            if isinstance(fault, TimeoutError) and not self._deadline.over:
                raise  # only the shorter wait has passed
            raise broken(fault, self._where, self._deadline.seconds, received=self._received) from None
        if data:
            self._protocol.receive_data(data)
        else:
            self._protocol.receive_eof()
        events: list[object] = list(self._protocol.events_received())
        self._flush()
        return events

    def _flush(self) -> None:
        try:
            for data in self._protocol.data_to_send():
                if data:
                    self._socket.sendall(data)
                else:
                    with suppress(OSError):  # the end of the stream; a peer that is gone needs no goodbye
                        self._socket.shutdown(socket.SHUT_WR)
        except OSError as fault:
            raise broken(fault, self._where, self._deadline.seconds, received=self._received) from None

    def close(self) -> None:
        """Say goodbye, if that can be said at once, and close."""
        with suppress(Exception):
            self._deadline.restart(0.2)
            self._protocol.send_close(1000)
            for data in self._protocol.data_to_send():
                self._socket.sendall(data)
        with suppress(OSError):
            self._socket.close()
