"""Which judge grades this run, and was everything it will be asked judged before?

The one place that makes a judge. A gate makes it with `offline_only`, and then a configuration that would ask a model
is refused before anything else is read.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plumbline.audit.config import Target
from plumbline.audit.judge_table import ModelSettings
from plumbline.audit.stability import stability
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.files import read_input
from plumbline.judge.lexical import Judge, LexicalJudge
from plumbline.suites.base import grade_all

if TYPE_CHECKING:
    from plumbline.judge.judgments import Judgments
    from plumbline.judge.model import ModelJudge

_NAMED = 20
_RECORD = "plumbline judge record --config <target>"


def make_judge(target: Target, *, offline_only: bool) -> Judge:
    """The judge that a configuration asks for. It never opens a socket.

    Args:
        target: the configuration.
        offline_only: refuse `mode = "live"`. Nothing that decides over a merge may ask a model.

    Raises:
        ConfigurationError: the mode is live where it may not be, or the judgments cannot be used.
    """
    if target.model is None:
        return LexicalJudge(target.rules)
    if offline_only and target.model.mode == "live":
        raise ConfigurationError(
            'judge.mode is "live", and a gate asks no model',
            remedy=f'Record with `{_RECORD}`, commit the cache, and set mode = "cached".',
        )
    from plumbline.judge.model import ModelJudge  # noqa: PLC0415 - a lexical run never loads it

    return ModelJudge(target.model.instrument, load_judgments(target.model), rules=target.rules)


def load_judgments(settings: ModelSettings) -> "Judgments":
    """The judgments of a configuration.

    Raises:
        ConfigurationError: there is no cache, or it is not one of this model and prompt.
    """
    from plumbline.judge.judgments import parse_judgments  # noqa: PLC0415 - as above

    if not settings.cache.exists():
        raise ConfigurationError(f"{settings.cache.name}: there is no judgment cache", remedy=f"Record one: {_RECORD}")
    data = read_input(settings.cache, "the judgment cache")
    return parse_judgments(data, settings.instrument.identity, file=settings.cache.name)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A judgment that a run needs and nobody made."""

    expected: str
    actual: str
    """The answer without its citation markers."""
    items: tuple[str, ...]
    """The ids of the items it is for, in the bundle's order."""


def wanted(target: Target, bundle: Bundle, judgments: "Judgments") -> Mapping[str, Wanted]:
    """What a model judge would be asked that its cache does not hold, by judgment key.

    The suites themselves are run to find out, so whatever a suite asks for is found. A calibration asks for every item
    with a reference answer, so those are asked for in any case.

    Raises:
        ConfigurationError: the judge is not a model, or a suite cannot be evaluated at all.
    """
    from plumbline.judge.model import ModelJudge  # noqa: PLC0415 - a lexical run never loads it

    if target.model is None:
        raise ConfigurationError('judge.kind is "lexical", which asks nobody')
    judge = ModelJudge(target.model.instrument, judgments, rules=target.rules, collecting=True)
    grade_all(bundle, judge, [(enabled.suite, enabled.floor) for enabled in target.suites])
    stability(bundle, judge, [enabled.suite for enabled in target.suites])
    for item in bundle.items:
        if item.behavior == "answer" and item.expected is not None:
            judge.answer_score(item.expected, bundle.response_text(item.id))
    asked_for = _items_by_key(bundle, judge)
    return {
        key: Wanted(expected, actual, tuple(asked_for.get(key, ()))) for key, (expected, actual) in judge.wanted.items()
    }


def _items_by_key(bundle: Bundle, judge: "ModelJudge") -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for item in bundle.items:
        record = (bundle.responses or {}).get(item.id)
        if item.expected is None or record is None:
            continue
        texts = (record.response, *(record.passes or ()), *(record.turn_responses or ()))
        for text in dict.fromkeys(filter(None, texts)):
            asked = judge.question(item.expected, text)
            if asked is not None:
                found.setdefault(asked[0], []).append(item.id)
    return found


@contextmanager
def named_misses(target: Target, bundle: Bundle, judge: Judge) -> Iterator[None]:
    """Turn the first judgment that is missing into a refusal that names every item without one.

    Raises:
        ConfigurationError: something was never judged.
    """
    try:
        yield
    except ConfigurationError as fault:
        from plumbline.judge.model import MissingJudgmentError, ModelJudge  # noqa: PLC0415 - as above

        if not isinstance(fault, MissingJudgmentError) or not isinstance(judge, ModelJudge):
            raise
        missing = wanted(target, bundle, judge.judgments)
        items = list(dict.fromkeys(item for entry in missing.values() for item in entry.items))
        more = f" and {len(items) - _NAMED} more" if len(items) > _NAMED else ""
        named = ", ".join(items[:_NAMED]) or "none that the bundle names"
        raise ConfigurationError(
            f"{len(missing)} judgments are missing from the cache, for the items {named}{more}",
            remedy=f"Record them, and commit the cache: {_RECORD}",
        ) from None
