"""Does hostile text stay text in every sink?"""

import re
import sys
import time
import unicodedata
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from plumbline.report.sinks import (
    JOINER,
    LEAST_LIMIT,
    code_span,
    html,
    log_line,
    markdown,
    sarif_text,
    terminal,
    visible,
    workflow_data,
    workflow_property,
)

ATTACKS = [
    "::error::forged",
    " \u00a0::error::forged",
    "\ufe0f::error::forged",
    "::add-mask::e",
    "::stop-commands::x",
    "##[error]forged",
    "text ##[add-mask]e",
    "#\ufe0f#\ufe0f[error]",
    "\x1b[31mred\x1b[0m",
    "\x1b]8;;http://a.example\x07link\x1b]8;;\x07",
    "\x9b31m",
    "@octocat",
    "@org/team",
    "a @\u200buser",
    "</details>",
    "</summary></details></td></table>",
    "<img src=x onerror=alert(1)>",
    "<script>alert(1)</script>",
    "![i](http://a.example/i.png)",
    "[l](http://a.example)",
    "[l]: http://a.example",
    "[^1]",
    "<http://a.example>",
    "<a@b.example>",
    "`code`",
    "``` fence",
    "~~~ fence",
    "``",
    "`",
    "\\`\\",
    "\u202egnp.exe",
    "a\u200bb\u2060c\ufeffd",
    "line\nbreak\r\nand\rmore",
    "# heading",
    "Setext\n===",
    "===",
    "---",
    "***",
    "* * *",
    "- item",
    "+ item",
    "1. item",
    "1) item",
    "123456789. item",
    "> quote",
    "> [!NOTE]",
    "    code",
    "\u3000wide",
    "trailing  ",
    " ",
    "a|b",
    "\\|",
    "\\\\|",
    "|---|",
    "a | b |\n|---|---|",
    "&lt;b&gt; &amp; &#64; &#x40; &nbsp;",
    "&amp;amp;",
    "http://a.example/x?y=1",
    "https://a.example",
    "ftp://a.example",
    "www.a.example",
    "WWW.1.example",
    "http://1.2.3.4/",
    "//a.example",
    "mailto:a@b.example",
    "xmpp:a@b.example/x",
    "a.b+c@d.example",
    "example.com",
    "#123",
    "GH-123",
    "gh-1",
    "owner/repo#123",
    "owner/repo@deadbeef",
    "deadbeef",
    "0123456789abcdef0123456789abcdef01234567",
    "DEADBEEF1",
    "1234567",
    "CVE-2020-1234",
    "GHSA-abcd-efgh-hijk",
    "<!-- plumbline -->",
    "-->",
    "<![CDATA[x]]>",
    "<?php ?>",
    ":smile: :+1: :100: :a:b:",
    "$x$ $$x$$ $`x`$",
    "*a* **b** _c_ __d__ ~~e~~ ~f~",
    "snake_case_name",
    "{{ liquid }} {% raw %}",
    "{0} {1}",
    "[text](1)",
    "\\[text](1)",
    "[a\\](1)",
    "a\\\\[b](1)",
    "\ud800 lone \udc00",
    "\U000e0041\U000e0042",
    "\ufdd0\uffff\U0001fffe",
    "100 % : , %0A",
    "/approve",
    "\x00",
    "",
]
# Pieces that only bite together, thick on the ground.
pieces = st.sampled_from(
    [
        *"@#:/.!|`\\<>&;*_~$[](){}-+=%,\"' \n\t\r",
        "://",
        "::",
        "##[",
        "www",
        "http",
        "GH",
        "a",
        "1",
        "deadbeef",
        "com",
        "\u200b",
        "\u202e",
        "\u2060",
        "\ufe0f",
        "\u0301",
        "\U0001f600",
        "\U0001f1e6",
        "\ud83d",
        "\ude00",
        "\x1b",
        "\u00a0",
        *("&#64;", "&lt;", "<b>", "</td>", "](", "![", "``", "- ", "1.", "1)", "\u00e9", "-->", "mailto:"),
    ]
)
hostile = st.lists(pieces, max_size=12).map("".join) | st.text(max_size=30) | st.sampled_from(ATTACKS)
limits = st.none() | st.integers(LEAST_LIMIT, 80)
every_attack = pytest.mark.parametrize("text", ATTACKS)
ESCAPE = r"\\u[0-9a-f]{4}|\\U[0-9a-f]{8}|\\[nrt]"


