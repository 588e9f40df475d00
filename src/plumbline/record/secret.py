"""How does a secret reach the target and nothing else?

A configuration names an environment variable, `{ env = "NAME" }`, and never holds the value. Whoever resolves one
registers it here, and every text that leaves (an error, a preview, a log) goes through `mask` first, before it is cut:
half a secret is found by nothing.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.record.spelling import anchor, base64_cores, begun_at_end, ended_at_begin, pattern
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
        self._words: dict[str, str] = {}
        """Each value, and each long part of one that may stand alone, to its name."""
        self._forms: list[_Form] = []
        """Every spelling of every word, those of longer words first."""

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
            raise ConfigurationError(
                f"{key}: unknown key {unknown[0]!r}; known keys are env, prefix",
                remedy="A table with an env names a variable, and nothing else can be sent under that key.",
            )
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
        for word in _words(value):
            self._words.setdefault(word, name)
        # Longest first, so that the part of a longer value never shows what is left of it.
        ordered = sorted(self._words, key=lambda word: (-len(word), word))
        self._forms = [form for word in ordered for form in _forms(word, self._words[word])]

    def mask(self, text: str) -> str:
        """`text` with every registered value replaced by `[masked: NAME]`."""
        found = [form for form in self._forms if form.stands_in(text)]
        if not found:
            return text
        # In one pass: what stands in the place of a value is no text in which another is looked for.
        every = re.compile("|".join(f"({form.pattern.pattern})" for form in found))
        return every.sub(lambda match: f"[masked: {found[(match.lastindex or 1) - 1].name}]", text)

    def mask_part(self, text: str) -> str:
        """As `mask`, of a text that was cut at either end: half a value there is masked, too."""
        text = self.mask(text)
        for word, name in self._words.items():
            if (end := ended_at_begin(word, text)) is not None:
                text = f"[masked: {name}]{text[end:]}"
            if (start := begun_at_end(word, text)) is not None:
                text = f"{text[:start]}[masked: {name}]"
        return text

    def found_in(self, text: str) -> str | None:
        """The name of a registered value that stands in `text`, or None."""
        return next((form.name for form in self._forms if form.stands_in(text)), None)

    def quote(self, text: str, limit: int = _QUOTED) -> str:
        """What a target said, for a message: masked first, then on one printable line, then cut."""
        return visible(self.mask_part(text), limit)


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


def names_variable(value: object) -> bool:
    """Whether a table of the configuration is meant to be looked up, rightly spelt or not."""
    return isinstance(value, Mapping) and isinstance(value.get("env"), str)


def refuse_variables(value: object, key: str, remedy: str) -> None:
    """Refuse every `{ env = "NAME" }` where none is looked up: it would be sent as it stands.

    Raises:
        ConfigurationError: there is one; the message begins with where it stands.
    """
    if names_variable(value):
        raise ConfigurationError(f"{key}: no environment variable is looked up here", remedy=remedy)
    if isinstance(value, Mapping):
        for name, inner in value.items():
            refuse_variables(inner, f"{key}.{name}", remedy)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            refuse_variables(inner, f"{key}[{place}]", remedy)


def looks_secret(name: str) -> bool:
    """Whether a header, query key or variable is named like a credential; underscores count as hyphens."""
    return _HINTS.search(name.lower().replace("_", "-")) is not None


def _is_template(value: str) -> bool:
    return re.search(r"\{[a-z_]+\}", value) is not None


def _leaves(value: object, key: str, name: str = "") -> Iterator[tuple[str, str, object]]:
    pending = [(value, key, name)]
    while pending:
        here, place, last = pending.pop()
        if names_variable(here):
            yield place, last, here
        if isinstance(here, Mapping):
            if names_variable(here) and here.keys() <= {"env", "prefix"}:
                continue
            # Also beside an `env`, which may be the name of a header: what stands next to it is looked at, too.
            pending.extend((inner, f"{place}.{inner_name}", str(inner_name)) for inner_name, inner in here.items())
        elif isinstance(here, list | tuple):
            pending.extend((inner, f"{place}[{number}]", last) for number, inner in enumerate(here))
        else:
            yield place, last, here


def _words(value: str) -> set[str]:
    # The value itself, and each long part of it (what follows `Bearer `, a line of a key).
    words = {value, value.strip(), *(word for word in value.split() if len(word) >= _LEAST_WORD)}
    return words | {line for line in value.splitlines() if len(line) >= _LEAST_WORD}


@dataclass(frozen=True, slots=True)
class _Form:
    """One way to spell a value."""

    name: str
    anchor: str
    """What every match holds as it is; looking for it first is what makes a long answer cheap."""
    pattern: re.Pattern[str]

    def stands_in(self, text: str) -> bool:
        return self.anchor in text and self.pattern.search(text) is not None


def _forms(word: str, name: str) -> list[_Form]:
    literal = {visible(word)} | (base64_cores(word) if len(word) >= _LEAST_WORD else set())
    others = sorted(
        (form for form in literal - {word} if len(form) >= LEAST_LENGTH), key=lambda form: (-len(form), form)
    )
    return [
        _Form(name, anchor(word), re.compile(pattern(word))),
        *(_Form(name, form, re.compile(re.escape(form))) for form in others),
    ]
