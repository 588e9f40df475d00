"""What does an HTTP answer mean, and how much of it is taken?

Status, Retry-After, content coding and length of one reply, and which fault each way to fail is. Only connection
failures, timeouts and the statuses 429, 500, 502, 503 and 504 are worth asking again: a repeated 4xx papers over a bug.
"""

import http.client
import re
import zlib
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

from urllib3.exceptions import HTTPError

from plumbline.record.adapters.base import CallError
from plumbline.record.breaks import ENDPOINT_REMEDY, broken
from plumbline.record.secret import Secrets

_CHUNK = 64 * 1024
_QUOTED = 120
_QUOTED_FROM = 8 * 1024
_AUTH = frozenset({401, 403, 407})
_TRANSIENT = frozenset({500, 502, 503, 504})
_WINDOW = {"gzip": 31, "x-gzip": 31, "deflate": 15}
_LENGTH = re.compile(r"([0-9]{1,19})(?:[ \t]*,[ \t]*\1)*")
"""One length, which may be said more than once (RFC 9110, 8.6)."""
_FRAMING = re.compile(r"chunked", re.IGNORECASE)
_PARTIAL = 206
_SECONDS = re.compile(r"[0-9]{1,9}")


class _Clock(Protocol):
    seconds: float

    def left(self) -> float: ...


class Incoming:
    """A reply whose head has been read and whose body has not.

    Args:
        status: HTTP status.
        headers: case-insensitive.
        raw: has `read1(amount, decode_content=False)`.
        where: what messages call the request.
        ceiling: bytes of the body, as sent and as decoded.
        secrets: what must not be seen in a message.
        deadline: of the whole call.
    """

    def __init__(
        self,
        status: int,
        headers: Mapping[str, str],
        raw: Any,  # noqa: ANN401 - urllib3's response, which has no public base for it
        *,
        where: str,
        ceiling: int,
        secrets: Secrets,
        deadline: _Clock,
    ) -> None:
        self.status = status
        self.headers = headers
        self.where = where
        self.secrets = secrets
        self._raw = raw
        self._ceiling = ceiling
        self._deadline = deadline

    @property
    def retry_after(self) -> float | None:
        """Seconds that the target asks to wait, or None."""
        return retry_after(self.headers.get("Retry-After"))

    def chunks(self) -> Iterator[bytes]:
        """The decoded body, in pieces as they come.

        Raises:
            CallError: too large, broken off, out of time, or in a coding that was not asked for.
        """
        named = self.headers.get("Content-Encoding", "").strip()
        coding = named.lower()
        self._refuse_unmeasured()
        if coding in {"", "identity"}:
            return self._sent()
        if coding not in _WINDOW:
            raise CallError(
                f"{self.where}: the body is coded as {self.secrets.quote(named, _QUOTED)}, which was not asked for",
                fault="malformed",
            )
        return self._inflated(coding)

    def _refuse_unmeasured(self) -> None:
        # The library takes an announcement that it cannot read for none, and the end of the connection for the body's.
        length = self.headers.get("Content-Length")
        framing = self.headers.get("Transfer-Encoding")
        for name, told, pattern in (
            ("Content-Length", length, _LENGTH),
            ("Transfer-Encoding", framing, _FRAMING),
        ):
            if told is not None and not pattern.fullmatch(told.strip()):
                raise CallError(
                    f"{self.where}: the reply is no valid HTTP ({name}: {self.secrets.quote(told, _QUOTED)})",
                    fault="malformed",
                )

    def _sent(self) -> Iterator[bytes]:
        total = 0
        declared = self.headers.get("Content-Length", "")
        if declared.isascii() and declared.isdigit() and len(declared) < 20 and int(declared) > self._ceiling:
            raise self._too_large()
        while True:
            try:
                self._deadline.left()
                chunk = self._raw.read1(_CHUNK, decode_content=False)
            except (OSError, ValueError, HTTPError, http.client.HTTPException) as fault:
                raise broken(fault, self.where, self._deadline.seconds, received=total) from None
            if not chunk:
                return
            total += len(chunk)
            if total > self._ceiling:
                raise self._too_large()
            yield chunk

    def _inflated(self, coding: str) -> Iterator[bytes]:
        total, inflater, begun = 0, zlib.decompressobj(_WINDOW[coding]), False
        for sent in self._sent():
            pending = sent
            while pending:
                if inflater.eof:  # gzip may be several members one after the other
                    inflater, begun = zlib.decompressobj(_WINDOW[coding]), False
                try:
                    plain = inflater.decompress(pending, _CHUNK)
                except zlib.error:
                    if coding != "deflate" or begun:
                        raise CallError(f"{self.where}: the body is no valid {coding}", fault="malformed") from None
                    # "deflate" without the zlib wrapper, as some servers have always sent it
                    inflater, begun = zlib.decompressobj(-15), True
                    continue
                begun = True
                total += len(plain)
                if total > self._ceiling:
                    raise self._too_large()
                if plain:
                    yield plain
                pending = inflater.unused_data if inflater.eof else inflater.unconsumed_tail
        if not inflater.eof:
            raise CallError(f"{self.where}: the {coding} body breaks off", fault="malformed")

    def _too_large(self) -> CallError:
        return CallError(
            f"{self.where}: the body is larger than {self._ceiling} bytes",
            fault="too_large",
            remedy="Raise adapter.max_response_bytes if the answers of this target are really that long.",
        )

    def begins(self) -> str:
        """The begin of the body as a short printable quote; empty where there is none to be had."""
        taken = b""
        try:
            for chunk in self.chunks():
                taken += chunk
                if len(taken) >= _QUOTED_FROM:
                    break
        except CallError:
            pass
        return self.secrets.quote(taken[:_QUOTED_FROM].decode("utf-8", "replace").strip(), _QUOTED)


