"""How does the fake GitHub listen, answer and remember?"""

import json
import re
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

from .openapi import OpenApi, installed
from .personas import FOREIGN_MARKER, PERSONAS, REDIRECT_TARGET, Fault, Persona
from .world import ACTIONS_BOT, Comment, Pull, RefusedError, User, World

JSON = "application/json; charset=utf-8"


@dataclass
class Request:
    """What came in."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> dict[str, Any]:
        """The body, or an empty object where it is none."""
        try:
            value = json.loads(self.body or b"{}")
        except ValueError:
            raise RefusedError(400, "Problems parsing JSON") from None
        return value if isinstance(value, dict) else {}


@dataclass
class Reply:
    """What goes out."""

    status: int
    value: object = None
    headers: dict[str, str] = field(default_factory=dict)
    media: str = JSON
    raw: bytes | None = None
    injected: bool = False

    def body(self) -> bytes:
        """The bytes of the answer."""
        if self.raw is not None:
            return self.raw
        return b"" if self.value is None else json.dumps(self.value).encode()


class FakeGithub:
    """A GitHub on loopback. Use it as a context manager; look at `journal`, `violations` and `world`
    afterwards."""

    def __init__(
        self,
        persona: str | Persona = "normal",
        *,
        world: World | None = None,
        prefix: str = "",
        token: str = "token-of-this-test",
        port: int = 0,
        state: Path | None = None,
        description: str = "api.github.com",
        redirect_target: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.persona = PERSONAS[persona] if isinstance(persona, str) else persona
        self.world = world or World()
        self.prefix = prefix
        self.token = token
        self.state = state
        self.redirect_target = redirect_target
        self.faults: list[Fault] = self.persona.faults()
        self.journal: list[dict[str, Any]] = []
        self.violations: list[str] = []
        self.lock = threading.RLock()
        self.openapi = OpenApi.load(installed(description))
        self.persona.seed(self.world)
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.fake = self
        self._scheme = "https" if tls else "http"
        if tls:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.005,), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self._server.server_address[1])

    @property
    def api_url(self) -> str:
        """What GITHUB_API_URL has to be."""
        return f"{self._scheme}://127.0.0.1:{self.port}{self.prefix}"

    @property
    def graphql_url(self) -> str:
        """What GITHUB_GRAPHQL_URL has to be."""
        return f"{self._scheme}://127.0.0.1:{self.port}{self.graphql_path}"

    @property
    def graphql_path(self) -> str:
        """GitHub Enterprise Server has it beside `/api/v3`, not below."""
        return "/api/graphql" if self.prefix else "/graphql"

    def plant(self, first_line: str) -> None:
        """Give the comments that a persona seeded the first line that the code under test would write."""
        for comment in self.world.comments:
            comment.body = comment.body.replace(FOREIGN_MARKER, f"{first_line}\n\nplanted")

    def calls(self, method: str | None = None) -> list[str]:
        """The requests so far, as `METHOD /path`."""
        return [
            f"{entry['method']} {entry['path']}"
            for entry in self.journal
            if method is None or entry["method"] == method
        ]

    def record(self, request: Request, reply: Reply, sent: bytes, faults: list[str]) -> None:
        """Write the exchange down. The token itself is not written, only whether it was the right one."""
        entry = {
            "n": len(self.journal) + 1,
            "method": request.method,
            "path": request.path,
            "query": request.query,
            "authorized": self.token in request.headers.get("Authorization", ""),
            "body": request.body.decode("utf-8", "replace"),
            "status": reply.status,
            "injected": reply.injected,
            "answer": sent.decode("utf-8", "replace"),
            "violations": faults,
        }
        self.journal.append(entry)
        self.violations += [f"{request.method} {request.path}: {fault}" for fault in faults]
        if self.state:
            self.state.mkdir(parents=True, exist_ok=True)
            with (self.state / "journal.jsonl").open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(entry) + "\n")
            text = json.dumps({**self.world.snapshot(), "violations": self.violations}, indent=1)
            (self.state / "state.json").write_text(text, "utf-8")

    # -- answers
    # ----------------------------------------------------------------------------------------------

    def answer(self, request: Request) -> tuple[Reply, Fault | None]:
        """The reply to a request, and the fault that is to spoil it."""
        inner = request.path.removeprefix(self.prefix)
        with self.lock:
            fault = next((fault for fault in self.faults if fault.takes(request.method, inner)), None)
        if fault and not fault.executed:
            time.sleep(fault.delay)
        with self.lock:
            if fault and fault.status and not fault.executed:
                return self._injected(fault), fault
            if fault and fault.how == "drop" and not fault.executed:
                return Reply(0), fault
            try:
                reply = self._route(request, inner)
            except RefusedError as refused:
                reply = self._error(refused.status, refused.message)
                # GitHub lists 404 for few operations, and gives it for all.
                reply.injected = refused.status == 404
            return (self._injected(fault) if fault and fault.status else reply), fault

    def _injected(self, fault: Fault) -> Reply:
        status = fault.status or 500
        headers = dict(fault.headers)
        if headers.get("Location") == REDIRECT_TARGET:
            headers["Location"] = self.redirect_target
        reply = self._error(status, fault.message)
        return Reply(status, reply.value, headers, fault.media, injected=True)

    def _error(self, status: int, message: str) -> Reply:
        value: dict[str, object] = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        if status == 422:
            value["errors"] = [{"resource": "IssueComment", "code": "unprocessable", "message": message}]
        return Reply(status, value)

    def _route(self, request: Request, path: str) -> Reply:
        if self.token not in request.headers.get("Authorization", ""):
            return Reply(401, {"message": "Bad credentials"}, injected=True)
        if request.path == self.graphql_path:
            return self._graphql(request)
        if path == "/user":
            if self.world.viewer == ACTIONS_BOT:
                raise RefusedError(403, "Resource not accessible by integration")
            return Reply(200, self._filled("public-user", self._user(self.world.viewer)))
        if path == "/rate_limit":
            limit = {"limit": 1000, "remaining": 999, "reset": 1_900_000_000, "used": 1}
            known = {"resources": {"core": limit, "search": limit}, "rate": limit}
            return Reply(200, self._filled("rate-limit-overview", known))
        inside = path.removeprefix(f"/repos/{self.world.repository}")
        if inside == path:
            raise RefusedError(404, "Not Found")
        return self._in_repository(request, inside)

    def _in_repository(self, request: Request, path: str) -> Reply:
        for pattern, handler in (
            (r"/issues/(\d+)/comments", self._comments_of),
            (r"/issues/comments/(\d+)", self._one_comment),
            (r"/pulls/(\d+)", self._one_pull),
            (r"/commits/([^/]+)/pulls", self._pulls_of),
            (r"/code-scanning/(sarifs)", self._upload),
            (r"/code-scanning/sarifs/([^/]+)", self._processing),
            (r"/contents/(.+)", self._content),
        ):
            if match := re.fullmatch(pattern, path):
                return handler(request, unquote(match[1]))
        raise RefusedError(404, "Not Found")

    def _comments_of(self, request: Request, pull: str) -> Reply:
        if request.method == "GET":
            return self._page(request, [self._comment(entry) for entry in self.world.on(int(pull))])
        value = self._comment(self.world.create(int(pull), request.json().get("body", "")))
        return Reply(201, value, {"Location": value["url"]})

    def _one_comment(self, request: Request, number: str) -> Reply:
        if request.method == "DELETE":
            self.world.delete(int(number))
            return Reply(204)
        if request.method == "PATCH":
            return Reply(200, self._comment(self.world.edit(int(number), request.json().get("body", ""))))
        return Reply(200, self._comment(self.world.comment(int(number))))

    def _one_pull(self, _: Request, number: str) -> Reply:
        if int(number) not in self.world.pulls:
            raise RefusedError(404, "Not Found")
        return Reply(200, self._pull("pull-request", self.world.pulls[int(number)]))

    def _pulls_of(self, request: Request, commit: str) -> Reply:
        found = [pull for pull in self.world.pulls.values() if pull.head == commit]
        return self._page(request, [self._pull("pull-request-simple", pull) for pull in found])

    def _upload(self, request: Request, _: str) -> Reply:
        given = request.json()
        upload = self.world.upload(given.get("commit_sha", ""), given.get("ref", ""), given.get("sarif", ""))
        return Reply(202, {"id": upload.id, "url": self._url(f"/code-scanning/sarifs/{upload.id}")})

    def _processing(self, _: Request, identity: str) -> Reply:
        status, errors = self.world.poll(identity)
        analyses = self._url("/code-scanning/analyses") if status == "complete" else None
        return Reply(200, {"processing_status": status, "analyses_url": analyses, "errors": errors})

    def _graphql(self, request: Request) -> Reply:
        query = request.json().get("query")
        if not isinstance(query, str) or not re.search(r"\bviewer\s*\{\s*login\s*\}", query):
            return Reply(200, {"errors": [{"message": "only viewer { login } is answered here"}]})
        return Reply(200, {"data": {"viewer": {"login": self.world.viewer.login}}})

    def _content(self, request: Request, path: str) -> Reply:
        data = self.world.files.get(path)
        if data is None:
            raise RefusedError(404, "Not Found")
        media = request.headers.get("Accept", "")
        if "raw" not in media:
            raise RefusedError(404, "only raw contents are served here")
        return Reply(200, media="application/vnd.github.raw+json; charset=utf-8", raw=data)

    def _page(self, request: Request, entries: list[Any]) -> Reply:
        size = min(_number(request, "per_page") or 30, 100)
        page = _number(request, "page") or 1
        last = max(1, -(-len(entries) // size))
        links = []
        for relation, number in (("prev", page - 1), ("next", page + 1), ("last", last), ("first", 1)):
            wanted = number <= last if relation in {"next", "last"} else number >= 1
            if wanted and number != page:
                query = urlencode({"per_page": size, "page": number})
                links.append(f'<{self._origin()}{request.path}?{query}>; rel="{relation}"')
        headers = {"Link": ", ".join(links)} if links else {}
        return Reply(200, entries[(page - 1) * size : page * size], headers)

    # -- shapes
    # -----------------------------------------------------------------------------------------------

    def _origin(self) -> str:
        return f"{self._scheme}://127.0.0.1:{self.port}"

    def _url(self, inside: str) -> str:
        return f"{self.api_url}/repos/{self.world.repository}{inside}"

    def _filled(self, component: str, known: Mapping[str, Any]) -> dict[str, Any]:
        return self.openapi.fill(component, known)

    def _user(self, user: User) -> dict[str, Any]:
        return {"login": user.login, "id": user.id, "type": user.type}

    def _comment(self, comment: Comment) -> dict[str, Any]:
        page = f"https://github.example/{self.world.repository}/pull/{comment.pull}"
        known = {
            "id": comment.id,
            "url": self._url(f"/issues/comments/{comment.id}"),
            "html_url": f"{page}#issuecomment-{comment.id}",
            "issue_url": self._url(f"/issues/{comment.pull}"),
            "body": comment.body,
            "user": self._filled("simple-user", self._user(comment.author)),
            "author_association": "CONTRIBUTOR",
            "minimized": {"reason": "outdated"} if comment.minimized else None,
        }
        return self._filled("issue-comment", known)

    def _pull(self, component: str, pull: Pull) -> dict[str, Any]:
        known = {
            "number": pull.number,
            "state": pull.state,
            "url": self._url(f"/pulls/{pull.number}"),
            "head": {"sha": pull.head},
            "base": {"ref": "main", "repo": {"full_name": pull.base_repository}},
        }
        return self._filled(component, known)


def _number(request: Request, name: str) -> int:
    """The query parameter `name`, 0 where it is missing or none: GitHub takes the default then."""
    value = request.query.get(name, [""])[0]
    return int(value) if value.isdigit() else 0


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    fake: FakeGithub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up, or refuses the certificate, is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """The journal is the log."""

    def _serve(self) -> None:
        fake = self.server.fake
        parts = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            self.command,
            parts.path,
            parse_qs(parts.query, keep_blank_values=True),
            {name.title(): value for name, value in self.headers.items()},
            self.rfile.read(length),
        )
        reply, fault = fake.answer(request)
        body = reply.body()
        with fake.lock:
            fake.record(request, reply, body, self._violations(request, reply, body))
        how = fault.how if fault else "answer"
        if fault and fault.executed:
            time.sleep(fault.delay)
        if how == "drop":
            self.close_connection = True
            return
        if how == "garble":
            body = body[: len(body) // 2]
        self.send_response_only(reply.status, HTTPStatus(reply.status).phrase)
        standard = {"Date": self.date_time_string(), "Content-Type": reply.media, "Content-Length": len(body)}
        for name, value in {**standard, **reply.headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        if how == "truncate":
            body = body[: len(body) // 2]
            self.close_connection = True
        self.wfile.write(body)

    def _violations(self, request: Request, reply: Reply, body: bytes) -> list[str]:
        fake = self.server.fake
        faults = [f"no {name} header" for name in ("User-Agent", "Accept") if not request.headers.get(name)]
        if request.path == fake.graphql_path:
            return faults
        if not request.path.startswith(fake.prefix):
            return [*faults, f"outside {fake.prefix}"]
        operation = fake.openapi.operation(request.method, request.path.removeprefix(fake.prefix))
        if operation is None:
            return [*faults, "no such operation"]
        faults += [
            f"request: {fault}"
            for fault in fake.openapi.request_faults(
                operation, request.query, request.headers.get("Content-Type"), request.body
            )
        ]
        if reply.status:
            faults += [
                f"answer: {fault}"
                for fault in fake.openapi.response_faults(
                    operation, reply.status, reply.media, body, injected=reply.injected
                )
            ]
        return faults

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = do_HEAD = _serve  # noqa: N815
