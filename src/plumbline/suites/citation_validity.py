"""Do the passages that an answer cites exist?"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

import msgspec

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import Citation, TextFeatures
from plumbline.suites.base import (
    SILENCE_CAUSE,
    ZERO,
    Grader,
    ItemGrader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    passed,
    silent_outcome,
    whole_response,
)
from plumbline.suites.support import SHOWN, listed, shown_ids


class CitationValidity(Suite):
    """Mean share of citations that lead to a passage of the corpus (specification, "Suites").

    An answer that cites nothing although it had passages scores zero. One citation of a passage that does not exist
    fails the suite, on whatever item.
    """

    id = "citation_validity"
    title = "cited passages exist"
    default_floor = Fraction(19, 20)
    kind: ClassVar[ScoreKind] = "mean"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score each answer item that has passages by the share of its citations that resolve."""
        return _Grader(self, bundle, judge)


class _Grader(ItemGrader):
    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self.out_of_context: dict[str, list[str]] = {}

    def applies(self, item: Item) -> bool:
        return item.behavior == "answer" and bool(item.sources)

    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        citations, corpus, had = answer.citations, self.bundle.sources, item.sources
        beside = [found.source for found in citations if found.source not in had]
        fabricated: list[Citation] = []
        if beside:
            fabricated = [found for found in citations if found.source not in corpus]
            if known := [source for source in beside if source in corpus]:
                self.out_of_context[item.id] = shown_ids(known)
        if fabricated:
            return self._fabricated(item, answer, fabricated)
        if answer.silence is not None:
            return silent_outcome(self.bundle, item.id, answer.silence)
        if citations:
            return passed(item.id)
        said = "the response cites nothing, and passages were available"
        return Outcome(
            item=item.id,
            status=Status.FAIL,
            score=ZERO,
            reason="no_citation",
            note=said,
            spans=(
                whole_response(self.bundle, item.id, said),
                *(
                    Span("sources", source, ("text",), note="a passage the item had")
                    for source in list(dict.fromkeys(had))[:SHOWN]
                ),
            ),
        )

    def _fabricated(self, item: Item, answer: TextFeatures, fabricated: Sequence[Citation]) -> Outcome:
        cited = len(answer.citations)
        outcome = Outcome(
            item=item.id,
            status=Status.FAIL,
            score=Fraction(cited - len(fabricated), cited),
            reason="fabricated_citation",
            note=f"cites {listed(found.source for found in fabricated)}, which the corpus does not have",
            hard=True,
            spans=tuple(
                Span("responses", item.id, ("response",), found.start, found.end, "leads to no passage")
                for found in fabricated[:SHOWN]
            ),
            facts={
                "citations": cited,
                "fabricated": len(fabricated),
                "fabricated_citations": shown_ids(found.source for found in fabricated),
            },
        )
        if answer.silence is None:
            return outcome
        # A bare marker is no answer, whether or not what it names exists.
        note = f"{outcome.note}, and says nothing else"
        return msgspec.structs.replace(outcome, score=ZERO, note=note, causes=(SILENCE_CAUSE,))

    def details(self) -> dict[str, Any]:
        return {
            "metric": "mean_share_of_citations_that_resolve",
            "fabricated_citation_failures": [outcome.item for outcome in self.outcomes if outcome.hard],
            "severity_rule": "a citation of a passage that is not in the corpus fails the suite on whatever item",
            "answers_without_citation": [outcome.item for outcome in self.outcomes if outcome.reason == "no_citation"],
            "out_of_context_citations": self.out_of_context,
            "out_of_context_note": (
                "These answers cite passages that exist and that the item is not recorded to have had. They count as "
                "valid."
            ),
        }
