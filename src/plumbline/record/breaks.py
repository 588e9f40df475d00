"""Which fault is it that a call broke off?"""

import http.client
import ssl
from collections.abc import Iterator, Sequence

from plumbline.record.adapters.base import CallError

ENDPOINT_REMEDY = "Check adapter.endpoint, and that the service is up and reachable from here."


def broken(fault: BaseException, where: str, seconds: float, *, received: int = 0) -> CallError:
    """The fault of a call that did not end with a whole reply.

    Args:
        fault: what a library raised; what caused it says more than its own class.
        where: what messages call the request.
        seconds: the time that the call had.
        received: bytes of the body that had come.
    """
    causes = list(_causes(fault))
    if any(isinstance(cause, TimeoutError) for cause in causes):
        came = f" ({received} bytes had come)" if received else ""
        return CallError(
            f"{where}: no complete answer within {seconds:g} s{came}",
            fault="timeout",
            transient=True,
            remedy="Raise adapter.timeout_seconds if the target may take that long.",
        )
    got = f" after {received} bytes" if received else ""
    return _of_tls(causes, where, got) or _of_http(causes, where, got) or _of_system(causes, where)


def unreachable(message: str) -> CallError:
    """The fault of a connection that could not be made or did not last."""
    return CallError(message, fault="unreachable", transient=True, remedy=ENDPOINT_REMEDY)


def _of_tls(causes: Sequence[BaseException], where: str, got: str) -> CallError | None:
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return CallError(
                f"{where}: the certificate is not valid for us: {cause.verify_message}",
                fault="tls",
                remedy="If the service has a certificate of its own authority, name it with adapter.ca_file.",
            )
        if isinstance(cause, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return unreachable(f"{where}: the connection broke off{got}")
    for cause in causes:
        if isinstance(cause, ssl.SSLError):
            return CallError(f"{where}: TLS failed: {cause.reason or 'no reason given'}", fault="tls")
    return None


def _of_http(causes: Sequence[BaseException], where: str, got: str) -> CallError | None:
    for cause in causes:
        if isinstance(cause, http.client.LineTooLong) or _too_many_headers(cause):
            return CallError(f"{where}: the head of the reply is too large", fault="too_large")
        if isinstance(cause, http.client.IncompleteRead | ConnectionResetError | BrokenPipeError):
            return unreachable(f"{where}: the connection broke off{got}")
    for cause in causes:
        # Only now, since what hung up without a word is a bad status line, too.
        if isinstance(cause, http.client.HTTPException):
            return CallError(f"{where}: the reply is no valid HTTP ({type(cause).__name__})", fault="malformed")
    return None


def _too_many_headers(cause: BaseException) -> bool:
    return type(cause) is http.client.HTTPException and "headers" in str(cause)[:200]


def _of_system(causes: Sequence[BaseException], where: str) -> CallError:
    system = [cause for cause in causes if isinstance(cause, OSError) and _built_in(cause)]
    if not system:
        return CallError(f"{where}: the reply is no valid HTTP ({type(causes[-1]).__name__})", fault="malformed")
    told = system[-1].strerror or str(system[-1])[:100] or type(system[-1]).__name__
    return unreachable(f"{where}: cannot be reached: {told}")


def _built_in(cause: BaseException) -> bool:
    # The errors of `requests` are OSErrors whatever happened.
    return type(cause).__module__ in {"builtins", "socket"}


def _causes(fault: BaseException) -> Iterator[BaseException]:
    # Libraries wrap what happened: as argument, as `reason`, as cause or context.
    pending, seen = [fault], set()
    while pending:
        here = pending.pop(0)
        if id(here) in seen:
            continue
        seen.add(id(here))
        yield here
        wrapped = [*here.args, getattr(here, "reason", None), here.__cause__, here.__context__]
        pending.extend(inner for inner in wrapped if isinstance(inner, BaseException))
