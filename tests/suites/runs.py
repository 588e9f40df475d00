"""A suite in a whole run: configuration, audit, report, every rendering, and the report read back."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plumbline.audit.config import load_target
from plumbline.audit.run import Audit, run_audit
from plumbline.report.blocks import nowhere
from plumbline.report.build import build
from plumbline.report.comment import CommentContext, comment_markdown
from plumbline.report.document import Report, SuiteReport, parse_report, to_json
from plumbline.report.markdown import report_markdown
from plumbline.report.sarif import sarif
from plumbline.report.terminal import plain
from tests.bundles import target, write

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True)
class WholeRun:
    """What a run leaves behind."""

    audit: Audit
    report: Report
    sarif: dict[str, Any]
    markdown: str
    comment: str
    terminal: list[str]

    def suite(self, suite_id: str) -> SuiteReport:
        """The row of one suite."""
        return next(row for row in self.report.suites if row.suite == suite_id)

    def results(self, rule: str) -> list[dict[str, Any]]:
        """The SARIF results under one rule."""
        return [result for result in self.sarif["runs"][0]["results"] if result["ruleId"] == rule]


def whole_run(folder: Path, content: Mapping[str, bytes], suites: str, more: str = "") -> WholeRun:
    """Audit the files of a bundle and render the report every way there is."""
    write(folder / "bundle", content)
    audit = run_audit(load_target(target(folder, suites=suites, more=more)), seed=1729)
    report = build(audit)
    assert parse_report(to_json(report), file="report.json") == report
    return WholeRun(
        audit=audit,
        report=report,
        sarif=json.loads(sarif(report, root="bundle")),
        markdown=report_markdown(report),
        comment=comment_markdown(report, link=nowhere, context=CommentContext()),
        terminal=plain(report),
    )
