"""Where an item was asked more than once, did the target stay with its answer?

The first answer is what the suites score. Here every further one is graded by the same suites, item by item, and what
became of it is compared. Asked once, stability was not captured: that is no pass, and nothing here moves a verdict.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import msgspec

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.suites.base import ItemGrader, Status, Suite


@dataclass(frozen=True, slots=True)
class SuiteStability:
    """One suite's items that were asked more than once, by what became of their answers."""

    suite: str
    identical: int
    """Items whose answers are the same to the last character."""
    stable: tuple[str, ...]
    """Items whose answers differ and fare alike under the suite."""
    divergent: tuple[str, ...]
    """Items that pass with one answer and do not with another."""


@dataclass(frozen=True, slots=True)
class Stability:
    """What the further answers of a bundle show."""

    items: int
    """How many items were asked more than once."""
    passes: int
    """The most often that any item was asked."""
    suites: tuple[SuiteStability, ...]
    """Enabled suites that grade an item by its answer alone, in order of their ids."""


def stability(bundle: Bundle, judge: Judge, suites: Sequence[Suite]) -> Stability | None:
    """How stable the answers are, or None where every item was asked once: then it was not captured."""
    answers = {key: record.passes for key, record in (bundle.responses or {}).items() if len(record.passes or ()) > 1}
    if not answers:
        return None
    repeated = [item for item in bundle.items if item.id in answers]
    texts = {item_id: [text or "" for text in passes or ()] for item_id, passes in answers.items()}
    most = max(len(passes) for passes in texts.values())
    fates: dict[str, dict[str, list[Status | None]]] = {}
    for number in range(most):
        asked = [item for item in repeated if number < len(texts[item.id])]
        for suite, outcomes in _graded(bundle, judge, suites, asked, number).items():
            for item in asked:
                fates.setdefault(suite, {}).setdefault(item.id, []).append(outcomes.get(item.id))
    return Stability(
        items=len(repeated),
        passes=most,
        suites=tuple(_compared(suite, by_item, texts) for suite, by_item in sorted(fates.items())),
    )


def _graded(
    bundle: Bundle, judge: Judge, suites: Sequence[Suite], items: Sequence[Item], number: int
) -> dict[str, dict[str, Status]]:
    """Suite to item to what became of the item's answer number `number`."""
    said = {
        key: msgspec.structs.replace(record, response=(record.passes or [])[number], turn_responses=None)
        for key, record in (bundle.responses or {}).items()
        if number < len(record.passes or ())
    }
    view = replace(bundle, responses=said)
    graders = {
        suite.id: grader
        for suite in suites
        if suite.by_answer and isinstance(grader := suite.open(view, judge), ItemGrader)
    }
    for item in items:
        answer = judge.features(view.response_text(item.id))
        for grader in graders.values():
            grader.see(item, answer)
    return {key: {outcome.item: outcome.status for outcome in grader.outcomes} for key, grader in graders.items()}


def _compared(suite: str, by_item: dict[str, list[Status | None]], texts: dict[str, list[str]]) -> SuiteStability:
    identical, stable, divergent = 0, [], []
    for item_id, fate in by_item.items():
        if fate.count(None) == len(fate):
            continue  # the suite does not ask its question of this item
        if len(set(texts[item_id])) == 1:
            identical += 1
        elif len(set(fate)) == 1:
            stable.append(item_id)
        else:
            divergent.append(item_id)
    return SuiteStability(suite, identical, tuple(stable), tuple(divergent))
