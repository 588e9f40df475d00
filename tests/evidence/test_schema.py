"""Is every document either exactly what the format says or refused with the place and the key?"""

import json
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.errors import BundleError, ExitCode, IntegrityError, PlumblineError
from plumbline.evidence.schema import (
    Checksums,
    Item,
    Manifest,
    Response,
    Source,
    decode,
    decode_lines,
    explain,
    suggestion,
)

ITEM = {"id": "a", "lang": "en", "behavior": "answer", "prompt": "How much?", "expected": "It is $5."}
MANIFEST = {"format": "plumbline-bundle", "format_version": 1, "files": {"items": "items.jsonl"}}


def _item(**changes):
    return json.dumps({key: value for key, value in (ITEM | changes).items() if value is not ...}).encode()


def test_an_item_with_nothing_optional_has_the_defaults_of_the_format():
    item = decode(_item(), Item, file="items.jsonl", line=1)
    assert (item.load_bearing, item.adversarial, item.fact_id, item.group, item.translation) == (
        False, False, None, None, None,
    )  # fmt: skip
    assert item.forbidden == item.forbidden_claims == item.sources == item.turns == []
    assert item.answering_sources is None


def test_an_item_with_everything_keeps_everything():
    full = ITEM | {
        "load_bearing": True,
        "fact_id": "f",
        "group": "g",
        "translation": {"of": "b", "review": "unreviewed"},
        "forbidden": ["x"],
        "forbidden_claims": ["y"],
        "sources": ["s"],
        "answering_sources": ["s"],
        "adversarial": True,
        "turns": ["and then?"],
        "cluster": "c",
    }
    item = decode(json.dumps(full).encode(), Item, file="items.jsonl", line=1)
    assert json.loads(msgspec.json.encode(item)) == full


def test_the_file_map_is_given_as_a_seal_names_its_files():
    files = {"items": "./a/../items.jsonl", "responses": "r.jsonl"}
    manifest = decode(json.dumps(MANIFEST | {"files": files}).encode(), Manifest, file="manifest.json")
    assert manifest.files.declared() == {"items": "items.jsonl", "responses": "r.jsonl"}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"id": ...}, "the key 'id' is missing"),
        ({"lang": ...}, "the key 'lang' is missing"),
        ({"behavior": ...}, "the key 'behavior' is missing"),
        ({"prompt": ...}, "the key 'prompt' is missing"),
        ({"id": ["a"]}, "'id'"),
        ({"id": None}, "'id'"),
        ({"prompt": 7}, "'prompt'"),
        ({"expected": 7}, "'expected'"),
        ({"behavior": "perhaps"}, "perhaps"),
        ({"load_bearing": "false"}, "'load_bearing'"),
        ({"adversarial": 1}, "'adversarial'"),
        ({"sources": "src"}, "'sources'"),
        ({"sources": [1]}, "sources"),
        ({"answering_sources": {}}, "'answering_sources'"),
        ({"forbidden": None}, "'forbidden'"),
        ({"translation": "es"}, "'translation'"),
        ({"translation": {"of": "b"}}, "'translation.review' is missing"),
        ({"translation": {"of": "b", "review": "reviewed"}}, "translation.review"),
        ({"translation": {"of": "b", "reveiw": "unreviewed"}}, "'translation.reveiw'; did you mean 'review'"),
        ({"loadbearing": True}, "unknown key 'loadbearing'; did you mean 'load_bearing'"),
        ({"zzz": True}, "unknown key 'zzz'; known keys are id, lang, behavior"),
    ],
)
def test_a_wrong_item_is_refused_with_file_line_and_key(changes, named):
    with pytest.raises(BundleError) as refusal:
        decode(_item(**changes), Item, file="items.jsonl", line=17)
    assert refusal.value.exit_code == ExitCode.CONFIGURATION
    assert refusal.value.message.startswith("items.jsonl:17: ")
    assert named in refusal.value.message


