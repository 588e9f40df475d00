"""Did the target say anything readable to every item?"""

from fractions import Fraction
from typing import Any, ClassVar

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import Grader, ItemGrader, Outcome, ScoreKind, Suite, passed, silent_outcome


class Smoke(Suite):
    """Every item has a readable recorded response: the target can be tested at all."""

    id = "smoke"
    title = "every item has a readable response"
    default_floor = Fraction(1)
    kind: ClassVar[ScoreKind] = "proportion"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score 1 for each item with a readable response, 0 for silence."""
        return _Grader(self, bundle, judge)


class _Grader(ItemGrader):
    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        if answer.silence is not None:
            return silent_outcome(self.bundle, item.id, answer.silence)
        return passed(item.id)

    def details(self) -> dict[str, Any]:
        silent = [outcome.item for outcome in self.outcomes if outcome.reason == "silent"]
        unreadable = [outcome.item for outcome in self.outcomes if outcome.reason == "unreadable"]
        return {
            "items_with_response": self.eligible - len(silent) - len(unreadable),
            "items_total": self.eligible,
            "silent_items": silent,
            "unreadable_items": unreadable,
            "readability_rule": "a word must be left once citation markers and punctuation are gone",
        }
