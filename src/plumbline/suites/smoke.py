"""Did the target say anything readable to every item?"""

from fractions import Fraction

from plumbline.evidence.bundle import Bundle
from plumbline.judge.lexical import Judge
from plumbline.suites.base import Outcome, ScoreKind, Status, SuiteResult, conclude, silent_outcome


class Smoke:
    """Every item has a readable recorded response: the target can be tested at all."""

    id = "smoke"
    title = "every item has a readable response"
    default_floor = Fraction(1)
    kind: ScoreKind = "proportion"

    def evaluate(self, bundle: Bundle, judge: Judge, floor: Fraction) -> SuiteResult:
        """Score 1 for each item with a readable response, 0 for silence."""
        outcomes: list[Outcome] = []
        quiet: dict[str, list[str]] = {"silent": [], "unreadable": []}
        for item in bundle.items:
            silence = judge.features(bundle.response_text(item.id)).silence
            if silence is None:
                outcomes.append(Outcome(item.id, Status.PASS, Fraction(1)))
            else:
                outcomes.append(silent_outcome(bundle, item.id, silence))
                quiet[silence].append(item.id)
        total = len(bundle.items)
        return conclude(
            self,
            floor,
            outcomes,
            eligible=total,
            details={
                "items_with_response": total - len(quiet["silent"]) - len(quiet["unreadable"]),
                "items_total": total,
                "silent_items": quiet["silent"],
                "unreadable_items": quiet["unreadable"],
                "readability_rule": "a word must be left once citation markers and punctuation are gone",
            },
        )
