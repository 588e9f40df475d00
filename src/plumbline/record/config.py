"""What does a target configuration ask to be recorded?

The same TOML file that an audit reads (`plumbline.audit.config`); here its `[adapter]` and `[authorisation]` count, and
what an audit would grade does not.
"""

import datetime as dt
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from plumbline.audit.config import DatasetTable, TargetFile, TargetTable
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import unprintable
from plumbline.evidence.files import read_input
from plumbline.evidence.schema import Record, explain, suggestion
from plumbline.record.adapters.base import Adapter, AdapterSettings
from plumbline.record.adapters.registry import AdapterModule, adapter_module
from plumbline.record.authorisation import Authorisation, read_authorisation
from plumbline.record.secret import Secrets, registered

RANGES: Mapping[str, tuple[float, float]] = {
    "max_items": (1, 100_000),
    "min_interval_seconds": (0, 60),
    "connections": (1, 64),
    "timeout_seconds": (0.1, 300),
    "max_response_bytes": (1, 8 * 1024 * 1024),
    "retries": (0, 5),
    "retry_delay_seconds": (0, 60),
}
"""Least and largest value of the keys that transports have in common. A `Settings` may narrow or add to them with a
`ranges` of its own (a class variable of the same shape)."""


class _Tables(Record, frozen=True):
    target: TargetTable
    dataset: DatasetTable | None = None


@dataclass(frozen=True, slots=True)
class RecordingConfig:
    """A configuration, checked and resolved."""

    file: str
    """Its name, for messages."""
    path: Path
    target: str
    questions: Path
    """Folder of the question set."""
    dataset: Path | None
    """Where the configuration's audit looks for evidence, and where a recording goes if nothing else is said."""
    settings: AdapterSettings
    module: AdapterModule
    authorisation: Authorisation | None
    secrets: Secrets
    """Every value that may appear nowhere."""
    warnings: tuple[str, ...]

    def adapter(self, environ: Mapping[str, str]) -> Adapter:
        """The adapter, ready to be asked.

        Raises:
            ConfigurationError: with file and key.
        """
        try:
            return self.module.create(self.settings, folder=self.path.parent, environ=environ)
        except ConfigurationError as fault:
            raise _in_file(self.file, fault) from None


def load_recording(
    path: Path, environ: Mapping[str, str], *, questions: Path | None = None, today: dt.date | None = None
) -> RecordingConfig:
    """Read and check what a configuration says about recording.

    Args:
        path: the TOML file.
        environ: where secrets are looked up.
        questions: a question set that takes the place of `adapter.questions`.
        today: for `authorisation.authorised_on`; the clock's day where it is not given.

    Raises:
        ConfigurationError: with file and key.
    """
    file = path.name
    table = _parsed(path)
    try:
        return _resolved(path, table, environ, questions, today or _latest_day())
    except ConfigurationError as fault:
        raise _in_file(file, fault) from None


def _in_file(file: str, fault: ConfigurationError) -> ConfigurationError:
    return ConfigurationError(f"{file}: {fault.message}", remedy=fault.remedy)


def _latest_day() -> dt.date:
    # Whoever wrote the date wrote that of their own place.
    return max(dt.datetime.now(dt.UTC).date(), dt.datetime.now().astimezone().date())


def _parsed(path: Path) -> dict[str, Any]:
    file = path.name
    try:
        return tomllib.loads(read_input(path, "the configuration").decode())
    except UnicodeDecodeError:
        raise ConfigurationError(f"{file}: not UTF-8") from None
    except ValueError as fault:
        raise ConfigurationError(f"{file}: not valid TOML: {fault}") from None
    except RecursionError:
        raise ConfigurationError(f"{file}: TOML is nested too deeply") from None


def _resolved(
    path: Path, table: dict[str, Any], environ: Mapping[str, str], questions: Path | None, today: dt.date
) -> RecordingConfig:
    known = list(TargetFile.__struct_fields__)
    for name in table:
        if name not in known:
            raise ConfigurationError(f"unknown table {name!r}{suggestion(name, known)}")
    try:
        tables = msgspec.convert({key: table[key] for key in ("target", "dataset") if key in table}, _Tables)
    except msgspec.ValidationError as fault:
        raise ConfigurationError(explain(str(fault), _Tables)) from None
    if not tables.target.name.strip() or unprintable(tables.target.name):
        raise ConfigurationError("target.name must be printable text on one line")
    adapter = _table(table, "adapter")
    if adapter is None:
        raise ConfigurationError(
            "there is no [adapter], so nothing says how to ask the target",
            remedy="docs/recording.md lists the transports and their keys.",
        )
    if questions is not None:
        adapter = {"questions": ".", **adapter}
    module = adapter_module(adapter.get("kind"))
    settings = read_settings(module.Settings, adapter)
    authorisation = _table(table, "authorisation")
    secrets, warnings = registered(adapter, environ)
    return RecordingConfig(
        file=path.name,
        path=path,
        target=tables.target.name,
        questions=questions or _beside(path, settings.questions, "adapter.questions"),
        dataset=None if tables.dataset is None else _beside(path, tables.dataset.path, "dataset.path"),
        settings=settings,
        module=module,
        authorisation=None if authorisation is None else read_authorisation(authorisation, today=today),
        secrets=secrets,
        warnings=tuple(f"{path.name}: {warning}" for warning in warnings),
    )


def _table(table: Mapping[str, Any], name: str) -> dict[str, Any] | None:
    found = table.get(name)
    if found is not None and not isinstance(found, dict):
        raise ConfigurationError(f"{name} must be a table")
    return found


def read_settings(kind: type[AdapterSettings], table: Mapping[str, Any]) -> AdapterSettings:
    """Check an `[adapter]` table against the keys of its transport.

    Raises:
        ConfigurationError: an unknown key, a wrong type or a number out of range; the message begins with the key.
    """
    try:
        settings = msgspec.convert(table, kind)
    except msgspec.ValidationError as fault:
        told = explain(str(fault), kind)
        told = told.replace("key '", "key 'adapter.", 1) if "key '" in told else f"adapter: {told}"
        raise ConfigurationError(told) from None
    for key, (low, high) in {**RANGES, **getattr(kind, "ranges", {})}.items():
        value = getattr(settings, key, None)
        # Written so that what is no number at all is refused, too.
        if value is not None and not low <= value <= high:
            raise ConfigurationError(f"adapter.{key} is {value}; it must be from {low} to {high}")
    return settings


def _beside(path: Path, relative: str, key: str) -> Path:
    if not relative.strip() or "\0" in relative:
        raise ConfigurationError(f"{key} is empty or holds a NUL character")
    return path.parent / relative
