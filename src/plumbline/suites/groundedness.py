"""Is an answer supported by the passages the item had, cited or not?"""

from fractions import Fraction
from typing import Any, ClassVar

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import Grader, Outcome, ScoreKind, Suite, nothing_to_check
from plumbline.suites.support import SupportGrader


class Groundedness(Suite):
    """Mean support of the answers by all passages of their items taken together (specification, "Suites").

    Support is the weaker of two channels, content words and numbers. A load-bearing answer that states a number found
    in none of its passages fails the suite. Silence, and an answer that asserts nothing, cannot be checked.
    """

    id = "groundedness"
    title = "answers are supported by the passages they had"
    default_floor = Fraction(7, 10)
    kind: ClassVar[ScoreKind] = "mean"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score each answer item that has passages by the support of its response."""
        return _Grader(self, bundle, judge)


class _Grader(SupportGrader):
    passages_note = "a passage the item had"

    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self.without_sources: list[str] = []

    def applies(self, item: Item) -> bool:
        if item.behavior != "answer":
            return False
        if not item.sources:
            self.without_sources.append(item.id)
        return bool(item.sources)

    def held_against(self, item: Item, answer: TextFeatures) -> list[str]:  # noqa: ARG002 - whatever was said
        return list(dict.fromkeys(item.sources))

    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        if answer.silence is not None:
            return nothing_to_check(self.bundle, item.id, answer.silence)
        support = self.judge.support(answer, self.texts(item.sources))
        if support.asserts_nothing:
            return nothing_to_check(self.bundle, item.id, "no_claim", "the response asserts nothing")
        if support.unsupported and item.load_bearing:
            return self.unsupported(item, answer, support, "ungrounded_number", hard=True)
        if not support.score:
            return self.unsupported(item, answer, support, "unsupported")
        return self.supported(item, support)

    def details(self) -> dict[str, Any]:
        return {
            "metric": "mean_of_the_weaker_of_content_word_support_and_number_support",
            "load_bearing_failures": [outcome.item for outcome in self.outcomes if outcome.hard],
            "severity_rule": (
                "a load-bearing answer that states a number found in none of its passages fails the suite whatever "
                "the pooled score"
            ),
            "items_without_sources": self.without_sources,
        }
