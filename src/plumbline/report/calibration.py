"""What does a calibration say of a judge?

One typed document with a digest of its own, and a text that renders it. No clock and no path is in it: the same bundle,
labels, judge and threshold give the same bytes.
"""

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any

import msgspec

from plumbline.audit.provenance import harness_version
from plumbline.canonical import SHORT_ID_LENGTH, canonical_sha256
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.labels import Label, Labels
from plumbline.evidence.schema import Record
from plumbline.judge.lexical import Judge, judge_config_sha256
from plumbline.report.document import JudgeInfo
from plumbline.report.sinks import terminal
from plumbline.statistics.calibration import (
    LEAST_OF_A_CLASS,
    Bounds,
    Confusion,
    Estimate,
    cohens_kappa,
    exact_interval,
    prediction_powered,
    rogan_gladen,
)

FORMAT = "plumbline-calibration"
FORMAT_VERSION = 1
_DECIMALS = 6

Signed = Annotated[float, msgspec.Meta(ge=-1, le=1)]

LIMITS: tuple[str, ...] = (
    "The corrections hold where the labelled items are a random sample of all items. Labels of items that were picked "
    "because something looked wrong make both corrections wrong.",
    "Intervals treat items as independent draws. Items that ask the same fact twice are not, so the true intervals are "
    "wider.",
    "A prompt or threshold that was chosen to agree with these very labels agrees with them better than with others. "
    "Choose on one split and calibrate on another.",
    "What people said is taken for the truth. How far two people agree with each other is not in these labels.",
)


class Rate(Record, frozen=True):
    """A value with its 95 % interval, six decimals."""

    value: Signed
    lower: Signed | None
    """None where the sample shows no disagreement, from which no interval can be drawn."""
    upper: Signed | None
    clipped: bool = False
    """Whether the correction led out of 0 to 1 and was cut there."""


class Table(Record, frozen=True):
    """Counts of labelled items: what people said, then what the judge said."""

    people_pass_judge_pass: int
    people_pass_judge_fail: int
    people_fail_judge_pass: int
    people_fail_judge_fail: int


class Corrected(Record, frozen=True):
    """The share of all items that people would pass."""

    rogan_gladen: Rate
    """From the judge's verdicts at the threshold, by its sensitivity and specificity."""
    prediction_powered: Rate
    """From the judge's scores, by the mean difference between label and score."""


class Calibration(Record, frozen=True):
    """The document."""

    format: str
    format_version: int
    harness_version: str
    target: str
    dataset_sha256: str
    dataset_id: str
    labels_sha256: str
    split: str | None
    labellers: dict[str, int]
    judge: JudgeInfo
    judge_config_sha256: str
    threshold: float
    """The judge passes an item whose score is at least this."""
    items: int
    """Items with a reference answer, labelled or not."""
    labelled: int
    confusion: Table
    agreement: Rate
    kappa: Rate
    sensitivity: Rate
    specificity: Rate
    judge_pass_rate: Rate
    """Over all items, as the judge says it."""
    judge_mean_score: float
    corrected: Corrected
    limits: list[str]
    calibration_sha256: str = ""
    """SHA-256 over the canonical JSON of the document without this key."""


def calibrate(
    target: str, bundle: Bundle, judge: Judge, labels: Labels, *, threshold: Fraction, split: str | None
) -> Calibration:
    """Compare a judge with people.

    Args:
        target: name of the target.
        bundle: the evidence.
        judge: the instrument, able to score every item with a reference answer.
        labels: of this bundle.
        threshold: the score from which the judge passes an item, in (0, 1].
        split: compare with the labels of this split only.

    Raises:
        ConfigurationError: too few labels of a class, or a judge that is no better than chance.
    """
    scores = {
        item.id: judge.answer_score(item.expected, bundle.response_text(item.id))
        for item in bundle.items
        if item.behavior == "answer" and item.expected is not None
    }
    chosen = {key: label for key, label in labels.by_item.items() if split is None or label.split == split}
    table = _confusion(scores, chosen, threshold)
    _refuse(table, threshold, split)
    passes = sum(score >= threshold for score in scores.values())
    kappa, kappa_bounds = cohens_kappa(table)
    pairs = [(scores[key], label.label == "pass") for key, label in sorted(chosen.items())]
    others = [score for key, score in scores.items() if key not in chosen]
    unsealed = Calibration(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        harness_version=harness_version(),
        target=target,
        dataset_sha256=bundle.sha256,
        dataset_id=bundle.sha256[:SHORT_ID_LENGTH],
        labels_sha256=labels.sha256,
        split=split,
        labellers=dict(sorted(Counter(label.labeller or "" for label in chosen.values()).items())),
        judge=JudgeInfo(**judge.describe()),
        judge_config_sha256=judge_config_sha256(judge),
        threshold=float(threshold),
        items=len(scores),
        labelled=table.labelled,
        confusion=Table(
            people_pass_judge_pass=table.pass_pass,
            people_pass_judge_fail=table.pass_fail,
            people_fail_judge_pass=table.fail_pass,
            people_fail_judge_fail=table.fail_fail,
        ),
        agreement=_exact(table.pass_pass + table.fail_fail, table.labelled),
        kappa=_rate(kappa, kappa_bounds),
        sensitivity=_exact(table.pass_pass, table.passed),
        specificity=_exact(table.fail_fail, table.failed),
        judge_pass_rate=_exact(passes, len(scores)),
        judge_mean_score=_rounded(sum(scores.values(), Fraction(0)) / len(scores)),
        corrected=Corrected(
            rogan_gladen=_estimate(rogan_gladen(table, passes, len(scores))),
            prediction_powered=_estimate(prediction_powered(pairs, others)),
        ),
        limits=list(LIMITS),
    )
    return msgspec.structs.replace(unsealed, calibration_sha256=digest(unsealed))


