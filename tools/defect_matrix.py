"""Can every suite of the gate fail, and does each fail for its own reason only?

Plants one defect at a time into a copy of the demonstration evidence, seals the copy, and runs the real audit under the
demonstration's own configuration. Each case says beforehand which suites must fail; a failure that it does not name, or
a named one that does not happen, breaks the case. Writes `proof/matrix.json` and `proof/matrix.md`, the same bytes on
every machine. `--check` compares instead of writing. Run by `make proof`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from plumbline.audit.config import load_target
from plumbline.audit.couplings import DECLARATIONS
from plumbline.audit.provenance import DEFAULT_SEED
from plumbline.audit.run import Audit, run_audit
from plumbline.errors import ExitCode, PlumblineError
from tools import planted as put
from tools.planted import Evidence

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
CONFIG = ROOT / "examples/tidewater.toml"
PROOF = ROOT / "proof"


@dataclass(frozen=True)
class Case:
    """One defect and what must come of it."""

    id: str
    planted: str
    """What is wrong with the evidence now, in a sentence."""
    plant: Callable[[Evidence], None]
    fails: tuple[str, ...] = ()
    """Suites that must fail; every other one must pass."""
    why: str = ""
    """Where several fail: through which shared input. Where none does: why that is right, or a limit."""
    exit_code: int = ExitCode.FAIL
    kind: str = "defect"
    """`defect`, `coupled`, `tolerated`, `unseen`, `empty` or `integrity`."""
    drop_suites: tuple[str, ...] = ()
    """Suites that the configuration leaves out in this case."""
    reseal: bool = True


@dataclass
class Outcome:
    """What came of a case."""

    case: Case
    exit_code: int = 0
    failed: list[str] = field(default_factory=list)
    scores: dict[str, float] = field(default_factory=dict)
    """Of the suites that failed or that the case is about."""
    hard: dict[str, int] = field(default_factory=dict)
    refusal: str | None = None

    @property
    def held(self) -> bool:
        """Whether exactly the expected happened."""
        if self.case.kind in {"empty", "integrity"}:
            return self.exit_code == self.case.exit_code and self.refusal is not None
        return self.exit_code == self.case.exit_code and self.failed == sorted(self.case.fails)


_NOTHING_TO_ASK = "a suite that applies to nothing is an error and no pass"

COUNTS_SILENCE = (
    *("accuracy", "adversarial", "citation_accuracy", "citation_validity", "conversational_integrity"),
    *("multilingual", "refusal", "smoke"),
)

CASES: tuple[Case, ...] = (
    Case("smoke", "one ordinary answer is missing", put.silence, ("smoke",)),
    Case("smoke-full-stop", "one ordinary answer is a full stop", put.full_stop, ("smoke",)),
    Case("accuracy", "a fact lost its number in all languages and registers", put.lost_number, ("accuracy",)),
    Case("refusal", "questions that should be declined are answered", put.compliance, ("refusal",)),
    Case("cross_language", "one question is declined in Spanish only", put.one_language_refuses, ("cross_language",)),
    Case("groundedness", "a fact gained a number that no passage has", put.invented_number, ("groundedness",)),
    Case(
        "citation_validity",
        "one answer cites a passage that is not there",
        put.fabricated_citation,
        ("citation_validity",),
    ),
    Case("citation_accuracy", "many answers cite the wrong passage", put.wrong_citations, ("citation_accuracy",)),
    Case(
        "passage_attribution",
        "answers are copied from the wrong paragraph",
        put.wrong_paragraphs,
        ("passage_attribution",),
    ),
    Case(
        "multilingual",
        "declined questions are declined in the other language",
        put.other_language,
        ("multilingual",),
    ),
    Case("adversarial", "attacks succeed without a leak", put.probes_answered, ("adversarial",)),
    Case("fairness", "formal questions are served worse", put.worse_register, ("fairness",)),
    Case("representational_harms", "one answer demeans", put.demeaning, ("representational_harms",)),
    Case("privacy", "one answer gives an address away", put.disclosure, ("privacy",)),
    Case("accessibility", "the page does not declare its language", put.page_without_language, ("accessibility",)),
    Case(
        "conversational_integrity",
        "refusals are given up later",
        put.refusals_given_up,
        ("conversational_integrity",),
    ),
    Case(
        "conversational_integrity-leak",
        "a leak in an earlier turn",
        put.leaked_in_a_turn,
        ("conversational_integrity",),
    ),
    Case(
        "leak",
        "one probe says what it must not say",
        put.leaked_phrase,
        ("adversarial", "privacy", "representational_harms"),
        why="all of them read the item's list of forbidden strings",
        kind="coupled",
    ),
    Case(
        "fabrication",
        "a fact states a wrong amount in English",
        put.planted_fabrication,
        ("accuracy", "cross_language", "groundedness"),
        why="one wrong number: not the reference's, not the other language's, in no passage",
        kind="coupled",
    ),
    Case(
        "silence",
        "every third answer is missing",
        put.a_third_silent,
        tuple(suite for suite in COUNTS_SILENCE if suite != "conversational_integrity"),
        why="each of them scores an item without a readable response zero",
        kind="coupled",
    ),
    Case(
        "tolerated",
        "one question that should be declined is answered, in all its languages",
        put.compliance_once,
        kind="tolerated",
        exit_code=ExitCode.PASS,
        why="a floor under 1 tolerates a few failures, and the report names them; sample.would_notice says how many go "
        "unnoticed",
    ),
    Case(
        "tampered",
        "an amount was edited after sealing",
        lambda _evidence: None,
        kind="integrity",
        exit_code=ExitCode.INTEGRITY,
        reseal=False,
        why="nothing is scored on evidence that is not what was sealed",
    ),
    *(
        Case(
            f"empty-{suite}",
            planted,
            plant,
            kind="empty",
            exit_code=ExitCode.CONFIGURATION,
            drop_suites=dropped,
            why=why,
        )
        for suite, planted, plant, dropped, why in (
            ("passage_attribution", "no item declares its passage", put.no_declarations, (), _NOTHING_TO_ASK),
            ("adversarial", "no item is marked as an attack", put.no_probes, (), _NOTHING_TO_ASK),
            ("conversational_integrity", "no turn was recorded", put.no_turns, (), _NOTHING_TO_ASK),
            (
                "answers",
                "all answers are full stops, and no enabled suite counts silence",
                put.nothing_answered,
                COUNTS_SILENCE,
                _NOTHING_TO_ASK,
            ),
            (
                "silence",
                "every third answer is missing, and no enabled suite counts silence",
                put.a_third_silent,
                COUNTS_SILENCE,
                "excluding what is silent must not make it free",
            ),
        )
    ),
    Case(
        "undeclared",
        "the wrong paragraph, on an item that declares none",
        put.undeclared_paragraph,
        kind="unseen",
        exit_code=ExitCode.PASS,
        why="a limit: what no item declares, no suite can hold an answer to; coverage says how much that is",
    ),
)


def run(case: Case, clean: Evidence) -> Outcome:
    """Plant, seal, audit."""
    evidence = clean.copy()
    case.plant(evidence)
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        evidence.write(folder / "bundle")
        if not case.reseal:
            _edit_after_sealing(folder / "bundle")
        config = folder / "target.toml"
        config.write_text(_config(case), encoding="utf-8")
        try:
            audit = run_audit(load_target(config), seed=DEFAULT_SEED)
        except PlumblineError as refusal:
            return Outcome(case, int(refusal.exit_code), refusal=refusal.message)
    return _outcome(case, audit)


def _edit_after_sealing(bundle: Path) -> None:
    path = bundle / "responses.jsonl"
    path.write_bytes(path.read_bytes().replace(b"2.25", b"9.25", 1))


def _config(case: Case) -> str:
    text = CONFIG.read_text(encoding="utf-8")
    text = re.sub(r'(?m)^path = "[^"]*tidewater-demo"$', 'path = "bundle"', text)
    text = re.sub(r"\[baseline\]\n(?:[^\[\n].*\n|\n)*", "", text)
    for suite in case.drop_suites:
        text = re.sub(rf"\[suites\.{suite}\]\n(?:[^\[\n].*\n|\n)*", "", text)
    return text


def _outcome(case: Case, audit: Audit) -> Outcome:
    failed = [entry.result.suite for entry in audit.suites if entry.result.verdict == "FAIL"]
    shown = {*failed, *case.fails}
    results = [entry.result for entry in audit.suites if entry.result.suite in shown]
    return Outcome(
        case,
        exit_code=int(ExitCode.FAIL if failed else ExitCode.PASS),
        failed=failed,
        scores={result.suite: round(float(result.score), 4) for result in results},
        hard={result.suite: len(result.hard_failures) for result in results if result.hard_failures},
    )


def undisclosed(outcomes: list[Outcome]) -> list[str]:
    """Cases in which suites failed together that no coupling of the reports connects."""
    found = []
    for outcome in outcomes:
        together = set(outcome.failed)
        linked = {frozenset(pair) for d in DECLARATIONS for pair in pairwise(sorted(together & set(d.suites)))}
        reached = {outcome.failed[0]} if outcome.failed else set()
        while grown := {suite for pair in linked if pair & reached for suite in pair} - reached:
            reached |= grown
        if together - reached:
            found.append(outcome.case.id)
    return found


def document(outcomes: list[Outcome]) -> dict[str, Any]:
    """The matrix as JSON values."""
    return {
        "format": "plumbline-defect-matrix",
        "format_version": 1,
        "cases": [
            {
                "id": outcome.case.id,
                "kind": outcome.case.kind,
                "planted": outcome.case.planted,
                "must_fail": sorted(outcome.case.fails),
                "why": outcome.case.why,
                "exit_code": outcome.exit_code,
                "failed": outcome.failed,
                "scores": outcome.scores,
                "outright": outcome.hard,
                "refusal": outcome.refusal,
                "held": outcome.held,
            }
            for outcome in outcomes
        ],
    }


def as_markdown(outcomes: list[Outcome]) -> str:
    """The matrix for a person."""
    held = sum(outcome.held for outcome in outcomes)
    lines = [
        "# Has every suite been seen to fail?",
        "",
        "Each row plants one defect into a copy of the demonstration evidence, seals it and runs the real audit with "
        "the demonstration's floors. A row holds when exactly the named suites fail and all others pass. Made by "
        "`make proof`; a test makes it anew and compares.",
        "",
        f"{held} of {len(outcomes)} rows held.",
        "",
        "| Row | Planted | Exit | Failed, with score | Held |",
        "|---|---|---:|---|---|",
    ]
    for outcome in outcomes:
        failed = ", ".join(
            f"{suite} {outcome.scores[suite]:.4f}"
            + (f" ({outcome.hard[suite]} outright)" if suite in outcome.hard else "")
            for suite in outcome.failed
        )
        said = failed or (f"`{_one_line(outcome.refusal)}`" if outcome.refusal else "none")
        lines.append(
            f"| {outcome.case.id} | {outcome.case.planted} | {outcome.exit_code} | {said} | "
            f"{'yes' if outcome.held else 'NO'} |"
        )
    lines += ["", "## Rows that need a word", ""]
    lines += [f"- {outcome.case.id}: {outcome.case.why}." for outcome in outcomes if outcome.case.why]
    lines += [
        "",
        "## What this does not show",
        "",
        "That suites catch defects nobody thought to plant, that the floors are right, or anything about a real "
        "service. The rows were sized against the demonstration and its floors.",
    ]
    return "\n".join(lines) + "\n"


def _one_line(text: str) -> str:
    short = " ".join(text.split()).replace("|", "/").replace("`", "'")
    return short if len(short) <= 120 else f"{short[:120]} \N{HORIZONTAL ELLIPSIS}"


def build() -> tuple[list[Outcome], dict[str, bytes]]:
    """Run every case.

    Returns:
        What came of them, and the files of the proof by name.
    """
    clean = Evidence()
    outcomes = [run(case, clean) for case in CASES]
    files = {
        "matrix.json": (json.dumps(document(outcomes), indent=2, ensure_ascii=False) + "\n").encode(),
        "matrix.md": as_markdown(outcomes).encode(),
    }
    return outcomes, files


def main() -> int:
    """Write or check the proof, and print it."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true", help="compare with the committed proof instead of writing")
    arguments = parser.parse_args()
    outcomes, files = build()
    print(files["matrix.md"].decode())
    stale = []
    for name, content in files.items():
        path = PROOF / name
        if arguments.check and (not path.exists() or path.read_bytes() != content):
            stale.append(name)
        elif not arguments.check:
            PROOF.mkdir(exist_ok=True)
            path.write_bytes(content)
    broken = [outcome.case.id for outcome in outcomes if not outcome.held]
    for what, names in (("broken", broken), ("stale", stale), ("undisclosed coupling", undisclosed(outcomes))):
        if names:
            print(f"{what}: {', '.join(names)}", file=sys.stderr)
    return 1 if broken or stale or undisclosed(outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
