"""Reports made by hand, one for each thing that a rendering has to get right."""

from collections.abc import Sequence
from functools import cache
from typing import Any

import msgspec

from plumbline.audit.baseline import Baseline, BaselineSuite, Comparison, Current, compare
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
    Report,
    Sample,
    Scope,
    StabilityReport,
    SuiteReport,
    TargetInfo,
    UnreadReport,
    baseline_of,
    expected_run_id,
    sealed,
)

HASH = {name: f"{name}-".encode().hex().ljust(64, "0")[:64] for name in ("dataset", "judge", "source", "other")}

HOSTILE = [
    "::error file=x::forged",
    "::add-mask::secret",
    "##[error]forged",
    "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "@octocat and @acme/team, ping #1 and GH-2",
    "</details></summary><script>alert(1)</script><img src=x onerror=alert(1)>",
    "![pixel](https://evil.example/p.png) [click](https://evil.example) <https://evil.example>",
    "https://evil.example/a www.evil.example mail me@evil.example",
    "`code` ``` fence ```\n```\n# heading\n- list\n1. list\n> quote",
    "| cell | cell |\n|---|---|\n***bold*** _em_ ~~gone~~",
    "\u202eright to left\u202c \u2066isolate\u2069 zero\u200bwidth \ufeffbom",
    "<!-- plumbline:comment --> --> &lt; &amp; &#64;octocat",
    "[bold red]markup[/bold red] :smile: [link=https://evil.example]x[/link]",
    "line one\r\nline two\u2028line three\x00nul\x85next",
    "\\@octocat \\[x](https://evil.example) trailing\\",
    "$\\alpha$ $$x$$ [^1] :tada: [[wiki]] [ref]: https://evil.example",
]


def place(
    role: Any = "responses", *, line: int = 17, start: int = 40, end: int = 43, note: str = "", file: str | None = None
) -> Location:
    """A place in a bundle file."""
    return Location(role=role, file=file or f"{role}.jsonl", line=line, start_column=start, end_column=end, note=note)


def wrong_number(item: str = "fare-day-pass-en", **fields: Any) -> ItemResult:
    """A load-bearing item whose answer states another amount."""
    said, wanted = "A day pass costs 8 dollars and is valid until midnight.", "A day pass costs 5 dollars."
    values: dict[str, Any] = {
        "item": item,
        "status": "FAIL",
        "score": 0.8421,
        "reason": "missing_number",
        "note": "the reference answer states 5; the response states 8 instead",
        "hard": True,
        "facts": {"load_bearing": True, "missing_numbers": ["5"]},
        "said": said,
        "said_at": [17, 18],
        "wanted": wanted,
        "wanted_at": [17, 18],
        "where": [
            place(note="8 is not in the reference", start=58, end=59),
            place("items", note="the reference states 5", start=120, end=121),
        ],
    }
    return ItemResult(**{**values, **fields})


def under_refusal(item: str, **fields: Any) -> ItemResult:
    """A question that was answered and should have been refused."""
    values: dict[str, Any] = {
        "item": item,
        "status": "FAIL",
        "score": 0.0,
        "reason": "under_refusal",
        "note": "the question should be refused, and the response does not decline",
        "facts": {"expected_behavior": "refuse", "detected": "answer"},
        "said": "You will certainly win your appeal.",
        "where": [place(note="no refusal in these words", line=41, start=26, end=61)],
    }
    return ItemResult(**{**values, **fields})


def held_out(item: str, reason: str = "silent", **fields: Any) -> ItemResult:
    """An item with nothing to check."""
    values: dict[str, Any] = {
        "item": item,
        "status": "UNVERIFIABLE",
        "reason": reason,
        "note": "nothing was recorded for this item",
        "where": [place(note="nothing was recorded for this item", line=9)],
    }
    return ItemResult(**{**values, **fields})


def passing(number: int) -> list[ItemResult]:
    """Items that passed."""
    return [ItemResult(item=f"ok-{index:04}", status="PASS", score=1.0) for index in range(number)]


def no_sample(reason: str) -> Sample:
    """A sample of which nothing can be said."""
    figures = ("lower_bound", "floor_resolved", "could_be_failing", "would_notice", "design_effect")
    return Sample(
        clusters=None,
        design_effect=None,
        lower_bound=None,
        lower_bound_method=None,
        floor_resolved=None,
        could_be_failing=None,
        would_notice=None,
        would_notice_method=None,
        missing={name: MissingFigure("test", reason) for name in figures},
    )


