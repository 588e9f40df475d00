"""The comment and the summary: what decides, within the budget, whatever the texts hold."""

import re

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.audit.baseline import BaselineSuite
from plumbline.errors import ExitCode
from plumbline.report.comment import (
    COMMENT_BUDGET,
    SUMMARY_BUDGET,
    CommentContext,
    comment_markdown,
    refusal_markdown,
    summary_markdown,
)
from plumbline.report.document import CouplingReport, Location, TargetInfo, baseline_of
from tests.report.oracle import check_harmless, read
from tests.report.reports import (
    EVERY,
    HOSTILE,
    comparable,
    comparison,
    flipped,
    held_out,
    hostile,
    make_report,
    many,
    one_wrong_number,
    passing,
    place,
    refused,
    removed,
    smoke,
    suite,
    under_refusal,
    unverifiable,
    warned,
    wrong_number,
)

WEB = "https://github.com/acme/widgets/blob/0123456/bundle/"
CONTEXT = CommentContext(commit="0123456789abcdef0123456789abcdef01234567", isolation="kernel", report_url=f"{WEB}run")


def link(location: Location) -> str:
    # On purpose without any escaping: what a file is called must not matter.
    return f"{WEB}{location.file}?plain=1#L{location.line}"


def comment(report, context=CONTEXT) -> str:
    return comment_markdown(report, link=link, context=context)


def utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


@pytest.mark.parametrize("name", EVERY)
def test_nothing_in_it_leads_anywhere_but_to_the_evidence(name):
    check_harmless(comment(EVERY[name]()), our_links=WEB)
    check_harmless(summary_markdown(EVERY[name](), link=link), our_links=WEB)


@pytest.mark.parametrize("name", EVERY)
def test_budgets(name):
    assert utf16(comment(EVERY[name]())) <= COMMENT_BUDGET
    assert len(summary_markdown(EVERY[name](), link=link).encode()) <= SUMMARY_BUDGET


@pytest.mark.parametrize("name", EVERY)
def test_the_same_report_gives_the_same_text(name):
    assert comment(EVERY[name]()) == comment(EVERY[name]())


def test_the_first_lines_say_the_verdict_and_what_decides_it():
    lines = comment(one_wrong_number()).splitlines()
    assert lines[0] == "### ❌ FAIL — Tidewater County Assistant"
    assert "accuracy has 1 item that fails the suite outright" in lines[2]
    assert comment(make_report()).startswith("### ✅ PASS — ")


def test_a_failing_item_is_linked_to_its_line_and_shows_the_wrong_number():
    text = comment(one_wrong_number())
    assert f"[`fare-day-pass-en`](<{WEB}responses.jsonl?plain=1#L17>) at `responses.jsonl:17`" in text
    assert f"[expected](<{WEB}items.jsonl?plain=1#L17>)" in text
    assert "<strong>8</strong>" in text
    assert "<strong>5</strong>" in text


def test_the_table_beside_a_bar():
    text = comment(comparable())
    assert "| Suite | Was | Now | Change | Could be noise? | Floor | Verdict |" in text
    assert "| `refusal` | 0.9833 | 0.9333 | \N{MINUS SIGN}0.0500 | no (≥ 0.0344) | 0.90 | pass |" in text


def test_the_table_beside_a_bar_that_is_not_comparable():
    text = comment(refused())
    assert "| Suite | Was | Now | Floor | Verdict |" in text
    assert "not compared with now" in text


def test_the_table_without_a_bar():
    text = comment(make_report())
    assert "| Suite | Score | Floor | Verdict | Could still be failing |" in text
    assert "No baseline was given" in text


def test_what_changed_against_the_bar_is_in_the_open():
    assert "The floor of accuracy was lowered from 0.80 to 0.75." in comment(flipped())
    assert "In the bar, and not run: refusal." in comment(removed())
    assert "Not asked: refusal." in comment(removed())
    assert "Scores were not compared" in comment(refused())


def test_unverifiable_counts_and_warnings_are_folded():
    text = comment(unverifiable())
    assert re.search(r"<details>\n<summary>What could not be verified</summary>\n\n- accuracy", text)
    assert "<summary>40 warnings about the evidence</summary>" in comment(warned())
    assert "and 30 more, in the report" in comment(warned())


def test_the_last_line_is_the_provenance():
    last = comment(make_report()).rstrip().splitlines()[-1]
    for part in ("run `", "dataset `", "judge lexical `", "`0.1.0`", "isolation kernel", "commit `0123456789ab`"):
        assert part in last
    assert f"[full report](<{WEB}run>)" in last


