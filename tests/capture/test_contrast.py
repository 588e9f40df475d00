"""Are colours composited as a browser does it, and is nothing made up?"""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.capture.contrast import block, composited


def page(texts, layers=(), **more):
    return {"layers": list(layers), "texts": texts, "unknown": {}, "disabled": 0, "dark": False, **more}


def pair(colour, *layers, dark=False):
    """The pair of one text over layers, the outermost first."""
    stack = [[n - 1, background, opacity] for n, (background, opacity) in enumerate(layers)]
    found = composited(page([["p: x", colour, len(stack) - 1, False]], stack, dark=dark))
    return [(one["foreground"], one["background"]) for one in found.pairs]


BLACK, WHITE, CLEAR = "rgb(0, 0, 0)", "rgb(255, 255, 255)", "rgba(0, 0, 0, 0)"


@pytest.mark.parametrize(
    ("colour", "layers", "expected"),
    [
        (BLACK, (), ("#000000", "#ffffff")),
        ("rgba(0, 0, 0, 0.5)", (), ("#808080", "#ffffff")),
        (WHITE, ((BLACK, "1"),), ("#ffffff", "#000000")),
        (BLACK, (("rgba(255, 0, 0, 0.5)", "1"),), ("#000000", "#ff8080")),
        (BLACK, ((WHITE, "0.5"),), ("#808080", "#ffffff")),
        (WHITE, ((WHITE, "1"), (BLACK, "0.5")), ("#ffffff", "#808080")),
        (WHITE, (("rgb(0, 0, 255)", "1"), (CLEAR, "0.5")), ("#8080ff", "#0000ff")),
        (BLACK, ((WHITE, "1e-7"),), ("#ffffff", "#ffffff")),
    ],
)
def test_layers(colour, layers, expected):
    assert pair(colour, *layers) == [expected]


@pytest.mark.parametrize("colour", ["oklch(0.5 0.1 200)", "color(display-p3 1 0 0)", "", "rgb(1,2,3)"])
def test_what_is_not_srgb_makes_no_pair(colour):
    found = composited(page([["p: x", colour, -1, False], ["p: y", BLACK, 0, False]], [[-1, colour, "1"]]))
    assert found.pairs == []
    assert found.unknown == {"colour that cannot be computed": 2}
    assert found.texts == 0


def test_a_dark_canvas_is_not_known():
    assert pair(WHITE, dark=True) == []
    assert pair(WHITE, (BLACK, "1"), dark=True) == [("#ffffff", "#000000")]
    assert pair(WHITE, (BLACK, "0.5"), dark=True) == []


def test_each_pair_stands_once_in_the_order_of_the_page():
    texts = [
        ["p: a", BLACK, -1, False],
        ["p: b", BLACK, -1, True],
        ["p: c", BLACK, -1, False],
        ["p: d", WHITE, -1, True],
    ]
    found = composited(page(texts, unknown={"effect": 3}, disabled=2))
    assert [(one["name"], one.get("size")) for one in found.pairs] == [
        ("p: a", None),
        ("p: b", "large"),
        ("p: d", "large"),
    ]
    assert (found.texts, found.unknown, found.disabled) == (4, {"effect": 3}, 2)


@given(st.text())
def test_no_name_ends_the_block_early(name):
    found = composited(page([[f"</script><!--{name}", BLACK, -1, False]]))
    text = block(found)
    opening, closing = '<script id="plumbline-contrast" type="application/json">', "</script>"
    assert text.startswith(opening)
    assert text.endswith(closing)
    inner = text[len(opening) : -len(closing)]
    assert "<" not in inner
    assert json.loads(inner) == list(found.pairs)


@given(
    st.tuples(*[st.integers(0, 255)] * 3),
    st.lists(st.tuples(st.tuples(*[st.integers(0, 255)] * 3), st.integers(0, 100), st.integers(0, 100)), max_size=6),
)
def test_an_opaque_top_hides_what_is_beneath(top, below):
    layers = [(f"rgba({r}, {g}, {b}, {a / 100})", str(o / 100)) for (r, g, b), a, o in below]
    colour = f"rgb({top[0]}, {top[1]}, {top[2]})"
    (found,) = pair(BLACK, *[(background, "1") for background, _ in layers], (colour, "1"))
    assert found == ("#000000", "#{:02x}{:02x}{:02x}".format(*top))
    assert len(pair(BLACK, *layers)) == 1
