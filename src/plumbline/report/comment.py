"""What does a reviewer read in the pull request, and in the summary of the job?

The same blocks for both, within a budget. What does not fit is taken away in stages and counted: a text that is cut
at its end would lose a table's row, a closing tag, or the fact that anything is missing.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from plumbline.audit.baseline import Comparison
from plumbline.errors import ExitCode
from plumbline.report import wording
from plumbline.report.blocks import (
    ID_LIMIT,
    LEFT,
    RIGHT,
    TEXT_LIMIT,
    Link,
    cell,
    code,
    finding_lines,
    linked,
    some,
    table,
)
from plumbline.report.document import Report, SuiteReport
from plumbline.report.findings import Finding, findings
from plumbline.report.sinks import code_span, markdown

COMMENT_BUDGET = 60_000
"""UTF-16 code units. GitHub refuses a comment of more than 65,536 and does not say of what."""
SUMMARY_BUDGET = 1_000_000
"""UTF-8 bytes. The runner drops a summary of more than 1 MiB as a whole."""

_GLYPHS = {"PASS": "\N{WHITE HEAVY CHECK MARK}", "FAIL": "\N{CROSS MARK}"}
_NO_VERDICT = "\N{WARNING SIGN}\N{VARIATION SELECTOR-16}"

_ROWS = 40
_QUIET = 4
"""So many rows that say nothing new may stand between a failing verdict and the answer that is wrong."""
_LINES = 10
_PARAGRAPH = 4
"""So many sentences still read well in a row."""
_MESSAGE_LINES = 20
_REST = "the report"


@dataclass(frozen=True, slots=True)
class CommentContext:
    """What a rendering for a reviewer knows beside the report."""

    key: str = "plumbline"
    """Tells two gates of one repository apart."""
    commit: str | None = None
    """The commit that was graded."""
    isolation: str | None = None
    """How the network was kept away: `kernel` or `in-process`."""
    report_url: str | None = None
    """Where the whole report can be had."""


@dataclass(frozen=True, slots=True)
class _Stage:
    """How much is shown."""

    findings: int | None
    """None for all."""
    sections: bool = True
    """Whether anything follows the table but the counts."""


_STAGES = (_Stage(None), _Stage(500), _Stage(50), _Stage(10), _Stage(0), _Stage(0, sections=False))


def comment_markdown(report: Report, *, link: Link, context: CommentContext) -> str:
    """The sticky comment, without the hidden marker that its publisher puts on a line before it.

    Args:
        report: the finished report.
        link: where a reader can see a place in the evidence.
        context: what the publisher knows.
    """
    return _fitting(report, link, context, budget=COMMENT_BUDGET, size=_utf16, opened=10, level="###")


def summary_markdown(
    report: Report,
    *,
    link: Link,
    budget: int = SUMMARY_BUDGET,
    context: CommentContext | None = None,
) -> str:
    """The summary of the job.

    Args:
        report: the finished report.
        link: where a reader can see a place in the evidence.
        budget: UTF-8 bytes that there are.
        context: what the publisher knows.
    """
    context = context or CommentContext()
    return _fitting(report, link, context, budget=budget, size=_utf8, opened=100, level="##")


def refusal_markdown(exit_code: int, label: str, message: str, remedy: str | None, context: CommentContext) -> str:
    """The comment and summary of a run that gave no verdict.

    Args:
        exit_code: how the run ended.
        label: the kind of refusal, as it is printed.
        message: what was found, and where.
        remedy: what to do about it.
        context: what the publisher knows.
    """
    why = {
        ExitCode.INTEGRITY: "The evidence is not what was sealed, so nothing was scored.",
        ExitCode.CONFIGURATION: "The configuration or the environment does not allow a verdict.",
        ExitCode.INTERNAL: "Plumbline itself failed. Nothing was measured, and the target is not to blame.",
    }.get(ExitCode(exit_code) if exit_code in list(ExitCode) else ExitCode.INTERNAL, "The gate could not run.")
    lines = message.splitlines() or [""]
    quoted = [f"> {code_span(line.strip(), TEXT_LIMIT, in_table=False)}" for line in lines[:_MESSAGE_LINES]]
    if len(lines) > _MESSAGE_LINES:
        quoted.append(f"> and {len(lines) - _MESSAGE_LINES:,} more lines, in the log")
    sections = [
        [f"### {_NO_VERDICT} No verdict{_key(context)}"],
        [f"{why} A run without a verdict blocks, as a failed one does."],
        [f"**{markdown(label, ID_LIMIT)}** (exit code {int(exit_code)})", "", "\\\n".join(quoted)],
        [f"**What to do:** {markdown(remedy, 1000)}"] if remedy else [],
        [_small([*_circumstances(context)])] if _circumstances(context) else [],
    ]
    return _joined(sections)


def _fitting(
    report: Report,
    link: Link,
    context: CommentContext,
    *,
    budget: int,
    size: Callable[[str], int],
    opened: int,
    level: str,
) -> str:
    failed, others = _parted(findings(report))
    written = _written(failed, link, budget=budget, size=size)
    text = ""
    for stage in _STAGES:
        room = len(failed) if stage.findings is None else min(stage.findings, len(failed))
        if room > len(written):
            continue
        lists = _Lists(failed, written[:room], len(others), opened)
        text = _joined(_sections(report, lists, context, stage=stage, level=level))
        if size(text) <= budget:
            break
    return text


def _parted(found: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
    # Items that could not be verified are counted, never listed: nothing was said that could be shown.
    failed = [finding for finding in found if finding.item.status == "FAIL"]
    return failed, [finding for finding in found if finding.item.status != "FAIL"]


def _written(failed: Sequence[Finding], link: Link, *, budget: int, size: Callable[[str], int]) -> list[list[str]]:
    """The lines of as many findings, from the first on, as the budget could hold at all."""
    written = []
    for finding in failed:
        lines = finding_lines(finding, link)
        budget -= sum(size(line) + 1 for line in lines)
        if budget < 0:
            break
        written.append(lines)
    return written


@dataclass(frozen=True, slots=True)
class _Lists:
    """The findings of one stage."""

    failed: list[Finding]
    """All of them, errors first."""
    written: list[list[str]]
    """The lines of those that this stage shows."""
    unverifiable: int
    opened: int
    """How many are shown unfolded."""

    @property
    def errors(self) -> int:
        return sum(finding.level == "error" for finding in self.failed)

    def shown(self, start: int, end: int) -> list[str]:
        """The lines of those among findings `start` to `end` that this stage shows."""
        return [line for each in self.written[start:end] for line in each]

    def left_out(self, start: int, end: int) -> list[str]:
        """How many of findings `start` to `end` it does not show, and of which kinds they are."""
        findings = self.failed[max(start, len(self.written)) : end]
        if not findings:
            return []
        more = "more " if start < len(self.written) else ""
        tallies = some(wording.tallies(findings), _ROWS, _REST)
        return [f"{len(findings):,} {more}stand in {_REST}:", "", *tallies]


def _utf16(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def _utf8(text: str) -> int:
    return len(text.encode())


def _joined(sections: Sequence[Sequence[str]]) -> str:
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _sections(report: Report, lists: _Lists, context: CommentContext, *, stage: _Stage, level: str) -> list[list[str]]:
    head = [
        [f"{level} {_GLYPHS[report.verdict]} {report.verdict} {wording.DASH} {_title(report, context)}"],
        [markdown(wording.headline(report), 700)],
        _couplings(report),
        *_tables(report),
    ]
    foot = [[_small(_provenance(report, context))]]
    errors, failed = lists.errors, len(lists.failed)
    if not stage.sections:
        total = failed + lists.unverifiable
        return [*head, [f"{wording.count(total, 'finding')}: all of them stand in {_REST}."] if total else [], *foot]
    return [
        *head,
        *_failing(lists, level),
        *_against(report),
        *_folded(
            f"{wording.counted(lists.failed[errors:], 'failed')} in suites that passed",
            _parts(lists.shown(errors, failed), lists.left_out(errors, failed)),
        ),
        *_folded("What could not be verified", some(wording.unverifiable(report), _ROWS, _REST)),
        _not_asked(report),
        *_folded(
            f"{wording.count(len(report.warnings), 'warning')} about the evidence",
            some(report.warnings, _LINES, _REST),
        ),
        *_folded("What these figures can show", [_figures(suite) for suite in report.suites[:_ROWS]]),
        *foot,
    ]


def _title(report: Report, context: CommentContext) -> str:
    return markdown(report.target.name, 120) + _key(context)


def _key(context: CommentContext) -> str:
    return "" if context.key == CommentContext().key else f" ({markdown(context.key, ID_LIMIT)})"


def _tables(report: Report) -> list[list[str]]:
    """The suites: in a failing run those that failed or changed in the open, and the rest folded away."""
    bar = report.baseline
    columns = _COLUMNS if bar is None else _columns_beside(bar)
    rows = [(_stands_out(row), cells) for row, cells in zip(wording.rows(report), _cells(report), strict=True)]
    quiet = [cells for loud, cells in rows if not loud]
    if report.verdict == "PASS" or len(quiet) <= _QUIET:
        quiet = []
    shown = [cells for loud, cells in rows if loud or not quiet]
    lines = table(columns, shown[:_ROWS])
    if len(shown) > _ROWS:
        lines += ["", f"and {len(shown) - _ROWS:,} more suites, in {_REST}"]
    if bar is not None:
        was = [f"was: run {code(bar.against.source_run_id)}", f"dataset {code(bar.against.dataset_id)}"]
        was += [] if bar.comparable else ["not compared with now"]
        lines += ["", _small(was)]
    rest = table(columns, quiet[:_ROWS]) if quiet else []
    if len(quiet) > _ROWS:
        rest += ["", f"and {len(quiet) - _ROWS:,} more, in {_REST}"]
    return [lines, *_folded(f"{wording.count(len(quiet), 'suite')} that passed", rest)]


_COLUMNS = [("Suite", LEFT), ("Score", RIGHT), ("Floor", RIGHT), ("Verdict", LEFT), ("Could still be failing", RIGHT)]


def _columns_beside(bar: Comparison) -> list[tuple[str, str]]:
    # Where scores were not compared, columns about a change would hold nothing and cost a phone its width.
    change = [("Change", RIGHT), ("Could be noise?", LEFT)] if bar.comparable else []
    return [("Suite", LEFT), ("Was", RIGHT), ("Now", RIGHT), *change, ("Floor", RIGHT), ("Verdict", LEFT)]


def _stands_out(row: wording.Row) -> bool:
    """Whether a reviewer has to see the row: it failed, did not run, or its verdict or floor is not what it was."""
    return row.failed or row.verdict != "pass" or "(was" in row.floor


def _cells(report: Report) -> list[list[str]]:
    bar = report.baseline
    if bar is None:
        return [
            [
                cell(suite.suite),
                wording.four(suite.score),
                wording.floor_text(suite.floor),
                _loud(suite.verdict.lower(), loud=suite.verdict == "FAIL"),
                wording.could_be_figure(suite),
            ]
            for suite in report.suites
        ]
    return [
        [
            cell(row.suite),
            row.was,
            row.now,
            *([row.change, markdown(row.noise)] if bar.comparable else []),
            row.floor,
            _loud(row.verdict, loud=row.failed),
        ]
        for row in wording.rows(report)
    ]


def _loud(verdict: str, *, loud: bool) -> str:
    return f"**{verdict}**" if loud else verdict


def _against(report: Report) -> list[list[str]]:
    bar = report.baseline
    if bar is None:
        return [["No baseline was given, so nothing is said of change."]]
    # The table has the scores that moved. What it cannot say stands here.
    lines = [wording.shortened(line) for line in wording.against_the_bar(report, moves=False)]
    bold = "**Since the baseline.**"
    if len(lines) > _PARAGRAPH:
        said = [bold, "", *some(lines, _LINES, _REST)]
    else:
        said = [" ".join([bold, *(markdown(line, TEXT_LIMIT) for line in lines)])] if lines else []
    caveats = some([wording.shortened(caveat) for caveat in wording.caveats(bar)], _LINES, _REST)
    return [said, *_folded("Read the comparison with care", caveats)]


def _failing(lists: _Lists, level: str) -> list[list[str]]:
    errors = lists.errors
    if not errors:
        return []
    hidden = lists.shown(lists.opened, errors)
    return [
        [f"{level}# {wording.counted(lists.failed[:errors], 'failing')}"],
        lists.shown(0, min(lists.opened, errors)),
        *_folded(f"{min(errors, len(lists.written)) - lists.opened:,} more", hidden),
        lists.left_out(0, errors),
    ]


def _parts(first: Sequence[str], second: Sequence[str]) -> list[str]:
    return [*first, "", *second] if first and second else [*first, *second]


def _folded(summary: str, lines: Sequence[str]) -> list[list[str]]:
    if not lines:
        return []
    return [["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"]]


def _couplings(report: Report) -> list[str]:
    # Before the findings: who reads five of them first has counted five faults where there may be one.
    readings = [coupling.reading for coupling in report.couplings if len(coupling.failed) > 1]
    return [markdown(readings[0], TEXT_LIMIT)] if len(readings) == 1 else some(readings, _LINES, _REST)


def _not_asked(report: Report) -> list[str]:
    names = [entry.suite for entry in report.scope.not_scored]
    return [f"Not asked: {markdown(wording.listed(names, 20), 700)}."] if names else []


def _figures(suite: SuiteReport) -> str:
    figures = f"{wording.could_be(suite)}; {wording.would_notice(suite)}; {wording.behind(suite)}."
    return f"- {code(suite.suite)}: {markdown(figures, 700)}"


def _provenance(report: Report, context: CommentContext) -> list[str]:
    made = report.provenance
    synthetic = ", synthetic" if report.dataset.synthetic else ""
    loose = "" if report.judge.deterministic else f" {markdown(report.judge.model or '', ID_LIMIT)} NOT DETERMINISTIC"
    return [
        f"run {code(made.run_id)}",
        f"dataset {code(made.dataset_id)} ({wording.count(report.dataset.items, 'item')}{synthetic})",
        f"judge {markdown(made.judge_kind, ID_LIMIT)}{loose} {code(wording.short(made.judge_config_sha256))}",
        f"{markdown(made.harness, ID_LIMIT)} {code(made.harness_version)}",
        *_circumstances(context),
    ]


def _circumstances(context: CommentContext) -> list[str]:
    found = []
    if context.isolation is not None:
        found.append(f"isolation {markdown(context.isolation, ID_LIMIT)}")
    if context.commit is not None:
        found.append(f"commit {code(wording.short(context.commit))}")
    if context.report_url is not None:
        found.append(linked("full report", context.report_url))
    return found


def _small(parts: Sequence[str]) -> str:
    return f"<sub>{' · '.join(parts)}</sub>"
