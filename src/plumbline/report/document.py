"""What does a report say, and how is it sealed?

One typed document; every rendering is a function of it. Written as JSON with the keys in the order given here. It
holds no clock time and no path outside the bundle, so the same inputs give the same bytes anywhere (specification,
"Reports and provenance").
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from plumbline.audit.baseline import FORMAT as BASELINE_FORMAT
from plumbline.audit.baseline import FORMAT_VERSION as BASELINE_FORMAT_VERSION
from plumbline.audit.baseline import Baseline, BaselineSuite, Comparison, Count, Score
from plumbline.audit.provenance import run_id
from plumbline.canonical import SHORT_ID_LENGTH, canonical_sha256
from plumbline.errors import ConfigurationError, IntegrityError, PlumblineError
from plumbline.evidence.schema import Record, decode
from plumbline.suites.registry import IMPLEMENTED, create

FORMAT = "plumbline-report"
FORMAT_VERSION = 2

_MILLION = 10**6
_ROUNDING = 50
"""Half a unit of the fourth decimal, in millionths: floors have six decimals."""

_BOUND_ABOVE = 0.005
"""A Jeffreys bound of a handful of items that all but fail lies a little above their mean; no other bound does."""

HARD_REASONS = frozenset({"fabricated_citation", "missing_number", "ungrounded_number"})
"""Reasons that always fail their suite outright."""

HARD_BY_SUITE = frozenset(
    (suite, reason)
    for suite in ("adversarial", "conversational_integrity")
    for reason in ("forbidden_phrase", "forbidden_claim")
)
"""Suite and reason that together do."""

RECORDS = "records.jsonl"
"""The name of the file of records beside a large report."""

VerdictWord = Literal["PASS", "FAIL"]
StatusWord = Literal["PASS", "FAIL", "UNVERIFIABLE"]


class Provenance(Record, frozen=True):
    """Which run this is, of which instrument, on which evidence."""

    run_id: str
    harness: str
    harness_version: str
    harness_source_sha256: str
    seed: Count
    dataset_sha256: str
    dataset_id: str
    judge_kind: str
    judge_config_sha256: str
    report_sha256: str = ""
    """The seal: SHA-256 over the canonical JSON of the report without this key."""


class JudgeInfo(Record, frozen=True, omit_defaults=True):
    """The judge, and whether it always decides alike. The keys after the refusal phrases are a model judge's."""

    kind: str
    deterministic: bool
    languages: list[str] = []
    """Tags of the languages that it can tell, sorted."""
    declared_languages: list[str] = []
    """Those of them whose profile the target configuration wrote."""
    declared_refusal_markers: list[str] = []
    """Phrases that the target configuration added to the shipped list of declines."""
    notice: str | None = None
    """What a reader must know of it; stands directly under the verdict."""
    model: str | None = None
    endpoint: str | None = None
    """Where the model was asked, without a query."""
    prompt_sha256: str | None = None
    judgments_sha256: str | None = None
    """Digest of every recorded score; part of the judge's configuration hash."""
    judgments: Count | None = None


class TargetInfo(Record, frozen=True):
    """Whose behaviour was graded."""

    name: str


class DatasetInfo(Record, frozen=True):
    """The evidence."""

    name: str
    version: str | None
    synthetic: bool
    items: int
    responses: int
    languages: dict[str, int]
    """Language tag to number of items, sorted by tag."""
    recording: dict[str, Any] | None


class ConfidenceInterval(Record, frozen=True):
    """A two-sided interval for a score."""

    lower: Score
    upper: Score
    confidence: Score
    method: str


class Coverage(Record, frozen=True):
    """How much of the evidence a suite's score rests on."""

    eligible: Count
    scored: Count
    unverifiable: dict[str, list[str]] = {}
    """Reason to the ids it held out, sorted."""


class Location(Record, frozen=True):
    """A region of one line of a bundle file, as in SARIF: 1-based, columns in UTF-16 code units, end exclusive."""

    role: Literal["items", "responses", "sources", "interface"]
    file: str
    """POSIX path relative to the bundle."""
    line: int
    start_column: int
    end_column: int
    note: str


