"""What does a reader of Markdown make of a rendering?

Two are asked: markdown-it, which shows its tokens, and cmark-gfm, which is the parser that GitHub wrote. Both have
tables, strikethrough, raw HTML and bare addresses on.
"""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import cmarkgfm
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt

PAGE_TAGS = {
    *("h1", "h2", "h3", "h4", "p", "ul", "li", "blockquote", "br", "table", "thead", "tbody", "tr", "th", "td"),
    *("code", "pre", "strong", "sub", "details", "summary", "a"),
}
OUR_TAGS = {"<strong>", "</strong>", "<sub>", "</sub>"}
OUR_BLOCKS = re.compile(r"(<details>\n<summary>[A-Za-z0-9, ]+</summary>\n?|</details>\n?)")


@dataclass
class Reading:
    """The structure of a text, and what in it leads anywhere."""

    blocks: list[str] = field(default_factory=list)
    """Type and tag of every block, in order."""
    inlines: list[str] = field(default_factory=list)
    """Types of all that is not plain text, in order."""
    links: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    words: str = ""
    """All that is plain text, where a forge looks for mentions."""
    code: list[str] = field(default_factory=list)


def read(text: str) -> Reading:
    """Parse a rendering."""
    parser = MarkdownIt("commonmark", {"html": True, "linkify": True})
    parser.enable(["table", "strikethrough", "linkify"])
    reading = Reading()
    for token in parser.parse(text):
        reading.blocks.append(f"{token.type} {token.tag} {token.level}")
        if token.type == "html_block":
            reading.tags.append(token.content)
        if token.type in {"fence", "code_block"}:
            reading.code.append(token.content)
        for child in token.children or []:
            if child.type == "text":
                reading.words += child.content
                continue
            if child.type not in {"softbreak", "text_special"}:
                reading.inlines.append(child.type)
            if child.type == "link_open":
                reading.links.append(str(child.attrs["href"]))
            if child.type == "html_inline":
                reading.tags.append(child.content)
            if child.type == "code_inline":
                reading.code.append(child.content)
        reading.words += "\n"
    return reading


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]
        assert {name for name, _ in attrs} <= {"href", "align", "lang"}, attrs


def check_harmless(text: str, *, our_links: str) -> Reading:
    """Nothing in a rendering may lead anywhere, ping anybody or become a tag but what we put there."""
    reading = read(text)
    assert "image" not in reading.inlines
    assert [link for link in reading.links if not link.startswith(our_links)] == []
    for tag in reading.tags:
        assert tag in OUR_TAGS or not OUR_BLOCKS.sub("", tag).strip(), tag
    every = "".join(reading.tags)
    for tag in ("details", "summary", "strong", "sub"):
        assert every.count(f"<{tag}>") == every.count(f"</{tag}>")
    assert not re.search(r"[@#][A-Za-z0-9]", reading.words), reading.words
    assert not re.search(r"https?://|www\.|:[a-z_]+:", reading.words), reading.words
    page = _Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(text, Options.CMARK_OPT_UNSAFE))
    assert page.tags <= PAGE_TAGS
    assert page.links == reading.links
    hidden = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
    assert not hidden.search(text)
    return reading
