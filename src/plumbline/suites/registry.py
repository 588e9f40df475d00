"""Which suites are there, and which of them can this version run?

Suites are imported when a run enables them, so that a command pays only for what it uses.
"""

from collections.abc import Mapping
from importlib import import_module

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import suggestion
from plumbline.suites.base import Suite

IMPLEMENTED: Mapping[str, str] = {
    "accuracy": "Accuracy",
    "adversarial": "Adversarial",
    "citation_accuracy": "CitationAccuracy",
    "citation_validity": "CitationValidity",
    "conversational_integrity": "ConversationalIntegrity",
    "cross_language": "CrossLanguage",
    "fairness": "Fairness",
    "groundedness": "Groundedness",
    "multilingual": "Multilingual",
    "passage_attribution": "PassageAttribution",
    "privacy": "Privacy",
    "refusal": "Refusal",
    "representational_harms": "RepresentationalHarms",
    "smoke": "Smoke",
}
"""Suite id, which is also its module, to the class in it."""

NOT_YET: frozenset[str] = frozenset(
    {
        "accessibility",
    }
)
"""Suites that the specification has and this version cannot run; asking for one is an error, never a skip."""


def create(suite_id: str) -> Suite:
    """The suite with this id.

    Raises:
        ConfigurationError: there is none, or this version cannot run it.
    """
    if suite_id in NOT_YET:
        raise ConfigurationError(
            f"suites.{suite_id}: this version of Plumbline does not implement the suite",
            remedy=f"Remove the table, or pin a version that has it. This one has {', '.join(sorted(IMPLEMENTED))}.",
        )
    if suite_id not in IMPLEMENTED:
        known = sorted(IMPLEMENTED)
        raise ConfigurationError(
            f"suites.{suite_id}: there is no such suite{suggestion(suite_id, known)}",
            remedy=f"This version has {', '.join(known)}.",
        )
    suite: Suite = getattr(import_module(f"plumbline.suites.{suite_id}"), IMPLEMENTED[suite_id])()
    return suite
