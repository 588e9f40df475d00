"""Which judge does a target configuration ask for, and may it be asked like that?

`[judge]` with `kind = "lexical"`, the default, or `kind = "model"`. A key that the kind does not have is refused: a
`temperature` left in the table is a setting that somebody believes is in force.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from plumbline.audit.rules import LanguageTable
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import unprintable
from plumbline.evidence.schema import Record

if TYPE_CHECKING:
    from plumbline.judge.model import Instrument

Number = Decimal | int


class FromEnvironment(Record, frozen=True):
    """A value that the file only names: it stands in the environment of whoever records."""

    env: str
    prefix: str = ""
    """Written before the value: `Bearer `."""


class JudgeTable(Record, frozen=True, kw_only=True):
    """What every judge may be told."""

    languages: dict[str, LanguageTable] = {}
    refusal_markers: dict[str, list[str]] = {}
    """A service's own wording of a decline, by language tag, beside the shipped list."""


class LexicalTable(JudgeTable, frozen=True, tag_field="kind", tag="lexical"):
    """`[judge]`: the instrument that decides by rules."""


class ModelTable(JudgeTable, frozen=True, kw_only=True, tag_field="kind", tag="model"):
    """`[judge]`: the instrument that asks a model for answer scores."""

    model: str
    endpoint: str
    cache: str
    """The judgment cache, relative to the configuration file."""
    mode: Literal["cached", "live"] = "cached"
    method: Literal["POST"] = "POST"
    headers: dict[str, str | FromEnvironment] = {}
    body: dict[str, Any] | None = None
    """The request; `{expected}` and `{actual}` stand for the texts. Without it a chat completion is asked for."""
    response_pointer: str | None = None
    """Where the reply stands in the response: keys and list places, with points between."""
    timeout_seconds: Number = 30
    max_response_bytes: int = 256 * 1024
    retries: int = 0
    retry_delay_seconds: Number = 1


TABLES: Mapping[str, type[Record]] = MappingProxyType({"lexical": LexicalTable, "model": ModelTable})


@dataclass(frozen=True, slots=True)
class Bounds:
    """What one question to the model may cost."""

    timeout_seconds: float
    """For the whole call, 0.1 to 300."""
    max_response_bytes: int
    """1 to 8 MiB."""
    retries: int
    """0 to 5, for faults that pass only."""
    retry_delay_seconds: float
    """0 to 60, doubled at each attempt."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """A model judge as configured, checked."""

    instrument: "Instrument"
    mode: Literal["cached", "live"]
    cache: Path
    url: str
    """The endpoint with its query."""
    headers: Mapping[str, str | FromEnvironment]
    bounds: Bounds


_URL = re.compile(r"((https?)://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[!-\"$->@-~]*)?)(\?[!-\"$-~]*)?")
_LOOPBACK = re.compile(r"localhost|127\.[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}|\[::1\]")
_HEADER = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,200}")
_CREDENTIAL = re.compile(r"authorization|api-?key|token|cookie|secret|passw|credential|signature")
_POINTER = re.compile(r"[^.\s]+(?:\.[^.\s]+)*")
_SET_BY_US = frozenset({"content-length", "content-type", "host", "transfer-encoding", "connection", "accept-encoding"})


def resolve(table: ModelTable, *, file: str, cache: Path) -> ModelSettings:
    """The checked settings of a model judge.

    Args:
        table: as decoded.
        file: name of the configuration, for messages.
        cache: where the judgments are.

    Raises:
        ConfigurationError: naming file and key.
    """
    from plumbline.judge.model import Instrument  # noqa: PLC0415 - a lexical run never loads it
    from plumbline.judge.prompt import DEFAULT_POINTER, checked_body, default_body  # noqa: PLC0415 - as above

    where = f"{file}: judge"
    if not table.model.strip() or unprintable(table.model):
        raise ConfigurationError(f"{where}.model must be printable text on one line")
    url = _URL.fullmatch(table.endpoint)
    if url is None:
        raise ConfigurationError(
            f"{where}.endpoint is no http or https address of printable ASCII, without user name and fragment"
        )
    if _CREDENTIAL.search(_folded(url[4] or "")):
        raise ConfigurationError(
            f"{where}.endpoint holds what looks like a credential in its query",
            remedy='Send it as a header: headers = { "api-key" = { env = "NAME" } }',
        )
    for name, value in table.headers.items():
        _check_header(f"{where}.headers.{name}" if _HEADER.fullmatch(name) else f"{where}.headers", name, value)
    secret = any(isinstance(value, FromEnvironment) for value in table.headers.values())
    if secret and url[2] == "http" and not _LOOPBACK.fullmatch(url[3]):
        raise ConfigurationError(f"{where}.endpoint would carry a credential over plain http; use https")
    pointer = DEFAULT_POINTER if table.response_pointer is None else table.response_pointer
    if not _POINTER.fullmatch(pointer):
        raise ConfigurationError(f"{where}.response_pointer must be keys and list places with points between")
    body = default_body(table.model) if table.body is None else table.body
    return ModelSettings(
        instrument=Instrument(
            model=table.model,
            endpoint=url[1],
            method=table.method,
            header_names=tuple(sorted(name.lower() for name in table.headers)),
            body=checked_body(body, where=f"{where}.body"),
            response_pointer=pointer,
        ),
        mode=table.mode,
        cache=cache,
        url=table.endpoint,
        headers=dict(table.headers),
        bounds=Bounds(
            timeout_seconds=_within(f"{where}.timeout_seconds", table.timeout_seconds, Decimal("0.1"), 300),
            max_response_bytes=int(_within(f"{where}.max_response_bytes", table.max_response_bytes, 1, 8 << 20)),
            retries=int(_within(f"{where}.retries", table.retries, 0, 5)),
            retry_delay_seconds=_within(f"{where}.retry_delay_seconds", table.retry_delay_seconds, 0, 60),
        ),
    )


def _within(where: str, value: Number, least: Number, most: int) -> float:
    if not Decimal(value).is_finite() or not least <= value <= most:
        raise ConfigurationError(f"{where} must be from {least} to {most}")
    return float(value)


def _folded(text: str) -> str:
    return text.lower().replace("_", "-")


def _check_header(where: str, name: str, value: str | FromEnvironment) -> None:
    if not _HEADER.fullmatch(name) or name.lower() in _SET_BY_US:
        raise ConfigurationError(f"{where}: not the name of a header that may be set")
    if isinstance(value, FromEnvironment):
        if not _VARIABLE.fullmatch(value.env):
            raise ConfigurationError(f"{where}.env is no name of an environment variable")
        if not value.prefix.isascii() or unprintable(value.prefix):
            raise ConfigurationError(f"{where}.prefix must be printable ASCII")
    elif _CREDENTIAL.search(_folded(name)):
        raise ConfigurationError(
            f"{where} looks like a credential, and is written into the configuration",
            remedy=f'Name the variable that holds it: "{name}" = {{ env = "NAME" }}',
        )
    elif not value.isascii() or unprintable(value):
        raise ConfigurationError(f"{where} must be printable ASCII on one line")