class ItemResult(Record, frozen=True, omit_defaults=True):
    """One item under one suite, or one pair or check. Keys that say nothing are left out."""

    item: str
    status: StatusWord
    score: Score | None = None
    reason: str | None = None
    note: str | None = None
    hard: bool = False
    """Fails the suite whatever the pooled score."""
    causes: list[str] = []
    facts: dict[str, Any] = {}
    """What the suite says of the item beyond that."""
    said: str | None = None
    """The part of the response that shows it, control characters made visible; of a pair, its first item's response,
    of a check the part of the page."""
    said_at: list[int] = []
    """Start and end of the fault within `said`, in code points; empty where the whole of it is meant."""
    wanted: str | None = None
    """The part of the reference answer it is held to; of a pair, its second item's response."""
    wanted_at: list[int] = []
    """Start and end within `wanted` of what was expected instead; empty where the whole of it is meant."""
    members: list[str] = []
    """Of a pair, the ids of its two items."""
    where: list[Location] = []
    """Only for items that did not pass; the first is the main place."""


class MissingFigure(Record, frozen=True):
    """Why a figure is null."""

    code: str
    sentence: str


class Sample(Record, frozen=True):
    """What the sample behind a score can and cannot say, by one method for all suites."""

    clusters: Count | None
    """Independent units behind the score; null where there is no sample."""
    design_effect: float | None
    """How many times larger clusters make the variance than independent items would."""
    lower_bound: Score | None
    """Below which the true score probably does not lie, rounded down."""
    lower_bound_method: str | None
    floor_resolved: bool | None
    """Whether `lower_bound` reaches the floor."""
    could_be_failing: Score | None
    """1 - `lower_bound`: by how much the true score may still fall short of 1."""
    would_notice: Score | None
    """The fall of the true score that a second run of this size would notice four times in five."""
    would_notice_method: str | None
    missing: dict[str, MissingFigure]
    """Figure to why it is null."""


class SuiteReport(Record, frozen=True):
    """One suite's row."""

    suite: str
    title: str
    score: Score
    """Four decimals. The verdict was formed on the exact value."""
    floor: Score
    verdict: VerdictWord
    n: Count
    sample: Sample
    ci: ConfidenceInterval | None
    mde: Score | None
    """Minimum detectable effect between two such runs."""
    hard_failures: list[str]
    coverage: Coverage
    stats: dict[str, Any]
    details: dict[str, Any]
    items: list[ItemResult]
    unit: Literal["item", "pair", "check"] = "item"
    """What one entry of `items` is about."""
    floor_on: Literal["score", "lower_bound"] = "score"
    """What was held against the floor."""


class CouplingReport(Record, frozen=True):
    """Suites that read the same input, as this run shows it."""

    id: str
    suites: list[str]
    shared_input: str
    relationship: str
    failed: list[str]
    shared_items: list[str]
    reading: str


class NotScoredReport(Record, frozen=True):
    """An implemented suite that this run did not score."""

    suite: str
    status: Literal["absent", "disabled"]
    gap: str | None = None
    """What therefore goes unchecked, as the configuration says; null where it says nothing."""
    fix_belongs_in: str | None = None


class UnreadReport(Record, frozen=True):
    """A declaration of the evidence that no suite of this run holds an answer to."""

    key: str
    items: int
    read_by: list[str]
    """The suites that would."""


class Scope(Record, frozen=True):
    """What the run covered and what it left out."""

    scored: list[str]
    not_scored: list[NotScoredReport]
    unread: list[UnreadReport]


class SuiteStabilityReport(Record, frozen=True):
    """How the further answers to items that were asked more than once fare under one suite."""

    suite: str
    identical: Count
    """Items whose answers are the same to the last character."""
    stable: list[str]
    """Items whose answers differ and fare alike."""
    divergent: list[str]
    """Items that pass with one answer and do not with another."""