def units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


class TestVisible:
    @pytest.mark.parametrize("first", range(0, sys.maxunicode + 1, 0x10000))
    def test_every_character_that_hides_is_shown(self, first):
        # A newer interpreter may know a format character that the table must then learn.
        for code in range(first, first + 0x10000):
            char = chr(code)
            shown = visible(char)
            if unicodedata.category(char) in {"Cc", "Cf", "Co", "Cs", "Zl", "Zp"} or code & 0xFFFE == 0xFFFE:
                assert re.fullmatch(ESCAPE, shown), hex(code)
            elif shown != char:
                assert unicodedata.category(char) in {"Cn", "Mn", "Lo"}, hex(code)

    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a\u202eb", "a\\u202eb"),
            ("\x1b[0m", "\\u001b[0m"),
            ("\n\r\t", "\\n\\r\\t"),
            ("\U000e0041", "\\U000e0041"),
            ("\ud83d", "\\ud83d"),
            (
                "caf\u00e9 \u0645\u0631\u062d\u0628\u0627 \u2764\ufe0f \U0001f600",
                "caf\u00e9 \u0645\u0631\u062d\u0628\u0627 \u2764\ufe0f \U0001f600",
            ),
            ("\u3164\u115f\u00ad", "\\u3164\\u115f\\u00ad"),
        ],
    )
    def test_known(self, text, shown):
        assert visible(text) == shown
        assert visible(text, 100) == shown

    @given(hostile.map(lambda text: text * 3), st.integers(LEAST_LIMIT, 80))
    def test_a_cut_counts_what_it_leaves_out(self, text, limit):
        whole, shown = visible(text), visible(text, limit)
        assert len(shown) <= limit
        if len(whole) <= limit:
            assert shown == whole
        else:
            kept, left_out = re.fullmatch(r"(.*)… \(\+(\d+) more\)", shown).groups()
            assert kept == visible(text[: len(text) - int(left_out)])
            assert whole.startswith(kept)

    @pytest.mark.parametrize(
        "cluster",
        [
            "e\u0301",
            "\U0001f44d\U0001f3fd",
            "\U0001f1ea\U0001f1f8",
            "\ud83d\ude00",
            "\u1112\u1161\u11ab",
            "\u0915\u093f",
            "1\ufe0f\u20e3",
        ],
        ids=ascii,
    )
    @pytest.mark.parametrize("limit", range(LEAST_LIMIT, LEAST_LIMIT + 8))
    def test_a_cut_spares_clusters(self, cluster, limit):
        text = cluster * 40
        left_out = int(re.search(r"\+(\d+) more", visible(text, limit))[1])
        assert left_out % len(cluster) == 0
        assert left_out < len(text)

    def test_an_endless_cluster_is_cut(self):
        shown = visible("e" + "\u0301" * 1000, 100)
        assert 80 < len(shown) <= 100
        assert len(visible("e" + "\u0301" * 1000, LEAST_LIMIT).split("…")[0]) > 10

    @pytest.mark.parametrize(
        "sink",
        [
            visible,
            terminal,
            log_line,
            workflow_data,
            workflow_property,
            html,
            sarif_text,
            code_span,
            markdown,
        ],
    )
    def test_a_limit_without_room_for_the_mark_is_refused(self, sink):
        with pytest.raises(ValueError, match="at least"):
            sink("text", LEAST_LIMIT - 1)
        assert len(visible("\U000e0041" * 10**7, LEAST_LIMIT)) <= LEAST_LIMIT


