"""Where in a reply do the answer, its citations and the rest stand?

A pointer is either JSONPath (RFC 9535), which begins with `$`, or the dotted form of the specification, as in
`choices.0.text`, with list places from the end as negative numbers. A pointer that leads nowhere says which keys there
were, so that the configuration can be put right; it never quotes values.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from jsonpath import JSONPath, JSONPathEnvironment
from jsonpath.exceptions import JSONPathError

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import CallError, Retrieved
from plumbline.record.repeats import RepeatedKeyError, each_key_once
from plumbline.report.sinks import visible

_LONGEST_POINTER = 400
_NAMED = 12
_NAME = 40
_WILD = re.compile(r"\[\*\]|\.\*|\.\.|\[\?")
_PLACE = re.compile(r"-?[0-9]{1,9}")


@cache
def _environment() -> JSONPathEnvironment:
    environment = JSONPathEnvironment(strict=True)
    # Patterns over what a hostile target sent would need a matcher that is linear, and this one is not.
    for name in ("match", "search"):
        environment.function_extensions.pop(name, None)
    return environment


class Pointer:
    """A checked pointer into a JSON reply.

    Args:
        text: as configured.
        key: where it stands, for messages: `adapter.response_pointer`.

    Raises:
        ConfigurationError: neither JSONPath nor a dotted path.
    """

    def __init__(self, text: str, *, key: str) -> None:
        self.text = text
        self.key = key
        self._path: JSONPath | None = None
        self._container: JSONPath | None = None
        self._parts: list[str] = []
        if not text or len(text) > _LONGEST_POINTER:
            raise ConfigurationError(f"{key}: must have 1 to {_LONGEST_POINTER} characters")
        if text.startswith("$"):
            self._path = _compiled(text, key)
            if (wild := _WILD.search(text)) is not None:
                self._container = _compiled(text[: wild.start()], key)
        else:
            self._parts = text.split(".")
            if "" in self._parts:
                raise ConfigurationError(
                    f"{key}: {visible(text, _NAME)} has an empty part",
                    remedy="Write a dotted path such as choices.0.text, or JSONPath, which begins with $.",
                )

    def matches(self, document: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
        """Every value that the pointer leads to, in document order."""
        if self._path is not None:
            return _findall(self._path, document)
        for part in self._parts:
            if isinstance(document, Mapping) and part in document:
                document = document[part]
            elif isinstance(document, list) and _PLACE.fullmatch(part) and -len(document) <= int(part) < len(document):
                document = document[int(part)]
            else:
                return []
        return [document]

    def empty_list(self, document: Any) -> bool:  # noqa: ANN401 - any JSON value
        """Whether nothing matches only because the list that the pointer goes through is empty."""
        if self._container is None:
            return False
        found = _findall(self._container, document)
        return bool(found) and all(inner == [] for inner in found)


def _findall(path: JSONPath, document: Any) -> list[Any]:  # noqa: ANN401 - any JSON value
    if not isinstance(document, dict | list):
        # The library takes a text for a document that is still to be parsed; here a text is a value like any other.
        return [document] if str(path) == "$" else []
    try:
        return list(path.findall(document))
    except (JSONPathError, RecursionError):  # nested deeper than anything that means an answer
        return []


def parse_json(data: bytes, where: str, quote: Callable[[str, int], str] | None = None) -> Any:  # noqa: ANN401 - any JSON value
    """A reply as JSON.

    Raises:
        CallError: `malformed`, also where a key stands twice in one object; or `empty` where there is nothing at all.
    """
    if not data.strip():
        raise CallError(f"{where}: the reply is empty where JSON was expected", fault="empty")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=each_key_once)
    except UnicodeDecodeError:
        raise CallError(f"{where}: the reply is not UTF-8", fault="malformed") from None
    except RecursionError:
        raise CallError(f"{where}: the reply is JSON nested too deeply", fault="malformed") from None
    except RepeatedKeyError as fault:
        named = visible(fault.args[0], _NAME) if quote is None else quote(fault.args[0], _NAME)
        raise CallError(
            f"{where}: the key {named!r} stands twice in one object of the reply, and readers of JSON differ in which "
            "of them counts",
            fault="malformed",
            remedy="Have the target mended: nobody can say which of the two it answered.",
        ) from None
    except ValueError as fault:
        told = str(fault)[:100] if isinstance(fault, json.JSONDecodeError) else "a number too long to read"
        begin = ""
        if quote is not None:
            begin = f"; it begins {quote(data[:4096].decode('utf-8', 'replace').strip(), 80)}"
        raise CallError(
            f"{where}: the reply is not valid JSON: {told}{begin}",
            fault="malformed",
            remedy="If the target does not speak JSON here, another adapter.kind may fit (sse, websocket, poll).",
        ) from None


def answer(pointer: Pointer, document: Any, where: str, *, join: str | None = None) -> str:  # noqa: ANN401 - any JSON value
    """The answer, which must be one string, or several where `join` says what to put between.

    Raises:
        CallError: `not_extracted` or `wrong_type`.
    """
    found = pointer.matches(document)
    if not found:
        raise CallError(
            f"{where}: {pointer.key} {visible(pointer.text, 80)} leads nowhere; the reply is {shape(document)}",
            fault="not_extracted",
            remedy=f"Point {pointer.key} at the answer; `plumbline probe` shows the reply and suggests paths.",
        )
    if len(found) > 1 and join is None:
        raise CallError(
            f"{where}: {pointer.key} leads to {len(found)} values where one answer was expected",
            fault="not_extracted",
            remedy="Point at one value, or set adapter.response_join to what stands between the parts.",
        )
    for value in found:
        if not isinstance(value, str):
            raise CallError(
                f"{where}: {pointer.key} leads to {shape(value)} where a string was expected",
                fault="wrong_type",
                remedy=f"Point {pointer.key} at the text itself.",
            )
    return (join or "").join(found)


def identifiers(pointer: Pointer, document: Any, where: str) -> tuple[str, ...] | None:  # noqa: ANN401 - any JSON value
    """Ids in order, each once; None where the reply says nothing of them, () where it says that there are none.

    Raises:
        CallError: `wrong_type`, where something is no id.
    """
    found = pointer.matches(document)
    if not found:
        return () if pointer.empty_list(document) else None
    if found == [None]:
        return None
    ids: dict[str, None] = {}
    for value in found:
        for inner in value if isinstance(value, list) else [value]:
            ids[_identifier(inner, pointer, where)] = None
    return tuple(ids)


def identifier(pointer: Pointer, document: Any, where: str) -> str | None:  # noqa: ANN401 - any JSON value
    """One id, such as a conversation's, or None where there is none.

    Raises:
        CallError: `wrong_type`.
    """
    found = pointer.matches(document)
    if not found or found[0] is None or found[0] == "":
        return None
    return _identifier(found[0], pointer, where)


def passages(
    pointer: Pointer,
    id_pointer: Pointer,
    text_pointer: Pointer,
    document: Any,  # noqa: ANN401 - any JSON value
    where: str,
) -> tuple[Retrieved, ...] | None:
    """What the target says it looked at; None where the reply says nothing of it.

    A passage is a string (its text), or an object into which the other two pointers lead.

    Raises:
        CallError: `wrong_type`, or `not_extracted` where a passage has neither id nor text.
    """
    found = pointer.matches(document)
    if not found:
        return () if pointer.empty_list(document) else None
    if found == [None]:
        return None
    taken = []
    for value in found:
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, str):
                taken.append(Retrieved(id=None, text=inner))
                continue
            if not isinstance(inner, Mapping):
                raise CallError(
                    f"{where}: {pointer.key} leads to {shape(inner)} where a passage was expected", fault="wrong_type"
                )
            name = identifier(id_pointer, inner, where)
            texts = text_pointer.matches(inner)
            text = texts[0] if texts and isinstance(texts[0], str) else None
            if name is None and text is None:
                raise CallError(
                    f"{where}: a passage has neither {visible(id_pointer.text, 60)} nor "
                    f"{visible(text_pointer.text, 60)}; it is {shape(inner)}",
                    fault="not_extracted",
                    remedy=f"Set {id_pointer.key} or {text_pointer.key}.",
                )
            taken.append(Retrieved(id=name, text=text))
    return tuple(taken)


def shape(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """What a JSON value is, in words: its type, and an object's keys; no other part of it."""
    if isinstance(value, Mapping):
        names = [visible(str(name), _NAME) for name in list(value)[:_NAMED]]
        more = f" and {len(value) - _NAMED} more" if len(value) > _NAMED else ""
        return f"an object with the keys {', '.join(names)}{more}" if names else "an object without keys"
    if isinstance(value, list):
        return f"a list of {len(value)}, the first {shape_of_leaf(value[0])}" if value else "an empty list"
    return shape_of_leaf(value)