class StabilityReport(Record, frozen=True):
    """Whether the target stayed with its answers. It moves no verdict."""

    status: Literal["CAPTURED", "NOT_CAPTURED"]
    """NOT_CAPTURED where every item was asked once; that is no pass."""
    items: Count = 0
    """How many items were asked more than once."""
    passes: Count = 1
    """The most often that any item was asked."""
    suites: list[SuiteStabilityReport] = []


class RecordsLink(Record, frozen=True):
    """The file beside a large report that holds every record; the report then lists only what did not pass."""

    file: str
    """Name of the file in the report's folder."""
    sha256: str
    records: Count
    bytes: Count


class Report(Record, frozen=True):
    """The whole document."""

    verdict: VerdictWord
    format: str
    format_version: int
    provenance: Provenance
    judge: JudgeInfo
    target: TargetInfo
    dataset: DatasetInfo
    suites: list[SuiteReport]
    couplings: list[CouplingReport]
    scope: Scope
    stability: StabilityReport
    records: RecordsLink | None
    """None where `suites[].items` has them all."""
    warnings: list[str]
    baseline: Comparison | None
    limits: list[str]
    notes: dict[str, str]

    @property
    def failed(self) -> list[SuiteReport]:
        """The suites that failed, in order of their ids."""
        return [suite for suite in self.suites if suite.verdict == "FAIL"]


def seal_digest(document: dict[str, Any]) -> str:
    """What `provenance.report_sha256` must be, for a report as plain JSON values."""
    provenance = {key: value for key, value in document["provenance"].items() if key != "report_sha256"}
    return canonical_sha256({**document, "provenance": provenance})


def sealed(report: Report) -> Report:
    """The report with its seal."""
    digest = seal_digest(msgspec.to_builtins(report))
    provenance = msgspec.structs.replace(report.provenance, report_sha256=digest)
    return msgspec.structs.replace(report, provenance=provenance)


def to_json(report: Report) -> bytes:
    """The bytes of `report.json`: UTF-8, two blanks of indentation, a newline at the end."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"


def parse_report(data: bytes, *, file: str) -> Report:
    """Read a written report and check it against itself.

    Raises:
        ConfigurationError: it is not JSON, or no report of this version.
        IntegrityError: its contents are not what was written, or contradict each other.
    """
    try:
        document = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeError) as fault:
        raise ConfigurationError(f"{file}: not valid JSON: {fault}") from None
    except RecursionError:
        raise ConfigurationError(f"{file}: JSON is nested too deeply") from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ConfigurationError(f"{file}: this is no Plumbline report")
    if document.get("format_version") != FORMAT_VERSION:
        raise ConfigurationError(f"{file}: report version {document.get('format_version')!r} is not {FORMAT_VERSION}")
    report = decode(data, Report, file=file, error=IntegrityError)
    check(report, document, file=file)
    return report


def check(report: Report, document: dict[str, Any], *, file: str) -> None:
    """Check a report's seal, its run id and its verdict against its own contents.

    Args:
        report: the typed report.
        document: the same report as plain JSON values, as it was read.
        file: name for error messages.

    Raises:
        IntegrityError: something in the report does not follow from the rest.
    """
    problem: PlumblineError | None = None
    if report.provenance.report_sha256 != _digest_or_none(document):
        problem = IntegrityError(
            f"{file}: the seal does not match the contents; the report was changed after it was written"
        )
    elif report.provenance.run_id != expected_run_id(report):
        problem = IntegrityError(
            f"{file}: the run id {report.provenance.run_id} is not the one its contents generate "
            f"({expected_run_id(report)}); the report describes another run"
        )
    elif fault := _contradiction(report):
        problem = IntegrityError(f"{file}: {fault}")
    if problem is not None:
        raise problem


def _digest_or_none(document: dict[str, Any]) -> str | None:
    try:
        return seal_digest(document)
    except ValueError:  # a number that no canonical form has: the report was not written by Plumbline
        return None


def expected_run_id(report: Report) -> str:
    """The run id that a report's own contents generate."""
    return run_id(
        target=report.target.name,
        version=report.provenance.harness_version,
        seed=report.provenance.seed,
        dataset_sha256=report.provenance.dataset_sha256,
        judge_config_sha256=report.provenance.judge_config_sha256,
        floors=[(suite.suite, suite.floor, suite.floor_on) for suite in report.suites],
        baseline_sha256=None if report.baseline is None else report.baseline.against.baseline_sha256,
    )


