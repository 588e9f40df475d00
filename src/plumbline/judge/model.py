"""How does an answer compare with its reference, in a model's recorded opinion?

Optional, and never the default. Only `answer_score` is the model's; every other decision stays with the lexical judge
(specification, "The optional model judge"). Nothing here asks a model: scores are read from the judgments that
`plumbline judge record` kept, so grading needs no network and gives the same bytes every time. Not deterministic is
what the model was when it was asked.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from plumbline.canonical import canonical_sha256
from plumbline.errors import ConfigurationError
from plumbline.judge.judgments import Identity, Judgments, judgment_key
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.prompt import prompt_sha256
from plumbline.judge.text import CITATION, SHIPPED_RULES, Rules

MODEL_DECIDES = ("answer_score",)
DELEGATED_TO_LEXICAL = (
    "silence",
    "refusal",
    "numbers",
    "citations",
    "source_support",
    "denial",
    "language",
    "harm_and_privacy_screens",
)

NOTICE = (
    "Answer scores are the recorded opinion of a model, which is not deterministic: asked again it may say otherwise. "
    "It read text of the system under test, which can address it. Runs are comparable only on the same judgments."
)


@dataclass(frozen=True, slots=True)
class Instrument:
    """Who is asked and how: all of a call that can change what the model decides."""

    model: str
    endpoint: str
    """Without its query, which may hold what nobody should read."""
    method: str
    header_names: tuple[str, ...]
    """In lower case, sorted. Values never leave the configuration."""
    body: Mapping[str, Any]
    """The template, as plain JSON values."""
    response_pointer: str

    @property
    def identity(self) -> Identity:
        """What judgments are bound to."""
        return Identity(model=self.model, prompt_sha256=prompt_sha256(self.body))

    @property
    def request_sha256(self) -> str:
        """SHA-256 over the canonical JSON of the call's shape. Timeouts and retries decide nothing and are left out."""
        return canonical_sha256(
            {
                "endpoint": self.endpoint,
                "method": self.method,
                "header_names": list(self.header_names),
                "body": self.body,
                "response_pointer": self.response_pointer,
            }
        )


class MissingJudgmentError(ConfigurationError):
    """A text was never judged (exit 4). Zero would be a score that nobody gave."""


class ModelJudge(LexicalJudge):
    """Answer scores from a judgment cache, everything else as the lexical judge has it.

    Args:
        instrument: who was asked and how.
        judgments: what was answered.
        rules: what texts are read by, as for the lexical judge.
        collecting: score what was never judged zero and keep it in `wanted`, to find out what has to be asked. Nothing
            such a judge says may enter a report.
    """

    kind = "model"
    deterministic = False
    answer_metric = "model_judgment"

    def __init__(
        self,
        instrument: Instrument,
        judgments: Judgments,
        *,
        rules: Rules = SHIPPED_RULES,
        collecting: bool = False,
    ) -> None:
        super().__init__(rules)
        self.instrument = instrument
        self.judgments = judgments
        self._identity = instrument.identity
        self._collecting = collecting
        self.wanted: dict[str, tuple[str, str]] = {}
        """Key to reference and answer as they would be sent, in the order they were asked for."""

    def config(self) -> dict[str, Any]:
        """Everything that can move a score, as JSON values.

        The mode is not in it: a live run grades from the same judgments that a cached one reads.
        """
        made = self.instrument
        return {
            "kind": self.kind,
            "version": 1,
            "deterministic": self.deterministic,
            "model": made.model,
            "endpoint": made.endpoint,
            "request_sha256": made.request_sha256,
            "prompt_sha256": self._identity.prompt_sha256,
            "judgments_sha256": self.judgments.sha256,
            "judgment_count": len(self.judgments.entries),
            "model_decides": list(MODEL_DECIDES),
            "delegated_to_lexical": list(DELEGATED_TO_LEXICAL),
            "strips_citations": True,
            "lexical": {**super().config(), "kind": LexicalJudge.kind},
        }

    def describe(self) -> dict[str, Any]:
        """What a report says of the judge."""
        made = self.instrument
        return {
            **super().describe(),
            "notice": NOTICE,
            "model": made.model,
            "endpoint": made.endpoint,
            "prompt_sha256": self._identity.prompt_sha256,
            "judgments_sha256": self.judgments.sha256,
            "judgments": len(self.judgments.entries),
        }

    def question(self, expected: str, actual: str) -> tuple[str, str, str] | None:
        """What the model is asked about two texts: key, reference, answer without its citation markers.

        None where there is nothing to ask: silence and an unreadable answer score 0, and so does whatever is held to an
        empty reference. A model that was asked would have an opinion.
        """
        if not self.features(expected).words or not self.features(actual).readable:
            return None
        bare = CITATION.sub(" ", actual)
        return judgment_key(self._identity, expected, bare), expected, bare

    def answer_score(self, expected: str, actual: str) -> Fraction:
        """The recorded judgment.

        Raises:
            MissingJudgmentError: there is none.
        """
        asked = self.question(expected, actual)
        if asked is None:
            return Fraction(0)
        key, reference, bare = asked
        entry = self.judgments.entries.get(key)
        if entry is not None:
            return entry.score
        if not self._collecting:
            raise MissingJudgmentError(f"no judgment is recorded under {key}")
        self.wanted.setdefault(key, (reference, bare))
        return Fraction(0)
