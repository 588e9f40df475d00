"""Which JSONPaths might lead to an answer, or to what it cites, in a document that nobody has described yet?"""

import itertools
import json
import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_LEAST_LENGTH = 24
_DEEPEST = 8
_VISITED = 5000
_LIKE_AN_ID = re.compile(r"id|source|ref|doc|url|title", re.IGNORECASE)


def answers(document: Any, *, least: int = _LEAST_LENGTH, most: int = 5) -> list[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    """JSONPaths that may lead to an answer, with what stands there, longest first.

    Of a list only the first place is looked at.

    Args:
        document: any JSON value.
        least: characters that a string must have to be taken for an answer.
        most: how many to return.
    """
    found = [(path, value) for path, value in _walk(document) if isinstance(value, str) and len(value) >= least]
    return sorted(found, key=lambda pair: -len(pair[1]))[:most]


def pieces(documents: Sequence[Any], most: int = 5) -> list[tuple[str, str]]:
    """The same for an answer that comes in pieces: the paths that most pieces have, with the first text there."""
    first: dict[str, str] = {}
    counted: Counter[str] = Counter()
    for document in documents:
        for path, text in answers(document, least=1, most=_VISITED):
            first.setdefault(path, text)
            counted[path] += 1
    return [(path, first[path]) for path, _ in counted.most_common(most)]


def identifiers(document: Any, most: int = 5) -> list[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    """JSONPaths that may lead to the ids of what an answer cites, in document order, with the first id."""
    found = []
    for path, value in _walk(document):
        if not isinstance(value, list) or not value:
            continue
        first = value[0]
        if isinstance(first, str):
            found.append((f"{path}[*]", first))
        elif isinstance(first, Mapping):
            found += [
                (f"{path}[*]{_step(name)}", str(inner))
                for name, inner in first.items()
                if _LIKE_AN_ID.search(name) and isinstance(inner, str | int) and not isinstance(inner, bool)
            ]
    return found[:most]


def _walk(document: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any JSON value
    pending: deque[tuple[str, Any, int]] = deque([("$", document, 0)])
    seen = 0
    while pending and seen < _VISITED:
        path, value, depth = pending.popleft()
        seen += 1
        yield path, value
        if depth >= _DEEPEST:
            continue
        if isinstance(value, Mapping):
            inside = itertools.islice(value.items(), _VISITED)
            pending.extend((path + _step(name), inner, depth + 1) for name, inner in inside)
        elif isinstance(value, list) and value:
            pending.append((f"{path}[0]", value[0], depth + 1))


def _step(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f".{name}"
    return "[" + json.dumps(name) + "]"
