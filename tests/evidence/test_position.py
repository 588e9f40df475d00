"""Do the columns of a line hold exactly the piece of text they are said to hold?"""

import json
import time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.evidence.position import Columns, PositionError, locate

# Characters that are written in every way a JSON writer knows, thick on the ground.
texts = st.text(
    st.sampled_from('ab "\\/\n\t\x00\x1f\x7f\u00e9\u202e\u2028\ufeff\U0001f600\U0010ffff{}[]:,')
    | st.characters(codec="utf-8"),
    max_size=25,
)
keys = st.sampled_from(["response", "re\u00e9s", 'q"k', "back\\", "\U0001f600", "", "a"]) | texts
leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts
values = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=12,
)


def strings(value, path=()):
    """(path, text) of every string in a value."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from strings(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from strings(inner, (*path, index))


def cut(line: bytes, columns: Columns) -> str:
    """The columns of the line, as written."""
    units = line.decode().encode("utf-16-le")
    return units[2 * (columns.start_column - 1) : 2 * (columns.end_column - 1)].decode("utf-16-le")


def decode(written: str) -> str:
    return json.loads(f'"{written}"')


@settings(deadline=None)
@given(
    record=st.dictionaries(keys, values, min_size=1, max_size=4),
    ascii_only=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
    lead=st.sampled_from(["", " ", "\t  "]),
    data=st.data(),
)
def test_the_columns_hold_the_piece(record, ascii_only, separators, lead, data):
    line = (lead + json.dumps(record, ensure_ascii=ascii_only, separators=separators)).encode()
    for path, text in strings(record):
        whole = locate(line, path)
        assert decode(cut(line, whole)) == text
        assert line.decode().encode("utf-16-le")[2 * (whole.start_column - 2) :][:2] == b'"\0'
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, len(text)))
        columns = locate(line, path, start, end)
        assert decode(cut(line, columns)) == text[start:end]
        assert whole.start_column <= columns.start_column <= columns.end_column <= whole.end_column
        assert locate(line, path, start).end_column == whole.end_column
        assert locate(line, path, end=end) == (whole.start_column, columns.end_column)


@given(texts, texts, texts)
def test_pieces_side_by_side_touch(one, two, three):
    line = json.dumps({"response": one + two + three}).encode()
    first = locate(line, ["response"], 0, len(one))
    second = locate(line, ["response"], len(one), len(one + two))
    third = locate(line, ["response"], len(one + two))
    assert first.end_column == second.start_column
    assert second.end_column == third.start_column


@given(st.lists(st.sampled_from(["x", "\\n", "\\u00e9", "\\uD83D\\uDE00", "\\ud83d", "\\uDE00", "\\\\", '\\"'])))
def test_lone_surrogates_count_as_the_decoder_counts_them(pieces):
    line = ('{"r":"' + "".join(pieces) + '"}').encode()
    text = json.loads(line)["r"]
    for offset in range(len(text) + 1):
        assert decode(cut(line, locate(line, ["r"], 0, offset))) == text[:offset]
    with pytest.raises(PositionError):
        locate(line, ["r"], 0, len(text) + 1)


@given(record=st.dictionaries(keys, values, min_size=1, max_size=3))
def test_the_other_writer(record):
    line = msgspec.json.encode(record) + b"\n"
    for path, text in strings(record):
        assert decode(cut(line, locate(line, path))) == text


@pytest.mark.parametrize(
    ("line", "path", "start", "end", "columns"),
    [
        ('{"response":"abc"}', ["response"], None, None, (14, 17)),
        ('  {"response" : "abc"}', ["response"], 1, 2, (19, 20)),
        ('{"r":"a\\nb"}', ["r"], 1, 2, (8, 10)),
        ('{"r":"a\\nb"}', ["r"], 2, 3, (10, 11)),
        ('{"\U0001f600":1,"r":"\U0001f600x"}', ["r"], 1, 2, (16, 17)),
        ('{"r":"\\ud83d\\ude00x"}', ["r"], 0, 1, (7, 19)),
        ('{"r":"\\ud83d\\ude00x"}', ["r"], 1, 2, (19, 20)),
        ('{"r":""}', ["r"], None, None, (7, 7)),
        ('{"a":{"r":"no"},"b":[{"r":"no"}],"r":"yes"}', ["r"], None, None, (39, 42)),
        ('{"r":{"r":"yes"}}', ["r", "r"], None, None, (12, 15)),
        ('{"x":"\\"r\\":\\"no","r":"y"}', ["r"], None, None, (24, 25)),
        ('{"\\u0072":"y"}', ["r"], None, None, (12, 13)),
        ('{"t":["a",[],{},"b\\"",true,-1.5e3,"c"]}', ["t", 6], None, None, (36, 37)),
        ('{"r":"first","r":"last"}', ["r"], None, None, (19, 23)),
        ('{"translation":{"review":"ok","note":null}}', ["translation", "review"], 0, 1, (27, 28)),
        ('"bare"', [], 1, 2, (3, 4)),
    ],
)
def test_known_columns(line, path, start, end, columns):
    assert locate(line.encode(), path, start, end) == columns


@pytest.mark.parametrize(
    ("line", "path"),
    [
        (b'{"r":"x"}', ["missing"]),
        (b'{"r":"x"}', []),
        (b'{"r":"x"}', ["r", "x"]),
        (b'{"r":"x"}', ["r", 0]),
        (b'{"r":"x"}', [0]),
        (b'{"r":["x"]}', ["r", 1]),
        (b'{"r":["x"]}', ["r", -1]),
        (b'{"r":[]}', ["r", 0]),
        (b'{"r":["x"]}', ["r", "x"]),
        (b'{"r":["x"]}', ["r"]),
        (b'{"r":null}', ["r"]),
        (b'{"r":5}', ["r"]),
        (b"{}", ["r"]),
        (b"", ["r"]),
        (b"", []),
        (b'{"r":"x', ["r"]),
        (b'{"r" "x"}', ["r"]),
        (b'{"a":1 "r":"x"}', ["r"]),
        (b'{"a":[1,"r":"x"}', ["r"]),
        (b'{"a":', ["r"]),
        (b"{5:1}", ["r"]),
        (b'{"\\x":1}', ["r"]),
        (b'{"r":"\xff"}', ["r"]),
        (b'{"\xff":1,"r":"x"}', ["r"]),
    ],
)
def test_a_path_that_is_not_there(line, path):
    with pytest.raises(PositionError):
        locate(line, path)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1), (0, 4), (4, 4), (4, None), (None, -1)])
def test_a_piece_that_is_not_there(start, end):
    with pytest.raises(PositionError):
        locate(b'{"r":"abc"}', ["r"], start, end)


def test_an_escape_that_is_none():
    with pytest.raises(PositionError, match="escape"):
        locate(b'{"r":"a\\uZZZZ"}', ["r"], 0, 2)


MEGABYTE = 1_000_000


@pytest.mark.parametrize(
    "line",
    [
        json.dumps({"a": "x" * MEGABYTE, "r": "y"}),
        json.dumps({"a": "\u0645\u0631\u062d\u0628\u0627 \n" * (MEGABYTE // 40), "r": "y"}),
        json.dumps({"r": "\u0645\u0631\u062d\u0628\u0627 \n" * (MEGABYTE // 40)}),
        json.dumps({"r": "\U0001f600" * (MEGABYTE // 12)}),
        json.dumps({"r": '"\\' * (MEGABYTE // 4)}),
        json.dumps({"r": "a\n" * (MEGABYTE // 3)}),
        '{"a":' + "[" * (MEGABYTE // 2) + "]" * (MEGABYTE // 2) + ',"r":"y"}',
        '{"a":[' + "[]," * (MEGABYTE // 3) + '[]],"r":"y"}',
        '{"a":[' + '"\\"",' * (MEGABYTE // 5) + '""],"r":"y"}',
        # Not JSON, and made to send a careless scan back and forth.
        '{"a":["' + '\\"' * (MEGABYTE // 2),
        '{"a":"' + "\\" * MEGABYTE,
        '{"a":' + "[" * MEGABYTE,
        '{"r":"' + "\\ud83d" * (MEGABYTE // 6) + '"}',
    ],
    ids=range(13),
)
def test_a_megabyte_takes_no_time(line):
    raw = line.encode()
    began = time.process_time()
    try:
        locate(raw, ["r"], 0, 1)
        whole = locate(raw, ["r"])
        locate(raw, ["r"], whole.end_column - whole.start_column)
    except PositionError:
        pass
    # Some 0.1 s here; anything quadratic would take minutes.
    assert time.process_time() - began < 3