def refuse_status(
    status: int, headers: Mapping[str, str], where: str, *, secrets: Secrets, said: Callable[[], str]
) -> None:
    """Refuse every status but 200 to 299, and of those 206, which is a part of an answer that nobody asked for.

    Args:
        status: HTTP status.
        headers: of the reply.
        where: what messages call the request.
        secrets: what must not be seen in a message.
        said: gives the begin of the body as a short printable quote.

    Raises:
        CallError: with the fault that the status stands for.
    """
    if 200 <= status < 300 and status != _PARTIAL:
        return
    if 300 <= status < 400:
        to = secrets.quote(headers.get("Location", "elsewhere"), _QUOTED)
        raise CallError(
            f"{where}: status {status} sends us on to {to}; redirects are not followed",
            fault="redirected",
            remedy="If that address is the service's own, make it adapter.endpoint.",
        )
    wait = retry_after(headers.get("Retry-After"))
    quoted = said()
    told = f"{where}: status {status}" + (f": {quoted}" if quoted else "")
    if status in _AUTH:
        raise CallError(
            told,
            fault="auth_rejected",
            remedy="Check the credential in adapter.headers, and the environment variable that it names.",
        )
    if status == 429:
        raise CallError(
            told + (f" (Retry-After: {wait:g} s)" if wait is not None else ""),
            fault="rate_limited",
            transient=True,
            retry_after=wait,
            remedy="Raise adapter.min_interval_seconds, lower adapter.connections, or allow adapter.retries.",
        )
    raise CallError(
        told,
        fault="bad_status",
        transient=status in _TRANSIENT,
        retry_after=wait,
        remedy=ENDPOINT_REMEDY if status in {404, 405} else "Compare the request with `plumbline record --dry-run`.",
    )


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """The seconds that a Retry-After header asks for (RFC 9110, 10.2.3), from a number or a date; else None."""
    if value is None or len(value) > 64:
        return None
    value = value.strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    try:
        moment = parsedate_to_datetime(value)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - (now or datetime.now(UTC))).total_seconds())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