def test_a_key_tells_two_gates_apart():
    assert comment(make_report(), CommentContext(key="nightly")).startswith(
        "### ✅ PASS — Tidewater County Assistant (nightly)\n"
    )


def test_no_link_where_there_is_none():
    report = one_wrong_number()
    assert read(comment_markdown(report, link=lambda _: None, context=CommentContext())).links == []
    bad = comment_markdown(report, link=lambda _: "javascript:alert(1)", context=CommentContext())
    assert read(bad).links == []
    long = comment_markdown(report, link=lambda _: "https://x/" + "a" * 9999, context=CommentContext())
    assert read(long).links == []


def failing(number: int, **fields) -> str:
    items = [wrong_number(f"item-{n:05}", **fields) for n in range(number)]
    return comment(make_report([suite(items=items, ok=1), smoke()]))


@pytest.mark.parametrize(
    ("number", "length", "shown", "left_out"),
    [
        (3, 10, 3, None),
        (60, 10, 60, None),
        (300, 10, 50, "250 more stand in the report:"),
        (300, 280, 10, "290 more stand in the report:"),
    ],
)
def test_stages(number, length, shown, left_out):
    filler = "\U0001f600" * length
    text = failing(number, said=filler, wanted=filler, said_at=[], wanted_at=[], note=filler)
    assert utf16(text) <= COMMENT_BUDGET
    assert len(re.findall("`item-", text)) == shown
    assert f"#### {number} failing items" in text
    if left_out:
        assert left_out in text
        assert f"a load-bearing number is missing or wrong: {number - shown}" in text
    else:
        assert "stand in the report" not in text


def test_findings_that_fit_nowhere_are_counted():
    address = "https://x/" + "a" * 1900
    items = [wrong_number(f"item-{n}" + "<" * 70, note="<" * 400, said="<" * 300, wanted="<" * 300) for n in range(30)]
    report = make_report([suite(items=items), smoke()])
    text = comment_markdown(report, link=lambda _: address, context=CONTEXT)
    assert utf16(text) <= COMMENT_BUDGET
    assert "30 stand in the report:" in text
    assert "`item-" not in text


def test_when_nothing_fits_the_table_is_left():
    report = many(3000)
    text = summary_markdown(report, link=link, budget=1000)
    assert len(text.encode()) <= 1000
    assert "3,500 findings: all of them stand in the report." in text
    assert "| `accuracy` |" in text
    assert "<details>" not in text


def test_twenty_thousand_findings():
    text, summary = comment(many()), summary_markdown(many(), link=link)
    assert utf16(text) <= COMMENT_BUDGET
    assert len(summary.encode()) <= SUMMARY_BUDGET
    assert "19,950 more stand in the report" in text
    assert "19,500 more stand in the report" in summary
    check_harmless(text, our_links=WEB)


def test_a_bar_with_thousands_of_suites():
    now = make_report()
    rows = [BaselineSuite(suite=f"s{n}" + "<" * 500, score=0.5, floor=0.5, verdict="PASS", n=1) for n in range(3000)]
    bar = msgspec.structs.replace(baseline_of(now), suites=rows)
    text = comment(make_report(baseline=comparison(bar, now)))
    assert utf16(text) <= COMMENT_BUDGET
    assert "and 2,963 more suites, in the report" in text


def test_a_megabyte_of_text_is_cut():
    huge = "A@b [x](https://evil.example) " * 40_000
    items = [wrong_number(huge, note=huge, said=huge, wanted=huge, where=[place(note=huge, file=huge)])]
    report = make_report([suite(items=items), smoke()], target=TargetInfo(name=huge), warnings=[huge])
    text = comment(report)
    assert utf16(text) <= 10_000
    check_harmless(text, our_links=WEB)


def test_an_item_that_failed_in_a_suite_that_passed_is_folded():
    report = make_report([suite("refusal", [under_refusal("lost")], score=0.95, floor=0.9), smoke()])
    text = comment(report)
    assert "failing item" not in text
    assert re.search(r"<summary>1 failed item in suites that passed</summary>\n\n- \[`lost`\]", text)


def around(text: str) -> str:
    item = wrong_number(
        text, note=text, said=text, said_at=[1, 2], wanted=text, wanted_at=[], where=[place(note=text, file=text)]
    )
    report = make_report(
        [suite(items=[item, held_out(text, note=text)]), suite(text, passing(1)), smoke()],
        target=TargetInfo(name=text),
        warnings=[text],
    )
    return comment(report, CommentContext(key=text, commit=text, isolation=text, report_url=WEB + text))


