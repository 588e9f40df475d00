"""How are the figures of a report said in words?

Every rendering for people (Markdown, comment, terminal) takes its sentences from here, so no two of them can say
different things of one run. What is returned is plain text that may hold text from a target or a dataset: whoever
writes it anywhere passes it through the sink of that place, whole.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from plumbline.audit.baseline import Comparison, Move
from plumbline.canonical import SHORT_ID_LENGTH
from plumbline.report.document import ConfidenceInterval, ItemResult, Report, SuiteReport
from plumbline.report.findings import Finding
from plumbline.suites.base import REASONS

MINUS = "\N{MINUS SIGN}"
DASH = "\N{EM DASH}"
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
QUOTES = ("\N{LEFT DOUBLE QUOTATION MARK}", "\N{RIGHT DOUBLE QUOTATION MARK}")

_NOISE = {True: "more than chance explains", False: "which could be chance", None: "and whether by chance is not known"}
_DIGEST = re.compile(r"\b[0-9a-f]{64}\b")

_NAMED = 3
_EXCERPT = 300


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 item`, `1,200 items`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], limit: int = _NAMED) -> str:
    """`a, b and c`, or the first few of many and how many more there are."""
    if len(names) > limit:
        return f"{', '.join(names[:limit])} and {len(names) - limit:,} more"
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else "".join(names)


def four(score: float) -> str:
    """A score as reports show it: four decimals."""
    return f"{score:.4f}"


def floor_text(floor: float) -> str:
    """A floor: two decimals, more only where it has them."""
    whole, _, decimals = f"{floor:.6f}".partition(".")
    return f"{whole}.{decimals.rstrip('0'):0<2}"


def signed(delta: float) -> str:
    """A change with its sign."""
    return f"{delta:+.4f}".replace("-", MINUS) if delta else "0"


def interval(ci: ConfidenceInterval | None) -> str:
    """The bounds of an interval, or that there is none."""
    return "none" if ci is None else f"{four(ci.lower)} to {four(ci.upper)}"


def interval_sentence(suite: SuiteReport) -> str:
    """The interval of the score, to be read after other figures."""
    if suite.ci is None:
        return "no interval"
    return f"{suite.ci.confidence:.0%} interval {interval(suite.ci)}"


def short(digest: str) -> str:
    """The beginning of a digest, where the whole would not be read."""
    return digest[:SHORT_ID_LENGTH]


def shortened(text: str) -> str:
    """A sentence with every digest in it cut short."""
    return _DIGEST.sub(lambda digest: short(digest[0]) + ELLIPSIS, text)


def headline(report: Report) -> str:
    """What decides the verdict, in one or two sentences."""
    total = len(report.suites)
    if report.verdict == "PASS":
        every = "The one suite" if total == 1 else f"Each of the {total} suites"
        left_out = len(report.scope.not_scored)
        unasked = f" {count(left_out, 'suite')} did not run." if left_out else ""
        return f"{every} that ran reached its floor, on {count(report.dataset.items, 'item')}.{unasked}"
    failed = report.failed
    named = "; ".join(f"{suite.suite} {cause(suite)}" for suite in failed[:_NAMED])
    more = f"; and {len(failed) - _NAMED} more" if len(failed) > _NAMED else ""
    return f"Failing: {len(failed)} of {count(total, 'suite')}. {named}{more}."


def cause(suite: SuiteReport) -> str:
    """Why a suite has the verdict it has, to be read after its name."""
    hard = len(suite.hard_failures)
    score, floor = four(suite.score), floor_text(suite.floor)
    if suite.verdict == "PASS":
        rounding = ", before rounding" if suite.score < suite.floor else ""
        return f"scored {score}, at or above its floor of {floor}{rounding}"
    # Of pairs too the items are named: each has an answer of its own to mend.
    outright = f"has {count(hard, 'item')} that {'fails' if hard == 1 else 'fail'} the suite outright"
    if suite.score < suite.floor:
        return f"scored {score}, under its floor of {floor}" + (f", and {outright}" if hard else "")
    if hard:
        return f"{outright}, at a score of {score} over a floor of {floor}"
    if suite.floor_on == "lower_bound":
        return (
            f"scored {score}, and what is certain of it, the lower bound {bound(suite)}, is under the floor of "
            f"{floor}; more facts or clusters raise it"
        )
    # The exact score decided; four decimals of it look like a pass.
    return f"scored just below the floor before rounding ({score} shown, floor {floor})"


def bound(suite: SuiteReport) -> str:
    """The lower bound of the score, or that there is none."""
    return "not known" if suite.sample.lower_bound is None else four(suite.sample.lower_bound)


def could_be(suite: SuiteReport) -> str:
    """What the sample leaves possible: the honest reading of a good score."""
    failing = suite.sample.could_be_failing
    if suite.stats.get("score_kind") == "census":
        return "a full count, to which no sampling error applies"
    if failing is None:
        return f"what could still be failing is not known: {_missing(suite, 'could_be_failing')}"
    if suite.stats.get("score_kind") == "proportion":
        return f"could still be failing up to {failing:.1%}"
    return f"the true score could still be {four(1 - failing)}"


def would_notice(suite: SuiteReport) -> str:
    """What a next run would make of a drop."""
    drop = suite.sample.would_notice
    if suite.stats.get("score_kind") == "census":
        return "any change of it is a change of the page"
    if drop is None:
        return f"what drop a next run would notice is not known: {_missing(suite, 'would_notice')}"
    return f"would notice a drop of {four(drop)} four times in five"


def resolved(suite: SuiteReport) -> str:
    """Whether the interval settles that the floor is met."""
    if suite.sample.floor_resolved is None:
        return "no interval"
    return "yes" if suite.sample.floor_resolved else "no"


def could_be_figure(suite: SuiteReport) -> str:
    """The figure of `could_be` for a table."""
    failing = suite.sample.could_be_failing
    return "n/a" if failing is None else f"{failing:.1%}"


def would_notice_figure(suite: SuiteReport) -> str:
    """The figure of `would_notice` for a table."""
    drop = suite.sample.would_notice
    return "n/a" if drop is None else f"{drop:.1%}"


def behind(suite: SuiteReport) -> str:
    """How many items and clusters stand behind the score."""
    items = count(suite.n, suite.unit)
    clusters = suite.sample.clusters
    if clusters is None or clusters == suite.n:
        return items
    effect = suite.sample.design_effect
    spread = "" if effect is None else f", design effect {effect:.2f}"
    return f"{items} in {count(clusters, 'cluster')}{spread}"


def _missing(suite: SuiteReport, figure: str) -> str:
    why = suite.sample.missing.get(figure)
    return "no reason is given" if why is None else why.sentence


@dataclass(frozen=True, slots=True)
class Row:
    """A suite beside the bar."""

    suite: str
    was: str
    now: str
    change: str
    noise: str
    """Whether the change could be chance."""
    floor: str
    verdict: str
    failed: bool


def rows(report: Report) -> list[Row]:
    """Every suite of the run, then those of the bar that did not run."""
    bar = report.baseline
    found = [_row(suite, bar) for suite in report.suites]
    if bar is None:
        return found
    before = {row.suite: row for row in bar.previous}
    for suite in bar.removed_suites:
        was = four(before[suite].score) if suite in before else DASH
        found.append(Row(suite, was, "not run", DASH, DASH, DASH, "not run", failed=False))
    return found


def _row(suite: SuiteReport, bar: Comparison | None) -> Row:
    was = next((row for row in bar.previous if row.suite == suite.suite), None) if bar is not None else None
    floor, verdict = floor_text(suite.floor), suite.verdict.lower()
    if was is not None and was.floor != suite.floor:
        floor += f" (was {floor_text(was.floor)})"
    if was is not None and was.verdict != suite.verdict:
        verdict += f" (was {was.verdict.lower()})"
    change, noise = DASH, DASH
    if bar is not None and was is None:
        change = "new"
    elif bar is not None and bar.moved_suites is None:
        change, noise = "not compared", DASH
    elif bar is not None:
        move = next((move for move in bar.moved_suites or [] if move.suite == suite.suite), None)
        change, noise = ("0", DASH) if move is None else (signed(move.delta), chance(move))
    return Row(
        suite=suite.suite,
        was=DASH if was is None else four(was.score),
        now=four(suite.score),
        change=change,
        noise=noise,
        floor=floor,
        verdict=verdict,
        failed=suite.verdict == "FAIL",
    )


def chance(move: Move) -> str:
    """Whether a change of score is more than another draw of such items would bring."""
    if move.mde is None:
        return "not known"
    return f"no (\N{GREATER-THAN OR EQUAL TO} {four(move.mde)})" if move.detectable else f"yes (< {four(move.mde)})"


def against_the_bar(report: Report, *, moves: bool = True) -> list[str]:
    """What differs from the bar, the most telling first. Empty without a bar.

    Args:
        report: the finished report.
        moves: whether the scores that moved are said too, and that none did.
    """
    bar = report.baseline
    if bar is None:
        return []
    lines = []
    if bar.verdict_change is not None:
        lines.append(f"The verdict went from {bar.verdict_change.was} to {bar.verdict_change.now}.")
    lines += [f"{flip.suite} went from {flip.was} to {flip.now}." for flip in bar.flipped_suites]
    if bar.removed_suites:
        lines.append(f"In the bar, and not run: {listed(bar.removed_suites, 20)}.")
    if bar.added_suites:
        lines.append(f"New since the bar: {listed(bar.added_suites, 20)}.")
    lines += [
        f"The floor of {change.suite} was {'lowered' if change.now < change.was else 'raised'} from "
        f"{floor_text(change.was)} to {floor_text(change.now)}."
        for change in bar.changed_floors
    ]
    lines += [f"Scores were not compared: {refusal}." for refusal in bar.refusals]
    for move in (bar.moved_suites or []) if moves else []:
        lines.append(
            f"{move.suite} moved from {four(move.baseline_score)} to {four(move.score)} ({signed(move.delta)}), "
            f"{_NOISE[move.detectable]}."
        )
    if moves and not lines:
        lines.append("No verdict changed and no score moved.")
    return lines


def caveats(bar: Comparison) -> list[str]:
    """With what care a comparison is to be read, beyond the floors that moved: those are said apart."""
    floors = tuple(f"the floor of {change.suite} was " for change in bar.changed_floors)
    return [caveat for caveat in bar.caveats if not caveat.startswith(floors)]


def unverifiable(report: Report) -> list[str]:
    """For each suite and reason, how many items could not be verified."""
    return [
        f"{suite.suite}: {suite.coverage.scored:,} of {count(suite.coverage.eligible, f'eligible {suite.unit}')} scored"
        f"; {', '.join(f'{reason_text(reason)}: {len(ids):,}' for reason, ids in suite.coverage.unverifiable.items())}"
        for suite in report.suites
        if suite.coverage.unverifiable
    ]


def tallies(found: Sequence[Finding]) -> list[str]:
    """For each suite and reason, how many findings there are."""
    counts = Counter((finding.suite.suite, finding.item.reason or "failed") for finding in found)
    return [f"{suite}: {reason_text(reason)}: {number:,}" for (suite, reason), number in counts.items()]


def counted(found: Sequence[Finding], word: str) -> str:
    """How many of each unit the findings are about: `2 failing items and 1 failing pair` for the word `failing`.

    An item that fails under several suites is one failing item.
    """
    units = Counter(unit for unit, _ in {(finding.suite.unit, finding.item.item) for finding in found})
    parts = [count(units[unit], f"{word} {unit}") for unit in ("item", "pair", "check") if units[unit]]
    return listed(parts) or f"no {word} item"


def reason_text(reason: str) -> str:
    """A machine-readable reason in a few words."""
    known = REASONS.get(reason)
    return reason if known is None else known.title[0].lower() + known.title[1:]


def not_scored(report: Report) -> list[str]:
    """What the run did not ask: suites that this version has, and declarations of the evidence that none reads."""
    absent = [entry.suite for entry in report.scope.not_scored if entry.status == "absent"]
    # A gate of three suites leaves out twelve. One sentence says so, and hides nothing that stands below it.
    unnamed = f"{listed(absent, 20)}: the configuration does not name {'it' if len(absent) == 1 else 'them'}"
    return [
        *([unnamed] if absent else []),
        *(
            f"{entry.suite}: the configuration switches it off"
            + (f"; therefore unchecked: {entry.gap}" if entry.gap is not None else "")
            + (f"; the fix belongs in: {entry.fix_belongs_in}" if entry.fix_belongs_in is not None else "")
            for entry in report.scope.not_scored
            if entry.status == "disabled"
        ),
        *(
            f"{entry.key} of {count(entry.items, 'item')}: no suite of this run reads it"
            f" ({' or '.join(entry.read_by)} would)"
            for entry in report.scope.unread
        ),
    ]


def languages(report: Report) -> str:
    """How many items there are in each language."""
    return ", ".join(f"{tag} {number:,}" for tag, number in report.dataset.languages.items())


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A piece of text with the part in it that matters, which may be empty."""

    before: str
    marked: str
    after: str


