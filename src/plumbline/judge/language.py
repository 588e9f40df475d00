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
_LATIN_ENDS = 0x024F
_LATIN = re.compile(r"[\x00-\u024f]*")


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


class Detector:
    """Tells which of some languages a text is in.

    Args:
        profiles: by tag.
    """

    def __init__(self, profiles: Mapping[str, Profile]) -> None:
        self._voting = [(tag, profile.words.__contains__) for tag, profile in profiles.items() if profile.words]
        self._scripted = [(tag, profile.letters) for tag, profile in profiles.items() if profile.letters is not None]
        # A text of Latin letters alone has no majority in a script that has none of them.
        self._latin_tells = all(low > _LATIN_ENDS for _, profile in profiles.items() for low, _ in profile.script)

    def detect(self, text: str, words: tuple[str, ...]) -> str | None:
        """The tag of the language, or None where the profiles cannot tell.

        A script that holds strictly more than half of the letters decides; two such scripts (overlapping ranges)
        decide nothing, and neither does a tie of the vote.

        Args:
            text: the text without citation markers.
            words: its normalised tokens.
        """
        if not words:
            return None
        by_script = self._scripts(text)
        if by_script:
            return by_script[0] if len(by_script) == 1 else None
        votes = [(sum(map(known, words)), tag) for tag, known in self._voting]
        best = max(votes, default=(0, ""))[0]
        leaders = [tag for count, tag in votes if count == best]
        return leaders[0] if best and len(leaders) == 1 else None

    def _scripts(self, text: str) -> list[str]:
        if not self._scripted or (self._latin_tells and _LATIN.fullmatch(text)):
            return []
        letters = "".join(_LETTER.findall(by_unicode_14(text)))
        return [tag for tag, pattern in self._scripted if 2 * len(pattern.findall(letters)) > len(letters)]
