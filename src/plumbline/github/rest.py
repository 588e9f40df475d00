"""How does one request reach GitHub, and what does it mean when it does not?

PyGithub carries the request: it knows the token's header, GitHub Enterprise Server's path prefix, and never
takes the token to another host. It is not left to repeat anything, because its repetition is unbounded where
the service names a waiting time, repeats POST, and never repeats PATCH. Waiting is decided here, against one
budget, on a clock that tests can turn.

Nor is a server trusted to come to an end. A time-out of the socket starts anew with every byte, so a request runs in
a thread of its own, which is left behind when the budget ends; and an answer is read up to a size.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Final, Self
from urllib.parse import urlsplit

BUDGET: Final = 90.0
"""Seconds that one part of publishing may take."""
TIMEOUT: Final = 10
"""Seconds without a byte after which a request counts as unanswered."""
ATTEMPTS: Final = 4
BACKOFF: Final = (1.0, 2.0, 4.0)
LIMITED: Final = 60.0
"""What GitHub asks for after a secondary rate limit that names no time."""
WRITE_GAP: Final = 1.0
"""GitHub asks for a second between two writes."""
MAX_PAGES: Final = 1_000
MAX_ANSWER: Final = 64 * 1024 * 1024
"""Bytes of an answer. A page of a hundred comments of the greatest length, every character escaped, has 40 million."""
CHUNK: Final = 64 * 1024


class Patience:
    """A time budget, and the only place where publishing sleeps."""

    def __init__(
        self,
        seconds: float = BUDGET,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._deadline = clock() + seconds

    def now(self) -> float:
        """The time on this clock."""
        return self._clock()

    @property
    def spent(self) -> bool:
        """Is the budget used up?"""
        return self._clock() >= self._deadline

    @property
    def left(self) -> float:
        """Seconds until the budget is used up."""
        return max(self._deadline - self._clock(), 0.0)

    def wait(self, seconds: float) -> bool:
        """Sleep, unless that would outlast the budget. Says whether it slept."""
        if self._clock() + seconds >= self._deadline:
            return False
        if seconds > 0:
            self._sleep(seconds)
        return True


class ApiError(Exception):
    """A request that did not bring what was asked for."""

    def __init__(
        self, message: str, *, status: int | None = None, transient: bool = False, wait: float | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """The HTTP status, or None where there was no answer that can be read."""
        self.transient = transient
        """Might the same request succeed later?"""
        self.wait = wait
        """The seconds that GitHub asks to wait, where it does."""

    @property
    def denied(self) -> bool:
        """Did GitHub say no, in a way that no repetition changes?"""
        return self.status in {401, 403, 404} and not self.transient

    @property
    def outcome_unknown(self) -> bool:
        """Might the request have been carried out all the same?"""
        return self.status is None or self.status >= 500


@dataclass(frozen=True, slots=True)
class Answer:
    """A readable answer of status 2xx."""

    status: int
    headers: Mapping[str, str]
    """Names in lower case."""
    value: Any
    """The decoded JSON, or None where there was no body."""


class Client:
    """GitHub, as one token sees it. Close it, or use it as a context manager.

    Args:
        api_url: GITHUB_API_URL.
        token: what to authenticate with.
        graphql_url: GITHUB_GRAPHQL_URL; used only if it is on the same host.
        ca_bundle: REQUESTS_CA_BUNDLE, the certificates that are trusted; empty for the usual ones.
        patience: the budget that all requests of this client share.
        timeout: seconds without a byte after which a request counts as unanswered.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        *,
        graphql_url: str = "",
        ca_bundle: str = "",
        patience: Patience | None = None,
        timeout: int = TIMEOUT,
    ) -> None:
        from github import Auth, Github, set_log_level  # noqa: PLC0415 - an extra, and a quarter of a second

        # On import it begins to log to stderr what servers tell it.
        set_log_level(logging.CRITICAL)
        self.patience = patience or Patience()
        self._graphql_url = graphql_url if _origin(graphql_url) == _origin(api_url) else ""
        self._github = Github(
            auth=Auth.Token(token.strip()),
            base_url=api_url.rstrip("/"),
            timeout=timeout,
            user_agent="plumbline",
            verify=ca_bundle or True,
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        )
        self._connection = _connection(api_url, timeout=timeout, verify=ca_bundle or True)
        self._last_write: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()
        self._github.close()

    def once(
        self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, body: object | None = None
    ) -> Answer:
        """Send one request, one time.

        Raises:
            ApiError: anything but a readable answer of status 2xx.
        """
        if self.patience.spent:
            raise ApiError("the time for publishing is used up")
        if verb != "GET":
            self._pace()
        status, headers, text = self._within_budget(lambda: self._send(verb, path, query, body))
        try:
            value = json.loads(text) if text else None
        except (ValueError, RecursionError):
            if status < 300:
                raise ApiError("the answer is not whole", transient=True) from None
            value = None
        if not 200 <= status < 300:
            raise _refusal(status, headers, value)
        return Answer(status, headers, value)

    def ask(
        self, verb: str, path: str, *, query: Mapping[str, Any] | None = None, body: object | None = None
    ) -> Answer:
        """Send a request that does no harm when it is carried out twice, as often as there is hope and time.

        Raises:
            ApiError: the last answer, when it stayed without success.
        """
        for attempt in range(ATTEMPTS - 1):
            try:
                return self.once(verb, path, query=query, body=body)
            except ApiError as error:
                if not (error.transient and self.patience.wait(pause(error, attempt))):
                    raise
        return self.once(verb, path, query=query, body=body)

    def pages(self, path: str) -> Iterator[dict[str, Any]]:
        """Every element of a list, page by page.

        The pages are counted here. The service's own links to the next one are only asked whether there is
        one, so no answer can send the token elsewhere.

        Raises:
            ApiError: a page could not be had.
        """
        for page in range(1, MAX_PAGES + 1):
            answer = self.ask("GET", path, query={"per_page": 100, "page": page})
            if not isinstance(answer.value, list):
                raise ApiError("the answer is not a list")
            yield from (entry for entry in answer.value if isinstance(entry, dict))
            if 'rel="next"' not in answer.headers.get("link", ""):
                return

    def viewer(self) -> str | None:
        """The login that the token speaks for, or None where it may not ask.

        Raises:
            ApiError: it could not be found out this time. That is no answer: whoever took the token for another's would
                not find its comment.
        """
        if not self._graphql_url:
            return None
        try:
            value = self.ask("POST", self._graphql_url, body={"query": "query { viewer { login } }"}).value
        except ApiError as error:
            if error.status in {401, 403} and not error.transient:
                return None
            raise
        try:
            login = value["data"]["viewer"]["login"]
        except (KeyError, TypeError):
            login = None
        if isinstance(login, str) and login:
            return login
        if _forbidden(value):
            return None
        raise ApiError("GitHub did not say whom the token speaks for")

    def _within_budget(self, send: Callable[[], "_Raw"]) -> "_Raw":
        """What `send` gives, unless the budget ends before: then it is left alone with its server."""
        answers: list[_Raw] = []
        errors: list[BaseException] = []

        def work() -> None:
            try:
                answers.append(send())
            except BaseException as error:  # noqa: BLE001 - raised again where the request was made
                errors.append(error)

        thread = threading.Thread(target=work, name="plumbline request", daemon=True)
        thread.start()
        thread.join(self.patience.left)
        if errors:
            raise errors[0]
        if not answers:
            raise ApiError("no whole answer before the time for publishing was used up")
        return answers[0]

    def _pace(self) -> None:
        if self._last_write is not None:
            self.patience.wait(self._last_write + WRITE_GAP - self.patience.now())
        self._last_write = self.patience.now()

    def _send(self, verb: str, path: str, query: Mapping[str, Any] | None, body: object | None) -> "_Raw":
        from requests import RequestException  # noqa: PLC0415 - an extra
        from requests.exceptions import SSLError  # noqa: PLC0415 - an extra

        try:
            return self._github.requester.requestJson(
                verb,
                path,
                parameters=dict(query or {}),
                headers={"Accept": "application/vnd.github+json"},
                input=body,
                cnx=self._connection,
            )
        except ApiError:
            raise
        except SSLError:
            raise ApiError("the server's certificate is not trusted; REQUESTS_CA_BUNDLE can name one that is") from None
        except RequestException as error:
            # The kind only: the text of some of these quotes the header that holds the token.
            raise ApiError(f"no answer ({type(error).__name__})", transient=True) from None
        except RuntimeError:
            # PyGithub's way to say that it was sent to another host, and did not go.
            raise ApiError("the service redirects to another host; the token does not follow") from None
        except Exception as error:  # noqa: BLE001 - whatever else PyGithub raises, publishing has to go on
            raise ApiError(f"no usable answer ({type(error).__name__})") from None


