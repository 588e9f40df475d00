"""How does one audit go, from a configuration to a verdict?"""

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from plumbline.audit.baseline import Baseline, BaselineSuite, Comparison, Current, compare, load_baseline
from plumbline.audit.config import EnabledSuite, FloorOn, Target
from plumbline.audit.couplings import Coupling, couplings
from plumbline.audit.judges import make_judge, named_misses
from plumbline.audit.provenance import as_float, harness_source_sha256, harness_version, run_id
from plumbline.audit.rules import shared_words
from plumbline.audit.scope import NotScored, Unread, not_scored, unread, warnings
from plumbline.audit.stability import Stability, stability
from plumbline.audit.verdict import overall, refuse_uncounted_silence, validate
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import Bundle, load
from plumbline.judge.lexical import Judge, judge_config_sha256
from plumbline.statistics.describe import Statistics, describe
from plumbline.suites.base import Outcome, SuiteResult, Verdict, grade_all

_CENSUS = "a fixed list of checks, all of them made: there is no sample, and a longer list would not narrow anything"


@dataclass(frozen=True, slots=True)
class Scored:
    """One suite's result with what it could have missed."""

    result: SuiteResult
    statistics: Statistics
    floor_on: FloorOn = "score"
    """What was held against the floor."""


@dataclass(frozen=True, slots=True)
class Audit:
    """Everything that one run found."""

    target: str
    seed: int
    bundle: Bundle
    judge: Judge
    judge_config_sha256: str
    harness_version: str
    harness_source_sha256: str
    run_id: str
    verdict: Verdict
    suites: tuple[Scored, ...]
    """In order of suite ids."""
    couplings: tuple[Coupling, ...]
    not_scored: tuple[NotScored, ...]
    unread: tuple[Unread, ...]
    warnings: tuple[str, ...]
    comparison: Comparison | None
    stability: Stability | None
    """None where every item was asked once."""


def run_audit(target: Target, *, seed: int, baseline_path: Path | None = None, offline_only: bool = True) -> Audit:
    """Verify, load, score, and form a verdict.

    Args:
        target: what to audit.
        seed: the run's seed, from 0 to 2**53 - 1.
        baseline_path: a bar to compare with instead of the one that the target names.
        offline_only: refuse a judge that is configured to ask a model.

    Raises:
        IntegrityError: the evidence is not what was sealed; nothing was scored.
        ConfigurationError: the run cannot give a verdict.
        InternalError: a suite returned what cannot be aggregated.
    """
    judge = make_judge(target, offline_only=offline_only)
    path = baseline_path or target.baseline
    baseline = load_baseline(path) if path is not None else None
    bundle = load(target.dataset)
    if (bundle.manifest.recording or {}).get("shard") is not None:
        raise ConfigurationError(
            f"{target.dataset}: this is one shard of a recording, which is graded as a whole",
            remedy="Join the shards: plumbline merge OUT SHARD...",
        )
    if bundle.responses is None:
        raise ConfigurationError(
            f"{bundle.name}: this is a question set; it holds no responses to grade",
            remedy="Record it first, or name a bundle whose manifest has files.responses.",
        )
    with named_misses(target, bundle, judge):
        graded = grade_all(bundle, judge, [(enabled.suite, enabled.floor) for enabled in target.suites])
    scored = []
    draws = _draws(bundle)
    for enabled, result in zip(target.suites, graded, strict=True):
        validate(enabled, result, bundle)
        scored.append(_held(enabled, result, _statistics(result, draws, seed)))
    results = [entry.result for entry in scored]
    refuse_uncounted_silence(results, bundle, judge)
    with named_misses(target, bundle, judge):
        steady = stability(bundle, judge, [enabled.suite for enabled in target.suites])
    return _conclude(target, scored, seed=seed, bundle=bundle, judge=judge, baseline=baseline, steady=steady)


@dataclass(frozen=True, slots=True)
class _Draws:
    """What hangs together."""

    of_item: Mapping[str, Hashable]
    of_fact: Mapping[str, Hashable]


