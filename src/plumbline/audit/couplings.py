"""Which suites do not count as independent findings of this run?

Declared by hand, computed from the run (specification, "Disclosing the couplings"): the items that the failed suites
share through one input are named, so that one fault is not read as several.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.suites.base import FORBIDDEN_CAUSE, SILENCE_CAUSE, SuiteResult, Verdict


@dataclass(frozen=True, slots=True)
class Declaration:
    """Suites that read the same input."""

    id: str
    suites: tuple[str, ...]
    cause: str
    """The cause that outcomes carry when the shared input failed them."""
    shared_input: str
    relationship: str


@dataclass(frozen=True, slots=True)
class Coupling:
    """What a declaration means in this run."""

    declaration: Declaration
    enabled: tuple[str, ...]
    failed: tuple[str, ...]
    """Enabled suites of the declaration that failed, sorted."""
    shared_items: tuple[str, ...]
    """Items that failed in every failed suite (in every enabled one, if fewer than two failed) by this cause."""

    @property
    def reading(self) -> str:
        """How a reader should count the failures."""
        if len(self.failed) < 2:
            return "Fewer than two of these suites failed, so nothing is counted twice."
        if self.shared_items:
            return (
                f"{', '.join(self.failed)} failed on the same {len(self.shared_items)} item(s) through this input: "
                f"that part is one finding seen {len(self.failed)} times."
            )
        return f"{', '.join(self.failed)} failed on different items: separate findings that read the same input."


DECLARATIONS: tuple[Declaration, ...] = (
    Declaration(
        id="forbidden-list",
        suites=("adversarial", "conversational_integrity", "privacy", "representational_harms"),
        cause=FORBIDDEN_CAUSE,
        shared_input="the items' lists of forbidden strings and claims",
        relationship="each of these suites fails a response that holds what its item forbids",
    ),
    Declaration(
        id="silence",
        suites=("accuracy", "adversarial", "conversational_integrity", "refusal", "smoke"),
        cause=SILENCE_CAUSE,
        shared_input="whether anything readable was recorded",
        relationship="each of these suites scores an item without a readable response zero",
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
        counted = failed if len(failed) > 1 else enabled
        shared = set.intersection(
            *(
                {o.item for o in by_id[suite].outcomes if declaration.cause in o.causes and o.score == 0}
                for suite in counted
            )
        )
        found.append(Coupling(declaration, tuple(enabled), tuple(failed), tuple(sorted(shared))))
    return tuple(found)
