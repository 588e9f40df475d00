"""Which of the five accessibility checks does a well-formed page pass?

Read by the specification's facts and the faults that DESIGN.md says are closed, with the standard library's parser. For
simple pages only: every element closed, nothing hidden by style.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

VOID = {"input", "br", "meta", "link", "img", "hr"}
COLOUR = re.compile(r"#(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})")
KNEE = 0.03928
TAG = re.compile("[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*")
NOT_ANNOUNCED = VOID | {"script", "style", "title", "template", "head"}
NO_FIELDS = {"submit", "reset", "button", "image", "checkbox", "radio"}


@dataclass
class Element:
    """An element with its attributes and its text."""

    tag: str
    attributes: dict[str, str]
    text: str = ""


@dataclass
class Page(HTMLParser):
    """The elements of a page, in order."""

    elements: list[Element] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag):
        if any(element.tag == tag for element in self._open):
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data):
        for element in self._open:
            element.text += data

    def all(self, *tags: str) -> list[Element]:
        """Elements of some tags."""
        return [element for element in self.elements if element.tag in tags]


def page_checks(html: str) -> dict[str, bool]:
    """Check name to whether it passes."""
    page = Page()
    page.feed(html)
    page.close()
    return {
        "language_declaration": any(
            TAG.fullmatch(root.attributes.get("lang", "").strip())  # OURS: it looks like a tag
            for root in page.all("html")[-1:]
        ),
        "control_labels": _controls_named(page),
        "live_region": any(
            element.attributes.get("aria-live") in {"polite", "assertive"}
            or element.attributes.get("role") in {"status", "alert", "log"}
            for element in page.elements
            if element.tag not in NOT_ANNOUNCED  # OURS
        ),
        "heading_order": _headings_in_order(page),
        "contrast_declarations": _contrast_declared(page),
    }


def _controls_named(page: Page) -> bool:
    """OURS: there is something to ask in; buttons, links and what can be edited need names too."""
    fields = [c for c in page.all("input", "select", "textarea") if c.attributes.get("type") != "hidden"]
    edited = [c for c in page.elements if c.attributes.get("contenteditable") == "true"]
    pressed = [*page.all("button"), *(link for link in page.all("a") if "href" in link.attributes)]
    return (
        any(control.attributes.get("type") not in NO_FIELDS for control in [*fields, *edited])
        and all(_named(control, page) for control in [*fields, *edited])
        and all(control.text.strip() or _named(control, page) for control in pressed)
    )


def _named(control: Element, page: Page) -> bool:
    """OURS: names that are blank, empty labels and references to nothing do not count."""
    attributes = control.attributes
    ids = {e.attributes["id"]: e for e in page.elements if e.attributes.get("id")}
    if any(attributes.get(name, "").strip() for name in ("aria-label", "title")):
        return True
    if any(i in ids and ids[i].text.strip() for i in attributes.get("aria-labelledby", "").split()):
        return True
    identity = attributes.get("id")
    if identity and any(la.attributes.get("for") == identity and la.text.strip() for la in page.all("label")):
        return True
    typed = control.tag == "input" and attributes.get("type") in {"submit", "reset", "button", "image"}
    return typed and any(attributes.get(name, "").strip() for name in ("value", "alt"))


def _headings_in_order(page: Page) -> bool:
    levels = [int(element.tag[1]) for element in page.all("h1", "h2", "h3", "h4", "h5", "h6")]
    return levels.count(1) == 1 and levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))


def _contrast_declared(page: Page) -> bool:
    scripts = [e for e in page.all("script") if e.attributes.get("id") == "plumbline-contrast"]
    try:
        (script,) = scripts
        declared = json.loads(script.text)
    except ValueError:
        return False
    return isinstance(declared, list) and bool(declared) and all(map(_legible, declared))


def _legible(entry: Any) -> bool:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return False
    colours = [entry.get("foreground"), entry.get("background")]
    if not all(isinstance(colour, str) and COLOUR.fullmatch(colour) for colour in colours):
        return False
    low, high = sorted(map(_luminance, colours))
    return (high + 0.05) / (low + 0.05) >= (3 if entry.get("size") == "large" else 4.5)


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = (int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4))
    linear = [part / 12.92 if part <= KNEE else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
