"""What moved since the bar that the repository holds?

A baseline is a short record cut from an earlier report. Two rules govern the comparison (specification, "Baseline
regression comparison"): verdicts that flipped are always named; scores are subtracted only when evidence, judge and
target are the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec

from plumbline.canonical import canonical_sha256
from plumbline.errors import ConfigurationError, IntegrityError
from plumbline.evidence.files import read_input
from plumbline.evidence.schema import Record, decode

FORMAT = "plumbline-baseline"
FORMAT_VERSION = 4

VerdictWord = Literal["PASS", "FAIL"]
Score = Annotated[float, msgspec.Meta(ge=0, le=1)]
Count = Annotated[int, msgspec.Meta(ge=0, le=2**53 - 1)]


class BaselineSuite(Record, frozen=True):
    """One suite's line in a baseline."""

    suite: str
    score: Score
    floor: Score
    verdict: VerdictWord
    n: Count
    floor_on: Literal["score", "lower_bound"] = "score"
    """What was held against the floor."""


class Baseline(Record, frozen=True):
    """The committed record."""

    format: str
    format_version: int
    source_run_id: str
    target: str
    verdict: VerdictWord
    harness_version: str
    harness_source_sha256: str
    seed: Count
    dataset_sha256: str
    dataset_id: str
    judge_kind: str
    judge_deterministic: bool
    judge_config_sha256: str
    suites: list[BaselineSuite]
    baseline_sha256: str = ""
    """SHA-256 over the canonical JSON of this record without this key: a score edited by hand is seen."""

    def digest(self) -> str:
        """What `baseline_sha256` must be."""
        body = msgspec.to_builtins(self)
        del body["baseline_sha256"]
        return canonical_sha256(body)


class Flip(Record, frozen=True):
    """A verdict that is not what it was."""

    suite: str
    was: VerdictWord
    now: VerdictWord


class Move(Record, frozen=True):
    """A score that is not what it was, on the same evidence by the same judge."""

    suite: str
    baseline_score: float
    score: float
    delta: float
    mde: float | None
    detectable: bool | None
    """Whether the change is at least the minimum detectable effect; None where a suite has none."""


class FloorChange(Record, frozen=True):
    """A floor that is not what it was."""

    suite: str
    was: float
    now: float


class Against(Record, frozen=True):
    """Which bar a run was compared with. No path: a report is the same in every folder."""

    source_run_id: str
    target: str
    dataset_id: str
    harness_version: str
    judge_kind: str
    baseline_sha256: str


class Comparison(Record, frozen=True):
    """A run beside the bar."""

    comparable: bool
    summary: str
    against: Against
    refusals: list[str]
    """Why scores were not subtracted; empty when they were."""
    caveats: list[str]
    verdict_change: Flip | None
    flipped_suites: list[Flip]
    moved_suites: list[Move] | None
    """None when the comparison of scores is refused."""
    changed_floors: list[FloorChange]
    added_suites: list[str]
    removed_suites: list[str]
    previous: list[BaselineSuite]
    """The bar itself, so that a rendering can show it."""


class Current(Record, frozen=True):
    """What a comparison needs to know of the present run."""

    target: str
    verdict: VerdictWord
    harness_version: str
    harness_source_sha256: str
    seed: int
    dataset_sha256: str
    judge_config_sha256: str
    suites: list[BaselineSuite]
    mde: dict[str, float | None]


def load_baseline(path: Path) -> Baseline:
    """Read a committed baseline.

    Raises:
        ConfigurationError: it cannot be read, or is no baseline of this version. A run that was told to compare
            never carries on without its bar.
        IntegrityError: its contents are not what was cut.
    """
    data = read_input(path, "the baseline")
    baseline = decode(data, Baseline, file=path.name, error=ConfigurationError)
    if baseline.format != FORMAT or baseline.format_version != FORMAT_VERSION:
        raise ConfigurationError(
            f"{path.name}: {baseline.format!r} version {baseline.format_version} is not {FORMAT!r} version "
            f"{FORMAT_VERSION}",
            remedy="Cut it again: plumbline baseline --from <report.json> --out <file>",
        )
    if baseline.digest() != baseline.baseline_sha256:
        raise IntegrityError(
            f"{path.name}: the baseline is not what was cut from a report",
            remedy="Restore it, or cut it again: plumbline baseline --from <report.json> --out <file>",
        )
    names = [row.suite for row in baseline.suites]
    failed = any(row.verdict == "FAIL" for row in baseline.suites)
    if len(set(names)) != len(names) or not names or (baseline.verdict == "FAIL") != failed:
        raise IntegrityError(f"{path.name}: the baseline contradicts itself")
    return baseline


