from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from plumbline.judge.contrast import luminance, ratio


def of(one, other):
    return ratio(luminance(one), luminance(other))


def test_the_ends_are_exact():
    assert (luminance("#000"), luminance("#FFFFFF")) == (0, 1)
    assert of("#000", "#fff") == of("#fff", "#000") == 21
    assert of("#abc", "#aabbcc") == 1


@pytest.mark.parametrize(
    ("grey", "reaches"), [("#767676", True), ("#777777", False), ("#757575", True), ("#949494", False)]
)
def test_the_greys_beside_the_limit_of_ordinary_text(grey, reaches):
    assert (of(grey, "#ffffff") >= Fraction(9, 2)) == reaches


@pytest.mark.parametrize(("grey", "reaches"), [("#949494", True), ("#959595", False)])
def test_the_greys_beside_the_limit_of_large_text(grey, reaches):
    assert (of(grey, "#ffffff") >= 3) == reaches


def by_decimals(channel):
    """The formula as the guidelines write it, in a hundred decimal digits."""
    with localcontext() as context:
        context.prec = 100
        value = Decimal(channel) / 255
        if value <= Decimal("0.03928"):
            return value / Decimal("12.92")
        return ((value + Decimal("0.055")) / Decimal("1.055")) ** Decimal("2.4")


@pytest.mark.parametrize("channel", range(256))
def test_every_channel_agrees_with_the_formula(channel):
    found = luminance(f"#{channel:02x}{channel:02x}{channel:02x}")
    assert abs(found - Fraction(by_decimals(channel))) <= Fraction(1, 10**39)


def test_the_knee():
    # 10 of 255 lies below it and 11 above.
    assert luminance("#0a0a0a") == Fraction(10, 255) / Fraction(1292, 100)
    assert luminance("#0b0b0b") != Fraction(11, 255) / Fraction(1292, 100)


def test_lighter_is_never_darker():
    found = [luminance(f"#{n:02x}{n:02x}{n:02x}") for n in range(256)]
    assert found == sorted(set(found))


@pytest.mark.parametrize(
    "text", ["", "#", "#ff", "#ffff", "#fffff", "#fffffff", "fff", "red", "#ggg", "#fff\n", "#١٢٣"]
)
def test_anything_else_is_no_colour(text):
    assert luminance(text) is None


colours = st.integers(0, 0xFFFFFF).map(lambda n: f"#{n:06x}")


@given(colours, colours)
def test_a_ratio_lies_between_its_ends_whatever_the_order(one, other):
    assert 1 <= of(one, other) == of(other, one) <= 21
