"""Is an answer supported by the passages it cites, and not only by those it had?"""

from fractions import Fraction
from typing import Any, ClassVar

import msgspec

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge, Support
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import (
    ZERO,
    Grader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    nothing_to_check,
    silent_outcome,
    whole_response,
)
from plumbline.suites.support import SHOWN, SupportGrader, shown_ids


class CitationAccuracy(Suite):
    """Mean support of the answers by the passages that they cite and that exist (specification, "Suites").

    Silence scores zero, and so does an answer that cites a passage and asserts nothing. A readable answer that cites
    no passage of the corpus cannot be checked here: `citation_validity` scores it zero.
    """

    id = "citation_accuracy"
    title = "answers are supported by the passages they cite"
    default_floor = Fraction(4, 5)
    kind: ClassVar[ScoreKind] = "mean"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score each answer item that has passages by the support of its response by the cited ones."""
        return _Grader(self, bundle, judge)


class _Grader(SupportGrader):
    passages_note = "a passage the answer cites"

    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self.unrelated: dict[str, list[str]] = {}
        self.cites_everything: list[str] = []

    def applies(self, item: Item) -> bool:
        return item.behavior == "answer" and bool(item.sources)

    def held_against(self, item: Item, answer: TextFeatures) -> list[str]:  # noqa: ARG002 - whatever the item had
        corpus = self.bundle.sources
        return list(dict.fromkeys([found.source for found in answer.citations if found.source in corpus]))

    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        if answer.silence is not None:
            return silent_outcome(self.bundle, item.id, answer.silence)
        cited = self.held_against(item, answer)
        if not cited:
            said = "the response cites no passage of the corpus"
            return nothing_to_check(self.bundle, item.id, "no_resolvable_citation", said)
        texts = self.texts(cited)
        support = self.judge.support(answer, texts)
        unrelated = _unrelated(answer, cited, texts, support)
        if unrelated:
            self.unrelated[item.id] = shown_ids(unrelated)
        if support.asserts_nothing:
            return self._asserts_nothing(item, cited)
        if len(cited) > 1 and self._needs_one_of_all(item, answer, cited, support):
            self.cites_everything.append(item.id)
        if support.score:
            return self.supported(item, support)
        outcome = self.unsupported(item, answer, support, "unsupported")
        if not unrelated:
            return outcome
        beside = set(unrelated)
        markers = [
            Span("responses", item.id, ("response",), found.start, found.end, "cites a passage about something else")
            for found in answer.citations
            if found.source in beside
        ]
        return msgspec.structs.replace(
            outcome,
            spans=(*outcome.spans, *markers[:SHOWN]),
            facts={**outcome.facts, "unrelated_citations": self.unrelated[item.id]},
        )

    def _needs_one_of_all(self, item: Item, answer: TextFeatures, cited: list[str], support: Support) -> bool:
        """Whether every passage of the item is cited, and one of them says as much of the answer as all cited ones."""
        had = list(dict.fromkeys(item.sources))
        if len(had) < 2 or not set(had).issubset(cited):
            return False
        return max(self.judge.word_hits(answer, self.texts(had))) == support.words * len(answer.content_words)

    def _asserts_nothing(self, item: Item, cited: list[str]) -> Outcome:
        said = "the response cites a passage and asserts nothing"
        return Outcome(
            item=item.id,
            status=Status.FAIL,
            score=ZERO,
            reason="no_claim",
            note=said,
            spans=(whole_response(self.bundle, item.id, said),),
            facts={"token_support": 0.0, "number_support": 0.0, "asserts_nothing": True, "sources": cited[:SHOWN]},
        )

    def details(self) -> dict[str, Any]:
        return {
            "metric": "mean_of_the_weaker_of_content_word_support_and_number_support",
            "scope_note": (
                "Answers are held against the passages they cite and the corpus has. An answer that cites none of "
                "those is listed and not scored here; citation_validity scores it zero. Silence scores zero."
            ),
            "answers_citing_nothing_resolvable": [
                outcome.item for outcome in self.outcomes if outcome.reason == "no_resolvable_citation"
            ],
            "unrelated_citations": self.unrelated,
            "cites_everything": self.cites_everything,
            "cites_everything_note": (
                "These answers cite every passage they had, two or more, and one of those passages states as much of "
                "the answer's words as all that is cited. Citing everything is never scored down: an honest answer may "
                "need all of it."
            ),
        }


def _unrelated(answer: TextFeatures, cited: list[str], texts: list[TextFeatures], support: Support) -> list[str]:
    """The cited passages that share no content word with the answer."""
    if len(cited) == 1:
        return cited if not support.words or support.asserts_nothing else []
    said = answer.content_set
    return [source for source, text in zip(cited, texts, strict=True) if said.isdisjoint(text.word_set)]
