"""How did one part of publishing end?"""

from dataclasses import dataclass
from typing import Literal

Status = Literal["created", "updated", "unchanged", "uploaded", "pending", "written", "denied", "failed", "skipped"]
"""`denied`: GitHub said no, and would say no again. `failed`: it did not work this time. `skipped`: not
wanted here."""


@dataclass(frozen=True, slots=True)
class PartStatus:
    """The end of one part. Never an exception: a verdict is not lost because something could not be shown."""

    status: Status
    reason: str = ""
    """Why, in one sentence, where the status alone does not say it."""
    url: str = ""
    """Where a reader finds what was published."""

    @property
    def troubled(self) -> bool:
        """Is this something the reader of the log has to be told?"""
        return self.status in {"denied", "failed"}
