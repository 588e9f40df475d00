"""Does an answer say what the reference answer says?"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from types import MappingProxyType
from typing import Any, ClassVar

import msgspec

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import Number, TextFeatures, citing_places
from plumbline.suites.base import (
    NO_FACTS,
    NUMBERS_CAUSE,
    Grader,
    ItemGrader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    SuiteResult,
    silent_outcome,
    whole_response,
)

_SHOWN_SPANS = 5


class Accuracy(Suite):
    """Mean token F1 over answer items, with the load-bearing rule.

    A load-bearing item passes only if every number of its reference answer stands in the response, outside citation
    markers and whatever else names a passage: a source id that holds the right digits is not an answer. One failure
    fails the suite.
    """

    id = "accuracy"
    title = "answers match their references"
    default_floor = Fraction(3, 4)
    kind: ClassVar[ScoreKind] = "mean"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score each answer item by the judge's answer score."""
        return _Grader(self, bundle, judge)


_LOAD_BEARING: Mapping[str, Any] = MappingProxyType({"load_bearing": True})


class _Grader(ItemGrader):
    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self.load_bearing = 0

    def applies(self, item: Item) -> bool:
        return item.behavior == "answer"

    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        self.load_bearing += item.load_bearing
        return _grade(self.bundle, self.judge, item, answer)

    def close(self, floor: Fraction) -> SuiteResult:
        """The mean of the scores; where it fails, the items that pull it down are shown."""
        result = super().close(floor)
        if result.score >= floor:
            return result
        return replace(
            result,
            outcomes=tuple(
                msgspec.structs.replace(outcome, spans=_both(self.bundle, outcome.item))
                if outcome.reason == "below_floor"
                else outcome
                for outcome in result.outcomes
            ),
        )

    def details(self) -> dict[str, Any]:
        return {
            "metric": f"{self.judge.answer_metric}_pooled_mean",
            "load_bearing_items": self.load_bearing,
            "load_bearing_failures": [outcome.item for outcome in self.outcomes if outcome.hard],
            "load_bearing_rule": (
                "every number of the reference answer must stand in the response, outside citation markers and "
                "outside whatever else names a passage of the corpus"
            ),
        }


def _grade(bundle: Bundle, judge: Judge, item: Item, answer: TextFeatures) -> Outcome:
    facts = _LOAD_BEARING if item.load_bearing else NO_FACTS
    missing: list[str] = []
    if item.load_bearing:
        missing = _missing(judge, bundle, item, answer)
        if missing:
            facts = {**facts, "missing_numbers": missing}
    if answer.silence is not None:
        quiet = silent_outcome(bundle, item.id, answer.silence, **facts)
        wanted_here = Span("items", item.id, ("expected",), note="what the reference answer says")
        return msgspec.structs.replace(quiet, hard=bool(missing), spans=(*quiet.spans, wanted_here))
    score = judge.answer_score(item.expected or "", answer.text)
    if missing:
        return _wrong_number(bundle, judge, item, score=score, missing=missing, facts=facts)
    if score == 0:
        by_words = judge.deterministic
        return Outcome(
            item=item.id,
            status=Status.FAIL,
            score=score,
            reason="no_overlap" if by_words else "judged_zero",
            note="the answer shares no word with the reference" if by_words else "the model that judges scored it 0",
            spans=_both(bundle, item.id),
            facts=facts,
        )
    return Outcome(item.id, Status.PASS, score, facts=facts)


def _both(bundle: Bundle, item_id: str) -> tuple[Span, ...]:
    return (
        whole_response(bundle, item_id, "what was said"),
        Span("items", item_id, ("expected",), note="what the reference answer says"),
    )


def _missing(judge: Judge, bundle: Bundle, item: Item, answer: TextFeatures) -> list[str]:
    """The numbers of the reference that the response does not state, in order, each once.

    A marker that the reference has too, and the corpus does not, is part of the answer: `form [I-130]`. It states the
    numbers that the reference has in markers only: `900, form [I-850]` is no answer to `850, form [I-850]`.
    """
    reference = judge.features(item.expected or "")
    # Mostly the reference has no bracket, and the response none but citation markers: then nothing else is set aside.
    plain = "[" not in reference.text and answer.text.count("[") == len(answer.citations)
    if plain and reference.stated_values <= answer.number_values and not _MAYBE_NAMES.search(answer.claim):
        return []
    wanted = dict.fromkeys(number.value for number in _reference_numbers(judge, bundle, item))
    stated = {number.value for number in _stated_numbers(judge, bundle, item)}
    if reference.citations and not stated.issuperset(wanted):
        named = frozenset(citation.source for citation in reference.citations)
        prose = {number.value for number in reference.numbers_outside(_cited(bundle, reference))}
        marked = {number.value for number in _stated_numbers(judge, bundle, item, besides=named)}
        stated |= marked - prose
    return [value for value in wanted if value not in stated]