def _contradiction(report: Report) -> str | None:
    """What in a report does not follow from the rest of it. A seal can be made anew; this cannot be argued with."""
    if not report.suites:
        return "a verdict without a suite"
    names = [suite.suite for suite in report.suites]
    left_out = [entry.suite for entry in report.scope.not_scored]
    if len({*names, *left_out}) != len(names) + len(left_out) or names != report.scope.scored:
        return "the suites are not the ones that were scored"
    made = report.provenance
    if made.dataset_id != made.dataset_sha256[:SHORT_ID_LENGTH]:
        return "the dataset id is not that of the dataset hash"
    if made.judge_kind != report.judge.kind:
        return "two judges"
    asked = report.judge.kind == "model"
    if asked == report.judge.deterministic or asked != (report.judge.notice is not None):
        return "a model judged, and the report does not say so"
    if report.records is not None and report.records.file != RECORDS:
        return "records under a name that no report gives them"
    if report.verdict != ("FAIL" if report.failed else "PASS"):
        return "the verdict does not follow from the suites"
    for suite in report.suites:
        if fault := _contradiction_in_kind(suite) or contradiction_in(suite, every=report.records is None):
            return f"suite {suite.suite} {fault}"
    return None


def _contradiction_in_kind(suite: SuiteReport) -> str | None:
    # How items make a score decides how it is checked, so the report has no say in it.
    known = suite.suite in IMPLEMENTED and suite.stats.get("score_kind") == create(suite.suite).kind
    return None if known else "makes its score in a way that no such suite does"


def contradiction_in(suite: SuiteReport, *, every: bool) -> str | None:
    """What in a suite's row does not follow from its items, to be read after its name.

    Args:
        suite: the row.
        every: whether it lists all its items, and not only those that did not pass.
    """
    if not suite.n or suite.n != suite.coverage.scored or suite.n > suite.coverage.eligible:
        return "counts other items than it lists"
    if len({item.item for item in suite.items}) != len(suite.items):
        return "lists an item twice"
    for item in suite.items:
        if fault := _contradiction_in_item(suite, item):
            return f"{fault}: {item.item!r}"
    held_out: dict[str, list[str]] = {}
    for item in suite.items:
        if item.status == "UNVERIFIABLE":
            held_out.setdefault(item.reason or "", []).append(item.item)
    if {reason: sorted(ids) for reason, ids in held_out.items()} != suite.coverage.unverifiable:
        return "holds out other items than it says"
    if suite.n + sum(map(len, held_out.values())) > suite.coverage.eligible:
        return "counts other items than it lists"
    failed = [one for item in suite.items if item.hard for one in item.members or [item.item]]
    if suite.hard_failures != list(dict.fromkeys(sorted(failed) if suite.unit == "pair" else failed)):
        return "lists other hard failures than its items show"
    fault = _contradiction_in_score(suite) if every else None
    return fault or _contradiction_in_verdict(suite)


def _contradiction_in_item(suite: SuiteReport, item: ItemResult) -> str | None:
    """What in one item's record does not follow from the rest of it, to be read after the suite's name."""
    if (item.score is None) != (item.status == "UNVERIFIABLE") or (item.reason is None) != (item.status == "PASS"):
        return "gives an item a status that its score and reason do not"
    if suite.stats.get("score_kind") in {"proportion", "census"} and item.score not in {
        None,
        float(item.status == "PASS"),
    }:
        return "gives an item a status that its score and reason do not"
    if item.hard and item.status != "FAIL":
        return "passes an item that fails it outright"
    if not item.hard and (
        item.reason in HARD_REASONS
        or (suite.suite, item.reason) in HARD_BY_SUITE
        or (item.reason == "numeric_disagreement" and item.facts.get("load_bearing") is not False)
    ):
        return "forgives an item that fails it outright"
    if item.members and (suite.unit != "pair" or len(item.members) != 2 or item.item != "|".join(item.members)):
        return "names a pair that is none"
    return "names a pair that is none" if suite.unit == "pair" and not item.members else None