def digest(found: Calibration) -> str:
    """What `calibration_sha256` must be."""
    body: dict[str, Any] = msgspec.to_builtins(found)
    body.pop("calibration_sha256", None)
    return canonical_sha256(body)


def _confusion(scores: Mapping[str, Fraction], labels: Mapping[str, Label], threshold: Fraction) -> Confusion:
    counts = Counter((label.label, scores[key] >= threshold) for key, label in labels.items())
    return Confusion(counts["pass", True], counts["pass", False], counts["fail", True], counts["fail", False])


def _refuse(table: Confusion, threshold: Fraction, split: str | None) -> None:
    among = f"in split {split!r}" if split is not None else "among the labels"
    if min(table.passed, table.failed) < LEAST_OF_A_CLASS:
        raise ConfigurationError(
            f"{table.passed} pass and {table.failed} fail {among}: fewer than {LEAST_OF_A_CLASS} of a kind measure "
            "nothing of it",
            remedy="Label more items, drawn at random; what is rare takes many.",
        )
    if table.sensitivity + table.specificity <= 1:
        raise ConfigurationError(
            f"at the threshold {float(threshold):g} the judge passes {table.pass_pass} of {table.passed} items that "
            f"people pass and {table.fail_pass} of {table.failed} that they fail: it is no better than chance, and "
            "nothing can be corrected by it",
            remedy="Try another threshold, on labels of another split, or another judge.",
        )


def _exact(successes: int, n: int) -> Rate:
    return _rate(Fraction(successes, n), exact_interval(successes, n))


def _estimate(found: Estimate) -> Rate:
    return msgspec.structs.replace(_rate(found.value, found.interval), clipped=found.clipped)


def _rate(value: Fraction, bounds: Bounds | None) -> Rate:
    if bounds is None:
        return Rate(value=_rounded(value), lower=None, upper=None)
    return Rate(value=_rounded(value), lower=round(bounds.lower, _DECIMALS), upper=round(bounds.upper, _DECIMALS))


def _rounded(value: Fraction) -> float:
    return float(round(value, _DECIMALS))


def to_json(found: Calibration) -> bytes:
    """The bytes of the document's file."""
    return msgspec.json.format(msgspec.json.encode(found), indent=2) + b"\n"


def lines(found: Calibration) -> list[str]:
    """The document for a person, plain lines."""
    table, judge = found.confusion, found.judge
    who = judge.kind if judge.deterministic else f"{judge.kind} {terminal(judge.model or '', 80)} NOT DETERMINISTIC"
    split = "" if found.split is None else f", split {terminal(found.split, 80)}"
    by = ", ".join(f"{terminal(name, 40) or 'not named'} {count}" for name, count in found.labellers.items())
    return [
        f"target:       {terminal(found.target, 200)}, dataset {found.dataset_id}",
        f"judge:        {who} {found.judge_config_sha256[:SHORT_ID_LENGTH]}",
        f"labels:       {found.labelled} of {found.items} items{split}, {found.labels_sha256[:SHORT_ID_LENGTH]}",
        f"labellers:    {by[:500]}",
        f"threshold:    a score of at least {found.threshold:g} is a pass",
        "",
        "                   judge pass  judge fail",
        f"  people pass      {table.people_pass_judge_pass:>10}  {table.people_pass_judge_fail:>10}",
        f"  people fail      {table.people_fail_judge_pass:>10}  {table.people_fail_judge_fail:>10}",
        "",
        f"agreement:    {_shown(found.agreement)}",
        f"kappa:        {_shown(found.kappa)}",
        f"sensitivity:  {_shown(found.sensitivity)} of what people pass, the judge passes",
        f"specificity:  {_shown(found.specificity)} of what people fail, the judge fails",
        "",
        f"as judged:    {_shown(found.judge_pass_rate)} of all items pass; mean score {found.judge_mean_score:.4f}",
        f"corrected:    {_shown(found.corrected.rogan_gladen)} (Rogan-Gladen, from the verdicts)",
        f"corrected:    {_shown(found.corrected.prediction_powered)} (prediction-powered, from the scores)",
        "",
        *(f"limit:        {limit}" for limit in found.limits),
        f"digest:       {found.calibration_sha256}",
    ]


def _shown(rate: Rate) -> str:
    if rate.lower is None or rate.upper is None:
        return f"{rate.value:.4f}, no interval: no disagreement was seen"
    cut = ", cut at the end of the range" if rate.clipped else ""
    return f"{rate.value:.4f}, 95% interval {rate.lower:.4f} to {rate.upper:.4f}{cut}"
