"""Can people who use assistive technology use the captured page?

Five structural checks of the one page in the bundle, a census and no sample. They show that certain barriers are
absent. They do not show that the page is accessible: nobody has used it.
"""

import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import ClassVar

import msgspec

from plumbline.errors import EmptyPopulationError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.page import Element, parse, reads_out
from plumbline.evidence.schema import Item
from plumbline.judge.contrast import luminance, ratio
from plumbline.judge.lexical import Judge
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import (
    ONE,
    ZERO,
    Grader,
    Outcome,
    ScoreKind,
    Span,
    Status,
    Suite,
    SuiteResult,
    Unit,
    conclude,
)

CONTRAST_ID = "plumbline-contrast"
ORDINARY, LARGE = Fraction(9, 2), Fraction(3)
"""The least contrast ratio of text, and of large text (WCAG 2, success criterion 1.4.3)."""

_FIELDS = frozenset({"input", "select", "textarea"})
_FIELD_ROLES = frozenset({"combobox", "searchbox", "textbox"})
_ROLES = _FIELD_ROLES | frozenset(
    {"button", "checkbox", "link", "menuitem", "menuitemcheckbox", "menuitemradio", "radio", "slider", "spinbutton"}
    | {"switch", "tab"}
)
_BY_VALUE = frozenset({"button", "reset", "submit"})
_LIVE_ROLES = frozenset({"alert", "log", "status"})
_NEITHER = frozenset({"none", "presentation"})
_SILENT = frozenset(
    {"area", "base", "br", "col", "embed", "head", "hr", "img", "input", "link", "meta", "noscript", "param", "script"}
    | {"source", "style", "template", "title", "track", "wbr"}
)
"""Elements without content that could be announced."""
_HEADING = re.compile("h[1-6]")
_TAG = re.compile("[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*+")
"""The form of a language tag; whether such a language exists it does not tell."""
_SHOWN = 20
_LONGEST = 60

Found = tuple[str, str, Sequence[Element]]
"""Why a check failed: the reason, the note, and the elements to look at."""


class Accessibility(Suite):
    """The share of the five checks that the page passes; one failed check fails the suite at its floor of 1."""

    id = "accessibility"
    title = "the page can be used with assistive technology"
    default_floor = Fraction(1)
    kind: ClassVar[ScoreKind] = "census"
    unit: ClassVar[Unit] = "check"

    def open(self, bundle: Bundle, judge: Judge) -> Grader:  # noqa: ARG002 - a page needs no judge
        """Score 1 for each check that holds, else 0.

        Raises:
            EmptyPopulationError: the bundle has no captured page.
        """
        page = bundle.page
        if page is None:
            raise EmptyPopulationError(
                f"suite {self.id}: the bundle has no captured page; its manifest has no files.interface",
                remedy="Add the page's HTML to the bundle and name it under files.interface, or set enabled = false "
                f"under [suites.{self.id}] and say why.",
            )
        return _Grader(self, page, bundle.file_of("interface"))


class _Grader(Grader):
    def __init__(self, suite: Suite, page: str, file: str) -> None:
        self.suite = suite
        self.page = page
        self.file = file

    def see(self, item: Item, answer: TextFeatures) -> None:
        """The checks are about the page alone."""

    def close(self, floor: Fraction) -> SuiteResult:
        elements = parse(self.page)
        outcomes = [_outcome(name, check(elements)) for name, check in CHECKS.items()]
        return conclude(
            self.suite,
            floor,
            outcomes,
            eligible=len(outcomes),
            details={
                "interface": self.file,
                "metric": "share_of_checks_passed",
                "failed_checks": [outcome.item for outcome in outcomes if outcome.status == Status.FAIL],
                "contrast_note": (
                    "ratios are computed from the colours that the page declares; colours that it uses and does not "
                    "declare are not seen"
                ),
                "scope_note": (
                    "five structural checks of one captured page, as captured: no script was run, no style sheet read, "
                    "and a label that only surrounds its control is not counted; it takes people to say that a page "
                    "can be used"
                ),
            },
        )


