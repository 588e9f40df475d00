"""Which kinds of finding are there, and how is each explained to somebody who has never seen Plumbline?

One fixed list, the same in every SARIF file: a suite each, a reason that an item could not be verified each, and the
ways in which a run itself can go wrong.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

from plumbline.errors import ExitCode
from plumbline.suites.base import REASONS, ScoreKind, Suite, Unit
from plumbline.suites.registry import IMPLEMENTED, create

_SCORED: Mapping[ScoreKind, str] = {
    "proportion": "The score is the share of {unit}s that pass.",
    "mean": "The score is the mean of the items' scores.",
    "gap": "The score is 1 minus the largest gap between groups of items.",
    "census": "The score is the share of {unit}s that hold; all of them are made, so it has no sampling error.",
}

_WHAT_TO_DO = (
    "Read the response at the place shown and the reference beside it. If the target is wrong, mend the target and "
    "record the item again. If the reference is wrong, correct it and seal the bundle again. A response is a record "
    "of what was said: never edit one."
)
_ADVICE: Mapping[Unit, str] = {
    "item": _WHAT_TO_DO,
    "pair": "Read both responses at the places shown and find out which of them is wrong. Mend the target and record "
    "the items again. If they share a fact_id and do not ask the same, correct the items and seal the bundle again. A "
    "response is a record of what was said: never edit one.",
    "check": "Mend the page at the place shown, or add what is missing, capture it again and seal the bundle again.",
}


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of finding, as SARIF describes it."""

    id: str
    name: str
    """The identifier in words without blanks, for lists."""
    short: str
    full: str
    advice: str
    level: Literal["error", "warning"]
    tags: tuple[str, ...] = ("evaluation", "question-answering")

    @property
    def help_text(self) -> str:
        """What it means and what to do, as plain text."""
        return f"{self.full}\n\nWhat to do: {self.advice}"

    @property
    def help_markdown(self) -> str:
        """The same as Markdown."""
        return f"{self.full}\n\n**What to do.** {self.advice}"


RUN_RULES: Mapping[int, Rule] = {
    ExitCode.INTEGRITY: Rule(
        id="run/integrity-refusal",
        name="EvidenceIsNotWhatWasSealed",
        short="The evidence is not what was sealed.",
        full="A file of the bundle, or a committed record, does not match its checksum. Nothing was scored, and there "
        "is no verdict.",
        advice="Restore the files. If the change was meant, seal the bundle again, which changes its dataset id.",
        level="error",
    ),
    ExitCode.CONFIGURATION: Rule(
        id="run/configuration-error",
        name="ConfigurationGivesNoVerdict",
        short="The configuration or the environment does not allow a verdict.",
        full="The configuration, the bundle's content or the environment keeps the gate from forming a verdict. What "
        "cannot be checked is never passed.",
        advice="Mend what the message names.",
        level="error",
    ),
    ExitCode.INTERNAL: Rule(
        id="run/internal-error",
        name="PlumblineIsAtFault",
        short="Plumbline itself failed.",
        full="The gate broke down. Nothing was measured, and the target is not to blame.",
        advice="Report the message to the maintainers of Plumbline.",
        level="error",
    ),
}
"""Exit code to the rule for a run that gave no verdict."""

LEFT_OUT = Rule(
    id="run/results-left-out",
    name="MoreFindingsThanCodeScanningKeeps",
    short="There are more findings than code scanning keeps.",
    full="Code scanning keeps a limited number of results of one run. Those that come first in the report's order are "
    "written; the rest is only counted here.",
    advice="Read the whole list in the report.",
    level="warning",
)
"""The rule of the one result that stands for all that were left out."""


@cache
def catalogue() -> tuple[Rule, ...]:
    """Every rule, in a fixed order: suites and reasons by name, then the run's own."""
    suites = [_suite_rule(create(suite_id)) for suite_id in sorted(IMPLEMENTED)]
    reasons = [_reason_rule(reason) for reason in sorted(REASONS) if REASONS[reason].unverifiable]
    return (*suites, *reasons, *RUN_RULES.values(), LEFT_OUT)


def _suite_rule(suite: Suite) -> Rule:
    title = suite.title[0].upper() + suite.title[1:]
    scored = _SCORED[suite.kind].format(unit=suite.unit)
    return Rule(
        id=suite.id,
        name=_camel(suite.title),
        short=f"{title}.",
        full=f"{title}. {scored} The suite fails below its floor "
        f"({float(suite.default_floor):.2f} unless the target sets another), and on any {suite.unit} that fails it "
        "whatever the score.",
        advice=_ADVICE[suite.unit],
        level="error",
    )


def _reason_rule(reason: str) -> Rule:
    explained = REASONS[reason]
    return Rule(
        id=f"unverifiable/{reason}",
        name=f"Unverifiable{_camel(explained.title)}",
        short=f"Could not be verified: {explained.title[0].lower()}{explained.title[1:]}.",
        full=f"{explained.help} The item is left out of the suite's score and never counted as a pass.",
        advice="Complete the evidence for the item, or accept that the suite says nothing about it.",
        level="warning",
    )


def _camel(text: str) -> str:
    words = "".join(letter if letter.isalnum() else " " for letter in text).split()
    return "".join(word[0].upper() + word[1:] for word in words)