def _draws(bundle: Bundle) -> _Draws:
    """Items belong together that share a fact or a declared cluster, and so does whatever that joins.

    A cluster adds to a shared fact and never takes away: otherwise one of its own for every item would turn forty
    askings of one fact into forty draws.
    """
    above: dict[Hashable, Hashable] = {}

    def root(key: Hashable) -> Hashable:
        while (next_key := above.setdefault(key, key)) != key:
            above[key] = key = above[next_key]
        return key

    first: dict[str, Hashable] = {}
    for item in bundle.items:
        fact = [("fact", item.fact_id)] if item.fact_id else []
        declared = [("cluster", item.cluster)] if item.cluster is not None else []
        first[item.id], *others = [*fact, *declared] or [("item", item.id)]
        for other in others:
            above[root(other)] = root(first[item.id])
    return _Draws(
        of_item={item: root(key) for item, key in first.items()},
        of_fact={item.fact_id: root(("fact", item.fact_id)) for item in bundle.items if item.fact_id},
    )


def _statistics(result: SuiteResult, draws: _Draws, seed: int) -> Statistics:
    def clusters(outcomes: Iterable[Outcome]) -> list[Hashable]:
        return [
            draws.of_fact[outcome.cluster] if outcome.cluster else draws.of_item.get(outcome.item, outcome.item)
            for outcome in outcomes
            if outcome.score is not None
        ]

    def scores(outcomes: Iterable[Outcome]) -> list[Fraction]:
        return [outcome.score for outcome in outcomes if outcome.score is not None]

    groups = result.groups
    return describe(
        result.kind,
        scores(result.outcomes),
        run_seed=seed,
        suite_id=result.suite,
        floor=result.floor,
        clusters=clusters(result.outcomes),
        groups=None if groups is None else {name: scores(grouped) for name, grouped in groups.items()},
        group_clusters=None if groups is None else {name: clusters(grouped) for name, grouped in groups.items()},
        census_reason=_CENSUS if result.kind == "census" else None,
    )


def _conclude(
    target: Target,
    scored: list[Scored],
    *,
    seed: int,
    bundle: Bundle,
    judge: Judge,
    baseline: Baseline | None,
    steady: Stability | None,
) -> Audit:
    results = [entry.result for entry in scored]
    verdict = overall(results)
    judge_hash = judge_config_sha256(judge)
    source = harness_source_sha256()
    rows = [suite_line(entry) for entry in scored]
    comparison = None
    if baseline is not None:
        comparison = compare(
            baseline,
            Current(
                target=target.name,
                verdict=verdict.value,
                harness_version=harness_version(),
                harness_source_sha256=source,
                seed=seed,
                dataset_sha256=bundle.sha256,
                judge_config_sha256=judge_hash,
                suites=rows,
                mde={entry.result.suite: entry.statistics.mde for entry in scored},
            ),
        )
    return Audit(
        target=target.name,
        seed=seed,
        bundle=bundle,
        judge=judge,
        judge_config_sha256=judge_hash,
        harness_version=harness_version(),
        harness_source_sha256=source,
        run_id=run_id(
            target=target.name,
            version=harness_version(),
            seed=seed,
            dataset_sha256=bundle.sha256,
            judge_config_sha256=judge_hash,
            floors=[(row.suite, row.floor, row.floor_on) for row in rows],
            baseline_sha256=None if baseline is None else baseline.baseline_sha256,
        ),
        verdict=verdict,
        suites=tuple(scored),
        couplings=couplings(results),
        not_scored=not_scored(target),
        unread=unread(target, bundle),
        warnings=(
            *filter(None, [judge.describe().get("notice")]),
            *shared_words(judge.profiles),
            *warnings(bundle),
        ),
        comparison=comparison,
        stability=steady,
    )


def _held(enabled: EnabledSuite, result: SuiteResult, statistics: Statistics) -> Scored:
    """The result under the bar that the configuration sets, for the score or for the lower bound of its interval."""
    if enabled.floor_on == "score":
        return Scored(result, statistics, "score")
    if statistics.lower_bound is None:
        raise ConfigurationError(
            f"suites.{result.suite}.floor_on is 'lower_bound', and the score has none",
            remedy="Add items of other facts or clusters, or hold the score itself against the floor.",
        )
    failed = statistics.lower_bound < enabled.floor or result.verdict == Verdict.FAIL
    return Scored(replace(result, verdict=Verdict.FAIL if failed else Verdict.PASS), statistics, "lower_bound")


def suite_line(entry: Scored) -> BaselineSuite:
    """A suite's line as reports and baselines write it: scores to four decimals."""
    result = entry.result
    return BaselineSuite(
        suite=result.suite,
        score=as_float(result.score),
        floor=exact_float(result.floor),
        verdict=result.verdict.value,
        n=result.n,
        floor_on=entry.floor_on,
    )


def exact_float(floor: Fraction) -> float:
    """A floor as a number whose shortest spelling is the floor as written; floors have at most six decimals."""
    return float(floor)