def _reference_numbers(judge: Judge, bundle: Bundle, item: Item) -> tuple[Number, ...]:
    """The numbers of a reference answer. Only brackets that name passages of the corpus are book-keeping in it."""
    features = judge.features(item.expected or "")
    return features.numbers_outside(citing_places(features.text, bundle.sources))


_BARE_ID = re.compile(r"(?<![A-Za-z0-9._:-])[A-Za-z][A-Za-z0-9._:-]*")


_MAYBE_NAMES = re.compile("(?<![A-Za-z0-9._:-])[A-Za-z][A-Za-z._:-]*+[0-9]|[\u3010\uff3b]")
"""Where no word that begins with a letter holds a digit, no bare id states a number."""


def _stated_numbers(
    judge: Judge, bundle: Bundle, item: Item, besides: frozenset[str] = frozenset()
) -> tuple[Number, ...]:
    """The numbers a response states: outside citation markers, and outside whatever else names a passage.

    Passages are named in brackets of any form, or by an id that begins with a letter, wherever it stands. Markers of
    `besides` name none, unless the corpus has them; nor does a bare id that stands bare in the reference too.
    """
    features, reference = judge.features(bundle.response_text(item.id)), judge.features(item.expected or "")
    places = citing_places(features.text, bundle.sources)
    places += [(found.start, found.end) for found in features.citations if found.source not in besides]
    named = set(besides)
    named.update(found.group().rstrip("._:-") for found in _BARE_ID.finditer(_uncited(bundle, reference)))
    for found in _BARE_ID.finditer(features.text):
        bare = found.group().rstrip("._:-")
        if bare in bundle.sources and bare not in named:
            places.append(found.span())
    return features.numbers_outside(_apart(places))


def _cited(bundle: Bundle, features: TextFeatures) -> list[tuple[int, int]]:
    """Where a text has citation markers, or brackets that name passages."""
    markers = [(citation.start, citation.end) for citation in features.citations]
    return _apart([*citing_places(features.text, bundle.sources), *markers])


def _uncited(bundle: Bundle, features: TextFeatures) -> str:
    pieces, position = [], 0
    for start, end in _cited(bundle, features):
        pieces.append(features.text[position:start])
        position = end
    return " ".join([*pieces, features.text[position:]])


def _apart(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Places in order, those that overlap as one."""
    apart: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if apart and start < apart[-1][1]:
            apart[-1] = apart[-1][0], max(end, apart[-1][1])
        else:
            apart.append((start, end))
    return apart


def _written(features: TextFeatures, numbers: Sequence[Number]) -> str:
    forms = list(dict.fromkeys(features.text[number.start : number.end] for number in numbers))
    more = f" and {len(forms) - _SHOWN_SPANS} more" if len(forms) > _SHOWN_SPANS else ""
    return ", ".join(forms[:_SHOWN_SPANS]) + more


def _in_passages(judge: Judge, bundle: Bundle, item: Item, missing: Sequence[str]) -> list[Span]:
    """Where the passages that the item declares state a missing number."""
    return [
        Span("sources", source_id, ("text",), number.start, number.end, "stated by this passage")
        for source_id in item.answering_sources or item.sources
        for number in judge.features(bundle.sources[source_id].text).numbers
        if number.value in missing
    ]


def _wrong_number(
    bundle: Bundle, judge: Judge, item: Item, *, score: Fraction, missing: list[str], facts: Mapping[str, Any]
) -> Outcome:
    reference, answer = judge.features(item.expected or ""), judge.features(bundle.response_text(item.id))
    expected = _reference_numbers(judge, bundle, item)
    known = {number.value for number in expected}
    # A number that the reference does not have is what stands in the place of the missing one.
    strangers = [number for number in _stated_numbers(judge, bundle, item) if number.value not in known]
    # Shown as they are written: who reads "states 250" where the answer says 2,50 looks for the wrong thing.
    lost = [number for number in expected if number.value in missing]
    note = f"the reference answer states {_written(reference, lost)}; the response " + (
        f"states {_written(answer, strangers)} instead" if strangers else "does not"
    )
    spans = [
        Span("responses", item.id, ("response",), number.start, number.end, "not in the reference")
        for number in strangers[:_SHOWN_SPANS]
    ] or [whole_response(bundle, item.id, "the number is missing here")]
    spans += [
        Span("items", item.id, ("expected",), number.start, number.end, "stated by the reference")
        for number in lost[:_SHOWN_SPANS]
    ]
    spans += _in_passages(judge, bundle, item, missing)[:_SHOWN_SPANS]
    return Outcome(
        item=item.id,
        status=Status.FAIL,
        score=score,
        reason="missing_number",
        note=note,
        hard=True,
        spans=tuple(spans),
        causes=(NUMBERS_CAUSE,),
        facts=facts,
    )
