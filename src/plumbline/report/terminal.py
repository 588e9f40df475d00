"""What do `audit` and `gate` print?

A pipe and a build log get plain lines that stay the same from run to run and that no log takes for a command. A
terminal gets the same facts with colour and a table.
"""

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from plumbline.report import wording
from plumbline.report.document import Location, Report, SuiteReport
from plumbline.report.findings import Finding, findings
from plumbline.report.sinks import log_line, terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

SHOWN_FINDINGS = 10
_WIDE = ("suite", "score", "floor", "verdict", "could fail", "would notice", "n", "95% interval", "")
_NARROW = ("suite", "score", "floor", "verdict", "")
_WIDE_FROM = 90
_LINES = 20
_LIMIT = 600
_EXCERPT = 160

_Line = tuple[str, str]
"""A line and the style that a terminal may give it."""

_BAD, _GOOD, _DIM, _PLAIN = "bold red", "bold green", "dim", ""


@dataclass(frozen=True, slots=True)
class Shown:
    """What is printed beside the report itself."""

    gate: bool = False
    """Begin and end with the verdict, as `gate` does."""
    remedy: str | None = None
    """There is a verdict, and the run ends with 4 because a required comparison was refused: what to do then."""
    files: Sequence[tuple[str, str]] = ()
    """What was written: a name and a path each."""
    root: str = ""
    """The bundle's folder relative to the repository, so that a place can be found from there."""


def plain(report: Report, shown: Shown = Shown()) -> list[str]:
    """The lines for a pipe or a build log."""
    before, rows, after = _lines(report, shown)
    table = [(_suite_row(suite), _PLAIN) for suite in rows]
    return [log_line(line) for line, _ in (*before, *table, *after)]


def rich_lines(report: Report, shown: Shown = Shown(), *, width: int) -> list[str]:
    """The lines for a terminal of `width` columns, with colour where rich is installed."""
    try:
        from rich.console import Console  # noqa: PLC0415 - an extra, and only a terminal needs it
    except ImportError:
        return plain(report, shown)
    # Told everything, so that no variable of the environment decides anything.
    console = Console(
        file=StringIO(), force_terminal=True, color_system="standard", width=width, legacy_windows=False, _environ={}
    )
    show_rich(report, console, shown)
    written = console.file
    return written.getvalue().splitlines() if isinstance(written, StringIO) else []


def show_rich(report: Report, console: "Console", shown: Shown = Shown()) -> None:
    """Print the same on a console of rich."""
    from rich.text import Text  # noqa: PLC0415 - an extra, and only a terminal needs it

    before, rows, after = _lines(report, shown)
    pieces: list[Text | Table] = [Text(log_line(line), style) for line, style in before]
    pieces.append(_table(rows, console.width))
    pieces += [Text(log_line(line), style) for line, style in after]
    for piece in pieces:
        # What a target said may look like rich's own markup. It is text.
        console.print(piece, markup=False, emoji=False, highlight=False, soft_wrap=isinstance(piece, Text))


def _table(rows: Sequence[SuiteReport], width: int) -> "Table":
    from rich import box  # noqa: PLC0415 - an extra, and only a terminal needs it
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    columns = _WIDE if width >= _WIDE_FROM else _NARROW
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for heading in columns:
        numeric = heading in {"score", "floor", "n", "could fail", "would notice"}
        table.add_column(heading, justify="right" if numeric else "left", no_wrap=heading != "")
    for suite in rows:
        cells = {
            "suite": log_line(suite.suite, 80),
            "score": wording.four(suite.score),
            "floor": wording.floor_text(suite.floor),
            "verdict": suite.verdict,
            "n": f"{suite.n:,}",
            "95% interval": wording.interval(suite.ci),
            "could fail": wording.could_be_figure(suite),
            "would notice": wording.would_notice_figure(suite),
            "": ", ".join(_remarks(suite)),
        }
        verdict = _GOOD if suite.verdict == "PASS" else _BAD
        table.add_row(*(Text(cells[heading], verdict if heading == "verdict" else "") for heading in columns))
    return table