def shape_of_leaf(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """As `shape`, but a list within a list is not looked into."""
    if isinstance(value, Mapping):
        return shape(value)
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    return "a string" if isinstance(value, str) else "a number"


def _identifier(value: object, pointer: Pointer, where: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise CallError(
        f"{where}: {pointer.key} leads to {shape(value)} where an id was expected",
        fault="wrong_type",
        remedy=f"Point {pointer.key} at the id itself, for example with [*].id at the end.",
    )


def _compiled(text: str, key: str) -> JSONPath:
    try:
        compiled = _environment().compile(text)
    except (JSONPathError, RecursionError, ValueError) as fault:
        told = visible(str(fault).partition("\n")[0], 120)
        raise ConfigurationError(
            f"{key}: {visible(text, 80)} is no JSONPath of RFC 9535: {told}",
            remedy="The functions match and search are not available here."
            if "match" in text or "search" in text
            else None,
        ) from None
    if not isinstance(compiled, JSONPath):
        raise ConfigurationError(f"{key}: {visible(text, 80)} is more than one JSONPath")
    return compiled


def equal(value: object, wanted: object) -> bool:
    """Whether a field has the configured value: same type and value, where `true` is no 1."""
    return type(value) is type(wanted) and value == wanted


def any_equal(pointer: Pointer, document: Any, wanted: Sequence[object]) -> bool:  # noqa: ANN401 - any JSON value
    """Whether any value that the pointer leads to is one of `wanted`."""
    return any(equal(value, one) for value in pointer.matches(document) for one in wanted)
