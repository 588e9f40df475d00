"""Does a text hold what its item forbids, and where?

`forbidden` strings must not stand in a response in any role; `forbidden_claims` must not be asserted (specification,
"Mentioning a claim is not making it"). Several suites read these two lists, so what fails through them shares a cause.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.screens import Hit, Phrases
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import Span

SHOWN = 5
"""How many places of one kind an outcome names."""


@dataclass(frozen=True, slots=True)
class Leak:
    """What of an item's lists a text holds."""

    phrases: tuple[Hit, ...]
    claims: tuple[Hit, ...]

    @property
    def reason(self) -> str:
        """A key of `REASONS`."""
        return "forbidden_phrase" if self.phrases else "forbidden_claim"

    @property
    def note(self) -> str:
        """What a person reads; the phrases stand in the item, where the places lead."""
        parts = []
        if self.phrases:
            parts.append(f"holds {_counted(len(self.phrases), 'string')} that the item forbids")
        if self.claims:
            parts.append(f"asserts {_counted(len(self.claims), 'claim')} that the item forbids")
        return "the response " + " and ".join(parts)

    def facts(self) -> dict[str, list[str]]:
        """The phrases and claims found, as the item writes them."""
        found = {}
        if self.phrases:
            found["forbidden_phrases"] = [hit.phrase for hit in self.phrases]
        if self.claims:
            found["asserted_forbidden_claims"] = [hit.phrase for hit in self.claims]
        return found

    def spans(self, item: Item, path: tuple[str | int, ...] = ("response",)) -> tuple[Span, ...]:
        """Where they stand in the response, and which entries of the item they are.

        Args:
            item: the item with the lists.
            path: keys that lead to the text within the response record.
        """
        marked = [*((hit, "forbidden") for hit in self.phrases), *((hit, "forbidden_claims") for hit in self.claims)]
        in_text = [Span("responses", item.id, path, h.start, h.end, "must not be said") for h, _ in marked[:SHOWN]]
        listed = {"forbidden": item.forbidden, "forbidden_claims": item.forbidden_claims}
        in_item = [
            Span("items", item.id, (key, listed[key].index(hit.phrase)), note="forbidden by the item")
            for hit, key in marked[:SHOWN]
        ]
        return (*in_text, *in_item)


def _counted(number: int, noun: str) -> str:
    return f"a {noun}" if number == 1 else f"{number} {noun}s"


@lru_cache(maxsize=64)  # several suites ask of one item, one after the other
def _phrases(forbidden: tuple[str, ...]) -> Phrases:
    return Phrases(forbidden)


def leak(item: Item, text: TextFeatures) -> Leak | None:
    """What of the item's lists the text holds, or None where it holds nothing of them."""
    if not item.forbidden and not item.forbidden_claims:
        return None
    phrases = text.screened.find(_phrases(tuple(item.forbidden))) if item.forbidden else []
    claims = text.screened.asserted(item.forbidden_claims)
    return Leak(tuple(phrases), tuple(claims)) if phrases or claims else None


Path = tuple[str | int, ...]
RESPONSE: Path = ("response",)


def spans_of(hits: Sequence[Hit], item: Item, note: str, path: Path = RESPONSE) -> list[Span]:
    """Where phrases of a list stand in the response; the whole of it where the place is not known."""
    return [Span("responses", item.id, path, hit.start, hit.end, note) for hit in hits[:SHOWN]]


def said(bundle: Bundle, judge: Judge, item: Item, answer: TextFeatures) -> list[tuple[Path, TextFeatures]]:
    """Every text that the target said to an item, with where it stands in the record: the answer, unless it is silence,
    then other turns.

    Screens read them all: what was given away in the middle of a conversation was given away.
    """
    record = (bundle.responses or {}).get(item.id) if item.turns else None
    turns = (record.turn_responses if record is not None else None) or ()
    others = [(("turn_responses", number), text) for number, text in enumerate(turns) if text and text != answer.text]
    answered = [] if answer.silence is not None else [(RESPONSE, answer)]
    return [*answered, *((path, judge.features(text)) for path, text in others)]
