"""What does `report.md` say?

The whole record for a person: the verdict, what to look at, the figures with what they cannot show, and how to check
all of it without Plumbline. It is a rendering; the record itself is `report.json`.
"""

import json
from collections.abc import Sequence

from plumbline.report import wording
from plumbline.report.blocks import LEFT, RIGHT, bullets, cell, code, finding_lines, nowhere, place, some, table
from plumbline.report.document import JudgeInfo, Report, SuiteReport
from plumbline.report.findings import Finding, findings
from plumbline.report.sinks import markdown

SHOWN_FINDINGS = 500
_SHOWN_IDS = 50
_SHOWN_LINES = 200

_REPORT = "report.json"

_CHECK_REPORT = """\
python3 - <<'END'
import hashlib, json, rfc8785  # rfc8785 stands for any implementation of RFC 8785

def digest(value):
    return hashlib.sha256(rfc8785.dumps(value)).hexdigest()

report = json.load(open("report.json", encoding="utf-8"))
made, bar = report["provenance"], report["baseline"]
seal = made.pop("report_sha256")
print("seal", seal == digest(report))
print("run id", made["run_id"] == digest({
    "target": report["target"]["name"],
    "harness_version": made["harness_version"],
    "seed": made["seed"],
    "dataset_sha256": made["dataset_sha256"],
    "judge_config_sha256": made["judge_config_sha256"],
    "suites": sorted([suite["suite"], suite["floor"], *["lower_bound"][: suite["floor_on"] != "score"]]
                     for suite in report["suites"]),
    "baseline_sha256": bar and bar["against"]["baseline_sha256"],
})[:16])
END"""

_CHECK_BUNDLE = """\
find . -type f ! -path ./checksums.json | sed 's|^\\./||' | LC_ALL=C sort | while IFS= read -r name
do printf '%s=%s\\n' "$name" "$(sha256sum < "$name" | cut -d ' ' -f 1)"
done | sha256sum"""


def report_markdown(report: Report) -> str:
    """The report as Markdown."""
    sections = [
        _verdict(report),
        _failing(report),
        _suites(report),
        _unverifiable(report),
        _scope(report),
        _list("Stability", wording.stability(report)),
        _couplings(report),
        _baseline(report),
        _list("Warnings", report.warnings),
        _list("Limits", report.limits),
        _list("Notes", [f"{name}: {text}" for name, text in report.notes.items()]),
        _provenance(report),
        _check(report),
    ]
    return "\n\n".join("\n".join(section) for section in sections if section) + "\n"


def _verdict(report: Report) -> list[str]:
    data = report.dataset
    version = f" version {data.version}" if data.version is not None else ""
    lines = [
        f"# Audit verdict: {report.verdict}",
        "",
        *_judge_callout(report),
        markdown(wording.headline(report), 1000),
        "",
        f"Target: {markdown(report.target.name)}. Evidence: {markdown(data.name + version)}, "
        f"{wording.count(data.items, 'item')} ({markdown(wording.languages(report))}). "
        f"Run {code(report.provenance.run_id)}.",
    ]
    if data.synthetic:
        lines += [
            "",
            "> The answers are synthetic: a generator wrote them. This report shows what the gate does and says "
            "nothing about any real service.",
        ]
    return lines


def _judge_callout(report: Report) -> list[str]:
    judge = report.judge
    if judge.deterministic:
        return []
    who = f"the model {markdown(judge.model or 'not named')} at {markdown(judge.endpoint or 'no address')}"
    return [f"> **Judged by {who}. NOT DETERMINISTIC.** {markdown(judge.notice or '', 1000)}", ""]


def _failing(report: Report) -> list[str]:
    found = [finding for finding in findings(report) if finding.item.status == "FAIL"]
    errors = [finding for finding in found if finding.level == "error"]
    others = [finding for finding in found if finding.level == "warning"]
    lines = _found(wording.counted(errors, "failing"), errors)
    if others:
        lines += ["", *_found(f"{wording.counted(others, 'failed')} in suites that passed", others)]
    return lines


