"""How does a suite that scores answers by the support of passages say what it found?"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import msgspec

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge, Support
from plumbline.judge.text import Number, TextFeatures
from plumbline.suites.base import (
    NUMBERS_CAUSE,
    UNSUPPORTED_CAUSE,
    ItemGrader,
    Outcome,
    Span,
    Status,
    Suite,
    SuiteResult,
    whole_response,
)

SHOWN = 20
"""How many places, ids or numbers of one item are shown: how many there are is the target's choice."""

_WRITTEN = 5
_LONGEST = 80


class SupportGrader(ItemGrader):
    """The grader of suites whose score is the support of an answer by passages: the mean of the weaker channel.

    Args:
        suite: whose question it is.
        bundle: the evidence.
        judge: the instrument.
    """

    passages_note: str
    """What is said at each passage that an answer is held against."""

    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self._facts: dict[Support, Mapping[str, Any]] = {}

    @abstractmethod
    def held_against(self, item: Item, answer: TextFeatures) -> Sequence[str]:
        """Ids of the passages that an answer is held against, each once."""

    def texts(self, sources: Iterable[str]) -> list[TextFeatures]:
        """What the judge reads in passages."""
        passages, features = self.bundle.sources, self.judge.features
        return [features(passages[source].text) for source in sources]

    def supported(self, item: Item, support: Support) -> Outcome:
        """The outcome of an answer that does not fail by itself; answers supported alike share their facts."""
        facts = self._facts.get(support)
        if facts is None:
            facts = rates(support)
            if not support.unsupported:
                self._facts[support] = facts
        return Outcome(item.id, Status.PASS, support.score, facts=facts)

    def unsupported(
        self, item: Item, answer: TextFeatures, support: Support, reason: str, *, hard: bool = False
    ) -> Outcome:
        """The outcome of an answer that fails by itself."""
        sources = list(self.held_against(item, answer))
        return Outcome(
            item=item.id,
            status=Status.FAIL,
            score=support.score,
            reason=reason,
            note=_said_of(answer, support, sources),
            hard=hard,
            spans=self.places(item, support, sources),
            causes=_causes(support),
            facts={**rates(support), "sources": sources[:SHOWN]},
        )

    def places(self, item: Item, support: Support, sources: Sequence[str]) -> tuple[Span, ...]:
        """Where an answer is not supported, and the passages that do not support it."""
        numbers = [
            Span("responses", item.id, ("response",), number.start, number.end, "stated by none of the passages")
            for number in support.unsupported[:SHOWN]
        ]
        return (
            *(numbers or [whole_response(self.bundle, item.id, "what was said")]),
            *(Span("sources", source, ("text",), note=self.passages_note) for source in sources[:SHOWN]),
        )

    def close(self, floor: Fraction) -> SuiteResult:
        """The mean of the scores; where it fails, the items that pull it down are explained."""
        result = super().close(floor)
        if result.score >= floor:
            return result
        # Only now is it known that anybody will look: a passing run makes none of this for its hundred thousand items.
        items = {item.id: item for item in self.bundle.items}
        return replace(
            result,
            outcomes=tuple(
                self._explained(items[outcome.item], outcome) if outcome.reason == "below_floor" else outcome
                for outcome in result.outcomes
            ),
        )

    def _explained(self, item: Item, outcome: Outcome) -> Outcome:
        answer = self.judge.features(self.bundle.response_text(item.id))
        sources = self.held_against(item, answer)
        support = self.judge.support(answer, self.texts(sources))
        return msgspec.structs.replace(
            outcome,
            note=f"{outcome.note}; {_said_of(answer, support, sources)}",
            spans=self.places(item, support, sources),
            causes=_causes(support),
        )


def _causes(support: Support) -> tuple[str, ...]:
    return (UNSUPPORTED_CAUSE, NUMBERS_CAUSE) if support.unsupported else (UNSUPPORTED_CAUSE,)


def rates(support: Support) -> dict[str, Any]:
    """Both channels of a support, four decimals each, and the numbers that nothing supports."""
    found: dict[str, Any] = {
        "token_support": round(float(support.words), 4),
        "number_support": round(float(support.numbers), 4),
    }
    if support.unsupported:
        found["unsupported_numbers"] = shown_ids(number.value for number in support.unsupported)
    return found


def shown_ids(ids: Iterable[str]) -> list[str]:
    """Distinct ids or numbers of a target's text, in order: as many as are shown, none longer than a line."""
    return [cut(name) for name in list(dict.fromkeys(ids))[:SHOWN]]


def cut(name: str) -> str:
    """A name from a target's text, no longer than a line."""
    return name if len(name) <= _LONGEST else name[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def listed(names: Iterable[str]) -> str:
    """The first few of some names, and how many more there are."""
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - _WRITTEN} more" if len(distinct) > _WRITTEN else ""
    return ", ".join(cut(name) for name in distinct[:_WRITTEN]) + more


def _said_of(answer: TextFeatures, support: Support, sources: Sequence[str]) -> str:
    held = f"in {listed(sources)}" if sources else "in any passage"
    if support.unsupported:
        return f"the response states {_as_written(answer, support.unsupported)}, which does not stand {held}"
    return f"{float(support.words):.0%} of the words that carry the answer stand {held}"


def _as_written(answer: TextFeatures, numbers: Sequence[Number]) -> str:
    # Shown as it is written: who reads "states 250" where the answer says 2,50 looks for the wrong thing.
    return listed(answer.text[number.start : number.end] for number in numbers)