def _outcome(name: str, found: Found | None) -> Outcome:
    if found is None:
        return Outcome(name, Status.PASS, ONE)
    reason, note, places = found
    spans = tuple(Span("interface", "", (), element.start, element.end, "here") for element in places[:_SHOWN])
    return Outcome(
        item=name,
        status=Status.FAIL,
        score=ZERO,
        reason=reason,
        note=note,
        # What is missing stands nowhere: then the page as a whole is meant.
        spans=spans or (Span("interface", "", (), note="nowhere in the page"),),
    )


def _language(elements: Sequence[Element]) -> Found | None:
    pages = [element for element in elements if element.name == "html"]
    # A later html tag adds the attributes that the first one lacks, and changes none.
    declared = next((page.get("lang") for page in pages if "lang" in page.attributes), None)
    if declared is not None and _TAG.fullmatch(declared.strip()):
        return None
    told = "has no lang attribute" if declared is None else "has a lang attribute that names no language"
    return "no_page_language", f"the html element {told}", pages[:1]


def _labels(elements: Sequence[Element]) -> Found | None:
    first: dict[str, Element] = {}
    for element in elements:
        if identity := element.get("id"):
            first.setdefault(identity, element)
    labels: dict[str, int] = {}
    for label in elements:
        if label.name == "label" and label.reads and (target := label.get("for")):
            labels[target] = min(label.hidden, labels.get(target, label.hidden))
    controls = [element for element in elements if _is_control(element)]
    if not any(_takes_text(control) for control in controls):
        return "unnamed_control", "the page has no field to ask in, so nothing could be labelled", []
    nameless = [control for control in controls if not _named(control, first, labels)]
    if not nameless:
        return None
    kinds = ", ".join(_shown(control) for control in nameless[:3])
    more = f" and {len(nameless) - 3} more" if len(nameless) > 3 else ""
    return "unnamed_control", f"{len(nameless)} of {len(controls)} controls without a name: {kinds}{more}", nameless


def _takes_text(control: Element) -> bool:
    """Whether somebody can ask something in it."""
    if control.name == "input":
        return control.get("type").strip().lower() not in _BY_VALUE | {"image", "checkbox", "radio"}
    return control.name in _FIELDS or _role(control) in _FIELD_ROLES or _is_editable(control)


def _is_editable(element: Element) -> bool:
    return "contenteditable" in element.attributes and element.get("contenteditable").strip().lower() != "false"


def _is_control(element: Element) -> bool:
    if element.foreign:
        return False
    if element.name == "input":
        return element.get("type").lower() != "hidden"
    return (
        element.name in {"select", "textarea", "button", "summary"}
        or (element.name in {"a", "area"} and "href" in element.attributes)
        or _is_editable(element)
        or _role(element) in _ROLES
    )


def _named(control: Element, first: dict[str, Element], labels: dict[str, int]) -> bool:
    if any(reads_out(control.get(attribute)) for attribute in ("aria-label", "title")):
        return True
    if any(identity in first and first[identity].reads for identity in control.get("aria-labelledby").split()):
        return True
    kind, identity = control.get("type").lower(), control.get("id")
    if control.name == "input" and kind in _BY_VALUE and reads_out(control.get("value")):
        return True
    if (control.name == "area" or (control.name == "input" and kind == "image")) and reads_out(control.get("alt")):
        return True
    # A label speaks for the first element with its id, and only where it is hidden no more than that.
    if first.get(identity) is control and identity in labels and labels[identity] <= control.hidden:
        return True
    typed_in = control.name in _FIELDS or _role(control) in _FIELD_ROLES or _is_editable(control)
    return control.reads and not typed_in


def _role(element: Element) -> str:
    """The first role of a list that is looked for here; of others it does not matter which."""
    roles = element.get("role").lower().split()
    return next((role for role in roles if role in _ROLES | _LIVE_ROLES | _NEITHER), roles[0] if roles else "")


