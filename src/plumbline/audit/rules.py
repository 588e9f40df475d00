"""Which languages and refusal phrases does a target configuration add to the judge?

`[judge.languages.<tag>]` replaces the shipped profile of a tag as a whole, by `words`, by `script` or by both
(specification, "Language identification"). `[judge.refusal_markers]` adds a service's own wording to the shipped list,
by language. Both enter the judge's configuration hash.
"""

import re
from collections.abc import Mapping
from itertools import combinations

from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import Record
from plumbline.judge.language import SHIPPED, Profile
from plumbline.judge.lexicon import REFUSAL_MARKERS, STOPWORDS, with_curly
from plumbline.judge.text import Rules, tokens
from plumbline.judge.unicode import lowered

_RANGE = re.compile(r"([0-9A-Fa-f]{4,6})-([0-9A-Fa-f]{4,6})")
_LAST = 0x10FFFF
_FIRST_SURROGATE, _LAST_SURROGATE = 0xD800, 0xDFFF
_FEWEST_WORDS = 2


class LanguageTable(Record, frozen=True):
    """`[judge.languages.<tag>]`: how one language is told."""

    words: list[str] = []
    """Function words as the judge's normaliser leaves them."""
    script: list[str] = []
    """Ranges of code points, such as `0600-06FF`."""


def rules_of(languages: Mapping[str, LanguageTable], refusal_markers: Mapping[str, list[str]], *, file: str) -> Rules:
    """The rules that a configuration asks for.

    Args:
        languages: by tag.
        refusal_markers: phrases by language tag.
        file: name for error messages.

    Raises:
        ConfigurationError: a table that could never match, or that would match everything.
    """
    profiles = {**SHIPPED, **{tag: _profile(tag, table, file) for tag, table in languages.items()}}
    added = [
        _marker(phrase, f"{file}: judge.refusal_markers.{tag}")
        for tag, phrases in sorted(refusal_markers.items())
        for phrase in phrases
    ]
    return Rules(
        refusal_markers=tuple(dict.fromkeys((*REFUSAL_MARKERS, *with_curly(tuple(added))))),
        profiles=dict(sorted(profiles.items())),
    )


def shared_words(profiles: Mapping[str, Profile]) -> list[str]:
    """A warning for every two languages that share words: such words make ties, and a tie is a failure."""
    return [
        f"the language profiles {one} and {other} share the words {', '.join(sorted(both)[:5])}; a tie between two "
        "languages counts as undetermined"
        for (one, left), (other, right) in combinations(sorted(profiles.items()), 2)
        if (both := left.words & right.words)
    ]


def _profile(tag: str, table: LanguageTable, file: str) -> Profile:
    key = f"{file}: judge.languages.{tag}"
    if not tag.strip():
        raise ConfigurationError(f"{file}: judge.languages has a blank language tag")
    if not table.words and not table.script:
        raise ConfigurationError(
            f"{key} declares neither words nor a script, so no answer could ever be in that language"
        )
    for word in table.words:
        if tokens(word) != (word,):
            raise ConfigurationError(
                f"{key}.words: {word!r} is not one normalised word and would never match; texts are read as "
                f"{' '.join(tokens(word))!r}"
            )
    return Profile(frozenset(table.words), tuple(_range(written, f"{key}.script") for written in table.script))


def _range(written: str, key: str) -> tuple[int, int]:
    found = _RANGE.fullmatch(written)
    if not found:
        raise ConfigurationError(f"{key}: {written!r} is no range of code points such as '0600-06FF'")
    low, high = (int(end, 16) for end in found.groups())
    if low > high or high > _LAST:
        raise ConfigurationError(f"{key}: {written!r} is an empty range or ends beyond Unicode")
    if low <= _LAST_SURROGATE and high >= _FIRST_SURROGATE:
        raise ConfigurationError(f"{key}: {written!r} holds surrogates, which are no letters; no script spans them")
    return low, high


def _marker(phrase: str, key: str) -> str:
    if len(tokens(phrase)) < _FEWEST_WORDS:
        raise ConfigurationError(
            f"{key}: {phrase!r} has fewer than {_FEWEST_WORDS} words and would find refusals in answers",
            remedy="Write the phrase that a decline of this service holds, with the verb and what is declined.",
        )
    if all(word in STOPWORDS for word in tokens(phrase)):
        raise ConfigurationError(
            f"{key}: {phrase!r} has only words that every text has, and would find refusals in answers",
            remedy="Write the phrase that a decline of this service holds, with the verb and what is declined.",
        )
    return lowered(phrase.strip())
