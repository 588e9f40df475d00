"""Which elements does a captured page have, where do they stand, and what can assistive technology read in them?

Start tags, attributes, comments and raw text are told apart as the HTML Standard's tokenizer does ("Tokenization"); the
tree is built by the few rules of it that decide what a control, a label or a heading holds. Not by a whole tree
builder, because that one is not bounded: the Standard has every unclosed `<b>` made anew in every later paragraph, so
that a page of 28 KB takes the reference engines more than a gigabyte. Here every step is constant for each tag, text
and attribute, whatever the page; offsets are exact; and no interpreter's or library's version moves a verdict.
"""

import re
from collections import defaultdict
from html import unescape

_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}
_SPACE = "\t\n\f\r "
_MARKUP = re.compile(r"<(?=[A-Za-z/!?])")
_NAME = re.compile(rf"[A-Za-z][^{_SPACE}/>]*+")
_BETWEEN = re.compile(rf"[{_SPACE}/]*+")
_ATTRIBUTE = re.compile(rf"([^{_SPACE}/>][^{_SPACE}/>=]*+)([{_SPACE}]*+=[{_SPACE}]*+)?")
_UNQUOTED = re.compile(rf"[^{_SPACE}>]*+")
_COMMENT_END = re.compile(r"--!?>")
_SCRIPT = re.compile(rf"<!---*+>|<!--|-->|<(/?)script(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII)
_LONG_REFERENCE = re.compile(r"&#[xX]?[0-9a-fA-F]{8,}+;?")
_READ_OUT = re.compile(
    "[^\\s\x00-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffd\ue000-\uf8ff\U000e0000-\U0010ffff]"
)
_UNSEEN = re.compile(r"(?:^|;)\s*+(?:display\s*+:\s*+none|visibility\s*+:\s*+hidden)", re.IGNORECASE)


def _names(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_VOID = _names("area base br col embed hr img input link meta param source track wbr")
_RAW = _names("iframe noembed noframes noscript script style textarea title xmp")
_HEADINGS = _names("h1 h2 h3 h4 h5 h6")
_CLOSES_P = _HEADINGS | _names(
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form "
    "header hgroup hr li listing main menu nav ol p plaintext pre search section summary table ul xmp"
)
_SCOPES = _names("applet caption html marquee object table td template th")
_SPECIAL = (
    _CLOSES_P
    | _SCOPES
    | _names(
        "area base basefont bgsound body br button col colgroup embed frame frameset head iframe img input keygen link "
        "meta noembed noframes noscript param script select source style tbody textarea tfoot thead title tr track "
        "wbr"
    )
)
_ENDS_ITEM = {"li": frozenset({"li"}), "dd": frozenset({"dd", "dt"}), "dt": frozenset({"dd", "dt"})}
_FOREIGN = frozenset({"svg", "math"})
_HTML_WITHIN = frozenset({"desc", "foreignobject", "title"})
_BREAKS_OUT = _HEADINGS | _names(
    "b big blockquote body br center code dd div dl dt em embed head hr i img li listing menu meta nobr ol p pre ruby "
    "s small span strong strike sub sup table tt u ul var"
)


class Element:
    """One element of a page."""

    __slots__ = ("_mark", "_sealed", "attributes", "end", "foreign", "hidden", "name", "raw", "reads", "start")

    def __init__(self, name: str, attributes: dict[str, str], start: int, end: int) -> None:
        self.name = name
        """In lower case."""
        self.attributes = attributes
        """Names in lower case; of repeated ones the first; values with character references resolved."""
        self.start = start
        """Code point offset of its start tag."""
        self.end = end
        """Code point offset after its start tag."""
        self.raw = ""
        """The text of a script, a style and the like, as written."""
        self.hidden = 0
        """How many elements around it, itself included, are hidden from assistive technology."""
        self.reads = False
        """Whether it holds anything to be read out that is hidden no more than it is itself."""
        self.foreign = False
        self._mark = 0
        self._sealed = False

    def get(self, attribute: str) -> str:
        """The value of an attribute; the empty string where there is none."""
        return self.attributes.get(attribute, "")


def reads_out(text: str) -> bool:
    """Whether a text has a character that is neither blank, nor unseen, nor a private sign such as an icon font's."""
    return _READ_OUT.search(text) is not None


def parse(text: str) -> list[Element]:
    """The elements of a page in the order of their start tags.

    Takes time linear in the length of the text, however the page is written.
    """
    tree = _Tree()
    position = 0
    text = text.replace("\0", "\ufffd")
    while found := _MARKUP.search(text, position):
        at = found.start()
        tree.text(text[position:at])
        follows = text[at + 1]
        if follows == "!":
            position = _after_declaration(text, at, foreign=tree.foreign)
        elif follows == "?" or (follows == "/" and not _NAME.match(text, at + 2)):
            position = _after(text, ">", at)
        else:
            read = _tag(text, at, closing=follows == "/")
            if read is None:  # the page ends within a tag, which is dropped
                return tree.finish()
            element, closed, position = read
            if follows == "/":
                tree.end(element.name)
            elif tree.start(element, closed=closed) and element.name in _RAW and not element.foreign:
                element.raw, position = _raw(text, element.name, position)
            elif element.name == "plaintext":
                tree.text(text[position:])
                return tree.finish()
    tree.text(text[position:])
    return tree.finish()


def _after(text: str, end: str, start: int) -> int:
    at = text.find(end, start)
    return len(text) if at < 0 else at + len(end)


def _after_declaration(text: str, at: int, *, foreign: bool) -> int:
    if text.startswith("<!--", at):
        if text.startswith((">", "->"), at + 4):
            return _after(text, ">", at)
        # `<!--->` ended above; from here the two dashes of the beginning are no part of the end.
        end = _COMMENT_END.search(text, at + 4)
        return len(text) if end is None else end.end()
    if foreign and text.startswith("<![CDATA[", at):
        return _after(text, "]]>", at)
    return _after(text, ">", at)


def _tag(text: str, at: int, *, closing: bool) -> tuple[Element, bool, int] | None:
    """A tag, whether it closes itself, and the offset after it; None where the page ends first."""
    named = _NAME.match(text, at + 1 + closing)
    if named is None:  # pragma: no cover - the caller saw a letter
        return None
    attributes: dict[str, str] = {}
    position = named.end()
    while True:
        between = _BETWEEN.match(text, position)
        position = between.end() if between else position
        if position >= len(text):
            return None
        if text[position] == ">":
            element = Element(named.group().translate(_ASCII_LOWER), attributes, at, position + 1)
            return element, text[position - 1] == "/" and bool(between and between.group()), position + 1
        found = _ATTRIBUTE.match(text, position)
        if found is None:  # pragma: no cover - whatever is no blank, `/` or `>` begins an attribute
            return None
        position, value = found.end(), ""
        if found.group(2):
            quote = text[position : position + 1]
            if quote in {'"', "'"}:
                end = text.find(quote, position + 1)
                if end < 0:
                    return None
                value, position = text[position + 1 : end], end + 1
            elif written := _UNQUOTED.match(text, position):
                value, position = written.group(), written.end()
        attributes.setdefault(found.group(1).translate(_ASCII_LOWER), _resolved(value))


def _resolved(text: str) -> str:
    # The interpreter refuses to read a number of thousands of digits, and a page may hold one.
    return unescape(_LONG_REFERENCE.sub("\ufffd", text)) if "&" in text else text


def _raw(text: str, name: str, start: int) -> tuple[str, int]:
    """The raw text of an element whose start tag ends at `start`, and the offset of its end tag."""
    if name == "script":
        return _script(text, start)
    end = re.compile(rf"</{name}(?=[{_SPACE}/>])", re.IGNORECASE | re.ASCII).search(text, start)
    stop = len(text) if end is None else end.start()
    return text[start:stop], stop


def _script(text: str, start: int) -> tuple[str, int]:
    # Within `<!-- <script>` an end tag ends the inner script only ("script data double escaped state").
    escaped = inner = False
    for found in _SCRIPT.finditer(text, start):
        sign = found.group()
        if sign.endswith("-->") or (sign.startswith("<!") and sign.endswith(">")):
            escaped = inner = False
        elif sign == "<!--":
            escaped = True
        elif not found.group(1):
            inner = escaped
        elif inner:
            inner = False
        else:
            return text[start : found.start()], found.start()
    return text[start:], len(text)


class _Tree:
    """The elements so far, and which of them are open."""

    def __init__(self) -> None:
        self._elements: list[Element] = []
        self._stack: list[Element] = []
        self._open: defaultdict[str, list[int]] = defaultdict(list)
        """Name to the places in the stack where it is open."""
        self._specials: list[int] = []
        self._walls: list[int] = []
        """The special ones that an item of a list does not reach through."""
        self._scopes: list[int] = []
        self._readable: defaultdict[int, int] = defaultdict(int)
        """By how often it is hidden, how many readable pieces were seen."""

    @property
    def foreign(self) -> bool:
        """Whether what comes next stands in a drawing or a formula."""
        return bool(self._stack) and self._stack[-1].foreign and self._stack[-1].name not in _HTML_WITHIN

    def finish(self) -> list[Element]:
        """Every element, all of them closed."""
        self._pop_to(0)
        return self._elements

    def text(self, written: str) -> None:
        """Take in text between tags."""
        if written and self._stack and reads_out(_resolved(written)):
            self._readable[self._stack[-1].hidden] += 1

    def start(self, element: Element, *, closed: bool) -> bool:
        """Take in a start tag; whether the element stays open."""
        name = element.name
        if self.foreign and name in _BREAKS_OUT:
            while self.foreign:
                self._pop_to(len(self._stack) - 1)
        element.foreign = name in _FOREIGN or self.foreign
        if not element.foreign:
            self._close_before(name)
        above = self._stack[-1].hidden if self._stack else 0
        element.hidden = above + _hides(element)
        element._mark = self._readable[element.hidden]  # noqa: SLF001 - set here, read in `_seal`
        if element.attributes and (
            reads_out(element.get("aria-label")) or (name == "img" and reads_out(element.get("alt")))
        ):
            self._readable[element.hidden] += 1
        self._elements.append(element)
        if (closed and element.foreign) or name in _VOID or (name in {"html", "body"} and self._open[name]):
            self._seal(element)
            return False
        self._push(element)
        return True

    def end(self, name: str) -> None:
        """Take in an end tag."""
        places = self._open[_key(name)]
        if not places or name in {"html", "body"}:
            return
        fence = self._scopes if name in _SPECIAL else self._specials
        if not fence or fence[-1] <= places[-1]:
            self._pop_to(places[-1])
        elif name == "a":
            self._seal(self._stack[places[-1]])  # unlike others, a link ends whatever still stands open in it

    def _close_before(self, name: str) -> None:
        """End what a start tag ends without saying so."""
        scope = self._scopes[-1] if self._scopes else -1
        if name in _ENDS_ITEM and self._walls and self._stack[self._walls[-1]].name in _ENDS_ITEM[name]:
            self._pop_to(self._walls[-1])
        buttons, paragraphs = self._open["button"], self._open["p"]
        if name in _CLOSES_P and paragraphs and paragraphs[-1] > max(scope, buttons[-1] if buttons else -1):
            self._pop_to(paragraphs[-1])
        if name in _HEADINGS and self._stack and self._stack[-1].name in _HEADINGS:
            self._pop_to(len(self._stack) - 1)
        if name == "button" and buttons and buttons[-1] > scope:
            self._pop_to(buttons[-1])
        if name == "a" and (links := self._open["a"]):
            self._seal(self._stack[links[-1]])  # a link within a link ends the outer one

    def _push(self, element: Element) -> None:
        at = len(self._stack)
        self._stack.append(element)
        self._open[_key(element.name)].append(at)
        if element.name in _SPECIAL and not element.foreign:
            self._specials.append(at)
            if element.name not in {"address", "div", "p"}:
                self._walls.append(at)
            if element.name in _SCOPES:
                self._scopes.append(at)

    def _pop_to(self, height: int) -> None:
        while len(self._stack) > height:
            element = self._stack.pop()
            self._open[_key(element.name)].pop()
            for places in (self._specials, self._walls, self._scopes):
                if places and places[-1] == len(self._stack):
                    places.pop()
            self._seal(element)

    def _seal(self, element: Element) -> None:
        """Say once and for all whether an element holds anything to be read out."""
        if not element._sealed:  # noqa: SLF001 - see `start`
            element.reads = self._readable[element.hidden] > element._mark  # noqa: SLF001
            element._sealed = True  # noqa: SLF001


def _key(name: str) -> str:
    # Any heading's end tag ends any heading.
    return "h1" if name in _HEADINGS else name


def _hides(element: Element) -> bool:
    if not element.attributes:
        return element.name == "template"
    return (
        "hidden" in element.attributes
        or "inert" in element.attributes
        or element.name == "template"
        or element.get("aria-hidden").strip().lower() == "true"
        or _UNSEEN.search(element.get("style")) is not None
    )
