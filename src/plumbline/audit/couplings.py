"""Which suites do not count as independent findings of this run?

Declared by hand, computed from the run (specification, "Disclosing the couplings"): the items that the failed suites
share through one input are named, so that one fault is not read as several.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from plumbline.suites.base import (
    FORBIDDEN_CAUSE,
    NUMBERS_CAUSE,
    REFUSAL_CAUSE,
    SILENCE_CAUSE,
    UNSUPPORTED_CAUSE,
    Status,
    SuiteResult,
    Verdict,
)


@dataclass(frozen=True, slots=True)
class Declaration:
    """Suites that read the same input."""

    id: str
    suites: tuple[str, ...]
    cause: str | None
    """The cause that outcomes carry when the shared input failed them; None where suites share
    the score itself, and the items are those that all of them scored with the identical number."""
    shared_input: str
    relationship: str


@dataclass(frozen=True, slots=True)
class Coupling:
    """What a declaration means in this run."""

    declaration: Declaration
    enabled: tuple[str, ...]
    failed: tuple[str, ...]
    """Enabled suites of the declaration that failed, and not only through something else; sorted."""
    shared_items: tuple[str, ...]
    """Items that failed in every failed suite (in every enabled one, if fewer than two failed) by this cause; without a
    cause, the items that all enabled suites scored alike. Sorted."""

    @property
    def reading(self) -> str:
        """How a reader should count the failures."""
        if len(self.failed) < 2:
            return "Fewer than two of these suites failed through it, so nothing is counted twice."
        number = len(self.shared_items)
        items = f"{number} item{'' if number == 1 else 's'}"
        if self.declaration.cause is None:
            return (
                f"{', '.join(self.failed)} failed, and scored {items} with the identical "
                "number: a bad answer among these counts in each of them, so they are no independent findings."
                if self.shared_items
                else f"{', '.join(self.failed)} failed, and share no item's score: separate findings."
            )
        if self.shared_items:
            return (
                f"{', '.join(self.failed)} failed on the same {items} through one input, "
                f"{self.declaration.shared_input}: that part is one finding seen {len(self.failed)} times."
            )
        return f"{', '.join(self.failed)} failed on different items: separate findings that read the same input."


DECLARATIONS: tuple[Declaration, ...] = (
    Declaration(
        id="refusal-list",
        suites=("adversarial", "conversational_integrity", "cross_language", "refusal"),
        cause=REFUSAL_CAUSE,
        shared_input="whether a response is read as a refusal",
        relationship="each of these suites goes by the judge's list of phrases that decline",
    ),
    Declaration(
        id="forbidden-list",
        suites=("adversarial", "conversational_integrity", "privacy", "representational_harms"),
        cause=FORBIDDEN_CAUSE,
        shared_input="the items' lists of forbidden strings and claims",
        relationship="each of these suites fails a response that holds what its item forbids",
    ),
    Declaration(
        id="silence",
        suites=(
            "accuracy",
            "adversarial",
            "citation_accuracy",
            "citation_validity",
            "conversational_integrity",
            "multilingual",
            "refusal",
            "smoke",
        ),
        cause=SILENCE_CAUSE,
        shared_input="whether anything readable was recorded",
        relationship="each of these suites scores an item without a readable response zero",
    ),
    Declaration(
        id="stated-numbers",
        suites=("accuracy", "cross_language", "groundedness"),
        cause=NUMBERS_CAUSE,
        shared_input="the numbers that a response states",
        relationship="a wrong number is not the reference's, not the other language's, and often in no passage",
    ),
    Declaration(
        id="passage-support",
        suites=("citation_accuracy", "groundedness"),
        cause=UNSUPPORTED_CAUSE,
        shared_input="whether the passages say what the response says",
        relationship="what stands in no passage of the item does not stand in the cited ones either",
    ),
    Declaration(
        id="per-item-answer-score",
        suites=("accuracy", "fairness"),
        cause=None,
        shared_input="the judge's score of an answer against its reference",
        relationship=(
            "accuracy is the mean of these scores, and fairness compares their means by group, so that worse answers "
            "for one group move both"
        ),
    ),
)


def couplings(results: Sequence[SuiteResult]) -> tuple[Coupling, ...]:
    """The declared couplings with at least two enabled suites, as this run shows them."""
    by_id = {result.suite: result for result in results}
    found = []
    for declaration in DECLARATIONS:
        enabled = [suite for suite in declaration.suites if suite in by_id]
        if len(enabled) < 2:
            continue
        failed = [suite for suite in enabled if by_id[suite].verdict == Verdict.FAIL]
        if declaration.cause is not None:
            # A suite that failed for reasons of its own has nothing to share.
            failed = [suite for suite in failed if _failed_alike([by_id[suite]], declaration.cause)]
        counted = failed if len(failed) > 1 else enabled
        if declaration.cause is None:
            shared = _scored_alike([by_id[suite] for suite in enabled])
        else:
            shared = _failed_alike([by_id[suite] for suite in counted], declaration.cause)
        found.append(Coupling(declaration, tuple(enabled), tuple(failed), tuple(sorted(shared))))
    return tuple(found)


def _failed_alike(results: Sequence[SuiteResult], cause: str) -> set[str]:
    # Both items of a pair count: which of them is wrong, a comparison cannot tell.
    failed = (
        {
            item
            for o in result.outcomes
            if o.causes and cause in o.causes and o.status == Status.FAIL
            for item in o.members or (o.item,)
        }
        for result in results
    )
    return set.intersection(*failed)


def _scored_alike(results: Sequence[SuiteResult]) -> set[str]:
    # Exact scores: two suites that only round to the same figure did not read the same one.
    first, *others = ({o.item: o.score for o in result.scored} for result in results)
    return {item for item, score in first.items() if all(_same(score, other.get(item)) for other in others)}


def _same(one: Fraction | None, other: Fraction | None) -> bool:
    return one is other or one == other  # mostly one object, and comparing fractions is dear
