from __future__ import annotations

import hashlib
import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.lexicon import REFUSAL_MARKERS
from plumbline.judge.text import KEPT, TextFeatures, citing_places, tokens
from plumbline.judge.unicode import by_unicode_14, lowered


def reference_tokens(text: str) -> list[str]:
    """The rule as the specification words it: lower case, punctuation to a blank, collapse, trim."""
    text = by_unicode_14(text)
    return re.sub(r"\s+", " ", re.sub(r"[^\w\s]", " ", lowered(text))).strip().split(" ") if text else [""]


@given(st.text())
def test_tokens_follow_the_rule_for_any_text(text):
    assert list(tokens(text)) == [token for token in reference_tokens(text) if token]


@given(st.text(alphabet=st.characters(max_codepoint=127)))
def test_the_ascii_path_gives_what_the_general_path_gives(text):
    assert list(tokens(text)) == re.findall(r"\w+", text.lower())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("don't", ("don", "t")),
        ("don\u2019t", ("don", "t")),
        ("1,500", ("1", "500")),
        ("well-known", ("well", "known")),
        ("ma\u0301s", ("ma", "s")),
        ("snake_case", ("snake_case",)),
        ("STRASSE Straße", ("strasse", "straße")),
    ],
)
def test_normalisation_consequences(text, expected):
    assert tokens(text) == expected


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("It is $1,500.00 a month.", ["1500.00"]),
        ("850.", ["850"]),
        ("850...", ["850"]),
        ("15th of 2026-01-02", ["15", "2026", "01", "02"]),
        ("8,5", ["85"]),
        ("05 and 5", ["05", "5"]),
        ("٨٥٠", ["٨٥٠"]),
        ("none", []),
        ("900 [src-850]", ["900"]),
        ("85[src-a]0", ["85", "0"]),
        ("1.,2.,", ["1.2"]),
        ("[850] is no citation", ["850"]),
    ],
)
def test_number_forms(text, values):
    features = TextFeatures(text)
    assert [number.value for number in features.numbers] == values
    for number in features.numbers:
        assert text[number.start : number.end].replace(",", "") == number.value


@given(st.text())
def test_number_spans_hold_their_values(text):
    for number in TextFeatures(text).numbers:
        assert text[number.start : number.end].replace(",", "").rstrip(".") == number.value


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("It is so [src-a].", ["src-a"]),
        ("[a.b:c_d-1][a]", ["a.b:c_d-1", "a"]),
        ("[1a] [a b] [a, b] [ä] []", []),
    ],
)
def test_citation_markers(text, sources):
    assert [citation.source for citation in TextFeatures(text).citations] == sources


@pytest.mark.parametrize(
    ("text", "silence"),
    [
        ("", "silent"),
        (" \n\t", "silent"),
        (".", "unreadable"),
        ("...", "unreadable"),
        ("\U0001f642", "unreadable"),
        ("\u200b", "unreadable"),
        ("[src-rent-cap]", "unreadable"),
        ("the and of to", None),
        ("850", None),
    ],
)
def test_silence(text, silence):
    assert TextFeatures(text).silence == silence


@pytest.mark.parametrize("marker", REFUSAL_MARKERS)
def test_every_marker_is_found_in_any_case(marker):
    features = TextFeatures(f"Sorry, {marker.upper()} you.")
    assert features.refusal == (7, 7 + len(marker))


def test_no_marker_no_refusal():
    assert TextFeatures("I'm sorry to hear that. The fare is 2.").refusal is None


def test_a_text_that_changes_length_in_lower_case_is_marked_whole():
    text = "\u0130 I cannot help"  # lower-casing this letter yields two code points
    assert TextFeatures(text).refusal == (0, len(text))


@pytest.mark.parametrize("extra", ["\u0ece", "\u0897", "\u0301", ".", ""])
def test_lower_case_looks_at_one_letter_at_a_time(extra):
    # Python ends a word with a final sigma, and what ends a word depends on the Unicode tables of the interpreter.
    assert tokens(f"\u039f\u03a3{extra}\u0391")[0].startswith("\u03bf\u03c3")
    assert tokens("\u039f\u0394\u039f\u03a3") == tokens("\u03bf\u03b4\u03bf\u03c2") == ("\u03bf\u03b4\u03bf\u03c3",)


def test_a_long_text_gives_the_same_features_and_keeps_none():
    text = "It costs 850 dollars [src-1]. " * (KEPT // 20)
    features = TextFeatures(text)
    assert len(text) > KEPT
    assert (len(features.words), {number.value for number in features.numbers}, features.silence) == (
        len(tokens(text)),
        {"850"},
        None,
    )
    assert features.words is not features.words
    short = TextFeatures("It costs 850 dollars.")
    assert short.words is short.words


@given(st.text(alphabet="[]sx,1 ", max_size=40))
def test_places_that_cite_stand_in_order_and_apart(text):
    places = citing_places(text, {"s"})
    assert all(text[start] == "[" and text[end - 1] == "]" and "s" in text[start:end] for start, end in places)
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(places))


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("a [850.] b", ["[850.]"]),
        ("[.850:]", ["[.850:]"]),
        ("[fares/850] [850/fares]", ["[fares/850]", "[850/fares]"]),
        ("[x][850]", ["[850]"]),
        ("[850][x]", ["[850]"]),
        ("[850] [850]", ["[850]", "[850]"]),
        ("[8501] [1850] [85] [x850]", []),
        ("[850", []),
        ("850] [x]", []),
        ("[a [850] b]", ["[a [850] b]"]),
        ("[a [850] [850] b]", ["[a [850] [850] b]"]),
        ("[850] [a [850]]", ["[850]", "[a [850]]"]),
        ("[a [b [850] [c]] d] e", ["[a [b [850] [c]] d]"]),
        ("[850 [b]", []),
    ],
)
def test_the_outermost_brackets_that_name_a_passage(text, places):
    assert [text[start:end] for start, end in citing_places(text, {"850"})] == places


def test_features_are_shared_between_equal_texts():
    judge = LexicalJudge()
    assert judge.features("same") is judge.features("same")


def test_every_interpreter_reads_the_same_words():
    # What Python 3.11 with Unicode 14.0 makes of every code point. An interpreter with newer tables must agree; if it
    # does not, its new letters belong into plumbline.judge.unicode.
    digest = hashlib.sha256()
    for start in range(0, 0x110000, 0x100):
        plane = " ".join(map(chr, range(start, start + 0x100)))
        numbers = [number.value for number in TextFeatures(plane).numbers]
        digest.update(ascii((tokens(plane), numbers)).encode())
    assert digest.hexdigest() == "c6350bd9a5d4415c6076751729c7cf7fbe7091d2c5054230dd7917ee40a50ce7"
