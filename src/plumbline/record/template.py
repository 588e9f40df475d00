"""What is sent for a question: how do the placeholders of a template become values?

A template is any JSON value of the configuration. `{prompt}` and the other names below stand for values in its strings;
keys are never touched. Substitution is one pass over the template, so a prompt that holds `{lang}` stays as it is.
`{{prompt}}` sends the text `{prompt}`. Braces around anything but lower-case letters and underscores are plain text.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import suggestion
from plumbline.record.adapters.base import Question

PLACEHOLDERS: Mapping[str, str] = {
    "prompt": "the text of the user turn that is asked now",
    "lang": "the item's language tag",
    "item_id": "the item's id",
    "turn": "the number of the turn within its conversation, from 1",
    "conversation": "the conversation's id: what the target returned, and until then one that Plumbline made up",
    "history": "every message so far as a list of {role, content}, the turn that is asked now last",
}
"""What every transport can fill in. A transport may know further names."""

WHOLE = frozenset({"history"})
"""Placeholders that stand for a list: they must be a whole string. As an element of a list they are spliced into it."""

_DEEPEST = 20
_LARGEST = 2**53 - 1
_PLACE = re.compile(r"\{\{([a-z_]+)\}\}|\{([a-z_]+)\}")

Message = Mapping[str, str]
"""`{"role": "user" | "assistant", "content": text}`."""


class Template:
    """A checked template.

    Args:
        source: the value as it stands in the configuration.
        key: where it stands there, for messages: `adapter.body`.
        names: the placeholders that may occur.

    Raises:
        ConfigurationError: an unknown placeholder, a list placeholder inside a longer string, or a value that is no
            JSON.
    """

    def __init__(self, source: Any, *, key: str, names: Mapping[str, str] = PLACEHOLDERS) -> None:  # noqa: ANN401 - JSON
        found: set[str] = set()
        _check(source, key, names, found, 0)
        self.source = source
        """As written, without any value in it: this is what a manifest may show."""
        self.names = frozenset(found)
        """The placeholders that it uses."""

    def render(self, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
        """The value with every placeholder filled in.

        Args:
            values: name to text, or to a list for the names in `WHOLE`; each name the template uses must be there.
        """
        return _filled(self.source, values)

    @property
    def asks(self) -> bool:
        """Whether the question is in it: without it every item would send the same."""
        return not self.names.isdisjoint({"prompt", "history"})


def refuse_unasked(templates: Sequence[Template], where: str) -> None:
    """Refuse a set of templates of which none holds the question.

    Raises:
        ConfigurationError: neither `{prompt}` nor `{history}` is used.
    """
    if not any(template.asks for template in templates):
        raise ConfigurationError(
            f"{where}: {{prompt}} is used nowhere, so every item would be asked the same",
            remedy='Put "{prompt}" (or "{history}") where the target reads the question.',
        )


def values_for(
    question: Question, text: str, *, turn: int, conversation: str, history: Sequence[Message] = ()
) -> dict[str, Any]:
    """The values of `PLACEHOLDERS` for one user turn.

    Args:
        question: the item.
        text: the user turn that is asked now.
        turn: its number, from 1.
        conversation: the conversation's id.
        history: the messages before this turn.
    """
    return {
        "prompt": text,
        "lang": question.lang,
        "item_id": question.item,
        "turn": str(turn),
        "conversation": conversation,
        "history": [*history, {"role": "user", "content": text}],
    }


def exchanged(text: str, answer: str) -> tuple[Message, Message]:
    """The two messages that a turn adds to the history."""
    return {"role": "user", "content": text}, {"role": "assistant", "content": answer}


def _check(value: object, key: str, names: Mapping[str, str], found: set[str], depth: int) -> None:
    if depth > _DEEPEST:
        raise ConfigurationError(f"{key}: nested deeper than {_DEEPEST} levels")
    if isinstance(value, str):
        for match in _PLACE.finditer(value):
            if match[2] is not None:
                _check_name(match, value, key, names)
                found.add(match[2])
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            _check(inner, f"{key}.{name}", names, found, depth + 1)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            _check(inner, f"{key}[{place}]", names, found, depth + 1)
    elif fault := _fault_in_scalar(value):
        raise ConfigurationError(f"{key}: {fault}")


def _fault_in_scalar(value: object) -> str | None:
    if value is None or isinstance(value, bool):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else f"{value} is no number that JSON can hold"
    if isinstance(value, int):
        return None if abs(value) <= _LARGEST else "an integer that not every reader of JSON keeps exactly"
    return f"a {type(value).__name__} is no value that JSON can hold; write it as a string"


def _check_name(match: re.Match[str], value: str, key: str, names: Mapping[str, str]) -> None:
    name = match[2]
    if name not in names:
        raise ConfigurationError(
            f"{key}: unknown placeholder {{{name}}}{suggestion(name, list(names))}",
            remedy=f"To send these very characters, double the braces: {{{{{name}}}}}.",
        )
    if name in WHOLE and match[0] != value:
        raise ConfigurationError(f"{key}: {{{name}}} is a list and must be the whole string")


def _filled(value: Any, values: Mapping[str, Any]) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, str):
        if (name := _list_named(value)) is not None:
            return list(values[name])
        return _PLACE.sub(lambda match: f"{{{match[1]}}}" if match[1] is not None else values[match[2]], value)
    if isinstance(value, Mapping):
        return {name: _filled(inner, values) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        filled: list[Any] = []
        for inner in value:
            done = _filled(inner, values)
            if isinstance(inner, str) and _list_named(inner) is not None:
                filled.extend(done)
            else:
                filled.append(done)
        return filled
    return value


def _list_named(text: str) -> str | None:
    match = _PLACE.fullmatch(text)
    return match[2] if match is not None and match[2] in WHOLE else None
