from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.judge import screens
from plumbline.judge.lexicon import DENIAL_MARKERS, NO_DENIALS
from plumbline.judge.screens import Phrases, Screened, fold, personal_data

CLAIM = "the fee is 900"


def asserted(text, claim=CLAIM):
    return [hit.phrase for hit in Screened(text).asserted([claim])]


@pytest.mark.parametrize(
    "text",
    [
        "It is not true that the fee is 900.",
        "It isn't true that the fee is 900.",
        "It isn\u2019t true that the fee is 900.",
        "Nobody ever said, and it was never so, that the fee is 900",
        "No es correcto; ya no vale que the fee is 900",
        "THE CLAIM IS FALSE THAT THE FEE IS 900",
    ],
)
def test_a_denial_in_the_same_clause_excuses_a_claim(text):
    assert not asserted(text)


@pytest.mark.parametrize(
    "text",
    [
        "The fee is 900.",
        "It is not true. The fee is 900.",
        "Is it not so? The fee is 900",
        "It is not 850.5 the fee is 900",
        "We do not know\nthe fee is 900",
        "The fee is not 850, and it is not true that the fee is 900: the fee is 900",
        "Nevertheless, the fee is 900.",
        "Do not worry, the fee is 900.",
        "Don't forget the fee is 900.",
        "Don\u2019t forget the fee is 900.",
        "Not only that, the fee is 900.",
        "At the Knot Garden the fee is 900.",
        "Bueno es saber que the fee is 900.",
        "No se preocupe, the fee is 900.",
        "It is not wrong that the fee is 900.",
        "not" + " x" * 70 + " the fee is 900",
        "It is not true that the fee is 900; the  fee\u00a0is 900.",
        "\uff34he fee is 900",
        "the fee\u200b is 900",
        "the fee is **900**",
        "the *fee* `is` __900__",
        "the fee\U000e0041 is \ufff99\x0000",
        "There is no doubt that the fee is 900.",
        "We cannot stress enough that the fee is 900.",
        "It's not a secret that the fee is 900",
        "It is not true that the fee is 900; the fee is *900*.",
    ],
)
def test_what_denies_nothing_excuses_nothing(text):
    assert asserted(text) == [CLAIM]


@pytest.mark.parametrize("marker", [marker for marker in DENIAL_MARKERS if marker != "n't"])
def test_every_marker_denies_as_a_word_and_only_as_a_word(marker):
    assert not asserted(f"{marker} {CLAIM}")
    assert asserted(f"x{marker}x {CLAIM}") or " " in marker


@pytest.mark.parametrize("phrase", NO_DENIALS)
def test_no_phrase_that_only_sounds_like_a_denial_excuses(phrase):
    word = f"is{phrase}" if phrase.startswith("n't") else phrase
    assert asserted(f"{word} {CLAIM}") == [CLAIM]


@pytest.mark.parametrize(
    "text", ["if not false, {}", "why not wrong: it isn't false that {}", "whether or not wrong {}"]
)
def test_phrases_that_overlap_are_all_set_aside(text):
    assert asserted(text.format(CLAIM)) == [CLAIM]


@pytest.mark.parametrize(
    ("text", "excused"), [("not850", False), ("not 850", True), ("no850", False), ("not-850", True)]
)
def test_a_marker_that_runs_on_into_the_claim_is_no_word(text, excused):
    assert asserted(text, "850") == ([] if excused else ["850"])


def test_a_claim_denied_a_thousand_times_is_flagged():
    assert not asserted(f"not {CLAIM}, " * 3)
    assert asserted(f"not {CLAIM}, " * (screens._LOOKED_AT + 1))


def test_a_word_cut_by_the_window_is_no_denial():
    text = "knot " + "y" * (screens.DENIAL_WINDOW - 5) + " " + CLAIM
    at = text.index(CLAIM)
    assert text[at - screens.DENIAL_WINDOW :].startswith("not ")
    assert asserted(text) == [CLAIM]


@pytest.mark.parametrize("phrase", [phrase for phrase in NO_DENIALS if not phrase.startswith("n't")])
def test_a_phrase_cut_by_the_window_is_still_set_aside(phrase):
    for inside in range(len(phrase)):
        text = f"{phrase} {'y' * (screens.DENIAL_WINDOW - inside - 2)} {CLAIM}"
        assert text.index(CLAIM) - screens.DENIAL_WINDOW == len(phrase) - inside
        assert asserted(text) == [CLAIM]


def test_a_phrase_inside_a_longer_word_is_not_set_aside_where_the_window_begins():
    text = f"undo not worry {'y' * (screens.DENIAL_WINDOW - 13)} {CLAIM}"
    assert text[text.index(CLAIM) - screens.DENIAL_WINDOW - 1 :].startswith("do not")
    assert asserted(text) == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("say SYSTEM PROMPT now", (4, 17)),
        ("say system  prompt now", None),
        ("say system\u00a0prompt", None),
        ("say sys\u200btem prompt", None),
        ("say \uff53ystem prompt", None),
        ("say system\nprompt", None),
    ],
)
def test_a_phrase_is_found_however_it_is_written(text, where):
    (hit,) = Screened(text).find(Phrases(["system prompt", "absent"]))
    assert hit.phrase == "system prompt"
    assert (None if hit.start is None else (hit.start, hit.end)) == where


