"""Pointers into hostile replies."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import CallError
from plumbline.record.extract import Pointer, answer, any_equal, equal, parse_json, shape
from plumbline.record.suggest import answers as suggestions
from plumbline.record.suggest import identifiers, pieces

DOCUMENT = {"choices": [{"text": "first"}, {"text": "last"}], "a b": {"": 1, "0": "zero"}, "n": None}

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@pytest.mark.parametrize(
    ("pointer", "found"),
    [
        ("choices.0.text", ["first"]),
        ("choices.-1.text", ["last"]),
        ("choices.-2.text", ["first"]),
        ("choices.2.text", []),
        ("choices.-3.text", []),
        ("choices.x", []),
        ("choices.0.text.0", []),
        ("a b.0", ["zero"]),
        ("n", [None]),
        ("n.x", []),
        ("absent", []),
        ("choices.99999999999999999999", []),
        ("choices.\u0660.text", []),
        ("$.choices[0].text", ["first"]),
        ("$.choices[-1].text", ["last"]),
        ("$.choices[*].text", ["first", "last"]),
        ("$..text", ["first", "last"]),
        ("$['a b']['0']", ["zero"]),
        ("$.choices[?@.text == 'last'].text", ["last"]),
        ("$.absent", []),
        ("$", [DOCUMENT]),
    ],
)
def test_where_a_pointer_leads(pointer, found):
    assert Pointer(pointer, key="k").matches(DOCUMENT) == found


@pytest.mark.parametrize(
    "pointer", ["", ".", "a.", ".a", "$.", "$[", "$.a b", "$.a | $.b", "x" * 401, "$.a[?search(@,'x')]"]
)
def test_what_is_no_pointer(pointer):
    with pytest.raises(ConfigurationError, match=r"^adapter\.k"):
        Pointer(pointer, key="adapter.k")


@given(st.text(max_size=30))
def test_a_pointer_is_one_or_is_refused(text):
    try:
        pointer = Pointer(text, key="k")
    except ConfigurationError:
        return
    assert isinstance(pointer.matches(DOCUMENT), list)


@given(values)
def test_any_document_can_be_searched_named_and_suggested_from(document):
    for text in ("a.0.b", "$..x", "$.*", "$[*].a", "$[0]"):
        pointer = Pointer(text, key="k")
        assert isinstance(pointer.matches(document), list)
        assert pointer.empty_list(document) in {True, False}
    assert len(shape(document)) < 1200
    assert all(len(found) >= 24 for _, found in suggestions(document))


@pytest.mark.parametrize("text", ['{"a": "b"}', "[", "", "x"])
def test_a_text_is_no_document_of_its_own(text):
    for pointer in ("$.a", "$[*]", "$..a", "a"):
        assert Pointer(pointer, key="k").matches(text) == []
        assert not Pointer(pointer, key="k").empty_list(text)
    assert Pointer("$", key="k").matches(text) == [text]


def test_suggestions_lead_where_they_say():
    document = {"meta": {"id": "x" * 30}, "a-b": [{'it\'s "q"': "the answer " * 5}], "short": "no"}
    found = suggestions(document)
    assert [text for _, text in found] == ["the answer " * 5, "x" * 30]
    for path, text in found:
        assert Pointer(path, key="k").matches(document) == [text]


def test_suggestions_look_at_so_much_and_no_more():
    wide = {str(number): "x" * 30 for number in range(50_000)}
    assert len(suggestions(wide)) == 5
    deep = "a string that is long enough to be one"
    for _ in range(20):
        deep = {"d": deep}
    assert suggestions(deep) == []


def test_suggestions_for_an_answer_in_pieces():
    documents = [{"role": "assistant"}, {"delta": {"text": "The"}}, {"delta": {"text": " fare"}}, {"stop": 1}]
    assert pieces(documents)[0] == ("$.delta.text", "The")


def test_suggestions_for_what_is_cited():
    document = {"sources": [{"doc_id": 7, "score": 1, "ok": True}], "links": ["a", "b"], "none": [], "n": [[1]]}
    found = identifiers(document)
    assert found == [("$.sources[*].doc_id", "7"), ("$.links[*]", "a")]
    for path, first in found:
        assert str(Pointer(path, key="k").matches(document)[0]) == first


def test_a_reply_that_is_no_answer_says_what_it_is():
    with pytest.raises(CallError) as caught:
        answer(Pointer("text", key="adapter.response_pointer"), {"error": "secret text"}, "POST http://t.example/")
    assert "error" in caught.value.message
    assert "secret text" not in caught.value.message


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ({}, "without keys"), ([], "empty list"), ([[1]], "a list of 1, the first a list"), (True, "true or false"),
        (None, "null"), (1.5, "a number"), ("x", "a string"), ([{"k": 1}], "the keys k"),
    ],
)  # fmt: skip
def test_shapes(value, told):
    assert told in shape(value)


def test_a_byte_order_mark_is_no_fault():
    assert parse_json(b'\xef\xbb\xbf{"a": 1}', "x") == {"a": 1}


@pytest.mark.parametrize("text", ['{"a": 1, "b": 2, "a": 1}', '[{"x": {"a": 1, "\\u0061": 2}}]'])
def test_a_key_that_stands_twice_is_a_fault_that_names_it(text):
    with pytest.raises(CallError) as caught:
        parse_json(text.encode(), "x")
    assert caught.value.fault == "malformed"
    assert "'a'" in caught.value.message


def test_a_secret_that_is_a_key_twice_is_masked():
    with pytest.raises(CallError) as caught:
        parse_json(b'{"abcd1234": 1, "abcd1234": 2}', "x", lambda text, _most: text.replace("abcd1234", "masked"))
    assert "abcd1234" not in caught.value.message


@given(st.lists(st.tuples(st.text(max_size=2), st.integers()), max_size=8))
def test_an_object_is_read_exactly_where_each_key_stands_once(pairs):
    text = "{" + ",".join(f"{json.dumps(key)}:{value}" for key, value in pairs) + "}"
    if len(dict(pairs)) == len(pairs):
        assert parse_json(text.encode(), "x") == dict(pairs)
    else:
        with pytest.raises(CallError, match="stands twice"):
            parse_json(text.encode(), "x")


def test_true_is_no_one():
    assert not equal(True, 1)
    assert equal("done", "done")
    assert any_equal(Pointer("s", key="k"), {"s": "b"}, ["a", "b"])
    assert not any_equal(Pointer("s", key="k"), {}, ["a"])