def _found(heading: str, found: Sequence[Finding]) -> list[str]:
    if not found:
        return []
    lines = [f"## {heading}", ""]
    for finding in found[:SHOWN_FINDINGS]:
        lines += finding_lines(finding, nowhere)
        lines += [
            f"  - {place(where, nowhere)}" + (f" {markdown(f'{wording.DASH} {where.note}')}" if where.note else "")
            for where in finding.item.where
        ]
    if len(found) > SHOWN_FINDINGS:
        lines += ["", f"{len(found) - SHOWN_FINDINGS:,} more stand in {_REPORT}:", ""]
        lines += some(wording.tallies(found[SHOWN_FINDINGS:]), _SHOWN_LINES, _REPORT)
    return lines


def _suites(report: Report) -> list[str]:
    columns = [
        ("Suite", LEFT),
        ("Score", RIGHT),
        ("Floor", RIGHT),
        ("Verdict", LEFT),
        ("Could still be failing", RIGHT),
        ("Would notice a drop of", RIGHT),
        ("Floor resolved", LEFT),
        ("n", RIGHT),
    ]
    lines = ["## Suites", "", *table(columns, [_row(suite) for suite in report.suites]), ""]
    for suite in report.suites:
        parts = (wording.cause, wording.could_be, wording.would_notice, wording.behind, wording.interval_sentence)
        figures = "; ".join(part(suite) for part in parts) + "."
        lines.append(f"- {code(suite.suite)}, {markdown(suite.title)}: {markdown(figures, 1000)}")
    hard = [suite for suite in report.suites if suite.hard_failures]
    if hard:
        lines += ["", "Items that fail a suite outright, whatever its score:", ""]
        lines += [f"- {code(suite.suite)}: {_ids(suite.hard_failures)}" for suite in hard]
    return lines


def _row(suite: SuiteReport) -> list[str]:
    return [
        cell(suite.suite),
        wording.four(suite.score),
        wording.floor_text(suite.floor),
        f"**{suite.verdict}**" if suite.verdict == "FAIL" else suite.verdict,
        wording.could_be_figure(suite),
        wording.would_notice_figure(suite),
        wording.resolved(suite),
        f"{suite.n:,}",
    ]


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _SHOWN_IDS:,} more, in {_REPORT}" if len(ids) > _SHOWN_IDS else ""
    return ", ".join(code(name) for name in ids[:_SHOWN_IDS]) + more


def _unverifiable(report: Report) -> list[str]:
    rows = [
        f"- {code(suite.suite)}, {markdown(reason)}: {_ids(ids)}"
        for suite in report.suites
        for reason, ids in suite.coverage.unverifiable.items()
    ]
    if not rows:
        return []
    return [
        "## Could not be verified",
        "",
        *bullets(wording.unverifiable(report)),
        "",
        "Never counted as a pass:",
        "",
        *rows,
    ]


def _scope(report: Report) -> list[str]:
    lines = wording.not_scored(report)
    if not lines:
        return []
    return [
        "## Not asked",
        "",
        "What this run did not ask:",
        "",
        *bullets(lines),
    ]


def _couplings(report: Report) -> list[str]:
    if not report.couplings:
        return []
    lines = ["## Suites that share an input", ""]
    for coupling in report.couplings:
        suites = wording.listed(coupling.suites, 20)
        text = f"{suites} read {coupling.shared_input}: {coupling.relationship}. {coupling.reading}"
        lines.append(f"- {markdown(text, 1000)}")
        if len(coupling.failed) > 1 and coupling.shared_items:
            lines.append(f"  - {_ids(coupling.shared_items)}")
    return lines