@pytest.mark.parametrize(
    ("kind", "document", "named"),
    [
        (Manifest, [], "object"),
        (Manifest, MANIFEST | {"files": []}, "'files'"),
        (Manifest, MANIFEST | {"files": {}}, "'files.items' is missing"),
        (Manifest, MANIFEST | {"files": {"items": "a", "response": "b"}}, "'files.response'; did you mean 'responses'"),
        (Manifest, MANIFEST | {"synthetic": "yes"}, "'synthetic'"),
        (Manifest, MANIFEST | {"recording": []}, "'recording'"),
        (Manifest, MANIFEST | {"format_version": "1"}, "'format_version'"),
        (Response, {"id": "a"}, "'response' is missing"),
        (Response, {"id": "a", "response": 5}, "'response'"),
        (Response, {"id": "a", "response": "x", "turn_responses": [5]}, "turn_responses"),
        (Source, {"id": "a"}, "'text' is missing"),
        (Source, {"id": "a", "text": None}, "'text'"),
    ],
)
def test_a_wrong_document_is_refused_with_file_and_key(kind, document, named):
    with pytest.raises(BundleError) as refusal:
        decode(json.dumps(document).encode(), kind, file="that.json")
    assert refusal.value.message.startswith("that.json: ")
    assert named in refusal.value.message


def test_null_is_silence_and_a_missing_response_key_is_not():
    assert decode(b'{"id": "a", "response": null}', Response, file="r", line=1).response is None


@pytest.mark.parametrize(
    "data",
    [
        b"", b" ", b"{", b"}", b"null", b"7", b'"x"', b"[]", b"{}{}", b"\xff", b"\x00", b"NaN", b"{'id': 1}",
        b"\xef\xbb\xbf{}", b'{"id": "\x01"}', b'{"id": "\\ud800"}', b'{"id": "\xff"}', b'{"id": "a",}',
        b"[" * 100_000, b'{"recording": ' * 100_000, b'{"recording": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"id": 1' + b"0" * 5000 + b"}", b'{"id": 1e999}',
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [Manifest, Item, Response, Source, Checksums])
def test_what_is_no_document_is_refused_with_the_error_that_was_asked_for(data, kind):
    for error in (BundleError, IntegrityError):
        with pytest.raises(error, match=r"^here:3: "):
            decode(data, kind, file="here", line=3, error=error)


@pytest.mark.parametrize(
    "data",
    [
        b'{"id": "a", "id": "b", "response": "x"}',
        b'{"id": "a", "response": "x", "response": null}',
        b'{"id": "a", "i\\u0064": "a", "response": "x"}',
    ],
)
def test_a_repeated_key_is_refused(data):
    with pytest.raises(BundleError, match="stands twice"):
        decode(data, Response, file="r", line=1)


def test_a_repeated_key_deep_inside_is_refused():
    data = json.dumps(MANIFEST | {"recording": {"where": [{"a": 1}]}}).replace('{"a": 1}', '{"a": 1, "a": 2}')
    with pytest.raises(BundleError, match="'a' stands twice"):
        decode(data.encode(), Manifest, file="m")


def test_text_that_looks_like_keys_is_no_repeated_key():
    text = 'He said "id": "a" and "id" : "b"'
    assert decode(json.dumps({"id": "a", "response": text}).encode(), Response, file="r", line=1).response == text


# Lines.


def test_blank_lines_are_passed_over_and_counted():
    data = b'\n{"id": "a", "response": "x"}\n \t\n\r\n{"id": "b", "response": "y"}'
    assert [(line, record.id) for line, record in decode_lines(data, Response, file="r")] == [(2, "a"), (5, "b")]


def test_windows_line_ends_are_white_space():
    data = b'{"id": "a", "response": "x"}\r\n{"id": "b", "response": "y"}\r\n'
    assert [(line, record.id) for line, record in decode_lines(data, Response, file="r")] == [(1, "a"), (2, "b")]


def test_an_empty_file_has_no_records():
    assert decode_lines(b"", Response, file="r") == decode_lines(b"\n\n", Response, file="r") == []


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b'{"id": "a", "response": "x"} {"id": "b", "response": "y"}', 1),
        (b'{"id": "a",\n"response": "x"}', 1),
        (b'{"id": "a", "response": "x"}\n{"id": "b", "response": "y"} {"id": "c",\n"response": "z"}', 2),
        (b'{"id": "a", "response": "x"}\n{"id": "b", "id": "c", "response": "y"}', 2),
        (b'{"id": "a", "response": "x"}\n{"id": "b", "respons": "y"}', 2),
        (b'{"id": "a", "response": "x"}\nnull', 2),
        (b'{"id": "a", "response": "x"}\n\n\xa0', 3),
        (b'{"id": "a", "response": "x"}\x1e{"id": "b", "response": "y"}', 1),
    ],
)
def test_each_line_is_one_record_or_the_line_is_named(data, line):
    with pytest.raises(BundleError) as refusal:
        decode_lines(data, Response, file="r.jsonl")
    assert refusal.value.message.startswith(f"r.jsonl:{line}: ")


