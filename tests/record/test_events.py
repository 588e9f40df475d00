"""The event stream parser against the rules of the WHATWG standard."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.record.events import Event, EventParser


def parsed(*chunks):
    parser = EventParser()
    return [event for chunk in chunks for event in parser.feed(chunk)]


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", [("message", "a")]),
        (b"data:a\n\n", [("message", "a")]),
        (b"data:  a\n\n", [("message", " a")]),
        (b"data: a\ndata: b\n\n", [("message", "a\nb")]),
        (b"data\n\n", [("message", "")]),
        (b"data: \n\n", [("message", "")]),
        (b"data\ndata\n\n", [("message", "\n")]),
        (b"event: x\ndata: a\n\ndata: b\n\n", [("x", "a"), ("message", "b")]),
        (b"event: x\n\ndata: b\n\n", [("message", "b")]),
        (b"event:\ndata: b\n\n", [("message", "b")]),
        (b": comment\ndata: a\n: another\n\n", [("message", "a")]),
        (b"\xef\xbb\xbfdata: a\n\n", [("message", "a")]),
        (b"\xef\xbb\xbf\xef\xbb\xbfdata: a\n\n", []),
        (b"id: 7\nretry: 10\ndata: a\n\n", [("message", "a")]),
        (b"data: a\r\rdata: b\r\n\r\ndata: c\n\n", [("message", "a"), ("message", "b"), ("message", "c")]),
        (b"data: a\r\ndata: b\r\n\r\n", [("message", "a\nb")]),
        (b"data: a\rdata: b\r\r", [("message", "a\nb")]),
        (b"unknown: x\ndata: a\n\n", [("message", "a")]),
        (b"data: a: b\n\n", [("message", "a: b")]),
        (b"data: not dispatched\n", []),
        ("data: \u2028 \x85 é\n\n".encode(), [("message", "\u2028 \x85 é")]),
    ],
)
def test_the_rules(stream, events):
    assert parsed(stream) == [Event(*event) for event in events]
    # The pieces in which it comes make no difference.
    assert parsed(*(stream[place : place + 1] for place in range(len(stream)))) == parsed(stream)


def test_what_is_not_utf8_is_no_text():
    with pytest.raises(UnicodeDecodeError):
        parsed(b"data: \xff\n\n")


@given(
    st.lists(st.sampled_from([b"data: x", b"\r", b"\n", b"\r\n", b"event: e", b":", b"\xef\xbb\xbf", b""])), st.data()
)
def test_pieces_make_no_difference(parts, data):
    stream = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert parsed(*pieces) == parsed(stream)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n")))
def test_a_text_comes_through(text):
    assert parsed(f"data: {text}\n\n".encode()) == [Event("message", text)]


def test_a_long_line_in_small_pieces_is_put_together_once():
    parser = EventParser()
    parser.feed(b"data: ")
    for _ in range(5):
        assert parser.feed(b"x" * 10) == []
    assert len(parser._partial) == 6  # pieces wait; nothing is joined again and again
    assert parser.feed(b"\n\n") == [Event("message", "x" * 50)]