class TestTerminal:
    @given(hostile, limits)
    def test_one_line_without_controls(self, text, limit):
        shown = terminal(text, limit)
        assert shown == visible(text, limit)
        assert not any(unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for char in shown)


class TestLogLine:
    @staticmethod
    def is_command(line: str) -> bool:
        """What the runner does, with a search that sees no character without weight in collation."""
        weighty = "".join(
            char for char in line if unicodedata.category(char) not in {"Cc", "Cf", "Mn", "Me"} or char == "\n"
        )
        return weighty.lstrip().startswith("::") or "##[" in weighty

    @given(hostile, limits)
    @example(" ::error::x", None)
    def test_no_command(self, text, limit):
        line = log_line(text, limit)
        assert "\n" not in line
        assert "\r" not in line
        assert not self.is_command(line)

    @every_attack
    def test_no_attack(self, text):
        assert not self.is_command(log_line(text))

    def test_the_model_of_the_runner_sees_attacks(self):
        assert sum(self.is_command(text) for text in ATTACKS) >= 6

    @given(hostile)
    def test_the_text_is_still_there(self, text):
        shown = visible(text).replace("\\", "")
        assert log_line(text).replace("\\", "") in {shown, f"| {shown}"}

    @pytest.mark.parametrize("text", ["PASS accuracy", "1 of 3", "plain # hash", "  -> do this", "- item", '"quoted"'])
    def test_plain_lines_stay(self, text):
        assert log_line(text) == text


class TestWorkflowCommand:
    @staticmethod
    def unescape(text: str) -> str:
        """What the runner does, in its order."""
        for escaped, char in (("%0D", "\r"), ("%0A", "\n"), ("%3A", ":"), ("%2C", ","), ("%25", "%")):
            text = text.replace(escaped, char)
        return text

    @given(hostile, limits)
    def test_data_is_one_line_and_comes_back(self, text, limit):
        data = workflow_data(text, limit)
        assert not set(data) & set("\r\n")
        message = self.unescape(data)
        if limit is None:
            assert message.split("\n") == [visible(line) for line in text.replace("\r\n", "\n").split("\n")]
        else:
            assert units(message) <= limit

    @given(hostile, limits)
    def test_a_property_is_one_field_and_comes_back(self, text, limit):
        value = workflow_property(text, limit)
        assert not set(value) & set("\r\n,:")
        if limit is None:
            assert self.unescape(value) == visible(text)
        else:
            assert units(self.unescape(value)) <= limit

    @given(hostile, hostile)
    def test_a_whole_command_parses_back(self, title, message):
        line = f"::error file=a.py,title={workflow_property(title)}::{workflow_data(message)}"
        name, _, rest = line[2:].partition(" ")
        properties, _, data = rest.partition("::")
        assert name == "error"
        assert [field.partition("=")[0] for field in properties.split(",")] == ["file", "title"]
        assert data == workflow_data(message)

    @pytest.mark.parametrize("text", ["x" * 5000, "\U0001f600" * 5000, "\x1b" * 5000, "%\n" * 5000])
    @pytest.mark.parametrize("sink", [workflow_data, workflow_property])
    def test_the_runner_need_not_cut(self, sink, text):
        message = self.unescape(sink(text))
        assert 4000 < units(message) <= 4096
        assert message.endswith(" more)")

    def test_known(self):
        assert workflow_data("a%\r\nb: c,\r") == "a%25%0Ab: c,\\r"
        assert workflow_property("a%\nb: c,") == "a%25\\nb%3A c%2C"


