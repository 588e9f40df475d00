"""Which suites are there?

Suites are imported when a run enables them, so that a command pays only for what it uses.
"""

from collections.abc import Mapping
from importlib import import_module

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import suggestion
from plumbline.suites.base import Suite

IMPLEMENTED: Mapping[str, str] = {
    "accessibility": "Accessibility",
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


def create(suite_id: str) -> Suite:
    """The suite with this id.

    Raises:
        ConfigurationError: there is none; asking for it is never a skip.
    """
    if suite_id not in IMPLEMENTED:
        known = sorted(IMPLEMENTED)
        raise ConfigurationError(
            f"suites.{suite_id}: there is no such suite{suggestion(suite_id, known)}",
            remedy=f"This version has {', '.join(known)}.",
        )
    suite: Suite = getattr(import_module(f"plumbline.suites.{suite_id}"), IMPLEMENTED[suite_id])()
    return suite
