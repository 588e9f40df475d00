"""Which pairs of colours does a page show, as the accessibility suite reads them?

The page's own styles say which colours lie over which; here they are composited exactly. What cannot be told (an image
behind a text, an effect, a colour outside sRGB) is counted by reason, and no pair is made up for it. Large text is
WCAG 2's: 18 points, or 14 points and bold.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

BLOCK_ID = "plumbline-contrast"

_RGB = re.compile(r"rgba?\(([\d.]{1,9}), ([\d.]{1,9}), ([\d.]{1,9})(?:, ([\d.]{1,12}))?\)")
_WHITE = (Fraction(255), Fraction(255), Fraction(255))

Rgba = tuple[Fraction, Fraction, Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Contrast:
    """What was found about a page's text."""

    pairs: Sequence[Mapping[str, str]]
    """`name`, `foreground`, `background` and, for large text, `size`; each pair once, in the order of the page."""
    texts: int
    """Visible texts with a pair."""
    unknown: Mapping[str, int]
    """Reason to how many texts have no pair because of it."""
    disabled: int
    """Texts of disabled controls, of which WCAG asks no contrast."""


def composited(found: Mapping[str, Any]) -> Contrast:
    """The pairs of what `colours.js` returned."""
    unknown = dict(found["unknown"])
    pairs: dict[tuple[str, str, bool], str] = {}
    painted: dict[tuple[str, int], tuple[str, str] | None] = {}
    counted = 0
    for name, colour, layer, large in found["texts"]:
        key = (colour, layer)
        if key not in painted:
            painted[key] = _pair(found["layers"], colour, layer, dark=found["dark"])
        pair = painted[key]
        if pair is None:
            unknown["colour that cannot be computed"] = unknown.get("colour that cannot be computed", 0) + 1
            continue
        counted += 1
        pairs.setdefault((*pair, large), name)
    return Contrast(
        pairs=[
            {"name": name, "foreground": front, "background": back, **({"size": "large"} if large else {})}
            for (front, back, large), name in pairs.items()
        ],
        texts=counted,
        unknown=dict(sorted(unknown.items())),
        disabled=found["disabled"],
    )


def _pair(layers: Sequence[Sequence[Any]], colour: str, layer: int, *, dark: bool) -> tuple[str, str] | None:
    front = _over_layers(layers, _parsed(colour), layer)
    back = _over_layers(layers, (*_WHITE, Fraction(0)), layer)
    if front is None or back is None or (dark and back[3] < 1):
        return None  # behind everything lies a canvas, whose dark colour is the browser's own
    return _hex(_over(front, (*_WHITE, Fraction(1)))), _hex(_over(back, (*_WHITE, Fraction(1))))


def _over_layers(layers: Sequence[Sequence[Any]], top: Rgba | None, layer: int) -> Rgba | None:
    # From the text down to the root: each element paints its background beneath what it holds, and fades both.
    while layer >= 0:
        parent, background, opacity = layers[layer]
        beneath = _parsed(background)
        if top is None or beneath is None:
            return None
        red, green, blue, alpha = _over(top, beneath)
        top, layer = (red, green, blue, alpha * _fraction(opacity)), parent
    return top


def _over(top: Rgba, below: Rgba) -> Rgba:
    rest = below[3] * (1 - top[3])
    alpha = top[3] + rest
    if not alpha:
        return below[0], below[1], below[2], Fraction(0)
    red, green, blue = ((over * top[3] + under * rest) / alpha for over, under in zip(top[:3], below[:3], strict=True))
    return red, green, blue, alpha


def _parsed(colour: str) -> Rgba | None:
    found = _RGB.fullmatch(colour)
    if found is None:
        return None
    red, green, blue, alpha = (_fraction(part or "1") for part in found.groups())
    return red, green, blue, alpha


def _fraction(text: str) -> Fraction:
    # Opacities come as JavaScript writes them, down to 1e-7.
    return min(Fraction(255), max(Fraction(0), Fraction(text).limit_denominator(10**6)))


def _hex(colour: Rgba) -> str:
    return "#" + "".join(f"{int(part + Fraction(1, 2)):02x}" for part in colour[:3])


def block(contrast: Contrast) -> str:
    """The element that the accessibility suite looks for. No text of the page can end it early."""
    text = json.dumps(contrast.pairs, indent=1, ensure_ascii=True)
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return f'<script id="{BLOCK_ID}" type="application/json">{text}</script>'
