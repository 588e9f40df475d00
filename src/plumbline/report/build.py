"""How does a finished run become a report?"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from plumbline.audit.couplings import Coupling
from plumbline.audit.locate import Locator, Place
from plumbline.audit.provenance import HARNESS, as_float
from plumbline.audit.run import Audit, Scored, exact_float
from plumbline.audit.scope import limits
from plumbline.audit.stability import Stability
from plumbline.evidence.bundle import Bundle
from plumbline.report.document import (
    FORMAT,
    FORMAT_VERSION,
    ConfidenceInterval,
    CouplingReport,
    Coverage,
    DatasetInfo,
    ItemResult,
    JudgeInfo,
    Location,
    MissingFigure,
    NotScoredReport,
    Provenance,
    RecordsLink,
    Report,
    Sample,
    Scope,
    StabilityReport,
    SuiteReport,
    SuiteStabilityReport,
    TargetInfo,
    UnreadReport,
    sealed,
)
from plumbline.report.records import INLINE, line, line_start
from plumbline.report.sinks import visible
from plumbline.statistics.describe import Statistics
from plumbline.suites.base import ONE, Outcome, Span, Status
from plumbline.suites.registry import create

_EXCERPT = 200
_LEAD = 60
_ENDS = 1 << 12

NOTES: Mapping[str, str] = {
    "ci": "A 95 % interval for the score, under the method named in it. It says how much another draw of as many "
    "items could differ, and nothing about items of another kind. Without clusters it is the specification's, and may "
    "claim more than sample.lower_bound, which is what decides where a floor is held against it.",
    "sample": "could_be_failing is 1 minus the lower bound of a 95 % interval that counts clusters and not items: by "
    "how much the true score may still fall short of 1. would_notice is the fall of the true score that a second run "
    "of this size would notice four times in five. floor_resolved says whether the lower bound reaches the floor.",
    "mde": "The specification's minimum detectable effect, for readers who look for it; stats.mde_method says how it "
    "was found. Where every item scored the same it is the rule of three, a bound and no power. "
    "sample.would_notice is the figure to go by.",
    "hard_failures": "Items that fail their suite whatever its score. They are a census, not a sample: no interval "
    "applies to them.",
    "seal": "report_sha256 is the SHA-256 of this document's RFC 8785 form without that key. It shows that the copy "
    "is what was written. It is not a signature: whoever can edit the file can seal it again.",
    "reproducibility": "No clock time and no path enters this document. The same evidence, configuration, seed and "
    "harness give the same bytes.",
}


def has_many_records(audit: Audit) -> bool:
    """Whether the records of a run go into a file of their own."""
    return sum(len(scored.result.outcomes) for scored in audit.suites) > INLINE


def record_lines(audit: Audit) -> Iterator[bytes]:
    """Every record of a run as a line of JSON, suite by suite."""
    shown = _Shown(audit.bundle)
    for scored in audit.suites:
        suite = scored.result.suite
        passing = _Passing(suite)
        for outcome in scored.result.outcomes:
            if outcome.status is Status.PASS and not outcome.members:
                yield passing.line(outcome)
            else:
                yield line(suite, shown.item(outcome))


def build(audit: Audit, records: RecordsLink | None = None) -> Report:
    """The sealed report of a run.

    Args:
        audit: the run.
        records: the file that holds every record; without one the report holds them all.
    """
    shown = _Shown(audit.bundle)
    suites = [_suite(shown, scored, every=records is None) for scored in audit.suites]
    return sealed(
        Report(
            verdict=audit.verdict.value,
            format=FORMAT,
            format_version=FORMAT_VERSION,
            provenance=Provenance(
                run_id=audit.run_id,
                harness=HARNESS,
                harness_version=audit.harness_version,
                harness_source_sha256=audit.harness_source_sha256,
                seed=audit.seed,
                dataset_sha256=audit.bundle.sha256,
                dataset_id=audit.bundle.dataset_id,
                judge_kind=audit.judge.kind,
                judge_config_sha256=audit.judge_config_sha256,
            ),
            judge=JudgeInfo(**audit.judge.describe()),
            target=TargetInfo(name=audit.target),
            dataset=_dataset(audit.bundle),
            suites=suites,
            couplings=[_coupling(coupling) for coupling in audit.couplings],
            scope=Scope(
                scored=[suite.suite for suite in suites],
                not_scored=[
                    NotScoredReport(entry.suite, entry.status, entry.gap, entry.fix_belongs_in)
                    for entry in audit.not_scored
                ],
                unread=[UnreadReport(entry.key, entry.items, list(entry.read_by)) for entry in audit.unread],
            ),
            stability=_stability(audit.stability),
            records=records,
            warnings=list(audit.warnings),
            baseline=audit.comparison,
            limits=limits(audit.judge),
            notes=dict(NOTES),
        )
    )


def _stability(found: Stability | None) -> StabilityReport:
    if found is None:
        return StabilityReport(status="NOT_CAPTURED")
    return StabilityReport(
        status="CAPTURED",
        items=found.items,
        passes=found.passes,
        suites=[
            SuiteStabilityReport(
                suite=entry.suite,
                identical=entry.identical,
                stable=list(entry.stable),
                divergent=list(entry.divergent),
            )
            for entry in found.suites
        ],
    )


def _dataset(bundle: Bundle) -> DatasetInfo:
    languages = Counter(item.lang for item in bundle.items)
    return DatasetInfo(
        name=bundle.name,
        version=bundle.manifest.version,
        synthetic=bundle.manifest.synthetic,
        items=len(bundle.items),
        responses=len(bundle.responses or {}),
        languages={lang: languages[lang] for lang in sorted(languages)},
        recording=bundle.manifest.recording,
    )


def _suite(shown: "_Shown", scored: Scored, *, every: bool) -> SuiteReport:
    result, statistics = scored.result, scored.statistics
    findings = [outcome for outcome in result.outcomes if outcome.status != Status.PASS]
    held_out: dict[str, list[str]] = {}
    for outcome in findings:
        if outcome.status == Status.UNVERIFIABLE and outcome.reason is not None:
            held_out.setdefault(outcome.reason, []).append(outcome.item)
    return SuiteReport(
        suite=result.suite,
        title=create(result.suite).title,
        score=as_float(result.score),
        floor=exact_float(result.floor),
        verdict=result.verdict.value,
        n=result.n,
        floor_on=scored.floor_on,
        sample=_sample(statistics),
        ci=None
        if statistics.ci is None
        else ConfidenceInterval(
            lower=statistics.ci.lower,
            upper=statistics.ci.upper,
            confidence=statistics.ci.confidence,
            method=statistics.ci.method,
        ),
        mde=statistics.mde,
        hard_failures=list(result.hard_failures),
        coverage=Coverage(
            eligible=result.eligible,
            scored=result.n,
            unverifiable={reason: sorted(held_out[reason]) for reason in sorted(held_out)},
        ),
        stats=dict(statistics.stats),
        details=dict(result.details),
        items=[shown.item(outcome) for outcome in (result.outcomes if every else findings)],
        unit=result.unit,
    )


def _sample(statistics: Statistics) -> Sample:
    honest = statistics.honest
    return Sample(
        clusters=honest.clusters,
        design_effect=honest.design_effect,
        lower_bound=None if honest.lower_bound is None else float(honest.lower_bound),
        lower_bound_method=honest.lower_bound_method,
        floor_resolved=honest.floor_resolved,
        could_be_failing=honest.could_be_failing,
        would_notice=honest.would_notice,
        would_notice_method=honest.would_notice_method,
        missing={name: MissingFigure(why.code, why.sentence) for name, why in honest.missing.items()},
    )


class _Shown:
    """Turns outcomes into records."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._locator = Locator(bundle)
        self._references = {item.id: item.expected or "" for item in bundle.items}

    def item(self, outcome: Outcome) -> ItemResult:
        """The record of one outcome."""
        if outcome.status == Status.PASS:
            return _passed(outcome)
        return _finding(self._bundle, self._locator, self._references, outcome)