def _slowly(data):
    lines = ((number, line.strip()) for number, line in enumerate(data.split(b"\n"), start=1))
    return [(number, decode(line, Response, file="r", line=number)) for number, line in lines if line]


def _outcome(reader, data):
    try:
        return reader(data)
    except PlumblineError as refusal:
        return refusal.message


PIECES = st.sampled_from(
    [b'{"id": "a", "response": "x"}', b'{"id":"b","response":null}', b"\n", b"\r\n", b" ", b'"', b"{", b"}", b"}\n{",
     b'{"id": "c",', b'"response": "}\\n{"}', b'"id": "d"', b'{"id": "e", "id": "e", "response": ""}', b",", b"[", b"]",
     b'{"id": "f", "response": "x", "turn_responses": ["', b'"]}', b"null", b"\x00", b"\xff"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map(b"".join))
def test_reading_a_file_at_once_and_line_by_line_is_the_same(data):
    assert _outcome(lambda text: decode_lines(text, Response, file="r"), data) == _outcome(_slowly, data)


# Fuzz.

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.integers(2**62, 2**70),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from([Manifest, Item, Response, Source, Checksums])


@given(data=st.binary(max_size=60), kind=KINDS)
def test_arbitrary_bytes_are_refused_or_read_and_never_crash(data, kind):
    for reader in (lambda: decode(data, kind, file="f"), lambda: decode_lines(data, kind, file="f")):
        try:
            reader()
        except BundleError as refusal:
            assert refusal.message.startswith("f")


@given(st.data())
def test_arbitrary_values_at_known_keys_are_refused_or_read_and_never_crash(data):
    kind = data.draw(KINDS)
    keys = st.sampled_from([field.name for field in msgspec.structs.fields(kind)]) | st.text(max_size=8)
    document = data.draw(st.dictionaries(keys, JSON, max_size=8))
    plain = data.draw(st.booleans())
    text = json.dumps(document, ensure_ascii=plain).encode(errors="surrogatepass")
    try:
        value = decode(text, kind, file="f")
    except BundleError as refusal:
        assert re.match(r"f: \S", refusal.message)
    else:
        assert isinstance(value, kind)


# Wording.


def test_the_nearest_name_is_offered_or_all_of_them():
    assert suggestion("promt", ["prompt", "id"]) == "; did you mean 'prompt'?"
    assert suggestion("zzz", ["prompt", "id"]) == "; known keys are prompt, id"
    assert suggestion("zzz", []) == ""


def test_a_complaint_that_is_not_known_is_passed_on():
    assert explain("something else", Item) == "something else"
    assert explain("Expected `object`, got `null` - at `$`", Item) == "Expected `object`, got `null`"
    assert explain("Object contains unknown field `x` - at `$.recording.y`", Manifest) == "unknown key 'recording.y.x'"
