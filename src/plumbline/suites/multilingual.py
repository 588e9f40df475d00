"""Is every answer in the language of its question?"""

from fractions import Fraction
from typing import Any, ClassVar

from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import (
    ZERO,
    Grader,
    ItemGrader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    passed,
    silent_outcome,
    whole_response,
)

_NAMED = 5


class Multilingual(Suite):
    """The share of items answered in the language they were asked in, refusals included.

    The language found is compared with the item's `lang` as strings: `en-US` is not `en`. An answer that the profiles
    cannot place fails, since unreadable evidence is not evidence of the right language; so does silence.
    """

    id = "multilingual"
    title = "answers in the language of the question"
    default_floor = Fraction(19, 20)
    kind: ClassVar[ScoreKind] = "proportion"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:
        """Score 1 where the language found is the item's, else 0.

        Raises:
            ConfigurationError: an item is in a language that the judge has no profile of.
        """
        unknown: dict[str, list[str]] = {}
        for item in bundle.items:
            if item.lang not in judge.profiles:
                unknown.setdefault(item.lang, []).append(item.id)
        if unknown:
            tag, items = min(unknown.items())
            more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
            others = f" Neither for {', '.join(map(repr, sorted(unknown)[1:]))}." if len(unknown) > 1 else ""
            raise ConfigurationError(
                f"suite {self.id}: the judge has no profile of the language {tag!r}, so no answer could be in it: "
                f"items {', '.join(items[:_NAMED])}{more}. It has {', '.join(sorted(judge.profiles))}.{others}",
                remedy=f"Declare words or a script under [judge.languages.{_key(tag)}] in the target configuration.",
            )
        return _Grader(self, bundle, judge)


def _key(tag: str) -> str:
    plain = all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in tag)
    return tag if plain else f'"{tag}"'


class _Grader(ItemGrader):
    def __init__(self, suite: Suite, bundle: Bundle, judge: Judge) -> None:
        super().__init__(suite, bundle, judge)
        self.languages: set[str] = set()
        self.unreviewed: list[str] = []

    def grade(self, item: Item, answer: TextFeatures) -> Outcome:
        self.languages.add(item.lang)
        if item.translation is not None and item.translation.review == "unreviewed":
            self.unreviewed.append(item.id)
        if answer.silence is not None:
            return silent_outcome(self.bundle, item.id, answer.silence, asked_in=item.lang, answered_in="undetermined")
        found = answer.language
        if found == item.lang:
            return passed(item.id)
        if found is None:
            reason = "undetermined_language"
            note = (
                f"asked in {item.lang}, answered in no language that can be told "
                f"([judge.languages.{item.lang}] may say by which words)"
            )
        else:
            reason, note = "other_language", f"asked in {item.lang}, answered in {found}"
        return Outcome(
            item=item.id,
            status=Status.FAIL,
            score=ZERO,
            reason=reason,
            note=note,
            spans=(
                whole_response(self.bundle, item.id, f"reads as {found or 'no known language'}"),
                Span("items", item.id, ("lang",), note="the language of the question"),
            ),
            facts={"asked_in": item.lang, "answered_in": found or "undetermined"},
        )

    def details(self) -> dict[str, Any]:
        by_reason: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            if outcome.reason is not None:
                by_reason.setdefault(outcome.reason, []).append(outcome.item)
        return {
            "metric": "share_of_items_answered_in_their_language",
            "language_mismatches": by_reason.get("other_language", []),
            "undetermined_language": by_reason.get("undetermined_language", []),
            "silent": [*by_reason.get("silent", []), *by_reason.get("unreadable", [])],
            "languages_in_bundle": sorted(self.languages),
            "unreviewed_translations": self.unreviewed,
            "unreviewed_note": (
                "nobody who knows the subject has looked at these translations; the suite tells in which language an "
                "answer is, and not whether question or reference are good in it"
            ),
        }