class Reader(HTMLParser):
    """Tags and text of a page, as a browser takes them."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.text = ""
        self.odd: list[str] = []
        self.values: list[str | None] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.values += [value for _, value in attrs]

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")

    def handle_data(self, data):
        self.text += data

    def handle_comment(self, data):
        self.odd.append(data)

    handle_decl = handle_pi = unknown_decl = handle_comment


class TestHtml:
    @given(hostile, limits)
    def test_content_and_attributes_stay_text(self, text, limit):
        expected = "\n".join("\t".join(map(visible, line.split("\t"))) for line in text.split("\n"))
        for quote in "\"'":
            page = Reader(f"<p title={quote}{html(text, limit)}{quote}>{html(text, limit)}</p>")
            assert page.tags == ["p", "/p"]
            assert page.odd == []
            assert len(page.values) == 1
            if limit is None:
                assert page.text == expected
                assert page.values == [expected]

    @every_attack
    def test_no_attack(self, text):
        assert not set(html(text)) & set("<>\"'\x1b\u202e\r")


class TestSarif:
    @staticmethod
    def pieces(text: str, *, pairs: bool) -> list[str]:
        """Live brackets and placeholders, for a viewer that does or does not know escaped backslashes."""
        known = r"\\\\|\\\[|\\\]" if pairs else r"\\\[|\\\]"
        return re.findall(r"[\[\]]|\{\d+\}", re.sub(known + r"|\{\{|\}\}", "", text))

    @given(hostile, limits)
    @example("\\[text](1)", None)
    @example("a\\\\[b](1)", None)
    @example("\\]", None)
    def test_no_link_and_no_placeholder(self, text, limit):
        message = sarif_text(text, limit)
        assert self.pieces(message, pairs=True) == []
        assert self.pieces(message, pairs=False) == []

    @given(hostile)
    def test_the_text_comes_back(self, text):
        message = sarif_text(text)
        plain = re.sub(r"(\\*)\\([\[\]])", lambda found: found[1][: len(found[1]) // 2] + found[2], message)
        assert plain.replace("{{", "{").replace("}}", "}") == visible(text)

    def test_known(self):
        assert sarif_text("[a](1) {0} \\[b] c\\d") == "\\[a\\](1) {{0}} \\\\\\[b\\] c\\d"


PARSERS = {
    "markdown-it": MarkdownIt("gfm-like").render,
    "cmark-gfm": lambda source: cmarkgfm.github_flavored_markdown_to_html(
        source, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_FOOTNOTES
    ),
}
LINE = [
    ("{}", ["p", "/p"]),
    ("before {} after", ["p", "/p"]),
    ("before\n{}\nafter", ["p", "/p"]),
    ("- {}", ["ul", "li", "/li", "/ul"]),
    ("> {}", ["blockquote", "p", "/p", "/blockquote"]),
    ("# {}", ["h1", "/h1"]),
    ("**{}**", ["p", "strong", "/strong", "/p"]),
    ("[{}](https://a.example)", ["p", "a", "/a", "/p"]),
    ("<details><summary>{}</summary></details>", ["details", "summary", "/summary", "/details"]),
]
TABLE = "| a | b |\n|---|---|\n| {} | last |\n"
HEAD = "| a {} | b |\n|---|---|\n| c | last |\n"


@pytest.fixture(params=sorted(PARSERS))
def render(request):
    return PARSERS[request.param]


def rendered(render, source: str) -> Reader:
    page = Reader(render(source))
    assert page.odd == []
    return page


def assert_plain(render, shown: str, expected: str) -> None:
    """`shown` leaves the structure of everything around it as it was, and reads `expected`."""
    for template, tags in LINE:
        # Nothing, or white space alone, makes no paragraph, span or link of its own.
        if not expected.strip() and template != "before {} after":
            continue
        page = rendered(render, template.format(shown))
        assert page.tags == tags, template
        around = template.format(expected) if template.startswith("before") else expected
        assert page.text.replace(JOINER, "").strip("\n") == around, template
    for table in (TABLE, HEAD):
        page = rendered(render, table.format(shown))
        assert page.tags == rendered(render, table.format("x")).tags
        cells = re.findall(r"<t[dh]>(.*?)</t[dh]>", render(table.format(shown)))
        assert len(cells) == 4
        cell = Reader(cells[2 if table is TABLE else 0]).text.replace(JOINER, "")
        assert cell == (expected if table is TABLE else f"a {expected}" if shown else "a")


class TestMarkdown:
    @settings(deadline=None)
    @given(text=hostile, limit=limits)
    def test_markup_never_starts(self, text, limit):
        for render in PARSERS.values():
            assert_plain(render, markdown(text, limit), visible(text, limit))

    @every_attack
    def test_no_attack(self, render, text):
        assert_plain(render, markdown(text), visible(text))

    def test_the_parsers_see_attacks(self, render):
        # Otherwise the tests above would say nothing. The bare bones of text are let through for comparison.
        seen = 0
        for text in ATTACKS:
            try:
                assert_plain(render, visible(text), visible(text))
            except AssertionError:
                seen += 1
        assert seen > 45

    # What GitHub looks for in finished text.
    LINKS = re.compile(
        r"@[a-z0-9]|#\d|\bgh-\d|\b[0-9a-f]{7,40}\b|https?://|ftp://|www\.|mailto:[a-z]|xmpp:[a-z]|:[\w+-]+:|ghsa-\w|cve-\d",
        re.IGNORECASE,
    )

    @given(hostile, limits)
    def test_nothing_is_left_to_link(self, text, limit):
        read = Reader(markdown(text, limit)).text
        assert not self.LINKS.search(read)
        assert read.replace(JOINER, "") == visible(text, limit)

    @every_attack
    def test_no_attack_links(self, text):
        assert not self.LINKS.search(Reader(markdown(text)).text)

    @pytest.mark.parametrize(
        "text",
        ["The fee is 3.50 euros, due at 12:30.", "caf\u00e9 - (yes), 'no'; \"so\"! 50 % + more?", "a/b-c"],
    )
    def test_plain_prose_stays_readable(self, text):
        assert markdown(text) == text

    @given(hostile)
    def test_one_line_of_source(self, text):
        assert len(markdown(text).splitlines()) <= 1

    def test_pieces_side_by_side(self, render):
        for left in ATTACKS[::5]:
            for right in ATTACKS[::7]:
                source = f"x{markdown(left)}{markdown(right)}x"
                assert rendered(render, source).tags == ["p", "/p"]


class TestCodeSpan:
    @staticmethod
    def check(render, text: str, limit: int | None) -> None:
        expected = visible(text, limit) or " "
        for template in ("{}", "before {} after", "- {}"):
            page = render(template.format(code_span(text, limit, in_table=False)))
            inside = re.fullmatch(r"\W*<(?:p|ul)>\s*(?:<li>)?(?:before )?<code>(.*)</code>.*", page, re.DOTALL)
            assert inside, page
            assert Reader(inside[1]).text == expected
            assert Reader(inside[1]).tags == []
        page = render(TABLE.format(code_span(text, limit)))
        cells = re.findall(r"<td>(.*?)</td>", page)
        assert len(cells) == 2
        assert cells[1] == "last"
        inside = re.fullmatch(r"<code>(.*)</code>", cells[0])
        assert inside, page
        assert Reader(inside[1]).text == expected
        assert Reader(inside[1]).tags == []

    @settings(deadline=None)
    @given(text=hostile, limit=limits)
    def test_everything_in_it_is_code(self, text, limit):
        for render in PARSERS.values():
            self.check(render, text, limit)

    @every_attack
    def test_no_attack(self, render, text):
        self.check(render, text, None)


@pytest.mark.parametrize(
    "sink",
    [visible, terminal, log_line, workflow_data, workflow_property, html, sarif_text, code_span, markdown],
)
@pytest.mark.parametrize(
    "piece",
    ["x", "\x1b", "`", "\\", "#", "@", "a:", "deadbeef", "\u0301", "w", "\\[", "\U0001f1e6", "#\ufe0f"],
)
def test_a_megabyte_takes_no_time(sink, piece):
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    sink(text, None)
    sink(text, 4096)
    assert time.process_time() - began < 10  # about 1 s at most; anything quadratic would take hours
