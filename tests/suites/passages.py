"""Bundles about passages, for the suites that ask where an answer comes from."""

from collections.abc import Mapping, Sequence
from typing import Any

from plumbline.audit.config import load_target
from plumbline.audit.locate import Locator
from plumbline.audit.run import Audit, run_audit
from plumbline.evidence.bundle import Bundle
from plumbline.suites.base import Span
from tests.bundles import bundle, files, item, target, write

FARE = "A monthly pass costs 90 dollars and is sold at every station office."
PARKING = "Parking at the depot costs 12 dollars and needs a permit from the clerk."
CORPUS = {"fare": FARE, "parking": PARKING, "other": "Bicycles ride free outside peak hours."}


def sourced(item_id: str = "a", **fields: Any) -> dict[str, Any]:
    """An answer item that had the fare and the parking passage."""
    return item(item_id, **{"expected": FARE, "sources": ["fare", "parking"], **fields})


def evidence(
    items: Sequence[Mapping[str, Any]], responses: Mapping[str, str | None], corpus: Mapping[str, str] = CORPUS
) -> Bundle:
    """A parsed bundle with a corpus."""
    return bundle(items, responses, sources=[{"id": key, "text": text} for key, text in corpus.items()])


def shown(found: Bundle, span: Span) -> str:
    """The text a span leads to, found by the line and columns of its file as an editor would."""
    place = Locator(found).place(span)
    line = found.contents[place.role].decode().split("\n")[place.line - 1]
    return line[place.start_column - 1 : place.end_column - 1]


def audited(
    folder: Any, items: Sequence[Mapping[str, Any]], responses: Mapping[str, str | None], suites: Sequence[str]
) -> Audit:
    """The run of some suites over a bundle written to disk."""
    corpus = [{"id": key, "text": text} for key, text in CORPUS.items()]
    write(folder / "bundle", files(items, responses, sources=corpus))
    return run_audit(load_target(target(folder, suites="".join(f"[suites.{name}]\n" for name in suites))), seed=1)
