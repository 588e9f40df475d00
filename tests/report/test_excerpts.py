"""The excerpts of a report show the fault, and know where in them it is."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.report.build import _excerpt
from plumbline.report.sinks import visible
from plumbline.suites.base import Span


def span(start: int | None, end: int | None) -> Span:
    return Span("responses", "a", ("response",), start, end)


def test_a_fault_deep_in_a_long_text_is_shown():
    text = "word " * 500 + "800" + " word" * 500
    shown, (start, end) = _excerpt(text, span(2500, 2503))
    assert shown is not None
    assert shown[start:end] == "800"
    assert shown.startswith("… ")
    assert len(shown) <= 202


def test_no_mark_hides_as_little_as_it_is_long():
    text = "La " + "x" * 59 + "2.25"
    assert _excerpt(text, span(62, 66)) == (text, [62, 66])
    shown, _ = _excerpt("More " + text, span(67, 71))
    assert shown is not None
    assert shown.startswith("… xx")


def test_no_two_blanks_follow_the_mark():
    shown, at = _excerpt("a word " + " " + "x" * 59 + "2.25", span(67, 71))
    assert shown is not None
    assert shown.startswith("… x")
    assert shown[slice(*at)] == "2.25"


@pytest.mark.parametrize("place", [None, span(None, None), span(3, 3)])
def test_without_a_part_the_whole_is_meant(place):
    assert _excerpt("some text", place) == ("some text", [])


def test_nothing_said_is_no_excerpt():
    assert _excerpt(" \n", span(0, 1)) == (None, [])


def test_a_fault_longer_than_the_excerpt_is_not_marked():
    shown, at = _excerpt("x" * 1000, span(0, 1000))
    assert at == []
    assert shown is not None


@settings(deadline=None)
@given(st.text(min_size=1, max_size=400).filter(str.strip), st.integers(0, 400), st.integers(0, 400))
def test_a_mark_marks_the_span(text, first, second):
    start, end = sorted((min(first, len(text)), min(second, len(text))))
    shown, at = _excerpt(text, span(start, end))
    assert shown is not None
    if at:
        assert shown[at[0] : at[1]] == visible(text[start:end])
    else:
        assert start == end or len(visible(text[max(0, start - 60) : end])) > 150
