"""How does the lexical judge compare an answer with its reference?

The default judge: deterministic, offline, and fully described by `config()`, whose hash is in every report.
"""

from collections import Counter
from fractions import Fraction
from typing import Any, Protocol

from plumbline.canonical import canonical_sha256
from plumbline.judge.lexicon import REFUSAL_MARKERS
from plumbline.judge.text import CITATION, TextFeatures


class Judge(Protocol):
    """What suites ask of a judge."""

    @property
    def kind(self) -> str:
        """The name that a target configuration asks for."""
        ...

    @property
    def deterministic(self) -> bool:
        """Whether the same texts always get the same scores."""
        ...

    def config(self) -> dict[str, Any]:
        """Everything that can move a score, as JSON values."""
        ...

    def describe(self) -> dict[str, Any]:
        """What a report says of the judge: the keys of its `judge` block."""
        ...

    def features(self, text: str) -> TextFeatures:
        """What is in a text; the same object for the same text."""
        ...

    def answer_score(self, expected: str, actual: str) -> Fraction:
        """How well an answer matches its reference, from 0 to 1, exactly."""
        ...


class LexicalJudge:
    """Token F1, numbers as written, refusals by marker list (specification, "Judges")."""

    kind = "lexical"
    deterministic = True

    def __init__(self) -> None:
        self._features: dict[str, TextFeatures] = {}

    def config(self) -> dict[str, Any]:
        """Everything that can move a score, as JSON values."""
        return {
            "kind": self.kind,
            "version": 1,
            "unicode": "14.0",
            "normalization": ["lowercase_letter_by_letter", "one_sigma", "punctuation_to_space", "collapse_whitespace"],
            "answer_metric": "token_f1_multiset",
            "number_extraction": "decimal_digits_commas_dots_outside_citations",
            "citation_marker": CITATION.pattern,
            "lexicons": {"refusal_markers": list(REFUSAL_MARKERS)},
        }

    def describe(self) -> dict[str, Any]:
        """What a report says of the judge: the keys of its `judge` block."""
        return {"kind": self.kind, "deterministic": self.deterministic}

    def features(self, text: str) -> TextFeatures:
        """What is in a text; the same object for the same text."""
        found = self._features.get(text)
        if found is None:
            found = self._features[text] = TextFeatures(text, REFUSAL_MARKERS)
        return found

    def answer_score(self, expected: str, actual: str) -> Fraction:
        """Token F1 of the answer, without its citation markers, against the reference.

        Overlap is a multiset intersection, so repeating a word never raises the score. With `o` shared tokens, `e`
        reference tokens and `a` answer tokens, F1 = 2·o / (e + a) exactly; 0 where either side has no token.
        """
        reference, answer = self.features(expected).words, self.features(actual).claim_words
        if not reference or not answer:
            return Fraction(0)
        shared = (Counter(reference) & Counter(answer)).total()
        return Fraction(2 * shared, len(reference) + len(answer))


def judge_config_sha256(judge: Judge) -> str:
    """The judge configuration hash: SHA-256 over the canonical JSON of `config()`."""
    return canonical_sha256(judge.config())