PLAIN = read(around("plain words"))


@settings(deadline=None)
@given(st.one_of(st.text(min_size=3, max_size=60), st.lists(st.sampled_from(HOSTILE), min_size=1).map("".join)))
def test_no_text_changes_the_structure(text):
    reading = check_harmless(around(text), our_links=WEB)
    assert reading.blocks == PLAIN.blocks
    assert reading.inlines == PLAIN.inlines


@pytest.mark.parametrize("exit_code", [2, 3, 4, 5, 99])
def test_a_refusal_says_why_and_what_to_do(exit_code):
    text = refusal_markdown(exit_code, "INTEGRITY REFUSAL", "items.jsonl: changed\nsecond line", "Restore it.", CONTEXT)
    assert text.startswith("### ⚠️ No verdict")
    assert f"(exit code {exit_code})" in text
    assert "second line" in text
    assert "**What to do:** Restore it." in text
    assert "What to do" not in refusal_markdown(exit_code, "X", "y", None, CONTEXT)


def test_each_refusal_has_its_own_sentence():
    codes = (ExitCode.INTEGRITY, ExitCode.CONFIGURATION, ExitCode.INTERNAL)
    assert len({refusal_markdown(code, "X", "y", None, CONTEXT).splitlines()[2] for code in codes}) == 3


@settings(deadline=None)
@given(st.one_of(st.text(max_size=200), st.lists(st.sampled_from(HOSTILE)).map("\n".join)))
def test_a_refusal_is_harmless(text):
    check_harmless(refusal_markdown(3, text, text, text, CommentContext(key=text, commit=text)), our_links=WEB)


def test_a_refusal_with_a_long_message_is_cut():
    text = refusal_markdown(4, "X", "line\n" * 100_000, "y" * 100_000, CONTEXT)
    assert utf16(text) <= COMMENT_BUDGET
    assert "99,980 more lines" in text


def test_hostile_texts_are_still_there_to_be_read():
    assert "octocat" in comment(hostile())


def fifteen(**fields):
    """A failing run of as many suites as there are."""
    rows = [suite(items=[wrong_number()]), *(suite(f"suite_{number:02}", score=1.0) for number in range(14))]
    return make_report(rows, **fields)


def test_suites_that_passed_do_not_stand_between_the_verdict_and_the_wrong_answer():
    lines = comment(fifteen()).splitlines()
    assert "| `accuracy` | 0.9312 | 0.75 | **fail** | 9.4% |" in lines
    assert "<summary>14 suites that passed</summary>" in lines
    assert lines.index("<summary>14 suites that passed</summary>") < lines.index(
        "| `suite_00` | 1.0000 | 0.75 | pass | 9.4% |"
    )
    first = next(number for number, line in enumerate(lines) if "fare-day-pass-en" in line)
    unfolded = [line for line in lines[:first] if line.startswith("| `")]
    assert len(unfolded) == 1 + 14
    assert "suites that passed" not in comment(one_wrong_number())
    assert "suites that passed" not in comment(make_report([suite(f"suite_{number:02}") for number in range(15)]))


def test_a_suite_that_did_not_run_or_has_another_floor_is_never_folded_away():
    rows = [suite(items=[wrong_number()]), *(suite(f"suite_{number:02}", score=1.0) for number in range(14))]
    bar = make_report([*rows[:-1], suite("suite_13", score=1.0, floor=0.8), suite("suite_99", score=1.0)])
    lines = comment(make_report(rows, baseline=comparison(baseline_of(bar), make_report(rows)))).splitlines()
    folded = lines.index("<summary>13 suites that passed</summary>")
    for name in ("accuracy", "suite_13", "suite_99"):
        assert next(number for number, line in enumerate(lines) if line.startswith(f"| `{name}` ")) < folded


def test_one_fault_is_called_one_before_its_findings_are_listed():
    shared = CouplingReport(
        id="stated-numbers",
        suites=["accuracy", "groundedness"],
        shared_input="the numbers that a response states",
        relationship="a wrong number is in no passage",
        failed=["accuracy", "groundedness"],
        shared_items=["fare-day-pass-en"],
        reading="that part is one finding seen 2 times.",
    )
    text = comment(fifteen(couplings=[shared]))
    assert text.count("one finding seen 2 times") == 1
    assert text.index("one finding seen 2 times") < text.index("fare-day-pass-en")
