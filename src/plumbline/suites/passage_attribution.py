"""Does an answer come from a passage that answers the question, or from another one on the desk?"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, NamedTuple

from plumbline.errors import EmptyPopulationError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import (
    ONE,
    ZERO,
    Grader,
    ItemGrader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    SuiteResult,
    nothing_to_check,
    whole_response,
)
from plumbline.suites.support import cut, shown_ids

MARGIN = Fraction(1, 10)
"""By how much of the answer's words one passage must beat another for the comparison to decide."""


class PassageAttribution(Suite):
    """The share of declared items whose answer is better accounted for by a declared passage than by any other.

    For each item that declares `answering_sources`, the best support of the response by one declared passage is held
    against the best by one of the item's other passages, content words only, passage by passage (specification,
    "Passage attribution"). Less than a tenth apart decides nothing. A load-bearing item that fails fails the suite.
    """

    id = "passage_attribution"
    title = "answers come from the passages that answer"
    default_floor = Fraction(19, 20)
    kind: ClassVar[ScoreKind] = "proportion"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Compare passages for each answer item that has some and declares which of them answer."""
        return _Grader(self, bundle, judge)


class _Best(NamedTuple):
    source: str
    hits: int


_NONE = ("", -1)


class _Grader(ItemGrader):
    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self.declared = 0
        self.declared_without_sources: list[str] = []
        self.not_available: list[str] = []
        self.suggested: dict[str, str] = {}
        self._facts: dict[tuple[int, int, int], Mapping[str, Any]] = {}

    def applies(self, item: Item) -> bool:
        if item.behavior != "answer":
            return False
        if not item.sources and item.answering_sources:
            self.declared_without_sources.append(item.id)
        return bool(item.sources)

    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        declared = item.answering_sources
        if not declared:
            return self._undeclared(item)
        self.declared += 1
        had = set(item.sources)
        if had.isdisjoint(declared):
            self.not_available.append(item.id)
        if answer.silence is not None:
            return nothing_to_check(self.bundle, item.id, answer.silence)
        words = len(answer.content_words)
        if not words:
            # Every passage supports it whole, so a comparison would tell of the passages and not of the answer.
            return nothing_to_check(self.bundle, item.id, "no_claim", "the response asserts nothing")
        if had.issubset(declared):
            said = "every passage the item had is declared to answer it"
            return self._left_out(item, "no_distractor", said, ("sources", 0))
        had.update(declared)
        right, wrong = _sides(self._hits(answer, had), declared)
        if _decides(right.hits - wrong.hits, words):
            return Outcome(item.id, Status.PASS, ONE, facts=self._figures(right, wrong, words))
        return self._not_passed(item, answer, right, wrong, words)

    def _hits(self, claim: TextFeatures, sources: set[str]) -> Iterable[tuple[str, int]]:
        """Passages in order of their ids, each with how many of a text's content words stand in it."""
        ids = sorted(sources)
        passages, features = self.bundle.sources, self.judge.features
        return zip(ids, self.judge.word_hits(claim, [features(passages[source].text) for source in ids]), strict=True)

    def _figures(self, right: _Best, wrong: _Best, words: int) -> Mapping[str, Any]:
        """Both supports and the margin between them, four decimals each; answers supported alike share them."""
        key = right.hits, wrong.hits, words
        if key not in self._facts:
            self._facts[key] = {
                "answering_support": round(right.hits / words, 4),
                "other_support": round(wrong.hits / words, 4),
                "margin": round((right.hits - wrong.hits) / words, 4),
            }
        return self._facts[key]

    def _not_passed(self, item: Item, answer: TextFeatures, right: _Best, wrong: _Best, words: int) -> Outcome:
        facts = {
            **self._figures(right, wrong, words),
            "answering_sources": shown_ids(item.answering_sources or ()),
            "best_answering_source": right.source,
            "best_other_source": wrong.source,
            "cited": shown_ids(found.source for found in answer.citations),
        }
        failed = _decides(wrong.hits - right.hits, words)
        best = f"{cut(right.source)}, the best one declared to answer, {_of(right.hits, words)}"
        said = f"{cut(wrong.source)} holds {_of(wrong.hits, words)}; {best}"
        came_from = "what the answer comes from" if failed else "accounts for the answer as well"
        return Outcome(
            item=item.id,
            status=Status.FAIL if failed else Status.UNVERIFIABLE,
            score=ZERO if failed else None,
            reason="wrong_passage" if failed else "indistinguishable",
            note=said,
            hard=failed and item.load_bearing,
            spans=(
                whole_response(self.bundle, item.id, "what was said"),
                Span("sources", wrong.source, ("text",), note=came_from),
                Span("sources", right.source, ("text",), note="declared to answer the question"),
            ),
            facts=facts,
        )

    def _undeclared(self, item: Item) -> Outcome:
        suggested = self._suggestion(item)
        if suggested is not None:
            self.suggested[item.id] = suggested
        return self._left_out(item, "no_declaration", "the item declares no answering passage", ("prompt",))

    def _suggestion(self, item: Item) -> str | None:
        """The passage of the item that matches the reference answer best, if by the margin. It never scores."""
        had = set(item.sources)
        if len(had) < 2:
            return None
        reference = self.judge.features(item.expected or "")
        words = len(reference.content_words)
        (first, most), (_, next_most), *_ = sorted(self._hits(reference, had), key=lambda found: -found[1])
        return first if words and _decides(most - next_most, words) else None

    def _left_out(self, item: Item, reason: str, said: str, path: tuple[str | int, ...]) -> Outcome:
        # What is missing is missing from the item, not from the response.
        return Outcome(
            item=item.id,
            status=Status.UNVERIFIABLE,
            score=None,
            reason=reason,
            note=said,
            spans=(Span("items", item.id, path, note=said),),
        )

    def close(self, floor: Fraction) -> SuiteResult:
        """The share of scored items that pass.

        Raises:
            EmptyPopulationError: no answer item has passages, none of them declares which answer, or none of those
                that do could be decided.
        """
        remedy = f"Or set enabled = false under [suites.{self.suite.id}] and say why."
        if not self.eligible:
            raise EmptyPopulationError(
                f"suite {self.suite.id}: no answer item has passages at the key 'sources'", remedy=remedy
            )
        if not self.declared:
            raise EmptyPopulationError(
                f"suite {self.suite.id}: none of {self.eligible} items with passages declares at the key "
                "'answering_sources' which of them answer, so there is nothing to hold an answer to",
                remedy=remedy,
            )
        if all(outcome.score is None for outcome in self.outcomes):
            raise EmptyPopulationError(
                f"suite {self.suite.id}: {self.declared} items declare 'answering_sources', and not one could be "
                f"decided ({_counted(self.outcomes)})",
                remedy=remedy,
            )
        return super().close(floor)

    def details(self) -> dict[str, Any]:
        return {
            "metric": "share_of_answers_accounted_for_by_an_answering_passage",
            "decision_margin": float(MARGIN),
            "items_declared": self.declared,
            "misattributed_items": [outcome.item for outcome in self.outcomes if outcome.status == Status.FAIL],
            "answering_passage_not_available": self.not_available,
            "answering_passage_not_available_note": (
                "None of the passages declared to answer these items is among those the item had: look at retrieval "
                "first. They are scored all the same."
            ),
            "declared_without_sources": self.declared_without_sources,
            "declared_without_sources_note": (
                "These items declare answering passages and record none that they had, so nothing can be compared and "
                "they are not eligible."
            ),
            "load_bearing_failures": [outcome.item for outcome in self.outcomes if outcome.hard],
            "severity_rule": (
                "a load-bearing item whose answer another passage accounts for better fails the suite whatever the "
                "pooled score"
            ),
            "suggested_declarations": self.suggested,
            "suggested_declarations_note": (
                "Of these items' passages the one named matches the reference answer best, by the margin or more. A "
                "person has to confirm it; it never scores."
            ),
            "what_this_cannot_determine": (
                "Whether the declaration is right, whether the answer is, anything about items that declare nothing, "
                "and whether an answer made of several passages took the right part of each: only the best single "
                "passage on each side is compared."
            ),
        }


def _sides(found: Iterable[tuple[str, int]], declared: Sequence[str]) -> tuple[_Best, _Best]:
    """The best declared passage and the best other one; of equal ones the one whose id comes first."""
    right = wrong = _NONE
    for source, hits in found:
        if source in declared:
            if hits > right[1]:
                right = source, hits
        elif hits > wrong[1]:
            wrong = source, hits
    return _Best(*right), _Best(*wrong)


def _decides(lead: int, words: int) -> bool:
    return lead * MARGIN.denominator >= words * MARGIN.numerator


def _of(hits: int, words: int) -> str:
    return f"{hits} of {words} words"


def _counted(outcomes: Sequence[Outcome]) -> str:
    counts = Counter(outcome.reason or "" for outcome in outcomes if outcome.reason != "no_declaration")
    return ", ".join(f"{reason}: {count}" for reason, count in sorted(counts.items()))
