"""How does a secret reach the target and nothing else?

A configuration names an environment variable, `{ env = "NAME" }`, and never holds the value. Whoever resolves one
registers it here, and every text that leaves (an error, a preview, a log) goes through `mask` first, before it is cut:
half a secret is found by nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from plumbline.errors import ConfigurationError
from plumbline.report.sinks import visible

LEAST_LENGTH = 4
"""Characters that a secret must have: a shorter one would be found in ordinary text, or in none."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HINTS = re.compile(r"authorization|api-?key|token|cookie|secret|passw|credential")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_LEAST_WORD = 8
_QUOTED = 300


class Secrets:
    """The values that must not be seen, for one recording.

    Args:
        environ: the environment that `{ env = "NAME" }` is looked up in.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._values: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None

    def resolve(self, value: object, *, key: str, one_line: bool = True) -> str:
        """The text that a value of the configuration stands for.

        Args:
            value: a string, which is meant as it is; or a table `{ env = "NAME" }`, to which `prefix = "Bearer "` may
                be added.
            key: where it stands in the configuration: `adapter.headers.Authorization`.
            one_line: refuse control characters, as a header must.

        Raises:
            ConfigurationError: neither of both, or a variable that is not set, empty, too short or of several lines.
        """
        if isinstance(value, str):
            text = value
        elif isinstance(value, Mapping):
            text = self._from_environment(value, key)
        else:
            raise ConfigurationError(f'{key}: must be a string or {{ env = "NAME" }}')
        if _CONTROL.search(text) if one_line else "\0" in text:
            raise ConfigurationError(f"{key}: holds a line break or another control character")
        return text

    def _from_environment(self, value: Mapping[str, Any], key: str) -> str:
        if unknown := sorted(str(name) for name in value.keys() - {"env", "prefix"}):
            raise ConfigurationError(f"{key}: unknown key {unknown[0]!r}; known keys are env, prefix")
        name, prefix = value.get("env"), value.get("prefix", "")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ConfigurationError(f"{key}.env: must be the name of an environment variable")
        if not isinstance(prefix, str):
            raise ConfigurationError(f"{key}.prefix: must be a string")
        secret = self._environ.get(name, "")
        if not secret.strip():
            told = "is empty" if name in self._environ else "is not set"
            raise ConfigurationError(
                f"{key}: the environment variable {name} {told}",
                remedy=f"Set {name}; nothing is recorded without the credential that the configuration asks for.",
            )
        if len(secret.strip()) < LEAST_LENGTH:
            raise ConfigurationError(
                f"{key}: the environment variable {name} has fewer than {LEAST_LENGTH} characters",
                remedy="So short a value cannot be kept out of texts. If it is no secret, write it as a plain string.",
            )
        self.add(secret, name)
        return prefix + secret

    def add(self, value: str, name: str) -> None:
        """Register a value that `mask` will replace; `name` is what is shown in its place."""
        for form in _forms(value):
            self._values.setdefault(form, name)
        # Longest first, so that the part of a longer value never shows what is left of it.
        ordered = sorted(self._values, key=lambda form: (-len(form), form))
        self._pattern = re.compile("|".join(map(re.escape, ordered))) if ordered else None

    def mask(self, text: str) -> str:
        """`text` with every registered value replaced by `[masked: NAME]`."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: f"[masked: {self._values[found[0]]}]", text)

    def found_in(self, text: str) -> str | None:
        """The name of a registered value that stands in `text`, or None."""
        match = self._pattern.search(text) if self._pattern is not None else None
        return None if match is None else self._values[match[0]]

    def quote(self, text: str, limit: int = _QUOTED) -> str:
        """What a target said, for a message: masked first, then on one printable line, then cut."""
        return visible(self.mask(text), limit)


def registered(table: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[Secrets, list[str]]:
    """Every secret that a table of the configuration names, wherever it stands, and what to warn about.

    The recorder's own second look, whatever an adapter does. A variable that is not set is left to whoever resolves it.
    A literal under a name that looks like a credential's is masked, too, and warned about.
    """
    secrets, warnings = Secrets(environ), []
    for key, name, value in _leaves(table, "adapter"):
        if isinstance(value, Mapping):
            variable = value["env"]
            secret = environ.get(variable, "")
            if len(secret.strip()) >= LEAST_LENGTH:
                secrets.add(secret, variable)
        elif isinstance(value, str) and looks_secret(name) and not _is_template(value):
            warnings.append(
                f'{key} looks like a credential and is written into the configuration; use {{ env = "NAME" }} instead'
            )
            if len(value.strip()) >= LEAST_LENGTH:
                secrets.add(value, name)
    return secrets, warnings


def looks_secret(name: str) -> bool:
    """Whether a header, query key or variable is named like a credential; underscores count as hyphens."""
    return _HINTS.search(name.lower().replace("_", "-")) is not None


def _is_template(value: str) -> bool:
    return re.search(r"\{[a-z_]+\}", value) is not None


def _leaves(value: object, key: str, name: str = "") -> Iterator[tuple[str, str, object]]:
    pending = [(value, key, name)]
    while pending:
        here, place, last = pending.pop()
        if isinstance(here, Mapping) and isinstance(here.get("env"), str):
            yield place, last, here
        elif isinstance(here, Mapping):
            pending.extend((inner, f"{place}.{inner_name}", str(inner_name)) for inner_name, inner in here.items())
        elif isinstance(here, list | tuple):
            pending.extend((inner, f"{place}[{number}]", last) for number, inner in enumerate(here))
        else:
            yield place, last, here


def _forms(value: str) -> set[str]:
    # The value itself, each long word of it (what follows `Bearer `), and how those look once something escaped them.
    words = {value, value.strip(), *(word for word in value.split() if len(word) >= _LEAST_WORD)}
    words |= {line for line in value.splitlines() if len(line) >= _LEAST_WORD}
    forms = set()
    for word in words:
        escaped = word.encode("utf-8", "surrogateescape")
        forms |= {
            word,
            json.dumps(word)[1:-1],
            json.dumps(word, ensure_ascii=False)[1:-1],
            repr(word)[1:-1],
            visible(word),
            quote(escaped, safe=""),
            quote(escaped),
            quote_plus(escaped),
        }
    return {form for form in forms if len(form) >= LEAST_LENGTH}