_Raw = tuple[int, dict[str, str], str]
"""Status, headers with names in lower case, and body."""


def _connection(api_url: str, *, timeout: int, verify: str | bool) -> Any:  # noqa: ANN401 - one of two classes
    """PyGithub's connection to the service, but for how an answer is read."""
    from github import Requester  # noqa: PLC0415 - an extra

    class Answered(Requester.RequestsResponse):
        def read(self) -> str:
            """The body up to a size. JSON between systems is UTF-8, whatever else a header says."""
            read = bytearray()
            for chunk in self.response.iter_content(CHUNK):
                read += chunk
                if len(read) > MAX_ANSWER:
                    self.response.close()
                    raise ApiError(f"the answer has more than {MAX_ANSWER} bytes")
            return read.decode("utf-8", "replace")

    parts = urlsplit(api_url)
    kind = Requester.HTTPSRequestsConnectionClass if parts.scheme == "https" else Requester.HTTPRequestsConnectionClass

    class Connection(kind):  # type: ignore[misc, valid-type]
        def getresponse(self) -> Answered:
            response = self.session.request(
                self.verb,
                f"{self.protocol}://{self.host}:{self.port}{self.url}",
                headers=self.headers,
                data=self.input,
                timeout=self.timeout,
                verify=self.verify,
                allow_redirects=False,
                stream=True,
            )
            return Answered(response)

    return Connection(parts.hostname, parts.port, timeout=timeout, verify=verify)


