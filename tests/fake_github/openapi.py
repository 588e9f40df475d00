"""Is this a request that GitHub documents, and is this an answer it documents?"""

import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from jsonschema import Draft202012Validator, FormatChecker
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

ROOT = Path(__file__).resolve().parent.parent.parent
TOOLS_VARIABLE = "PLUMBLINE_TEST_TOOLS"
"""Names the folder that holds `node_modules`; without it, `.tools` in the repository."""

COMPONENTS = "urn:github:components"
FORMATS = FormatChecker(formats=())


@FORMATS.checks("date-time", raises=ValueError)
def _is_date_time(value: object) -> bool:
    return not isinstance(value, str) or ("T" in value and datetime.fromisoformat(value).tzinfo is not None)


@FORMATS.checks("uri", raises=ValueError)
def _is_uri(value: object) -> bool:
    return not isinstance(value, str) or (bool(urlsplit(value).scheme) and not re.search(r"\s", value))


def installed(name: str = "api.github.com") -> Path:
    """Where the description `name` is. Without it there is no fake GitHub, since that would check nothing."""
    tools = Path(os.environ.get(TOOLS_VARIABLE) or ROOT / ".tools")
    path = tools / "node_modules" / "@octokit" / "openapi" / "generated" / f"{name}.json"
    assert path.is_file(), f"{path} is missing: run tools/install_test_tools.py"
    return path


@dataclass(frozen=True)
class Operation:
    """One documented method of one documented path, and the values its path had."""

    name: str
    body: Mapping[str, Any]
    path_values: Mapping[str, str]


