from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Question
from plumbline.record.template import PLACEHOLDERS, Template, exchanged, refuse_unasked, values_for

QUESTION = Question(item="fare.en", lang="en", prompt="How much?")


def render(source, text="How much?", **more):
    return Template(source, key="adapter.body").render(
        values_for(QUESTION, text, **{"turn": 1, "conversation": "c-1", **more})
    )


def test_every_placeholder_is_filled_in():
    assert render({"a": "{prompt} {lang} {item_id} {turn} {conversation}"}) == {"a": "How much? en fare.en 1 c-1"}


def test_keys_are_never_touched():
    assert render({"{prompt}": ["{lang}", {"x": "{turn}"}]}) == {"{prompt}": ["en", {"x": "1"}]}


def test_data_is_not_expanded_again():
    assert render("{prompt}|{lang}", text="{lang} {{prompt}} {history}") == "{lang} {{prompt}} {history}|en"


def test_doubled_braces_and_other_braces_are_text():
    assert render("{{prompt}} {Prompt} {x2} { lang } {} {prompt}") == "{prompt} {Prompt} {x2} { lang } {} How much?"


def test_values_of_other_types_stay():
    assert render([1, 0.5, True, None, "x"]) == [1, 0.5, True, None, "x"]


def test_a_whole_history_is_a_list():
    before = exchanged("How much?", "Five.")
    assert render({"messages": "{history}"}, text="And then?", history=before) == {
        "messages": [
            {"role": "user", "content": "How much?"},
            {"role": "assistant", "content": "Five."},
            {"role": "user", "content": "And then?"},
        ]
    }


def test_a_history_within_a_list_is_spliced():
    system = {"role": "system", "content": "Be brief."}
    assert render([system, "{history}"]) == [system, {"role": "user", "content": "How much?"}]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ({"a": ["{promt}"]}, "adapter.body.a[0]: unknown placeholder {promt}; did you mean 'prompt'?"),
        ("so far: {history}", "adapter.body: {history} is a list"),
        (float("nan"), "nan"),
        (2**53, "integer"),
        (dt.date(2026, 1, 1), "date"),
    ],
)
def test_what_is_refused(source, told):
    with pytest.raises(ConfigurationError) as caught:
        Template(source, key="adapter.body")
    assert told in caught.value.message


def test_nesting_has_a_bound():
    deep = "x"
    for _ in range(40):
        deep = [deep]
    with pytest.raises(ConfigurationError, match="nested deeper"):
        Template(deep, key="adapter.body")


def test_a_transport_may_add_names():
    assert Template("{handle}", key="k", names={**PLACEHOLDERS, "handle": ""}).render({"handle": "7"}) == "7"


def test_templates_without_the_question_are_refused():
    with pytest.raises(ConfigurationError, match=r"adapter: \{prompt\} is used nowhere"):
        refuse_unasked([Template("{lang}", key="k"), Template("{{prompt}}", key="k")], "adapter")
    refuse_unasked([Template("{lang}", key="k"), Template("{history}", key="k")], "adapter")


@given(st.text())
@settings(deadline=None)
def test_any_text_arrives_as_it_is(text):
    assert render({"q": ["{prompt}"]}, text=text) == {"q": [text]}
