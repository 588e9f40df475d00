"""Which JSONPaths might lead to an answer in a document that nobody has described yet?"""

import json
import re
from collections import deque
from collections.abc import Mapping
from typing import Any

_LEAST_LENGTH = 24
_DEEPEST = 8
_VISITED = 5000


def suggestions(document: Any, most: int = 5) -> list[tuple[str, str]]:  # noqa: ANN401 - any JSON value
    """JSONPaths that may lead to an answer, with what stands there, longest first.

    Strings of 24 characters and more; of a list only the first place is looked at.
    """
    found: list[tuple[str, str]] = []
    pending: deque[tuple[str, Any, int]] = deque([("$", document, 0)])
    seen = 0
    while pending and seen < _VISITED:
        path, value, depth = pending.popleft()
        seen += 1
        if isinstance(value, str):
            if len(value) >= _LEAST_LENGTH:
                found.append((path, value))
        elif depth < _DEEPEST and isinstance(value, Mapping):
            pending.extend((path + _step(name), inner, depth + 1) for name, inner in value.items())
        elif depth < _DEEPEST and isinstance(value, list) and value:
            pending.append((f"{path}[0]", value[0], depth + 1))
    return sorted(found, key=lambda pair: -len(pair[1]))[:most]


def _step(name: str) -> str:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return f".{name}"
    return "[" + json.dumps(name) + "]"