class OpenApi:
    """GitHub's description of its own service, as something that can be asked."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._paths = [(_template(path), path) for path in document["paths"]]
        # Converting all 13 MB takes a second; only what the tests touch is converted, when it is touched.
        self._registry: Registry[Any] = Registry(retrieve=self._retrieve)  # type: ignore[call-arg]
        self._validators: dict[str, Draft202012Validator] = {}
        self._samples: dict[str, Any] = {}

    @staticmethod
    @lru_cache(maxsize=8)
    def load(path: Path) -> "OpenApi":
        """The description in the file `path`, read once a process."""
        return OpenApi(json.loads(path.read_bytes()))

    def _retrieve(self, uri: str) -> Resource[Any]:
        _, _, pointer = uri.partition(f"{COMPONENTS}:")
        kind, _, name = pointer.partition(":")
        return Resource(_modern(self._document["components"][kind][name]), DRAFT202012)

    def _resolve(self, node: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in node:
            kind, name = node["$ref"].removeprefix("#/components/").split("/")
            node = self._document["components"][kind][name]
        return node

    def operation(self, method: str, path: str) -> Operation | None:
        """The documented operation for `path` (no query), or None."""
        for pattern, name in self._paths:
            match = pattern.fullmatch(path)
            if match and method.lower() in self._document["paths"][name]:
                values = {key: unquote(value) for key, value in match.groupdict().items()}
                return Operation(f"{method} {name}", self._document["paths"][name][method.lower()], values)
        return None

    def request_faults(
        self, operation: Operation, query: Mapping[str, list[str]], content_type: str | None, body: bytes
    ) -> list[str]:
        """What in a request is not as documented. Stricter than GitHub: what it would ignore is a fault
        here."""
        faults = list(self._parameter_faults(operation, query))
        described = operation.body.get("requestBody")
        if not described:
            return [*faults, "a body where none is documented"] if body else faults
        if not body:
            return [*faults, "no body"] if described.get("required") else faults
        if (content_type or "").split(";")[0].strip() != "application/json":
            faults.append(f"content type {content_type!r}")
        try:
            value = json.loads(body)
        except ValueError as error:
            return [*faults, f"the body is not JSON: {error}"]
        schema = described["content"]["application/json"]["schema"]
        return faults + self.value_faults(f"{operation.name} request", schema, value)

    def _parameter_faults(self, operation: Operation, query: Mapping[str, list[str]]) -> Iterator[str]:
        known = {}
        for parameter in map(self._resolve, operation.body.get("parameters", [])):
            known[parameter["name"], parameter["in"]] = parameter["schema"]
            if parameter["in"] == "query" and parameter.get("required") and parameter["name"] not in query:
                yield f"query parameter {parameter['name']} is missing"
        found = [(name, "path", value) for name, value in operation.path_values.items()]
        found += [(name, "query", value) for name, values in query.items() for value in values]
        for name, where, value in found:
            schema = known.get((name, where))
            if schema is None:
                yield f"unknown {where} parameter {name}"
                continue
            typed: object = value
            if self._resolve(schema).get("type") == "integer":
                if not re.fullmatch(r"-?\d+", value):
                    yield f"{where} parameter {name} is not an integer: {value!r}"
                    continue
                typed = int(value)
            yield from self.value_faults(f"{operation.name} {where} parameter {name}", schema, typed)
            # Said in the prose of the description only, and GitHub silently gives 100.
            if name == "per_page" and isinstance(typed, int) and not 1 <= typed <= 100:
                yield f"per_page is {typed}"

    def response_faults(
        self,
        operation: Operation,
        status: int,
        content_type: str | None,
        body: bytes,
        *,
        injected: bool = False,
    ) -> list[str]:
        """What in an answer is not as documented. `injected` answers may have a status GitHub does not
        list."""
        described = operation.body["responses"].get(str(status))
        if described is None:
            return [] if injected else [f"status {status} is not documented"]
        content = self._resolve(described).get("content")
        media = (content_type or "").split(";")[0].strip()
        if not content:
            return ["a body where none is documented"] if body and status == 204 else []
        if media.startswith("application/vnd.github.raw"):
            return []  # the file itself
        if media not in content:
            return [] if injected else [f"content type {content_type!r} is not documented for status {status}"]
        try:
            value = json.loads(body)
        except ValueError as error:
            return [] if injected else [f"the answer is not JSON: {error}"]
        return self.value_faults(f"{operation.name} {status} {media}", content[media]["schema"], value)

    def value_faults(self, key: str, schema: Mapping[str, Any], value: object) -> list[str]:
        """What in `value` breaks `schema`. `key` names the schema in this description."""
        validator = self._validators.get(key)
        if validator is None:
            validator = Draft202012Validator(_modern(schema), registry=self._registry, format_checker=FORMATS)
            self._validators[key] = validator
        faults = [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]
        properties = self._resolve(schema).get("properties")
        if isinstance(value, dict) and properties is not None:
            faults += [f"$.{name} is not documented" for name in value if name not in properties]
        return faults

    def fill(self, component: str, known: Mapping[str, Any]) -> dict[str, Any]:
        """`known`, completed with made-up values for everything the component schema requires."""
        if component not in self._samples:
            self._samples[component] = self._made_up({"$ref": f"#/components/schemas/{component}"})
        return _merge(self._samples[component], known)

    def _made_up(self, schema: Mapping[str, Any]) -> Any:
        schema = self._resolve(schema)
        if schema.get("nullable"):
            return None
        for choice in ("oneOf", "anyOf"):
            if choice in schema:
                return self._made_up(schema[choice][0])
        if "allOf" in schema:
            whole: dict[str, Any] = {}
            for part in schema["allOf"]:
                whole = _merge(whole, self._made_up(part))
            return whole
        if "enum" in schema:
            return schema["enum"][0]
        kind = schema.get("type", "object")
        if kind == "object":
            properties = schema.get("properties", {})
            return {name: self._made_up(properties.get(name, {})) for name in schema.get("required", ())}
        formats = {"uri": "https://github.example/", "date-time": "2026-01-01T00:00:00Z"}
        text = formats.get(schema.get("format", ""), "x")
        return {"array": [], "string": text, "integer": 1, "number": 1, "boolean": False}[kind]


def _template(path: str) -> re.Pattern[str]:
    """`/repos/{owner}/…` as a pattern; only a file's path may hold slashes."""
    parts = re.split(r"\{([a-z_]+)\}", path)
    pattern = ""
    for index, part in enumerate(parts):
        if index % 2 == 0:
            pattern += re.escape(part)
        else:
            many = part == "path" and "/contents/" in path
            pattern += f"(?P<{part}>{'.+' if many else '[^/]+'})"
    return re.compile(pattern)


def _modern(node: Any) -> Any:
    """OpenAPI 3.0's dialect as JSON Schema 2020-12: `nullable` becomes a type, a reference becomes a name of
    ours."""
    if isinstance(node, list):
        return [_modern(entry) for entry in node]
    if not isinstance(node, dict):
        return node
    if isinstance(node.get("$ref"), str):
        kind, name = node["$ref"].removeprefix("#/components/").split("/")
        return {"$ref": f"{COMPONENTS}:{kind}:{name}"}
    plain = {
        # Under `properties` the keys are names of the service's, and one of them may be called `example`.
        key: {name: _modern(entry) for name, entry in value.items()} if key == "properties" else _modern(value)
        for key, value in node.items()
        if key not in _PROSE
    }
    if node.get("nullable") is not True:
        return plain
    if "enum" in plain:
        plain["enum"] = [*plain["enum"], None]
    if isinstance(plain.get("type"), str):
        plain["type"] = [plain["type"], "null"]
        return plain
    return {"anyOf": [plain, {"type": "null"}]}


_PROSE = frozenset({"nullable", "example", "examples", "discriminator", "externalDocs", "x-github"})


def _merge(base: Any, over: Any) -> Any:
    if isinstance(base, dict) and isinstance(over, Mapping):
        return {**base, **{key: _merge(base.get(key), value) for key, value in over.items()}}
    return over