def suite(suite_id: str = "accuracy", items: Sequence[ItemResult] = (), ok: int = 60, **fields: Any) -> SuiteReport:
    """A suite's row. Its verdict follows from its score, floor and hard failures unless it is given."""
    every = [*items, *passing(ok)]
    hard = [item.item for item in items if item.hard]
    kinds = {"accuracy": "mean"}
    titles = {
        "accuracy": "answers match their references",
        "refusal": "refuses what it should, answers the rest",
        "smoke": "every item has a readable response",
    }
    score, floor = fields.get("score", 0.9312), fields.get("floor", 0.75)
    unverifiable: dict[str, list[str]] = {}
    for item in items:
        if item.status == "UNVERIFIABLE":
            unverifiable.setdefault(item.reason or "", []).append(item.item)
    n = sum(item.score is not None for item in every)
    values: dict[str, Any] = {
        "suite": suite_id,
        "title": titles.get(suite_id, "a question"),
        "score": score,
        "floor": floor,
        "verdict": "FAIL" if hard or score < floor else "PASS",
        "n": n,
        "ci": ConfidenceInterval(lower=0.9056, upper=0.9533, confidence=0.95, method="percentile bootstrap over items"),
        "mde": 0.0344,
        "sample": Sample(
            clusters=n,
            design_effect=1.0,
            lower_bound=0.9056,
            lower_bound_method="lower bound of an interval",
            floor_resolved=floor <= 0.9056,
            could_be_failing=0.0944,
            would_notice=0.0521,
            would_notice_method="a test",
            missing={},
        ),
        "hard_failures": hard,
        "coverage": Coverage(eligible=len(every), scored=n, unverifiable=unverifiable),
        "stats": {"score_kind": kinds.get(suite_id, "proportion"), "n": n},
        "details": {},
        "items": every,
    }
    return SuiteReport(**{**values, **fields})


def make_report(suites: Sequence[SuiteReport] | None = None, **fields: Any) -> Report:
    """A sealed report; its verdict and run id follow from the rest."""
    rows = list(suites) if suites is not None else [suite(), suite("refusal", score=0.9833, floor=0.9), smoke()]
    values: dict[str, Any] = {
        "verdict": "FAIL" if any(row.verdict == "FAIL" for row in rows) else "PASS",
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "provenance": Provenance(
            run_id="",
            harness="plumbline",
            harness_version="0.1.0",
            harness_source_sha256=HASH["source"],
            seed=1729,
            dataset_sha256=HASH["dataset"],
            dataset_id=HASH["dataset"][:12],
            judge_kind="lexical",
            judge_config_sha256=HASH["judge"],
        ),
        "judge": JudgeInfo(kind="lexical", deterministic=True),
        "target": TargetInfo(name="Tidewater County Assistant"),
        "dataset": DatasetInfo(
            name="tidewater-demo",
            version="1",
            synthetic=True,
            items=60,
            responses=60,
            languages={"en": 30, "es": 30},
            recording=None,
        ),
        "suites": rows,
        "couplings": [
            CouplingReport(
                id="silence",
                suites=["accuracy", "refusal", "smoke"],
                shared_input="whether anything readable was recorded",
                relationship="each of these suites scores an item without a readable response zero",
                failed=[],
                shared_items=[],
                reading="Fewer than two of these suites failed, so nothing is counted twice.",
            )
        ],
        "records": None,
        "stability": StabilityReport(status="NOT_CAPTURED"),
        "scope": Scope(scored=[row.suite for row in rows], not_scored=[], unread=[]),
        "warnings": [],
        "baseline": None,
        "limits": ["A pass says that these answers met these floors on this evidence."],
        "notes": {"seal": "It is not a signature."},
    }
    report = Report(**{**values, **fields})
    provenance = msgspec.structs.replace(report.provenance, run_id=expected_run_id(report))
    return sealed(msgspec.structs.replace(report, provenance=provenance))


def smoke(**fields: Any) -> SuiteReport:
    """The suite that every run has."""
    return suite("smoke", **{"score": 1.0, "floor": 1.0, **fields})


def against(bar: Report, now: Report, **fields: Any) -> Report:
    """`now` compared with the bar that `bar` sets; fields change the bar."""
    baseline = msgspec.structs.replace(baseline_of(bar), **fields)
    return make_report(now.suites, baseline=comparison(baseline, now), warnings=now.warnings, scope=now.scope)


def comparison(baseline: Baseline, now: Report) -> Comparison:
    """What the audit would say of the two."""
    return compare(
        baseline,
        Current(
            target=now.target.name,
            verdict=now.verdict,
            harness_version=now.provenance.harness_version,
            harness_source_sha256=now.provenance.harness_source_sha256,
            seed=now.provenance.seed,
            dataset_sha256=now.provenance.dataset_sha256,
            judge_config_sha256=now.provenance.judge_config_sha256,
            suites=[
                BaselineSuite(suite=row.suite, score=row.score, floor=row.floor, verdict=row.verdict, n=row.n)
                for row in now.suites
            ],
            mde={row.suite: row.mde for row in now.suites},
        ),
    )


def one_wrong_number() -> Report:
    """The smallest failure: one load-bearing amount."""
    return make_report([suite(items=[wrong_number()]), suite("refusal", score=0.9833, floor=0.9), smoke()])


