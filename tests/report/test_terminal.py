"""What a log and a terminal show, and that neither is taken in by it."""

import builtins
import re
from io import StringIO

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from plumbline.report.document import TargetInfo
from plumbline.report.terminal import SHOWN_FINDINGS, Shown, plain, rich_lines, show_rich
from tests.report.reports import (
    EVERY,
    HOSTILE,
    flipped,
    make_report,
    many,
    one_wrong_number,
    place,
    refused,
    removed,
    rounding,
    smoke,
    suite,
    unverifiable,
    wrong_number,
)

FILES = [("report", "audits/0123/report.json")]
SGR = re.compile(r"\x1b\[[0-9;]*m")


def check_harmless(lines: list[str]) -> None:
    for line in lines:
        assert not re.search("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", line)
        assert not re.match(r"\s*::", line)
        assert not re.search(r"##\[", line)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("gate", [True, False])
def test_no_line_is_taken_for_a_command(name, gate):
    check_harmless(plain(EVERY[name](), Shown(gate=gate, files=FILES)))
    check_harmless([SGR.sub("", line) for line in rich_lines(EVERY[name](), Shown(gate=gate, files=FILES), width=100)])


@pytest.mark.parametrize("name", EVERY)
def test_the_same_report_gives_the_same_lines(name, monkeypatch):
    before = (plain(EVERY[name]()), rich_lines(EVERY[name](), width=80))
    for variable, value in {"NO_COLOR": "1", "TERM": "dumb", "COLUMNS": "20", "FORCE_COLOR": "1"}.items():
        monkeypatch.setenv(variable, value)
    assert (plain(EVERY[name]()), rich_lines(EVERY[name](), width=80)) == before


@pytest.mark.parametrize("make", [make_report, one_wrong_number])
def test_the_gate_begins_and_ends_with_its_verdict(make):
    report = make()
    lines = plain(report, Shown(gate=True, files=FILES))
    assert lines[0] == (
        f"GATE: {report.verdict} — Tidewater County Assistant, dataset {report.provenance.dataset_id}, "
        f"run {report.provenance.run_id}"
    )
    assert lines[-1] == f"GATE: {report.verdict}"
    assert plain(report)[0].startswith(f"verdict: {report.verdict} — ")


def test_a_refused_comparison_never_looks_like_a_pass():
    lines = plain(refused(), Shown(gate=True, remedy="cut a new bar"))
    assert lines[0].startswith("GATE: REFUSED — ")
    assert lines[-1] == "GATE: REFUSED"
    assert any("the suites alone say PASS" in line for line in lines)


def test_a_failing_item_has_its_place_and_both_texts():
    lines = plain(one_wrong_number())
    start = lines.index("FAILED:     accuracy fare-day-pass-en responses.jsonl:17:58")
    assert lines[start + 1 : start + 4] == [
        "  the reference answer states 5; the response states 8 instead",
        "  said:     A day pass costs 8 dollars and is valid until midnight.",
        "  expected: A day pass costs 5 dollars.",
    ]


def test_every_suite_has_a_row():
    rows = [line for line in plain(flipped()) if " score " in line and line.startswith("  ")]
    assert " ".join(rows[0].split()) == (
        "accuracy score 0.9312 floor 0.75 FAIL could fail 9.4% notices 5.2% n=61 ci 0.906-0.953 1 outright"
    )
    assert len(rows) == 3


def test_all_the_facts():
    text = "\n".join(
        [*plain(flipped(), Shown(files=FILES)), *plain(removed()), *plain(unverifiable()), *plain(rounding())]
    )
    for fact in (
        "because:    Failing: 1 of 3 suites",
        "baseline:   The floor of accuracy was lowered from 0.80 to 0.75.",
        "baseline:   In the bar, and not run: refusal.",
        "not asked:  refusal: the configuration switches it off",
        "unverified: accuracy: 60 of 65 eligible items scored",
        "5 unverifiable",
        "just below the floor before rounding",
        "baseline:   none",
        "report:     audits/0123/report.json",
    ):
        assert fact in text


def test_a_terminal_is_told_the_same():
    plainly, richly = (
        plain(flipped(), Shown(gate=True)),
        [SGR.sub("", x) for x in rich_lines(flipped(), Shown(gate=True), width=120)],
    )
    rows = {line for line in plainly if line.startswith("  ") and " score " in line}
    assert [line for line in plainly if line not in rows] == [
        line for line in richly if line in plainly and line not in rows
    ]
    for number in ("0.9312", "0.75", "0.9056 to 0.9533", "9.4%", "5.2%", "1 outright"):
        assert any(number in line for line in richly)


@pytest.mark.parametrize("width", [20, 40, 60, 100, 200])
def test_any_width(width):
    assert rich_lines(flipped(), Shown(gate=True), width=width)[0].endswith("\x1b[0m")


def test_many_findings_are_counted():
    lines = plain(many())
    assert sum(line.startswith("FAILED:") for line in lines) == SHOWN_FINDINGS
    assert "and 19,990 more failed items, in report.md" in lines
    assert len(lines) < 80


def test_without_rich_a_terminal_gets_plain_lines(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("rich"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    assert rich_lines(one_wrong_number(), Shown(gate=True), width=80) == plain(one_wrong_number(), Shown(gate=True))


def test_plain_lines_need_no_rich(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "rich", None)
    assert plain(one_wrong_number())


def test_markup_links_and_emoji_names_of_a_text_are_text():
    text = "[bold red]x[/bold red] :smile: [link=https://evil.example]y[/link] [/] \\["
    report = make_report([suite(items=[wrong_number(text, said=text)])], target=TargetInfo(name=text))
    console = Console(file=StringIO(), force_terminal=True, width=200, _environ={})
    show_rich(report, console)
    assert isinstance(console.file, StringIO)
    written = console.file.getvalue()
    assert "\x1b]8" not in written
    assert SGR.sub("", written).count("[bold red]x[/bold red] :smile: [link=https://evil.example]y[/link]") == 3


@settings(deadline=None)
@given(st.one_of(st.text(max_size=100), st.lists(st.sampled_from(HOSTILE)).map("".join)))
def test_no_text_breaks_out_of_its_line(text):
    item = wrong_number(text, note=text, said=text, wanted=text, where=[place(note=text, file=text)])
    report = make_report([suite(items=[item]), suite(text), smoke()], target=TargetInfo(name=text))
    lines = plain(report, Shown(gate=True, files=[("report", text)]))
    check_harmless(lines)
    harmless = make_report([suite(items=[wrong_number("x")]), suite("y"), smoke()])
    assert len(lines) == len(plain(harmless, Shown(gate=True, files=FILES)))
    check_harmless([SGR.sub("", line) for line in rich_lines(report, Shown(gate=True), width=100)])


def test_a_verdict_on_the_lower_bound_is_not_put_down_to_rounding():
    (row,) = [
        line
        for line in plain(make_report([suite(verdict="FAIL", floor_on="lower_bound")]))
        if line.startswith("  accuracy")
    ]
    assert "lower bound below the floor" in row
    assert "rounding" not in row