def _shown(element: Element) -> str:
    identity = element.get("id") or element.get("name")
    if not identity:
        return element.name
    return f"{element.name} {identity if len(identity) <= _LONGEST else identity[:_LONGEST] + '…'}"


def _live(elements: Sequence[Element]) -> Found | None:
    live = [element for element in elements if element.name not in _SILENT and _announces(element)]
    if any(not element.hidden for element in live):
        return None
    told = "every live region is hidden from assistive technology" if live else "the page has no live region"
    return "no_live_region", f"{told}, so a new answer is not announced", live


def _announces(element: Element) -> bool:
    # What aria-live says goes before what a role implies.
    said = element.get("aria-live").strip().lower()
    return said in {"polite", "assertive"} or (said != "off" and _role(element) in _LIVE_ROLES)


def _headings(elements: Sequence[Element]) -> Found | None:
    found = [
        element
        for element in elements
        if _HEADING.fullmatch(element.name)
        and not element.foreign
        and not element.hidden
        and _role(element) not in _NEITHER
    ]
    if not found:
        return "heading_order", "the page has no heading", []
    if empty := [heading for heading in found if not heading.reads]:
        return "heading_order", f"{len(empty)} of {len(found)} headings without text", empty
    main = [heading for heading in found if heading.name == "h1"]
    if len(main) != 1:
        return "heading_order", f"the page has {len(main)} h1 headings and needs one", main[1:] or found[:1]
    if found[0].name != "h1":
        return "heading_order", f"the first heading is {found[0].name} and not h1", found[:1]
    for above, below in pairwise(found):
        if int(below.name[1]) > int(above.name[1]) + 1:
            return "heading_order", f"after {above.name} comes {below.name}, which leaves out a level", [below, above]
    return None


def _contrast(elements: Sequence[Element]) -> Found | None:
    declared = [element for element in elements if element.name == "script" and element.get("id") == CONTRAST_ID]
    if not declared:
        return "contrast_undeclared", f"the page has no script with the id {CONTRAST_ID}", []
    for script in declared:
        pairs = _pairs(script.raw)
        if isinstance(pairs, str):
            return "contrast_undeclared", f"the declaration of colours {pairs}", [script]
        for number, pair in enumerate(pairs, start=1):
            if told := _too_close(pair):
                return "low_contrast", f"pair {number} of {len(pairs)}, {told}", [script]
    return None


class Pair(msgspec.Struct, frozen=True):
    """Two colours that a page declares."""

    name: str
    foreground: str
    background: str
    size: str | None = None
    """`large` for large text."""


def _pairs(written: str) -> list[Pair] | str:
    """The declared pairs, or what is wrong with the declaration, to be read after its name."""
    try:
        pairs = msgspec.json.decode(written.encode("utf-8", "replace"), type=list[Pair])
    except msgspec.ValidationError:
        return "is no list of objects with name, foreground and background"
    except (msgspec.DecodeError, RecursionError):
        return "is not JSON"
    if not pairs:
        return "is empty"
    for number, pair in enumerate(pairs, start=1):
        if luminance(pair.foreground) is None or luminance(pair.background) is None:
            return f"has a colour in pair {number} that is neither #rgb nor #rrggbb"
    return pairs


def _too_close(pair: Pair) -> str | None:
    one, other = luminance(pair.foreground), luminance(pair.background)
    least = LARGE if pair.size == "large" else ORDINARY
    if one is None or other is None or (stands := ratio(one, other)) >= least:
        return None
    # Cut and not rounded: a ratio under its limit never reads as one that reaches it.
    cut = stands.numerator * 10_000 // stands.denominator
    return (
        f"{pair.foreground} on {pair.background}: the contrast ratio is {cut // 10_000}.{cut % 10_000:04d}, and it "
        f"needs {float(least)}"
    )


CHECKS: dict[str, Callable[[Sequence[Element]], Found | None]] = {
    "language_declaration": _language,
    "control_labels": _labels,
    "live_region": _live,
    "heading_order": _headings,
    "contrast_declarations": _contrast,
}
"""Name to check, in the order of the report."""
