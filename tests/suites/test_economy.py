"""Do the suites do no more than they must, and say the same as if they did?"""

import sys
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from plumbline.judge.lexical import LexicalJudge
from plumbline.statistics.scale import SCALE, scaled
from plumbline.suites.accuracy import Accuracy, _cited, _missing, _reference_numbers, _stated_numbers
from plumbline.suites.base import ONE, Status, exact_mean, passed
from tests.bundles import bundle, item

_SCORES = st.lists(st.fractions(0, 1, max_denominator=30), min_size=1, max_size=30)


@given(_SCORES, _SCORES)
def test_equal_scores_count_alike_whether_or_not_they_are_one_object(
    some: list[Fraction], more: list[Fraction]
) -> None:
    scores = [*some, *more, *some, ONE, Fraction(1)]
    assert exact_mean(scores) == sum(scores, Fraction(0)) / len(scores)
    assert scaled(scores) == [round(score * SCALE) for score in scores]


def test_suites_share_the_outcome_of_an_item_that_passed() -> None:
    first = passed("a")
    assert passed("a") is first
    assert passed("b").item == "b"
    assert (first.item, first.status, first.score) == ("a", Status.PASS, ONE)


_SOURCES = [{"id": "s1", "text": "x"}, {"id": "850", "text": "y"}]
_PIECES = st.lists(
    st.sampled_from(["850", "1,2", " [s1]", " [850]", " [9-form]", "]", "[", " s1, ", " 12."]), max_size=6
)


@given(_PIECES.map("".join), _PIECES.map("".join))
def test_missing_numbers_are_those_of_the_rule(reference: str, answer: str) -> None:
    judge = LexicalJudge()
    loaded = bundle([item("a", expected=f"x {reference}", load_bearing=True)], {"a": answer}, sources=_SOURCES)
    asked = loaded.items[0]
    stated = {number.value for number in _stated_numbers(judge, loaded, asked)}
    wanted = dict.fromkeys(number.value for number in _reference_numbers(judge, loaded, asked))
    of_reference = judge.features(asked.expected or "")
    named = frozenset(citation.source for citation in of_reference.citations)
    own = {number.value for number in _stated_numbers(judge, loaded, asked, besides=named)}
    stated |= own - {number.value for number in of_reference.numbers_outside(_cited(loaded, of_reference))}
    found = _missing(judge, loaded, asked, judge.features(answer))
    assert found == [value for value in wanted if value not in stated]


def _steps(markers: int) -> int:
    judge = LexicalJudge()
    answer = "[s1] [zz]" * markers
    loaded = bundle([item("a", load_bearing=True)], {"a": answer}, sources=_SOURCES)
    steps = 0

    def count(*_: object) -> None:
        nonlocal steps
        steps += 1

    former = sys.getprofile()
    sys.setprofile(count)
    try:
        Accuracy().evaluate(loaded, judge, Fraction(0))
    finally:
        sys.setprofile(former)
    return steps


def test_many_markers_take_steps_in_proportion() -> None:
    assert _steps(400) < 6 * _steps(100)


def test_places_are_made_where_the_mean_fails() -> None:
    judge = LexicalJudge()
    loaded = bundle([item("a"), item("b")], {"a": "It costs money.", "b": "It costs 850 dollars."})
    (low, *_), (high, *_) = (Accuracy().evaluate(loaded, judge, Fraction(f)).outcomes for f in (1, 0))
    assert (low.reason, [span.path for span in low.spans]) == ("below_floor", [("response",), ("expected",)])
    assert (high.status, high.spans) == (Status.PASS, ())
