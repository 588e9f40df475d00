"""What does a target configuration ask for?

One TOML file per target (specification, "Target configuration"). Unknown tables, unknown keys and wrong types are
refused: a misspelt floor is a floor that is not there. Relative paths resolve against the folder of the file.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

import msgspec

from plumbline.audit.judge_table import TABLES, LexicalTable, ModelSettings, ModelTable, resolve
from plumbline.audit.rules import rules_of
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import unprintable
from plumbline.evidence.files import read_input
from plumbline.evidence.schema import Record, explain, suggestion
from plumbline.judge.text import SHIPPED_RULES, Rules
from plumbline.suites.base import Suite
from plumbline.suites.registry import IMPLEMENTED, create

_FLOOR_DIGITS = 6


FloorOn = Literal["score", "lower_bound"]


class TargetTable(Record, frozen=True):
    """`[target]`: whose behaviour is graded."""

    name: str


class DatasetTable(Record, frozen=True):
    """`[dataset]`: the sealed evidence."""

    path: str


class SuiteTable(Record, frozen=True):
    """`[suites.<id>]`: whether a suite runs and the bar it is held to."""

    enabled: bool = True
    floor: Decimal | int | None = None
    floor_on: FloorOn = "score"
    """What is held against the floor: the score itself, or the lower bound of its interval."""
    gap: str | None = None
    """Of a suite that is switched off: what therefore goes unchecked."""
    fix_belongs_in: str | None = None
    """Of a suite that is switched off: where the cause has to be mended."""


class BaselineTable(Record, frozen=True):
    """`[baseline]`: the bar the repository holds."""

    path: str


class TargetFile(Record, frozen=True):
    """The whole file. `[adapter]` and `[authorisation]` belong to recording and are never read by an audit."""

    target: TargetTable
    dataset: DatasetTable
    suites: dict[str, SuiteTable]
    judge: LexicalTable | ModelTable = LexicalTable()
    baseline: BaselineTable | None = None
    adapter: dict[str, Any] | None = None
    authorisation: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class EnabledSuite:
    """A suite that this run scores, with the floor that applies."""

    suite: Suite
    floor: Fraction
    floor_on: FloorOn = "score"


@dataclass(frozen=True, slots=True)
class Disabled:
    """Why a suite is switched off, as far as the file says."""

    gap: str | None
    fix_belongs_in: str | None


@dataclass(frozen=True, slots=True)
class Target:
    """A configuration, checked and resolved."""

    name: str
    dataset: Path
    suites: tuple[EnabledSuite, ...]
    """Enabled suites in order of their ids."""
    disabled: Mapping[str, Disabled]
    """Suites that the file switches off, by id in sorted order."""
    baseline: Path | None
    model: ModelSettings | None = None
    """The model judge that the file asks for; None for the lexical one."""
    rules: Rules = SHIPPED_RULES
    """What the judge reads texts by."""


def load_target(path: Path) -> Target:
    """Read and check a target configuration.

    Raises:
        ConfigurationError: the file cannot be read, or asks for something that cannot be.
    """
    file = path.name
    data = read_input(path, "the configuration")
    try:
        text = data.decode()
        # Floors are read as written, so that 0.7 is seven tenths and not the nearest binary fraction.
        table = tomllib.loads(text, parse_float=Decimal)
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file}: not UTF-8") from None
    except (ValueError, ArithmeticError) as fault:  # also a number that is too long to be one
        raise ConfigurationError(f"{file}: not valid TOML: {fault}") from None
    except RecursionError:
        raise ConfigurationError(f"{file}: TOML is nested too deeply") from None
    _refuse_unknown_tables(file, table)
    if isinstance(judge := table.get("judge"), dict):
        judge.setdefault("kind", LexicalTable.__struct_config__.tag)
    try:
        parsed = msgspec.convert(table, TargetFile, builtin_types=(Decimal,))
    except msgspec.ValidationError as fault:
        # The decoder speaks of JSON, and this file is TOML.
        told = _explain(fault, table).replace("`object`", "a table").replace("`array`", "a list")
        raise ConfigurationError(f"{file}: {told}") from None
    return _resolve(path, parsed)


def _explain(fault: msgspec.ValidationError, table: dict[str, Any]) -> str:
    message = str(fault)
    judge = table.get("judge")
    # A union has no keys to suggest; the table that `kind` names has.
    if "$.judge" in message and isinstance(judge, dict) and judge.get("kind") in list(TABLES):
        return explain(message.replace("$.judge", "$"), TABLES[judge["kind"]]).replace("key '", "key 'judge.", 1)
    # The decoder's path says `[...]` for the key of a dictionary; name the suite instead.
    suites = table.get("suites")
    if "$.suites[...]" in message and isinstance(suites, dict):
        for suite_id, entry in suites.items():
            try:
                msgspec.convert(entry, SuiteTable, builtin_types=(Decimal,))
            except msgspec.ValidationError as inner:
                told = explain(str(inner), SuiteTable)
                key = f"suites.{suite_id}"
                return told.replace("key '", f"key '{key}.", 1) if "key '" in told else f"{told} at key {key!r}"
    return explain(message, TargetFile)


def _refuse_unknown_tables(file: str, table: dict[str, Any]) -> None:
    known = list(TargetFile.__struct_fields__)
    for name in table:
        if name not in known:
            raise ConfigurationError(f"{file}: unknown table {name!r}{suggestion(name, known)}")


def _resolve(path: Path, parsed: TargetFile) -> Target:
    file = path.name
    name = parsed.target.name
    if not name.strip() or unprintable(name):
        raise ConfigurationError(f"{file}: target.name must be printable text on one line")
    if not parsed.dataset.path.strip():
        raise ConfigurationError(f"{file}: dataset.path is empty")
    enabled: list[EnabledSuite] = []
    for suite_id in sorted(parsed.suites):
        entry = parsed.suites[suite_id]
        suite = create(suite_id)
        floor = _floor(file, suite_id, entry.floor, suite.default_floor)
        for key in ("gap", "fix_belongs_in"):
            _check_gap(f"{file}: suites.{suite_id}.{key}", getattr(entry, key), enabled=entry.enabled)
        if entry.enabled:
            enabled.append(EnabledSuite(suite, floor, entry.floor_on))
    if not enabled:
        raise ConfigurationError(
            f"{file}: no suite is enabled, so there is nothing to pass",
            remedy=f"Enable at least one of: {', '.join(sorted(IMPLEMENTED))}.",
        )
    if parsed.baseline is not None and not parsed.baseline.path.strip():
        raise ConfigurationError(f"{file}: baseline.path is empty; remove the table to run without a baseline")
    model = parsed.judge if isinstance(parsed.judge, ModelTable) else None
    if model is not None and not model.cache.strip():
        raise ConfigurationError(f"{file}: judge.cache is empty")
    return Target(
        name=name,
        dataset=_beside(path, parsed.dataset.path, "dataset.path"),
        suites=tuple(enabled),
        disabled={
            suite_id: Disabled(entry.gap, entry.fix_belongs_in)
            for suite_id, entry in sorted(parsed.suites.items())
            if not entry.enabled
        },
        baseline=None if parsed.baseline is None else _beside(path, parsed.baseline.path, "baseline.path"),
        model=None if model is None else resolve(model, file=file, cache=_beside(path, model.cache, "judge.cache")),
        rules=rules_of(parsed.judge.languages, parsed.judge.refusal_markers, file=file),
    )


def _check_gap(key: str, text: str | None, *, enabled: bool) -> None:
    if text is None:
        return
    if enabled:
        raise ConfigurationError(
            f"{key} declares a gap, and the suite is enabled",
            remedy="Remove the declaration: a reason that is gone would excuse the next person.",
        )
    if not text.strip() or unprintable(text):
        raise ConfigurationError(f"{key} must be printable text on one line")


def _beside(path: Path, relative: str, key: str) -> Path:
    if "\0" in relative:
        raise ConfigurationError(f"{path.name}: {key} holds a NUL character")
    return path.parent / relative


def _floor(file: str, suite_id: str, written: Decimal | int | None, default: Fraction) -> Fraction:
    if written is None:
        return default
    key = f"{file}: suites.{suite_id}.floor"
    written = Decimal(written)
    if not written.is_finite():
        raise ConfigurationError(f"{key} is not a number")
    # Compared before any arithmetic: 1e999999999 is a valid decimal and no number to compute with.
    if written < 0 or written > 1:
        raise ConfigurationError(f"{key} must be above 0 and at most 1")
    if written == 0:
        raise ConfigurationError(
            f"{key} is 0, which every score reaches; a check that cannot fail is no check",
            remedy=f"Set a floor the target has to reach, or enabled = false under [suites.{suite_id}].",
        )
    # Read off the digits: arithmetic on a decimal rounds it, or never ends.
    _, digits, exponent = written.as_tuple()
    decimals = -int(exponent) - (len(digits) - len("".join(map(str, digits)).rstrip("0")))
    if decimals > _FLOOR_DIGITS:
        raise ConfigurationError(f"{key} has more than {_FLOOR_DIGITS} digits after the point")
    return Fraction(written)
