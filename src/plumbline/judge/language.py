"""In which language is a text?

By script first, then by a vote of function words (specification, "Language identification"). Ambiguity is None, which
the suites count as a failure: a text nobody can place is not evidence of the right language.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from plumbline.judge.lexicon import PROFILE_SCRIPTS, PROFILE_WORDS
from plumbline.judge.unicode import by_unicode_14

_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[\x00-\u024f\u1e00-\u1eff\u2000-\u206f\u20a0-\u20cf]*")


@dataclass(frozen=True)
class Profile:
    """How one language is told: by its words, by its script, or by both."""

    words: frozenset[str] = frozenset()
    """Normalised tokens."""
    script: tuple[tuple[int, int], ...] = ()
    """Ranges of code points, both ends included."""

    @cached_property
    def letters(self) -> re.Pattern[str] | None:
        """A pattern of one letter in the script, or None without one."""
        ranges = "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in self.script)
        return re.compile(f"[{ranges}]") if ranges else None

    def config(self) -> dict[str, Any]:
        """The profile as JSON values for the judge's configuration."""
        found: dict[str, Any] = {}
        if self.words:
            found["words"] = sorted(self.words)
        if self.script:
            found["script"] = [f"{low:04X}-{high:04X}" for low, high in self.script]
        return found


SHIPPED: Mapping[str, Profile] = {
    **{tag: Profile(words=words) for tag, words in PROFILE_WORDS.items()},
    **{tag: Profile(script=script) for tag, script in PROFILE_SCRIPTS.items()},
}
"""The profiles of this version, by language tag. A target configuration may replace or add whole profiles."""


def detect(text: str, words: tuple[str, ...], profiles: Mapping[str, Profile]) -> str | None:
    """The tag of the language, or None where the profiles cannot tell.

    Args:
        text: the text without citation markers.
        words: its normalised tokens.
        profiles: by tag.

    A script that holds strictly more than half of the letters decides; two such scripts (overlapping ranges) decide
    nothing, and neither does a tie of the vote.
    """
    if not words:
        return None
    by_script = _scripts(text, profiles)
    if by_script:
        return by_script[0] if len(by_script) == 1 else None
    votes = {tag: sum(word in profile.words for word in words) for tag, profile in profiles.items() if profile.words}
    best = max(votes.values(), default=0)
    leaders = [tag for tag, count in votes.items() if count == best]
    return leaders[0] if best and len(leaders) == 1 else None


def _scripts(text: str, profiles: Mapping[str, Profile]) -> list[str]:
    scripted = [(tag, profile.letters) for tag, profile in profiles.items() if profile.letters is not None]
    if not scripted or (_LATIN.fullmatch(text) and all(_beyond_latin(profiles[tag]) for tag, _ in scripted)):
        return []
    letters = "".join(_LETTER.findall(by_unicode_14(text)))
    return [tag for tag, pattern in scripted if 2 * len(pattern.findall(letters)) > len(letters)]


def _beyond_latin(profile: Profile) -> bool:
    return all(low > 0x20CF for low, _ in profile.script) or all(
        low >= 0x0250 and high < 0x1E00 for low, high in profile.script
    )