def labels(unit: str) -> tuple[str, str]:
    """What to call the two texts beside a finding: of an item, of a pair, of a check."""
    return {"pair": ("first", "second"), "check": ("page", "expected")}.get(unit, ("said", "expected"))


def said(item: ItemResult) -> Excerpt | None:
    """What the target said (of a pair to the first item, of a check the page), or None where it said nothing."""
    return _excerpt(item.said, item.said_at)


def wanted(item: ItemResult) -> Excerpt | None:
    """What it is held to (of a pair the second answer), or None where there is no such text."""
    return _excerpt(item.wanted, item.wanted_at)


def _excerpt(text: str | None, at: Sequence[int]) -> Excerpt | None:
    if text is None:
        return None
    if len(text) > _EXCERPT:
        text = text[:_EXCERPT] + ELLIPSIS
    if len(at) != 2 or not 0 <= at[0] < at[1] <= len(text):
        return Excerpt(text, "", "")
    return Excerpt(text[: at[0]], text[at[0] : at[1]], text[at[1] :])


def stability(report: Report) -> list[str]:
    """Whether the target stayed with its answers; one sentence, and one for each suite with items that diverged."""
    found = report.stability
    if found.status == "NOT_CAPTURED":
        return ["NOT CAPTURED: every item was asked once, so nothing is known of how stable the answers are."]
    asked = f"{count(found.items, 'item')} {'was' if found.items == 1 else 'were'} asked up to {found.passes} times"
    lines = [f"{asked}; the first answer is the one that was scored."]
    for suite in found.suites:
        kept = f"{suite.identical:,} identical, {len(suite.stable):,} worded differently with the same outcome"
        diverged = f", {len(suite.divergent):,} divergent: {listed(suite.divergent, 5)}" if suite.divergent else ""
        lines.append(f"{suite.suite}: {kept}{diverged}.")
    return lines