def _baseline(report: Report) -> list[str]:
    bar = report.baseline
    if bar is None:
        return ["## Against the baseline", "", "No baseline was given, so nothing is said of change."]
    # Where nothing was compared, two columns would say so fifteen times.
    change = [("Change", RIGHT), ("Could be noise?", LEFT)] if bar.comparable else []
    columns = [("Suite", LEFT), ("Was", RIGHT), ("Now", RIGHT), *change, ("Floor", RIGHT), ("Verdict", LEFT)]
    rows = [
        [
            cell(row.suite),
            row.was,
            row.now,
            *([row.change, markdown(row.noise)] if bar.comparable else []),
            row.floor,
            row.verdict,
        ]
        for row in wording.rows(report)[:_SHOWN_LINES]
    ]
    held = f"Run {code(bar.against.source_run_id)} on dataset {code(bar.against.dataset_id)} is the bar."
    lines = ["## Against the baseline", "", held, ""]
    lines += [*some(wording.against_the_bar(report), _SHOWN_LINES, _REPORT), "", *table(columns, rows)]
    if caveats := wording.caveats(bar):
        lines += ["", "Read with care:", "", *some(caveats, _SHOWN_LINES, _REPORT)]
    return lines


def _list(heading: str, sentences: Sequence[str]) -> list[str]:
    if not sentences:
        return []
    return [f"## {heading}", "", *some(sentences, _SHOWN_LINES, _REPORT)]


def _declared(judge: JudgeInfo) -> list[tuple[str, str]]:
    """What the target configuration added to the judge: whoever reads a score must see it."""
    rows = [
        ("Languages declared by the target", ", ".join(judge.declared_languages)),
        ("Refusal phrases added by the target", "; ".join(judge.declared_refusal_markers)),
    ]
    return [row for row in rows if row[1]]


def _provenance(report: Report) -> list[str]:
    made = report.provenance
    rows = [
        ("Run", made.run_id),
        ("Seal of report.json, SHA-256", made.report_sha256),
        ("Dataset, SHA-256", made.dataset_sha256),
        ("Judge", f"{made.judge_kind}, {'deterministic' if report.judge.deterministic else 'not deterministic'}"),
        ("Judge configuration, SHA-256", made.judge_config_sha256),
        ("Languages it can tell", ", ".join(report.judge.languages) or "none"),
        *_declared(report.judge),
        *_model_rows(report),
        ("Harness", f"{made.harness} {made.harness_version}"),
        ("Harness source, SHA-256", made.harness_source_sha256),
        ("Seed", str(made.seed)),
    ]
    if report.baseline is not None:
        rows.append(("Baseline, SHA-256", report.baseline.against.baseline_sha256))
    cells = [[name, cell(value, 300)] for name, value in rows]
    for name, value in sorted((report.dataset.recording or {}).items()):
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        cells.append([f"Recording, {markdown(name)}", cell(shown, 300)])
    return ["## Provenance", "", *table([("What", LEFT), ("Value", LEFT)], cells)]


def _model_rows(report: Report) -> list[tuple[str, str]]:
    judge = report.judge
    rows = [
        ("Judge's model", judge.model),
        ("Judge's endpoint", judge.endpoint),
        ("Judge's prompt, SHA-256", judge.prompt_sha256),
        ("Judgments", None if judge.judgments is None else str(judge.judgments)),
        ("Judgments, SHA-256", judge.judgments_sha256),
    ]
    return [(name, value) for name, value in rows if value is not None]


def _check(report: Report) -> list[str]:
    records = report.records
    linked = (
        []
        if records is None
        else [
            "",
            f"The {records.records:,} records behind the report; it must print {code(records.sha256)}:",
            "",
            "```sh",
            f"sha256sum {records.file}",
            "```",
        ]
    )
    return [
        "## Check it without Plumbline",
        "",
        "The seal and the run id, beside `report.json`; both lines must say True:",
        "",
        "```sh",
        _CHECK_REPORT,
        "```",
        "",
        f"The dataset, inside the bundle's folder; it must print {code(report.provenance.dataset_sha256)}:",
        "",
        "```sh",
        _CHECK_BUNDLE,
        "```",
        *linked,
        "",
        "A seal shows that a copy is what was written. It does not show who wrote it.",
    ]