def _passed(outcome: Outcome) -> ItemResult:
    score = 1.0 if outcome.score is ONE or outcome.score is None else as_float(outcome.score)
    facts: dict[str, Any] = dict(outcome.facts)
    return ItemResult(item=outcome.item, status="PASS", score=score, facts=facts, members=list(outcome.members))


class _Passing:
    """Writes the lines of items that passed; those that say the same differ in the item alone.

    Args:
        suite: whose outcomes these are. They must live as long as this does: what they share is known by identity.
    """

    def __init__(self, suite: str) -> None:
        self._suite = suite
        self._ends: dict[tuple[int, int], bytes] = {}
        self._start = line_start(suite)

    def line(self, outcome: Outcome) -> bytes:
        """The line of one item."""
        shared = id(outcome.score), id(outcome.facts)
        end = self._ends.get(shared)
        if end is None:
            whole = line(self._suite, _passed(outcome))
            end = whole[len(self._start) + len(msgspec.json.encode(outcome.item)) :]
            if len(self._ends) < _ENDS:
                self._ends[shared] = end
        return self._start + msgspec.json.encode(outcome.item) + end


def _finding(bundle: Bundle, locator: Locator, references: Mapping[str, str], outcome: Outcome) -> ItemResult:
    score = None if outcome.score is None else as_float(outcome.score)
    facts: dict[str, Any] = dict(outcome.facts)
    said, said_at, wanted, wanted_at = _shown(bundle, references, outcome)
    return ItemResult(
        item=outcome.item,
        status="UNVERIFIABLE" if outcome.status == Status.UNVERIFIABLE else "FAIL",
        score=score,
        reason=outcome.reason,
        note=outcome.note,
        hard=outcome.hard,
        causes=list(outcome.causes),
        facts=facts,
        said=said,
        said_at=said_at,
        wanted=wanted,
        wanted_at=wanted_at,
        members=list(outcome.members),
        where=[_location(locator.place(span)) for span in outcome.spans],
    )


