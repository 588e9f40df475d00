"""Which importers are there?"""

from importlib import import_module
from typing import cast

from plumbline.importers.base import Importer

KINDS = {
    "chat": "plumbline.importers.chat",
    "csv": "plumbline.importers.table",
    "deepeval": "plumbline.importers.deepeval",
    "inspect": "plumbline.importers.inspect",
    "promptfoo": "plumbline.importers.promptfoo",
    "ragas": "plumbline.importers.ragas",
}
"""Kind to module. A new importer is a module and a line here."""


def importer(kind: str) -> Importer:
    """The importer of a kind, which is a key of `KINDS`."""
    return cast(Importer, import_module(KINDS[kind]))
