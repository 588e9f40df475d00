"""Do the short cuts of the judge read a text as the long way does?"""

from hypothesis import example, given
from hypothesis import strategies as st

from plumbline.judge.lexicon import HARM_MARKERS, REFUSAL_MARKERS, SOLICITATIONS
from plumbline.judge.screens import Phrases, Screened, anchors, fold
from plumbline.judge.text import CITATION, TextFeatures, citing_places, tokens
from plumbline.judge.unicode import lowered

_TEXTS = st.text(alphabet="ab1٣2,. [é\u0301]\uff21Σ-\u200b", max_size=40)


@given(_TEXTS)
def test_readable_is_a_word_outside_markers(text: str) -> None:
    assert TextFeatures(text).readable == bool(tokens(CITATION.sub(" ", text)))


@given(_TEXTS)
@example("12 [a34] 5,6.")
def test_values_are_those_of_the_numbers(text: str) -> None:
    features = TextFeatures(text)
    assert features.number_values == {number.value for number in features.numbers}
    assert features.stated_values == {number.value for number in features.numbers_outside(())}


@given(st.lists(st.text(alphabet="abc d", max_size=12), max_size=30))
def test_every_phrase_holds_an_anchor(phrases: list[str]) -> None:
    found = anchors(phrases)
    assert all(any(anchor in phrase for anchor in found) for phrase in phrases)


def test_the_shipped_lists_have_fewer_anchors_than_phrases() -> None:
    for phrases in (HARM_MARKERS, REFUSAL_MARKERS, SOLICITATIONS):
        assert len(anchors(phrases)) < len(phrases)


@given(
    st.lists(st.sampled_from(HARM_MARKERS), min_size=9, max_size=20),
    st.lists(st.sampled_from([*HARM_MARKERS, "\uff39\uff4f\uff55 people", "GET A  JOB", " and "]), max_size=3),
)
def test_a_long_list_finds_what_a_search_for_each_phrase_finds(listed: list[str], said: list[str]) -> None:
    text = " x ".join(said)
    wanted = [p for p in listed if lowered(p) in lowered(text) or fold(p) in fold(text)]
    assert [hit.phrase for hit in Screened(text).find(Phrases(listed))] == wanted


def test_a_wide_letter_does_not_slip_past_the_anchors() -> None:
    text = "\uff39\uff2f\uff35 \uff30\uff25\uff2f\uff30\uff2c\uff25"
    assert [hit.phrase for hit in Screened(text).find(Phrases(HARM_MARKERS))] == ["you people"]


class _Asked:
    """Ids that count how many letters they were asked of."""

    letters = 0

    def __contains__(self, wanted: object) -> bool:
        self.letters += len(str(wanted))
        return False


def test_nested_brackets_are_read_in_linear_time() -> None:
    asked = _Asked()
    text = "[" * 3000 + "]" * 3000
    assert citing_places(text, asked) == [(0, len(text))]
    assert asked.letters < 20 * len(text)


def test_few_levels_of_brackets_are_read_to_the_outermost() -> None:
    assert citing_places("[a [b [c]]] [s1, [x] 850]", {"s1"}) == [(12, 25)]
