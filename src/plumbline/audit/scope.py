"""What did this run not ask, and what can none of its figures show?"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from plumbline.audit.config import Target
from plumbline.evidence.bundle import Bundle
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures, citing_places
from plumbline.suites.registry import IMPLEMENTED


@dataclass(frozen=True, slots=True)
class NotScored:
    """A suite that this version has and this run did not score."""

    suite: str
    status: Literal["absent", "disabled"]
    """`absent`: the configuration does not name it. `disabled`: it switches the suite off."""
    gap: str | None = None
    """What therefore goes unchecked, as far as the configuration says."""
    fix_belongs_in: str | None = None


READ_BY: Mapping[str, tuple[str, ...]] = {
    "fact_id": ("cross_language",),
    "group": ("fairness",),
    "forbidden": ("adversarial", "privacy", "representational_harms"),
    "forbidden_claims": ("adversarial", "privacy", "representational_harms"),
    "sources": ("citation_accuracy", "citation_validity", "groundedness", "passage_attribution"),
    "answering_sources": ("passage_attribution",),
    "adversarial": ("adversarial",),
    "turns": ("conversational_integrity",),
}
"""What an item may declare beyond question and reference, and the suites that hold an answer to it."""


_LISTS = frozenset({"forbidden", "forbidden_claims"})


@dataclass(frozen=True, slots=True)
class Unread:
    """A declaration of the evidence that no suite of this run holds an answer to."""

    key: str
    items: int
    """How many items carry it."""
    read_by: tuple[str, ...]


def unread(target: Target, bundle: Bundle) -> tuple[Unread, ...]:
    """Every declaration that the bundle's items carry and this run does not read, in order of its key."""
    enabled = {entry.suite.id for entry in target.suites}
    found = []
    for key, suites in sorted(READ_BY.items()):
        # Conversations are held to their lists of what must not be said by a suite of their own.
        apart = key in _LISTS and "conversational_integrity" in enabled
        carrying = sum(bool(getattr(item, key)) for item in bundle.items if not (apart and item.turns))
        if carrying and enabled.isdisjoint(suites):
            found.append(Unread(key, carrying, suites))
    return tuple(found)


_WORDS_ONLY = (
    "Token F1 compares words, not meaning: a negation costs one word, and a correct answer in other words scores low."
)
_OPINION = (
    "Answer scores are what a model said of two texts when it was asked. How far that agrees with people is not known "
    "unless somebody calibrated it, and a text that speaks to the model can move it."
)

LIMITS: tuple[str, ...] = (
    "A pass says that these answers met these floors on this evidence. It says nothing about questions that were "
    "not asked, or about what the target answers tomorrow.",
    _WORDS_ONLY,
    "Numbers are compared as written: 850 is not 850.00, number words are not numbers, and a decimal comma is read "
    "as a thousands separator.",
    "The load-bearing rule asks that every number of the reference stands somewhere in the response. It sees no "
    "further number beside the right one, no order, no repeats, no sign and no unit: two amounts that changed places "
    "pass. It cannot fail an item whose reference has no number.",
    "Refusals are found by a list of phrases, also inside longer words and sentences. A refusal in other words reads "
    "as an answer, and an answer that holds such a phrase as a refusal.",
    "Support by passages counts words: they may stand there in any order, negated, or about something else, and a "
    "number counts as supported wherever one of the passages states it, whatever it is the amount of.",
    "Citations are source ids in square brackets in the text of a response; ids returned beside the text are not "
    "read. citation_accuracy does not ask whether a citation was needed, so an answer that cites everything is held "
    "against everything; such answers are named in cites_everything. What cites nothing is scored by "
    "citation_validity alone.",
    "passage_attribution says nothing about items that declare no answering passage, whether a declaration is right, "
    "whether the answer is, or which parts of several passages an answer is made of.",
    "Screens for demeaning wording, personal data and forbidden strings find what their lists and patterns spell. A "
    "claim in other words is not seen; names and numbers without separators are not looked for.",
    "A language is told by its script or by function words. Short answers and numbers alone are undetermined, which "
    "counts as a failure.",
    "Languages are compared by numbers and by whether they refuse, never by wording. Fairness compares means of "
    "declared groups, and equal quality can be equally bad.",
    "The captured page is read as it was saved: no script is run, no style sheet is applied, and contrast is that of "
    "the colours it declares.",
    "Items that share a fact or a declared cluster count as one draw. Items that hang together in ways nobody declared "
    "make the true intervals wider. Resampled intervals of fewer than about 20 items are narrower than they claim; "
    "sample.lower_bound is not resampled.",
    "mde is the rule of three where every item scored the same: an upper bound on failures that were not seen, and no "
    "statement of how often a drop would be noticed. sample.would_notice is that statement.",
)
"""What holds of every run of this version. Printed on every report."""


def limits(judge: Judge) -> list[str]:
    """`LIMITS` as they hold under a judge."""
    return [_OPINION if limit is _WORDS_ONLY and not judge.deterministic else limit for limit in LIMITS]


def not_scored(target: Target) -> tuple[NotScored, ...]:
    """Every implemented suite that `target` does not enable, sorted by id."""
    enabled = {entry.suite.id for entry in target.suites}
    return tuple(
        NotScored(suite, "disabled", target.disabled[suite].gap, target.disabled[suite].fix_belongs_in)
        if suite in target.disabled
        else NotScored(suite, "absent")
        for suite in sorted(IMPLEMENTED)
        if suite not in enabled
    )


def _has_number(reference: str, bundle: Bundle) -> bool:
    return bool(TextFeatures(reference).numbers_outside(citing_places(reference, bundle.sources)))


def warnings(bundle: Bundle) -> Sequence[str]:
    """What a reader should know about the evidence itself; never fatal, never suppressed."""
    return [
        *(
            f"item {item.id} ({item.lang}) is an unreviewed translation of {item.translation.of}"
            for item in bundle.items
            if item.translation is not None and item.translation.review == "unreviewed"
        ),
        *(
            f"item {item.id} is load-bearing, and its reference answer states no number, so nothing fails it outright"
            for item in bundle.items
            if item.load_bearing and item.behavior == "answer" and not _has_number(item.expected or "", bundle)
        ),
        *(
            f"item {key}: the response that most suites grade is not the last of its turn_responses"
            for key, record in (bundle.responses or {}).items()
            if record.turn_responses and record.turn_responses[-1] != record.response
        ),
    ]
