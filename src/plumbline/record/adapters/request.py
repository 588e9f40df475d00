"""How does a question become a request?

The templates of one request, checked once, and filled in for every turn. What comes from the environment is put in
after the templates: no brace in a secret means anything, and a description shows no more than a variable's name.
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from plumbline._version import __version__
from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import CallError
from plumbline.record.address import check_address
from plumbline.record.secret import Secrets, looks_secret, names_variable
from plumbline.record.template import PLACEHOLDERS, Template
from plumbline.record.transport import Request

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER = re.compile(r"[\t\x20-\x7e\xa1-\xff]*")
_OURS = frozenset({"host", "content-length", "transfer-encoding", "connection", "accept-encoding", "upgrade", "te"})


class RequestTemplate:
    """A checked request, in which the values of a turn are still missing.

    Args:
        method: GET, POST or PUT.
        endpoint: address; placeholders in its path only.
        headers: name to template or `{ env = "NAME" }`.
        query: name to template.
        body: what is sent as JSON, or None.
        secrets: resolves what comes from the environment.
        key: what the keys begin with: `adapter.` or `adapter.poll_`.
        names: the placeholders that may occur.
        accept: the media type that is asked for.
        opening: leave out each entry whose whole value is `{conversation}`: the target has given no id yet.
        schemes: of the address.

    Raises:
        ConfigurationError: naming the key that is wrong.
    """

    def __init__(
        self,
        *,
        method: str,
        endpoint: str,
        headers: Mapping[str, Any],
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        secrets: Secrets,
        key: str = "adapter.",
        names: Mapping[str, str] = PLACEHOLDERS,
        accept: str = "application/json",
        opening: bool = False,
        schemes: tuple[str, ...] = ("http", "https"),
    ) -> None:
        if opening:
            headers, query, body = _pruned(headers), _pruned(query), _pruned(body)
        self.method = method
        self.endpoint = endpoint
        self.schemes = schemes
        single = {name: told for name, told in names.items() if name != "history"}
        parts = check_address(endpoint, key=f"{key}endpoint", schemes=schemes)
        self._base = f"{parts.scheme}://{parts.netloc}"
        self._path = Template(parts.path or "/", key=f"{key}endpoint", names=single)
        self._query = Template(dict(query), key=f"{key}query", names=single)
        self._secret_parts: dict[tuple[str, str], str] = {}
        self._headers = self._checked_headers(headers, secrets, f"{key}headers", single)
        self._body = None if body is None else Template(dict(body), key=f"{key}body", names=names)
        if body is not None:
            self.resolve_within(body, secrets, f"{key}body")
        self._accept = accept
        self._key = key
        self.where = f"{method} {endpoint}"
        if opening and self.uses("conversation"):
            raise ConfigurationError(
                "adapter.conversation_pointer: the first turn has no id yet, and {conversation} is part of a longer "
                "text or of the path, which cannot be left out",
                remedy="Make {conversation} a whole value, or leave conversation_pointer out to send an id of our own.",
            )

    def _checked_headers(
        self, headers: Mapping[str, Any], secrets: Secrets, key: str, names: Mapping[str, str]
    ) -> dict[str, Template | str]:
        checked: dict[str, Template | str] = {}
        for name, value in headers.items():
            if not _TOKEN.fullmatch(name) or name.lower() in _OURS:
                raise ConfigurationError(f"{key}.{name}: no name of a header that a configuration may set")
            if name.lower() in {other.lower() for other in checked}:
                raise ConfigurationError(f"{key}.{name}: set twice, since letter case makes no difference")
            text = secrets.resolve(value, key=f"{key}.{name}")
            # What comes from the environment is no template: a brace in it means nothing.
            checked[name] = Template(text, key=f"{key}.{name}", names=names) if isinstance(value, str) else text
        return checked

    def resolve_within(self, value: Any, secrets: Secrets, key: str) -> None:  # noqa: ANN401 - any JSON value
        """Look up every `{ env = "NAME" }` within a value that `fill` will be given.

        Raises:
            ConfigurationError: a variable that is not set, or a key beside `env` that is no `prefix`.
        """
        if isinstance(value, Mapping):
            if names_variable(value):
                text = secrets.resolve(value, key=key, one_line=False)
                self._secret_parts[value["env"], value.get("prefix", "")] = text
                return
            for name, inner in value.items():
                self.resolve_within(inner, secrets, f"{key}.{name}")
        elif isinstance(value, list):
            for place, inner in enumerate(value):
                self.resolve_within(inner, secrets, f"{key}[{place}]")

    @property
    def templates(self) -> tuple[Template, ...]:
        """Every part that may hold placeholders."""
        headers = [value for value in self._headers.values() if isinstance(value, Template)]
        return (self._path, self._query, *headers, *([self._body] if self._body is not None else []))

    @property
    def carriers(self) -> tuple[Template, ...]:
        """The parts that may ask the question; a header is none."""
        return (self._path, self._query, *([self._body] if self._body is not None else []))

    def uses(self, name: str) -> bool:
        """Whether any part uses a placeholder."""
        return any(name in template.names for template in self.templates)

    def build(self, values: Mapping[str, Any]) -> Request:
        """The request for one turn.

        Raises:
            CallError: a value that cannot stand where the template puts it.
        """
        try:
            return self._built(values)
        except UnicodeEncodeError:
            raise CallError(
                f"{self.where}: what is to be sent holds half of a surrogate pair, which is no character",
                fault="malformed",
            ) from None

    def _built(self, values: Mapping[str, Any]) -> Request:
        path = self._path.render({name: _in_path(value) for name, value in values.items()})
        if any(segment in {".", ".."} for segment in path.split("/")):
            raise CallError(f"{self.where}: a value would change the path itself", fault="malformed")
        query = urlencode(self._query.render(values), encoding="utf-8", errors="strict", quote_via=quote)
        headers = [
            ("User-Agent", f"plumbline/{__version__}"),
            ("Accept", self._accept),
            ("Accept-Encoding", "identity"),
        ]
        body = None
        if self._body is not None:
            body = self.fill(self._body, values).encode()
            headers.append(("Content-Type", "application/json"))
        own = {name.lower() for name in self._headers}
        headers = [pair for pair in headers if pair[0].lower() not in own]
        headers.extend((name, self._header(name, value, values)) for name, value in self._headers.items())
        # What is not ASCII in a configured path is sent as UTF-8, percent-encoded.
        url = self._base + quote(path, safe="/%:@!$&'()*+,;=~-._") + (f"?{query}" if query else "")
        return Request(self.method, url, tuple(headers), body, self.where)

    def fill(self, template: Template, values: Mapping[str, Any]) -> str:
        """A template as JSON text, with secrets."""
        return msgspec.json.encode(self._with_secrets(template.render(values))).decode()

    @staticmethod
    def shown(template: Template) -> Any:  # noqa: ANN401 - any JSON value
        """A template as a manifest may show it."""
        return _shown(template.source)

    @property
    def host(self) -> str:
        """Host and port as configured."""
        return urlsplit(self._base).netloc

    def _header(self, name: str, value: Template | str, values: Mapping[str, Any]) -> str:
        text = value if isinstance(value, str) else str(value.render(values))
        if not _HEADER.fullmatch(text):
            raise CallError(
                f"{self.where}: what would be sent as the header {name} holds characters that no header can hold",
                fault="malformed",
            )
        return text.strip()

    def _with_secrets(self, value: Any) -> Any:  # noqa: ANN401 - any JSON value
        if isinstance(value, Mapping):
            if _is_secret(value) and (value["env"], value.get("prefix", "")) in self._secret_parts:
                return self._secret_parts[value["env"], value.get("prefix", "")]
            return {name: self._with_secrets(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._with_secrets(inner) for inner in value]
        return value

    def describe(self) -> dict[str, Any]:
        """The call shape: names of headers, templates of the rest, no value that may be a secret."""
        return {
            "endpoint": self.endpoint,
            "method": self.method,
            "header_names": sorted(self._headers),
            "query_template": self.shown(self._query),
            "body_template": None if self._body is None else self.shown(self._body),
        }


def preview(request: Request, secrets: Secrets) -> str:
    """A request as text, exactly as it would be sent but for secrets, which are masked."""
    prepared = request.prepared()
    lines = [f"{prepared.method} {prepared.path_url} HTTP/1.1", f"Host: {urlsplit(request.url).netloc}"]
    lines += [f"{name}: {value}" for name, value in prepared.headers.items()]
    body = (request.body or b"").decode()
    return secrets.mask("\n".join([*lines, "", body]).rstrip("\n"))


def _is_secret(value: Mapping[str, Any]) -> bool:
    return names_variable(value) and value.keys() <= {"env", "prefix"}


def _in_path(value: Any) -> Any:  # noqa: ANN401 - text, or the history, which no path can hold
    return quote(value, safe="") if isinstance(value, str) else value


def _pruned(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {name: _pruned(inner) for name, inner in value.items() if inner != "{conversation}"}
    if isinstance(value, list):
        return [_pruned(inner) for inner in value if inner != "{conversation}"]
    return value


def _shown(value: Any, name: str = "") -> Any:  # noqa: ANN401 - any JSON value
    # A template without literal texts under names like a credential's.
    if isinstance(value, Mapping):
        return {key: _shown(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_shown(inner, name) for inner in value]
    literal = isinstance(value, str) and re.search(r"\{[a-z_]+\}", value) is None
    return "[masked]" if literal and name != "env" and looks_secret(name) else value