def _contradiction_in_score(suite: SuiteReport) -> str | None:
    scores = [item.score for item in suite.items if item.score is not None]
    if suite.n != len(scores):
        return "counts other items than it lists"
    if suite.stats.get("score_kind") == "gap":
        expected = _gap(suite.items)
        # Both means and the score are each rounded once.
        if expected is None or abs(expected - suite.score * _MILLION) > 3 * _ROUNDING + 1:
            return "has another score than its groups"
    elif abs(_mean(scores) - suite.score * _MILLION) > 2 * _ROUNDING + 1:
        # Items and score are each rounded once; one millionth more keeps binary arithmetic out of it.
        return "has another score than its items"
    return None


def _contradiction_in_verdict(suite: SuiteReport) -> str | None:
    bound = suite.sample.lower_bound
    if bound is not None and suite.stats.get("score_kind") != "gap" and bound > suite.score + _BOUND_ABOVE:
        return "has a lower bound above its score"
    if bound is not None and (
        round(bound * _MILLION) + round((suite.sample.could_be_failing or 0) * _MILLION) != _MILLION
        or suite.sample.floor_resolved != (round(bound * _MILLION) >= round(suite.floor * _MILLION))
    ):
        return "draws other conclusions from its lower bound than follow"
    if suite.floor_on == "lower_bound":
        held = suite.sample.floor_resolved is True and not suite.hard_failures
        return None if held == (suite.verdict == "PASS") else "has another verdict than its lower bound gives it"
    # The verdict was formed on the exact score, and this one has four decimals: only what no rounding explains is a
    # contradiction.
    above = round((suite.score - suite.floor) * _MILLION)
    if suite.verdict == "PASS" and (above < -_ROUNDING or suite.hard_failures):
        return "passes against its own score, floor or hard failures"
    if suite.verdict == "FAIL" and above > _ROUNDING and not suite.hard_failures:
        return "fails against its own score and floor"
    return None


def _mean(scores: Sequence[float]) -> float:
    return sum(round(score * _MILLION) for score in scores) / len(scores)


def _gap(items: Sequence[ItemResult]) -> float | None:
    """1 minus the largest distance between the means of the groups that items name, in millionths."""
    groups: dict[str, list[float]] = {}
    for item in items:
        if item.score is not None:
            groups.setdefault(str(item.facts.get("group")), []).append(item.score)
    means = [_mean(scores) for scores in groups.values()]
    return _MILLION - (max(means) - min(means)) if len(means) > 1 else None


def baseline_of(report: Report) -> Baseline:
    """The bar that a report sets: its provenance and one line per suite."""
    unsealed = Baseline(
        format=BASELINE_FORMAT,
        format_version=BASELINE_FORMAT_VERSION,
        source_run_id=report.provenance.run_id,
        target=report.target.name,
        verdict=report.verdict,
        harness_version=report.provenance.harness_version,
        harness_source_sha256=report.provenance.harness_source_sha256,
        seed=report.provenance.seed,
        dataset_sha256=report.provenance.dataset_sha256,
        dataset_id=report.provenance.dataset_id,
        judge_kind=report.judge.kind,
        judge_deterministic=report.judge.deterministic,
        judge_config_sha256=report.provenance.judge_config_sha256,
        suites=[
            BaselineSuite(
                suite=row.suite, score=row.score, floor=row.floor, verdict=row.verdict, n=row.n, floor_on=row.floor_on
            )
            for row in report.suites
        ],
    )
    return msgspec.structs.replace(unsealed, baseline_sha256=unsealed.digest())