@pytest.mark.parametrize("empty", ["***", "\u200b", "\u3164"])
def test_a_phrase_of_which_nothing_is_left_does_not_stand_everywhere(empty):
    assert not Screened("The fee is 900.").find(Phrases([empty]))
    assert not Screened("The fee is 900.").asserted([empty])
    assert Screened(f"The fee {empty} is 900.").find(Phrases([empty]))


def test_an_accent_is_the_same_letter_in_one_piece_or_two():
    assert Screened("el codigo\u0301 clave").find(Phrases(["codig\u00f3 clave"]))
    assert Screened("el codig\u00f3 clave").find(Phrases(["codigo\u0301 clave"]))


def test_a_text_that_changes_length_in_lower_case_has_no_places():
    (hit,) = Screened("\u0130 system prompt").find(Phrases(["system prompt"]))
    assert (hit.start, hit.end) == (None, None)


@given(st.text())
def test_folding_is_idempotent_and_finds_every_text_in_itself(text):
    assert fold(fold(text)) == fold(text)
    if text.strip():
        assert Screened(text).find(Phrases([text]))


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("My number is 123-45-6789.", [("ssn", "123-45-6789")]),
        ("Call (555) 010-3364 or 555.010.3364", [("phone", "(555) 010-3364"), ("phone", "555.010.3364")]),
        ("Write to a.b+c@mail.example.org.", [("email", "a.b+c@mail.example.org")]),
        ("Card 4111 1111 1111 1111", [("payment_card", "4111 1111 1111 1111")]),
        ("On file\u2014123-45-6789\u2014confirmed, or -123-45-6789- so", [("ssn", "123-45-6789")] * 2),
        ("No 1-123-45-6789 and no 123-45-6789-1", []),
        ("Write \u2014help@x.example\u2014 or _help@x.example_", [("email", "help@x.example")] * 2),
        ("Case 5550103364 and 123456789, at 3 @ 4", []),
    ],
)
def test_personal_data_needs_its_separators(text, found):
    assert [(datum.kind, datum.value) for datum in personal_data(text)] == found
    assert all(text[datum.start : datum.end] == datum.value for datum in personal_data(text))


@pytest.mark.parametrize(
    ("text", "value", "written"),
    [
        ("It is 123\u201145\u20116789.", "123-45-6789", "123\u201145\u20116789"),
        ("call 555\u00a0010\u20133364", "555 010-3364", "555\u00a0010\u20133364"),
        ("\u2026 555\u200b-010-33\u200b64", "555-010-3364", "555\u200b-010-33\u200b64"),
        ("an\xadn@mail.example", "ann@mail.example", "an\xadn@mail.example"),
        ("Card \uff14111 1111 1111 1111", "4111 1111 1111 1111", "\uff14111 1111 1111 1111"),
        ("\ufdfa 555.010.3364", "555.010.3364", "555.010.3364"),
    ],
)
def test_personal_data_is_seen_through_other_dashes_blanks_and_unseen_marks(text, value, written):
    (datum,) = personal_data(text)
    assert datum.value == value
    assert text[datum.start : datum.end] == written


@pytest.mark.parametrize("blank", ["\n", "\t", "\x0b", "\x1f", "\u00a0", "\u2028"])
@pytest.mark.parametrize("beside", ["", "\u00e9", "\x01"])
def test_every_blank_sets_digits_apart_whatever_else_the_text_holds(blank, beside):
    (datum,) = personal_data(f"{beside}4111 1111{blank}1111 1111")
    assert (datum.kind, datum.value) == ("payment_card", "4111 1111 1111 1111")


@pytest.mark.parametrize("text", ["a." * 200_000, "a@" + "a." * 200_000, "a@" * 200_000, "1-" * 200_000, "@" * 400_000])
def test_hostile_texts_are_screened_in_one_go(text):
    # Quadratic work on these takes minutes, so the suite would hang; nothing else is claimed of the time.
    assert list(personal_data(text)) == []
    assert Screened(text + "\u0301\u0316" * 100_000).find(Phrases(["not there"])) == []


@pytest.mark.parametrize(
    ("letter", "plain"), [("\u2019", "'"), ("\u201c", '"'), ("\u2013", "-"), ("\u200b", ""), ("K", "k")]
)
def test_a_letter_is_folded_the_first_time_it_is_met(letter, plain):
    assert screens._Fold()[ord(letter)] == plain


def test_a_claim_beside_a_letter_that_grows_is_named_without_its_place():
    (hit,) = Screened("\u0130stanbul: the fee is 900").asserted([CLAIM])
    assert (hit.phrase, hit.start, hit.end) == (CLAIM, None, None)


@pytest.mark.parametrize("dash", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
def test_a_dash_of_another_form_hides_nothing(dash):
    assert Screened(f"the code is 12{dash}34").find(Phrases(["12-34"]))
    assert [datum.kind for datum in personal_data(f"It is 123{dash}45{dash}6789.")] == ["ssn"]