def unverifiable() -> Report:
    """A pass with items that could not be verified."""
    items = [held_out(f"quiet-{index}") for index in range(4)] + [held_out("dot", "unreadable")]
    return make_report([suite(items=items), smoke()])


@cache
def many(number: int = 20_000) -> Report:
    """More findings than any place has room for."""
    items = [wrong_number(f"item-{index:05}", hard=index < 100) for index in range(number)]
    return make_report([suite(items=items, score=0.2), suite("refusal", [held_out(f"q-{i}") for i in range(500)])])


def hostile() -> Report:
    """Texts that every sink would love to interpret, in every field that can hold them."""
    items = [
        wrong_number(
            f"{index} {text}",
            note=text,
            said=text * 3,
            said_at=[1, 4],
            wanted=text,
            wanted_at=[0, 3],
            where=[place(note=text, file=f"{index} {text}"), place("items", note=text)],
        )
        for index, text in enumerate(HOSTILE)
    ]
    quiet = [held_out(f"{index} {text}", note=text) for index, text in enumerate(HOSTILE)]
    every = " ".join(HOSTILE)
    rows = [
        suite(items=[*items, *quiet], stats={"reason": every}, ci=None, mde=None),
        suite("refusal", [under_refusal(text, said=text) for text in HOSTILE], score=0.5, floor=0.9),
        smoke(),
    ]
    now = make_report(rows)
    bar = msgspec.structs.replace(
        baseline_of(now),
        target=every,
        dataset_id=every,
        dataset_sha256=every,
        judge_kind=every,
        source_run_id=every,
        harness_version=every,
        suites=[
            BaselineSuite(suite=row.suite, score=0.9, floor=0.95, verdict="PASS", n=1) for row in (rows[0], rows[1])
        ]
        + [BaselineSuite(suite=text, score=0.5, floor=0.5, verdict="PASS", n=1) for text in HOSTILE],
    )
    return make_report(
        rows,
        target=TargetInfo(name=every),
        dataset=DatasetInfo(
            name=every,
            version=every,
            synthetic=True,
            items=60,
            responses=60,
            languages={"en": 30, every: 30},
            recording={"adapter": every, "at": every},
        ),
        warnings=HOSTILE,
        limits=HOSTILE,
        notes={"seal": every},
        baseline=comparison(bar, now),
        scope=Scope(
            scored=["accuracy"],
            not_scored=[
                NotScoredReport(suite=text, status="absent", gap=text, fix_belongs_in=text) for text in HOSTILE
            ],
            unread=[UnreadReport(key=text, items=3, read_by=[text]) for text in HOSTILE],
        ),
        couplings=[
            CouplingReport(
                id=every,
                suites=HOSTILE,
                shared_input=every,
                relationship=every,
                failed=HOSTILE,
                shared_items=HOSTILE,
                reading=every,
            )
        ],
    )


def comparable() -> Report:
    """A run beside a bar on the same evidence: one score within noise, one beyond it."""
    bar = make_report([suite(score=0.9401), suite("refusal", score=0.9833, floor=0.9), smoke()])
    now = make_report(
        [
            suite(score=0.9312),
            suite("refusal", [under_refusal(f"appeal-{i}") for i in range(3)], score=0.9333, floor=0.9),
            smoke(),
        ]
    )
    return against(bar, now)


def refused() -> Report:
    """A run beside a bar on other evidence."""
    return against(
        make_report([suite(score=0.9401), smoke()]), make_report([suite(), smoke()]), dataset_sha256=HASH["other"]
    )


def flipped() -> Report:
    """A suite that passed in the bar and fails now, under a floor that was lowered."""
    bar = make_report([suite(score=0.9401, floor=0.8), suite("refusal", score=0.9833, floor=0.9), smoke()])
    return against(bar, one_wrong_number())


def removed() -> Report:
    """A suite of the bar that did not run."""
    bar = make_report([suite(), suite("refusal", score=0.9833, floor=0.9), smoke()])
    now = make_report(
        [suite(), smoke()],
        scope=Scope(
            scored=["accuracy", "smoke"], not_scored=[NotScoredReport(suite="refusal", status="disabled")], unread=[]
        ),
    )
    return against(bar, now)


def rounding() -> Report:
    """A score that looks like its floor and is below it."""
    return make_report([suite(score=0.75, floor=0.75, verdict="FAIL"), smoke()])


def warned() -> Report:
    """A pass with warnings about the evidence."""
    return make_report(warnings=[f"item w-{i} (es) is an unreviewed translation of w-{i}-en" for i in range(40)])


EVERY = {
    "passed": make_report,
    "one wrong number": one_wrong_number,
    "unverifiable": unverifiable,
    "hostile": hostile,
    "comparable": comparable,
    "refused": refused,
    "flipped": flipped,
    "removed": removed,
    "rounding": rounding,
    "warned": warned,
}
"""All of them but the large one."""
