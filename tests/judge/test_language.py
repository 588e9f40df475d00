from __future__ import annotations

import pytest

from plumbline.judge.language import SHIPPED, Detector, Profile
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.lexicon import PROFILE_WORDS
from plumbline.judge.text import Rules


def language(text, **profiles):
    rules = Rules(profiles={**SHIPPED, **profiles})
    return LexicalJudge(rules).features(text).language


@pytest.mark.parametrize(
    ("text", "tag"),
    [
        ("You can apply at the county office.", "en"),
        ("Puede presentar la solicitud en la oficina.", "es"),
        ("يُمْكِنُكَ التقديم في المكتب", "ar"),
        ("يمكنك التقديم قبل 15 مارس (see form)", "ar"),
        ("850", None),
        ("", None),
        ("...", None),
        ("zzz qqq", None),
        ("the la", None),
        ("[src-the] 850", None),
        ("٨٥٠", None),
    ],
)
def test_languages_are_told_by_script_and_then_by_words(text, tag):
    assert language(text) == tag


def test_half_of_the_letters_is_no_majority():
    assert language("abc " + "\u0643" * 3) is None
    assert language("abc " + "\u0643" * 4) == "ar"


def test_two_scripts_that_match_decide_nothing():
    assert language("\u0643\u0644 the the the", fa=Profile(script=((0x0600, 0x06FF),))) == "en"
    assert language("\u0643\u0644\u0645", fa=Profile(script=((0x0600, 0x06FF),))) is None


def test_a_latin_script_profile_is_looked_at_too():
    latin = Profile(script=((0x41, 0x5A), (0x61, 0x7A)))
    assert language("zzz qqq", xx=latin) == "xx"


def test_no_word_stands_in_two_shipped_profiles():
    tags = list(PROFILE_WORDS)
    assert not PROFILE_WORDS[tags[0]] & PROFILE_WORDS[tags[1]]


def test_words_without_a_profile_of_words_decide_nothing():
    assert Detector({"ar": SHIPPED["ar"]}).detect("two words", ("two", "words")) is None