def _shown(
    bundle: Bundle, references: Mapping[str, str], outcome: Outcome
) -> tuple[str | None, list[int], str | None, list[int]]:
    """What is shown beside a finding: answer and reference; of a pair both answers, of a check the page."""
    if outcome.members:
        left, right = outcome.members
        first = _excerpt(bundle.response_text(left), _first(outcome, "responses", left))
        return (*first, *_excerpt(bundle.response_text(right), _first(outcome, "responses", right)))
    if any(span.role == "interface" for span in outcome.spans):
        span = _first(outcome, "interface", "")
        placed = span is not None and span.start is not None
        return (*(_excerpt(bundle.page or "", span) if placed else (None, [])), None, [])
    said = _excerpt(bundle.response_text(outcome.item), _first(outcome, "responses", outcome.item))
    return (*said, *_excerpt(references.get(outcome.item, ""), _first(outcome, "items", outcome.item)))


def _first(outcome: Outcome, role: str, record: str) -> Span | None:
    return next((span for span in outcome.spans if span.role == role and span.record == record), None)


def _excerpt(text: str, span: Span | None) -> tuple[str | None, list[int]]:
    """The part of a text around a span, with what cannot be seen made visible, and where in that the span is."""
    if not text.strip():
        return None, []
    if span is None or span.start is None or span.end is None:
        return visible(text, _EXCERPT), []
    lead = "… "
    # A mark that is no shorter than what it stands for only hides the beginning.
    start = span.start - _LEAD if span.start > _LEAD + len(lead) else 0
    start += len(text[start : span.start]) - len(text[start : span.start].lstrip(" "))
    lead = lead if start else ""
    shown = lead + visible(text[start:], _EXCERPT)
    first = len(lead + visible(text[start : span.start]))
    marked = visible(text[span.start : span.end])
    # What was cut away cannot be emphasised.
    whole = bool(marked) and shown[first:].startswith(marked)
    return shown, [first, first + len(marked)] if whole else []


def _location(place: Place) -> Location:
    return Location(
        role=place.role,
        file=place.file,
        line=place.line,
        start_column=place.start_column,
        end_column=place.end_column,
        note=place.note,
    )


def _coupling(coupling: Coupling) -> CouplingReport:
    return CouplingReport(
        id=coupling.declaration.id,
        suites=list(coupling.enabled),
        shared_input=coupling.declaration.shared_input,
        relationship=coupling.declaration.relationship,
        failed=list(coupling.failed),
        shared_items=list(coupling.shared_items),
        reading=coupling.reading,
    )
