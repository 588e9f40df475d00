"""Do answers to the same question agree in every language it was asked in?

Wording cannot be compared across languages by a lexical judge. Two things survive translation and are compared: the
set of numbers that two responses state, and whether each of them refused (specification, "Why cross-language agreement
is compared on numbers and behavior").
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from plumbline.errors import ConfigurationError, EmptyPopulationError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import (
    NUMBERS_CAUSE,
    ONE,
    REFUSAL_CAUSE,
    SILENCE_NOTES,
    ZERO,
    Grader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    SuiteResult,
    Unit,
    conclude,
    whole_response,
)

MOST_PAIRS = 1_000_000
"""Pairs that one run compares. A fact asked a thousand times in each of two languages makes as many; more is a mistake
in the items, and would take the gate's memory."""

_SHOWN = 5
_SHOWN_VALUES = 20
_LONGEST = 40


class CrossLanguage(Suite):
    """The share of pairs that agree: same fact, different languages, both sides readable.

    A pair whose numbers differ fails the suite outright where either side is load-bearing. A difference of behaviour
    alone never does. Silence on either side leaves nothing to compare.
    """

    id = "cross_language"
    title = "says the same in every language"
    default_floor = Fraction(1)
    kind: ClassVar[ScoreKind] = "proportion"
    unit: ClassVar[Unit] = "pair"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score 1 for a pair that agrees in numbers and in behaviour, else 0."""
        return _Grader(self, bundle, judge)


class _Side(NamedTuple):
    """What one item contributes to its pairs."""

    item: str
    lang: str
    load_bearing: bool
    numbers: frozenset[str]
    refused: bool
    silence: str | None


class _Grader(Grader):
    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        self.suite = suite
        self.bundle = bundle
        self.judge = judge
        self.facts: dict[str, list[_Side]] = {}
        self.without_fact: list[str] = []

    def see(self, item: Item, answer: TextFeatures) -> None:
        if not item.fact_id:
            self.without_fact.append(item.id)
            return
        side = _Side(
            item.id,
            item.lang,
            item.load_bearing,
            answer.number_values,
            answer.refusal is not None,
            answer.silence,
        )
        self.facts.setdefault(item.fact_id, []).append(side)

    def close(self, floor: Fraction) -> SuiteResult:
        self._refuse_too_many_pairs()
        held_out: list[Outcome] = []
        scored: list[Outcome] = []
        single: list[str] = []
        compared = 0
        for fact, sides in sorted(self.facts.items()):
            before, paired = len(scored), False
            said = MappingProxyType({"fact": fact})
            for left, right in combinations(sorted(sides), 2):
                if left.lang == right.lang:
                    continue
                paired = True
                if left.silence or right.silence:
                    held_out.append(_held_out(self.bundle, fact, left, right))
                elif left.numbers == right.numbers and left.refused == right.refused:
                    scored.append(
                        Outcome(
                            _name(left, right),
                            Status.PASS,
                            ONE,
                            facts=said,
                            members=(left.item, right.item),
                            cluster=fact,
                        )
                    )
                else:
                    scored.append(_disagreement(self.bundle, self.judge, fact, left, right))
            compared += len(scored) > before
            if not paired:
                single.append(fact)
        if not held_out and not scored:
            raise EmptyPopulationError(
                f"suite {self.suite.id}: no two items share a fact_id and differ in lang, so no pair can be compared",
                remedy=f"Give translations one fact_id, or set enabled = false under [suites.{self.suite.id}].",
            )
        outcomes = [*held_out, *scored]
        self._refuse_shared_names(outcomes)
        return conclude(
            self.suite,
            floor,
            outcomes,
            eligible=len(outcomes),
            details={
                "metric": "pairs_that_agree_in_numbers_and_behavior",
                "facts_compared": compared,
                "single_language_facts": single,
                "items_without_fact_id": self.without_fact,
                "load_bearing_failures": [outcome.item for outcome in scored if outcome.hard],
                "severity_rule": (
                    "a pair whose numbers differ fails the suite outright where either of its items is load-bearing; "
                    "a difference of behavior alone does not"
                ),
                "not_compared_note": (
                    "wording is not compared, and neither are facts in one language only or items without a fact_id: "
                    "the suite says nothing about them"
                ),
            },
        )

    def _refuse_shared_names(self, outcomes: Sequence[Outcome]) -> None:
        # Only ids that hold the separator themselves can do this: `a|b` with `c` reads like `a` with `b|c`.
        names = Counter(outcome.item for outcome in outcomes)
        if len(names) != len(outcomes):
            name = min(name for name, number in names.items() if number > 1)
            raise ConfigurationError(
                f"suite {self.suite.id}: two pairs of items are both named {name!r}",
                remedy="Rename the items whose ids hold '|', which separates the two ids of a pair.",
            )

    def _refuse_too_many_pairs(self) -> None:
        pairs = sum(_pairs(sides) for sides in self.facts.values())
        if pairs > MOST_PAIRS:
            fact = max(sorted(self.facts), key=lambda name: _pairs(self.facts[name]))
            raise ConfigurationError(
                f"suite {self.suite.id}: the items make {pairs:,} pairs, more than {MOST_PAIRS:,}; "
                f"the fact {fact!r} alone is asked {len(self.facts[fact]):,} times",
                remedy="Use one fact_id for one question, asked once in each language.",
            )


def _pairs(sides: Sequence[_Side]) -> int:
    alike = Counter(side.lang for side in sides)
    return (len(sides) ** 2 - sum(number**2 for number in alike.values())) // 2


def _name(left: _Side, right: _Side) -> str:
    return f"{left.item}|{right.item}"


def _held_out(bundle: Bundle, fact: str, left: _Side, right: _Side) -> Outcome:
    quiet = [side for side in (left, right) if side.silence is not None]
    reason = min(side.silence for side in quiet if side.silence is not None)
    return Outcome(
        item=_name(left, right),
        status=Status.UNVERIFIABLE,
        score=None,
        reason=reason,
        note=f"nothing to compare: {SILENCE_NOTES[reason]} in {' and in '.join(side.lang for side in quiet)}",
        spans=tuple(whole_response(bundle, side.item, SILENCE_NOTES[side.silence or reason]) for side in quiet),
        facts={"fact": fact, "languages": [left.lang, right.lang]},
        members=(left.item, right.item),
        cluster=fact,
    )


_CAUSES = {"numeric": NUMBERS_CAUSE, "behavior": REFUSAL_CAUSE}


def _disagreement(bundle: Bundle, judge: Judge, fact: str, left: _Side, right: _Side) -> Outcome:
    numeric = left.numbers != right.numbers
    load_bearing = left.load_bearing or right.load_bearing
    kinds = ["numeric"] * numeric + ["behavior"] * (left.refused != right.refused)
    spans: list[Span] = []
    for side, other in ((left, right), (right, left)):
        here = judge.features(bundle.response_text(side.item))
        found = [
            Span("responses", side.item, ("response",), number.start, number.end, f"not in the {other.lang} response")
            for number in here.numbers
            if number.value not in other.numbers
        ][:_SHOWN]
        if side.refused and not other.refused and here.refusal is not None:
            start, end = here.refusal
            found.append(Span("responses", side.item, ("response",), start, end, "reads as a refusal"))
        # Each side has its place, the first item's first: what is shown of a pair is shown of both.
        spans += found or [whole_response(bundle, side.item, f"the {side.lang} response")]
    return Outcome(
        item=_name(left, right),
        status=Status.FAIL,
        score=ZERO,
        reason="numeric_disagreement" if numeric else "behavior_disagreement",
        note=_note(left, right, numeric=numeric),
        hard=numeric and load_bearing,
        spans=tuple(spans),
        causes=tuple(_CAUSES[kind] for kind in kinds),
        facts={
            "fact": fact,
            "languages": [left.lang, right.lang],
            "load_bearing": load_bearing,
            "numbers": {side.lang: _shown(side.numbers) for side in (left, right)},
            "behavior": {side.lang: _behavior(side) for side in (left, right)},
            "disagreements": kinds,
        },
        members=(left.item, right.item),
        cluster=fact,
    )


def _behavior(side: _Side) -> str:
    return "refusal" if side.refused else "answer"


def _note(left: _Side, right: _Side, *, numeric: bool) -> str:
    parts = []
    if numeric:
        only = [(side, side.numbers - other.numbers) for side, other in ((left, right), (right, left))]
        parts.append(", and ".join(f"only {side.lang} states {_listed(values)}" for side, values in only if values))
    if left.refused != right.refused:
        quiet, open_ = (left, right) if left.refused else (right, left)
        parts.append(f"the {quiet.lang} response declines, and the {open_.lang} one answers")
    return "; ".join(parts)


def _listed(values: Iterable[str]) -> str:
    found = sorted(values)
    more = f" and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return ", ".join(map(_cut, found[:_SHOWN])) + more


def _shown(values: Iterable[str]) -> list[str]:
    found = sorted(values)
    more = [f"and {len(found) - _SHOWN_VALUES} more"] if len(found) > _SHOWN_VALUES else []
    return [*map(_cut, found[:_SHOWN_VALUES]), *more]


def _cut(value: str) -> str:
    # A number may be as long as the answer that holds it.
    return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}\N{HORIZONTAL ELLIPSIS}"
