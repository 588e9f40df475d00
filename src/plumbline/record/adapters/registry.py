"""Which transports are there?

Each is a module with `Settings` (a subclass of `AdapterSettings`) and `create`; it is imported only when a
configuration asks for it, so that a local program needs no network library.
"""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import suggestion
from plumbline.record.adapters.base import Adapter, AdapterSettings

ADAPTERS: Mapping[str, str] = {
    "http_json": "plumbline.record.adapters.http_json",
    "sse": "plumbline.record.adapters.sse",
    "submit_poll": "plumbline.record.adapters.submit_poll",
    "subprocess": "plumbline.record.adapters.subprocess",
    "websocket": "plumbline.record.adapters.websocket",
}
"""Kind to module."""


class AdapterModule(Protocol):
    """What each module offers."""

    Settings: type[AdapterSettings]

    def create(self, settings: AdapterSettings, *, folder: Path, environ: Mapping[str, str]) -> Adapter:
        """The adapter for checked settings.

        Args:
            settings: of the module's own `Settings`.
            folder: the configuration's folder, against which relative paths resolve.
            environ: where secrets are looked up.

        Raises:
            ConfigurationError: what the settings ask for cannot be; the message begins with the key.
        """
        ...


def adapter_module(kind: object) -> AdapterModule:
    """The module for a kind.

    Raises:
        ConfigurationError: there is no such kind, or a package that it needs is not installed.
    """
    if not isinstance(kind, str):
        raise ConfigurationError(f"adapter.kind must be one of {', '.join(ADAPTERS)}")
    if kind not in ADAPTERS:
        raise ConfigurationError(f"adapter.kind: there is no adapter {kind!r}{suggestion(kind, list(ADAPTERS))}")
    try:
        return cast(AdapterModule, import_module(ADAPTERS[kind]))
    except ModuleNotFoundError as fault:
        raise ConfigurationError(
            f"adapter.kind: {kind} needs the package {fault.name}, which is not installed",
            remedy="pip install 'plumbline[record]'",
        ) from None
