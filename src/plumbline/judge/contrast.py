"""How far do two colours stand apart?

The contrast ratio of the Web Content Accessibility Guidelines (WCAG 2, "relative luminance" and "contrast ratio"),
with the knee of 0.03928 that their text has. In integers and fractions, so that a ratio beside a limit falls on the
same side on every machine.
"""

import re
from fractions import Fraction
from functools import cache

_COLOUR = re.compile(r"#(?:[0-9A-Fa-f]{3}|[0-9A-Fa-f]{6})")
_KNEE = Fraction(3928, 100_000)
_DIGITS = 40
_WEIGHTS = (Fraction(2126, 10_000), Fraction(7152, 10_000), Fraction(722, 10_000))
_FLARE = Fraction(5, 100)


def luminance(colour: str) -> Fraction | None:
    """The relative luminance of `#rgb` or `#rrggbb`, from 0 to 1; None for anything else.

    Channels beyond the knee are rounded down at the fortieth decimal. The others, and a full channel, are exact.
    """
    if not _COLOUR.fullmatch(colour):
        return None
    digits = colour[1:] if len(colour) == 7 else "".join(digit * 2 for digit in colour[1:])
    channels = (int(digits[at : at + 2], 16) for at in (0, 2, 4))
    return sum((weight * _linear(channel) for weight, channel in zip(_WEIGHTS, channels, strict=True)), Fraction(0))


def ratio(one: Fraction, other: Fraction) -> Fraction:
    """The contrast ratio of two luminances, from 1 to 21."""
    return (max(one, other) + _FLARE) / (min(one, other) + _FLARE)


@cache
def _linear(channel: int) -> Fraction:
    """A channel from 0 to 255 as its share of light."""
    value = Fraction(channel, 255)
    if value <= _KNEE:
        return value / Fraction(1292, 100)
    base = (value + Fraction(55, 1000)) / Fraction(1055, 1000)
    # x to the power of 2.4 is the fifth root of x to the power of 12.
    scaled = base.numerator**12 * 10 ** (5 * _DIGITS) // base.denominator**12
    return Fraction(_fifth_root(scaled), 10**_DIGITS)


def _fifth_root(number: int) -> int:
    """The largest integer whose fifth power is at most `number`, by Newton's method from above."""
    root = 1 << -(-number.bit_length() // 5)
    while (lower := (4 * root + number // root**4) // 5) < root:
        root = lower
    return root