def _lines(report: Report, shown: Shown) -> tuple[list[_Line], list[SuiteReport], list[_Line]]:
    """What stands before the table of suites, its rows, and what stands after it."""
    made = report.provenance
    refused = shown.remedy is not None
    word = "REFUSED" if refused else report.verdict
    style = _GOOD if word == "PASS" else _BAD
    about = (
        f"{terminal(report.target.name, 200)}, dataset {terminal(made.dataset_id, 80)}, run {terminal(made.run_id, 80)}"
    )
    before: list[_Line] = [(f"{'GATE' if shown.gate else 'verdict'}: {word} {wording.DASH} {about}", style)]
    loose = not report.judge.deterministic
    named = f" {terminal(report.judge.model or '', 80)} NOT DETERMINISTIC" if loose else ""
    judge = f"judge:      {terminal(made.judge_kind, 80)}{named} {wording.short(made.judge_config_sha256)}"
    before.append((f"{judge}, {made.harness} {made.harness_version}, seed {made.seed}", _BAD if loose else _DIM))
    if refused:
        before.append((f"refused:    a comparable baseline is required; the suites alone say {report.verdict}", _BAD))
        before.append((f"what to do: {terminal(shown.remedy or '', _LIMIT)}", _PLAIN))
    before.append((f"because:    {terminal(wording.headline(report), 1000)}", _PLAIN))
    after = [
        *_failing(report, shown.root),
        *_labelled("unverified", wording.unverifiable(report), _PLAIN),
        *_labelled("stability", [wording.shortened(line) for line in wording.stability(report)], _PLAIN),
        *_labelled("coupling", [c.reading for c in report.couplings if len(c.failed) > 1], _PLAIN),
        *_baseline(report),
        *_labelled("not asked", wording.not_scored(report), _PLAIN),
        *((f"{name + ':':<11} {terminal(path, 1000)}", _DIM) for name, path in shown.files),
    ]
    if shown.gate:
        after.append((f"GATE: {word}", style))
    return before, report.suites, after


def _suite_row(suite: SuiteReport) -> str:
    interval = "n/a" if suite.ci is None else f"{suite.ci.lower:.3f}-{suite.ci.upper:.3f}"
    parts = [
        f"  {terminal(suite.suite, 80):<26}",
        f"score {wording.four(suite.score)}",
        f"floor {wording.floor_text(suite.floor)}",
        suite.verdict,
        f"could fail {wording.could_be_figure(suite)}",
        f"notices {wording.would_notice_figure(suite)}",
        f"n={suite.n}",
        f"ci {interval}",
    ]
    return "  ".join([*parts, *_remarks(suite)])


def _remarks(suite: SuiteReport) -> list[str]:
    held_out = sum(len(items) for items in suite.coverage.unverifiable.values())
    found = []
    if suite.hard_failures:
        found.append(f"{len(suite.hard_failures):,} outright")
    if held_out:
        found.append(f"{held_out:,} unverifiable")
    if suite.verdict == "FAIL" and not suite.hard_failures and suite.score >= suite.floor:
        by_bound = suite.floor_on == "lower_bound"
        found.append("lower bound below the floor" if by_bound else "just below the floor before rounding")
    return found


def _failing(report: Report, root: str) -> list[_Line]:
    failed = [finding for finding in findings(report) if finding.item.status == "FAIL"]
    lines: list[_Line] = []
    for finding in failed[:SHOWN_FINDINGS]:
        lines += _finding(finding, root)
    if len(failed) > SHOWN_FINDINGS:
        lines.append((f"and {wording.counted(failed[SHOWN_FINDINGS:], 'more failed')}, in report.md", _PLAIN))
    return lines


def _finding(finding: Finding, root: str) -> list[_Line]:
    item = finding.item
    where = "" if finding.place is None else f" {_place(finding.place, root)}"
    label, style = ("FAILED", _BAD) if finding.level == "error" else ("tolerated", _PLAIN)
    note = terminal(item.note or item.reason or "", _LIMIT)
    lines: list[_Line] = [
        (f"{label + ':':<11} {terminal(finding.suite.suite, 80)} {terminal(item.item, 80)}{where}", style),
        (f"  {note}", _PLAIN),
    ]
    for word, text in zip(wording.labels(finding.suite.unit), (item.said, item.wanted), strict=True):
        if text is not None:
            lines.append((f"  {word + ':':<9} {terminal(text, _EXCERPT)}", _PLAIN))
    return lines


def _place(location: Location, root: str) -> str:
    path = posixpath.normpath(posixpath.join(root, location.file))
    return f"{terminal(path, 300)}:{location.line}:{location.start_column}"


def _baseline(report: Report) -> list[_Line]:
    bar = report.baseline
    if bar is None:
        return [("baseline:   none, so nothing is said of change", _DIM)]
    return [
        *_labelled("baseline", [wording.shortened(line) for line in wording.against_the_bar(report)], _PLAIN),
        *_labelled("caveat", [wording.shortened(caveat) for caveat in wording.caveats(bar)], _PLAIN),
    ]


def _labelled(label: str, sentences: Sequence[str], style: str) -> list[_Line]:
    lines = [(f"{label + ':':<11} {terminal(sentence, _LIMIT)}", style) for sentence in sentences[:_LINES]]
    if len(sentences) > _LINES:
        lines.append((f"{label + ':':<11} and {len(sentences) - _LINES:,} more, in report.json", style))
    return lines
