"""Which items need somebody's attention, in which order?

Every rendering that lists single items (SARIF, annotations, comment, Markdown, terminal) lists these.
"""

from dataclasses import dataclass
from typing import Literal

from plumbline.report.document import ItemResult, Location, Report, SuiteReport

Level = Literal["error", "warning"]

_RANK = {"error": 0, "warning": 1}


@dataclass(frozen=True, slots=True)
class Finding:
    """One item under one suite that did not pass."""

    suite: SuiteReport
    item: ItemResult
    level: Level
    """`error` when the suite failed and the item is among why; `warning` when the suite passed in spite of it, and
    for what could not be verified."""

    @property
    def rule_id(self) -> str:
        """Stable name of the kind of finding: `accuracy`, or `unverifiable/silent`."""
        if self.item.status == "UNVERIFIABLE":
            return f"unverifiable/{self.item.reason}"
        return self.suite.suite

    @property
    def message(self) -> str:
        """What is wrong, in one sentence."""
        return f"{self.item.item}: {self.item.note or self.item.reason}"

    @property
    def place(self) -> Location | None:
        """The main place, or None where a report holds none."""
        return self.item.where[0] if self.item.where else None


def findings(report: Report) -> list[Finding]:
    """Every finding of a report: errors before warnings, hard failures first, then by suite and item id."""
    found = [
        Finding(suite, item, "error" if suite.verdict == "FAIL" and item.status == "FAIL" else "warning")
        for suite in report.suites
        for item in suite.items
        if item.status != "PASS"
    ]
    return sorted(
        found,
        key=lambda finding: (
            _RANK[finding.level],
            finding.item.status == "UNVERIFIABLE",
            not finding.item.hard,
            finding.suite.suite,
            finding.item.item,
        ),
    )