def _forbidden(value: object) -> bool:
    """Does GraphQL, whose refusals have status 200, say that the token has no right to ask?"""
    errors = value.get("errors") if isinstance(value, dict) else None
    kinds = {error.get("type") for error in errors if isinstance(error, dict)} if isinstance(errors, list) else set()
    return bool(kinds) and kinds <= {"FORBIDDEN", "INSUFFICIENT_SCOPES"}


def pause(error: ApiError, attempt: int) -> float:
    """Seconds to wait after the failure number `attempt`, counted from 0."""
    return BACKOFF[min(attempt, len(BACKOFF) - 1)] if error.wait is None else error.wait


def _origin(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.scheme, parts.netloc


def _refusal(status: int, headers: Mapping[str, str], value: object) -> ApiError:
    said = value.get("message") if isinstance(value, dict) else None
    message = f"{status} {said}"[:300] if isinstance(said, str) and said else f"status {status}"
    if status < 400:
        return ApiError(f"status {status}: the service redirects; the token does not follow", status=status)
    # A rate limit comes as 429 or as 403, and only sometimes says how long it lasts.
    exhausted = headers.get("x-ratelimit-remaining") == "0"
    limited = status == 429 or (
        status == 403 and ("retry-after" in headers or exhausted or "rate limit" in message.lower())
    )
    if limited or status >= 500:
        wait = _asked_wait(headers, exhausted=exhausted)
        return ApiError(message, status=status, transient=True, wait=LIMITED if limited and wait is None else wait)
    return ApiError(message, status=status)


def _asked_wait(headers: Mapping[str, str], *, exhausted: bool) -> float | None:
    """The waiting time that an answer names, measured on the service's own clock."""
    after = headers.get("retry-after", "")
    if after.isascii() and after.isdigit():
        return float(after)
    reset = headers.get("x-ratelimit-reset", "")
    if exhausted and reset.isascii() and reset.isdigit():
        try:
            sent = parsedate_to_datetime(headers["date"]).timestamp()
        except (KeyError, ValueError):
            return None
        return max(float(reset) - sent, 0.0) + 1.0
    return None