def compare(baseline: Baseline, current: Current) -> Comparison:
    """Compare a run with the bar."""
    refusals = _refusals(baseline, current)
    before = {row.suite: row for row in baseline.suites}
    now = {row.suite: row for row in current.suites}
    common = sorted(before.keys() & now.keys())
    flips = [
        Flip(key, before[key].verdict, now[key].verdict) for key in common if before[key].verdict != now[key].verdict
    ]
    moves = None if refusals else [_move(before[key], now[key], current.mde[key]) for key in common]
    moves = moves and [move for move in moves if move.delta]
    floors = [
        FloorChange(key, before[key].floor, now[key].floor) for key in common if before[key].floor != now[key].floor
    ]
    added, removed = sorted(now.keys() - before.keys()), sorted(before.keys() - now.keys())
    change = None
    if baseline.verdict != current.verdict:
        change = Flip("overall", baseline.verdict, current.verdict)
    return Comparison(
        comparable=not refusals,
        summary=_summary(refusals, flips, moves, added, removed),
        against=Against(
            source_run_id=baseline.source_run_id,
            target=baseline.target,
            dataset_id=baseline.dataset_id,
            harness_version=baseline.harness_version,
            judge_kind=baseline.judge_kind,
            baseline_sha256=baseline.baseline_sha256,
        ),
        refusals=refusals,
        caveats=_caveats(baseline, current, floors),
        verdict_change=change,
        flipped_suites=flips,
        moved_suites=moves,
        changed_floors=floors,
        added_suites=added,
        removed_suites=removed,
        previous=baseline.suites,
    )


def _refusals(baseline: Baseline, current: Current) -> list[str]:
    found = []
    if baseline.target != current.target:
        found.append(f"the bar was cut from another target: {baseline.target!r}, not {current.target!r}")
    for name, was, now in (
        ("dataset", baseline.dataset_sha256, current.dataset_sha256),
        ("judge configuration", baseline.judge_config_sha256, current.judge_config_sha256),
    ):
        if was != now:
            found.append(f"the {name} hash moved from {was} to {now}, so the two scores measure different things")
    return found


def _caveats(baseline: Baseline, current: Current, floors: Sequence[FloorChange]) -> list[str]:
    found = []
    if baseline.harness_version != current.harness_version:
        found.append(f"harness version {baseline.harness_version}, now {current.harness_version}")
    if baseline.harness_source_sha256 != current.harness_source_sha256:
        found.append(
            f"harness source {baseline.harness_source_sha256[:12]}, now {current.harness_source_sha256[:12]}: "
            "the instrument's own code changed"
        )
    if baseline.seed != current.seed:
        found.append(f"seed {baseline.seed}, now {current.seed}")
    held_on = {row.suite: row.floor_on for row in baseline.suites}
    for row in current.suites:
        was = held_on.get(row.suite, row.floor_on)
        if was != row.floor_on:
            found.append(f"the floor of {row.suite} was held against the {_HELD[was]}, now the {_HELD[row.floor_on]}")
    for change in floors:
        lowered = "lowered" if change.now < change.was else "raised"
        found.append(f"the floor of {change.suite} was {lowered} from {change.was:g} to {change.now:g}")
    return found


_HELD = {"score": "score", "lower_bound": "lower bound of its interval"}


def _move(before: BaselineSuite, now: BaselineSuite, mde: float | None) -> Move:
    # Both scores have four decimals; counting in ten-thousandths keeps the difference free of binary rounding.
    delta = (round(now.score * 10000) - round(before.score * 10000)) / 10000
    detectable = None if mde is None else abs(delta) >= mde
    return Move(now.suite, before.score, now.score, delta, mde, detectable)


def _summary(
    refusals: Sequence[str],
    flips: Sequence[Flip],
    moves: Sequence[Move] | None,
    added: Sequence[str],
    removed: Sequence[str],
) -> str:
    parts = []
    # A suite that did not run has no score to move, so it would appear nowhere else: it is said first.
    if removed:
        parts.append(f"{len(removed)} suite(s) of the bar did not run: {', '.join(removed)}")
    if added:
        parts.append(f"{len(added)} suite(s) are new: {', '.join(added)}")
    if flips:
        parts.append("verdict changed: " + ", ".join(f"{f.suite} {f.was} to {f.now}" for f in flips))
    if refusals:
        parts.append("scores not compared: " + "; ".join(refusals))
    elif moves:
        resolved = sum(move.detectable is True for move in moves)
        parts.append(f"{len(moves)} score(s) moved, {resolved} by more than chance explains")
    elif not flips:
        parts.append("no verdict changed and no score moved")
    return "; ".join(parts)
