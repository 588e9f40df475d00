"""How does the lexical judge compare an answer with its reference?

The default judge: deterministic, offline, and fully described by `config()`, whose hash is in every report.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

from plumbline.canonical import canonical_sha256
from plumbline.judge.language import Profile
from plumbline.judge.lexicon import CLAUSE_ENDS, DENIAL_MARKERS, DENIAL_WINDOW, NO_DENIALS
from plumbline.judge.screens import PERSONAL_DATA
from plumbline.judge.text import CITATION, SHIPPED_RULES, Number, Rules, TextFeatures

_ONE = Fraction(1)
_KEPT_TEXT = 1 << 20
"""Code points of text whose features one generation of the cache holds."""


@dataclass(frozen=True, slots=True, eq=False)
class Support:
    """How far passages support a text. Each share is 1 where there is nothing to support: ask `asserts_nothing`.

    Texts that are supported alike may share one, so that it can be looked up by identity.
    """

    words: Fraction
    """Share of the content words, repeats counted, that stand in any of the passages."""
    numbers: Fraction
    """Share of the numbers, repeats counted, that stand in any of the passages."""
    unsupported: tuple[Number, ...]
    """The numbers of the text that no passage states, in order."""
    asserts_nothing: bool
    """Whether the text has neither a content word nor a number, so that nothing in it could be supported."""

    @property
    def score(self) -> Fraction:
        """The weaker of the two channels: prose that matches around a wrong amount is wrong."""
        return min(self.words, self.numbers) if self.unsupported else self.words


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

    @property
    def answer_metric(self) -> str:
        """What an answer score is, as reports name it."""
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

    def support(self, claim: TextFeatures, passages: Sequence[TextFeatures]) -> Support:
        """How far passages together support a text."""
        ...

    def word_hits(self, claim: TextFeatures, passages: Sequence[TextFeatures]) -> list[int]:
        """How many of a text's content words, repeats counted, stand in each passage alone."""
        ...

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The languages that the judge can tell, by tag."""
        ...


class LexicalJudge:
    """Token F1, numbers as written, refusals by marker list (specification, "Judges")."""

    kind = "lexical"
    deterministic = True
    answer_metric = "token_f1"

    def __init__(self, rules: Rules = SHIPPED_RULES) -> None:
        self._rules = rules
        # Two generations bound what is kept: a bundle may hold more text than memory should hold features of.
        self._features: dict[str, TextFeatures] = {}
        self._former: dict[str, TextFeatures] = {}
        self._text_kept = 0
        self._scored = ("", "", Fraction(0))

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """The languages that the judge can tell, by tag."""
        return self._rules.profiles

    def config(self) -> dict[str, Any]:
        """Everything that can move a score, as JSON values."""
        return {
            "kind": self.kind,
            "version": 2,
            "unicode": "14.0",
            "normalization": ["lowercase_letter_by_letter", "one_sigma", "punctuation_to_space", "collapse_whitespace"],
            "answer_metric": "token_f1_multiset",
            "number_extraction": "decimal_digits_commas_dots_outside_citations",
            "citation_marker": CITATION.pattern,
            "support_metric": "content_token_recall_and_number_recall",
            "readable": "a_letter_or_digit_that_can_be_seen",
            "screens": "lower_case_then_folded_without_emphasis",
            "personal_data_compared": "folded_and_by_digits",
            "language_detection": "script_majority_then_function_word_vote",
            "lexicons": {
                "refusal_markers": list(self._rules.refusal_markers),
                "stopwords": sorted(self._rules.stopwords),
                "denial_markers": list(DENIAL_MARKERS),
                "no_denials": list(NO_DENIALS),
                "denial_window": DENIAL_WINDOW,
                "clause_ends": CLAUSE_ENDS,
                "languages": {tag: profile.config() for tag, profile in sorted(self._rules.profiles.items())},
                "harm_markers": list(self._rules.harm_markers),
                "personal_data": {kind: pattern.pattern for kind, pattern in PERSONAL_DATA.items()},
                "solicitations": list(self._rules.solicitations),
            },
        }

    def describe(self) -> dict[str, Any]:
        """What a report says of the judge: the keys of its `judge` block."""
        profiles, shipped = self._rules.profiles, SHIPPED_RULES
        return {
            "kind": self.kind,
            "deterministic": self.deterministic,
            "languages": sorted(profiles),
            "declared_languages": sorted(tag for tag in profiles if profiles[tag] != shipped.profiles.get(tag)),
            "declared_refusal_markers": [
                marker for marker in self._rules.refusal_markers if marker not in shipped.refusal_markers
            ],
        }

    def features(self, text: str) -> TextFeatures:
        """What is in a text; the same object for the same text."""
        found = self._features.get(text)
        if found is None:
            found = self._former.pop(text, None) or TextFeatures(text, self._rules)
            self._text_kept += len(text)
            if self._text_kept > _KEPT_TEXT:
                self._former, self._features, self._text_kept = self._features, {}, len(text)
            self._features[text] = found
        return found

    def answer_score(self, expected: str, actual: str) -> Fraction:
        """Token F1 of the answer, without its citation markers, against the reference.

        Overlap is a multiset intersection, so repeating a word never raises the score. With `o` shared tokens, `e`
        reference tokens and `a` answer tokens, F1 = 2·o / (e + a) exactly; 0 where either side has no token.
        """
        if self._scored[:2] != (expected, actual):  # several suites ask it of one item after the other
            self._scored = expected, actual, self._f1(expected, actual)
        return self._scored[2]

    def _f1(self, expected: str, actual: str) -> Fraction:
        reference, answer = self.features(expected).words, self.features(actual).claim_words
        if not reference or not answer:
            return Fraction(0)
        left: dict[str, int] = {}
        for word in reference:
            left[word] = left.get(word, 0) + 1
        shared = 0
        for word in answer:
            count = left.get(word)
            if count:
                left[word] = count - 1
                shared += 1
        return _share(2 * shared, len(reference) + len(answer))

    def support(self, claim: TextFeatures, passages: Sequence[TextFeatures]) -> Support:
        """Token recall and number recall of a text against passages taken together (specification, "Suites").

        With `w` content words, repeats counted, of which `h` stand in any passage, the word channel is h / w; the
        number channel likewise. Either is 1 where the text has nothing for it.
        """
        distinct = claim.content_set
        unknown = _in_none_of(distinct, [passage.word_set for passage in passages])
        words, hits = 0, 0
        if unknown:
            content = claim.content_words
            words = len(content)
            hits = words - sum(map(unknown.__contains__, content))
        stated = claim.number_values
        unstated = _in_none_of(stated, [passage.stated_values for passage in passages]) if stated else stated
        if not unstated:
            return _supported(hits, words, bool(distinct or stated))
        numbers = claim.numbers
        unsupported = tuple(number for number in numbers if number.value in unstated)
        return Support(
            words=_share(hits, words),
            numbers=_share(len(numbers) - len(unsupported), len(numbers)),
            unsupported=unsupported,
            asserts_nothing=False,
        )

    def word_hits(self, claim: TextFeatures, passages: Sequence[TextFeatures]) -> list[int]:
        """How many of a text's content words, repeats counted, stand in each passage alone."""
        words = claim.content_words
        return [sum(map(passage.word_set.__contains__, words)) for passage in passages]


def _in_none_of(wanted: frozenset[str], known: Iterable[frozenset[str]]) -> AbstractSet[str]:
    """What of `wanted` stands in none of the sets. A set takes as many steps as the smaller of it and the rest."""
    left: AbstractSet[str] = wanted
    for one in known:
        if len(one) < len(left):
            # Whose text names how many passages is the target's choice: a copy for each would be quadratic.
            left = left if isinstance(left, set) else set(left)
            left.difference_update(one)
        else:
            left = left - one
        if not left:
            break
    return left


# Shares are few and asked for often, and making a fraction costs more than finding it.
@lru_cache(maxsize=1 << 12)
def _share(hits: int, of: int) -> Fraction:
    return Fraction(hits, of) if hits != of else _ONE


@lru_cache(maxsize=1 << 12)
def _supported(hits: int, words: int, asserts: bool) -> Support:
    return Support(words=_share(hits, words), numbers=_ONE, unsupported=(), asserts_nothing=not asserts)


def judge_config_sha256(judge: Judge) -> str:
    """The judge configuration hash: SHA-256 over the canonical JSON of `config()`."""
    return canonical_sha256(judge.config())
