"""How is a service asked that answers one request with one JSON document?"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from plumbline.record.adapters.base import Adapter
from plumbline.record.adapters.calls import Exchanged, NetworkAdapter
from plumbline.record.adapters.pointers import Pointers
from plumbline.record.adapters.settings import CallSettings
from plumbline.record.extract import parse_json
from plumbline.record.transport import Request


class Settings(CallSettings, frozen=True, kw_only=True):
    """`[adapter]` with `kind = "http_json"`."""

    method: Literal["GET", "POST", "PUT"] = "POST"


def create(settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> Adapter:
    """The adapter.

    Raises:
        ConfigurationError: a key that is wrong, or an environment variable that is not set.
    """
    return _HttpJson(
        "http_json",
        settings,
        folder=folder,
        environ=environ,
        method=settings.method,
        pointers=Pointers(settings),
    )


class _HttpJson(NetworkAdapter):
    def exchange(self, request: Request, values: Mapping[str, Any]) -> Exchanged:  # noqa: ARG002 - poll needs them
        _, body = self.transport.call(request)
        document = parse_json(body, request.where, self.secrets.quote)
        return Exchanged(
            self.pointers.read_answer(document, request.where), [document], body.decode("utf-8", "replace")
        )
