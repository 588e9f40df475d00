"""In which moods is GitHub met?"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from .world import ACTIONS_BOT, SOMEBODY, World

COMMENTS = r"/repos/[^/]+/[^/]+/issues/\d+/comments"
COMMENT = r"/repos/[^/]+/[^/]+/issues/comments/\d+"
ANY_COMMENT = f"(?:{COMMENTS}|{COMMENT})"
SARIFS = r"/repos/[^/]+/[^/]+/code-scanning/sarifs"
WRITES = ("POST", "PATCH", "DELETE", "PUT")

FOREIGN_MARKER = "FOREIGN MARKER"
"""Stands in a seeded body for the first line of the comment under test, which only the test knows."""


@dataclass
class Fault:
    """Something that goes wrong with the next `times` requests that match. `times=None`: with every one."""

    methods: tuple[str, ...]
    path: str
    status: int | None = None
    message: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    times: int | None = 1
    executed: bool = False
    """Is the request carried out before it goes wrong?"""
    delay: float = 0.0
    how: str = "answer"
    """`answer`: whole; `truncate`: only half of what its length says; `garble`: JSON that breaks off, of the
    right length; `drop`: no answer at all. Without `status`, it is the true answer that this happens to."""
    skip: int = 0
    """Let this many matching requests pass first."""
    media: str = "application/json; charset=utf-8"

    def takes(self, method: str, path: str) -> bool:
        """Does it happen to this request? Counts."""
        if self.times == 0 or method not in self.methods or not re.fullmatch(self.path, path):
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass(frozen=True)
class Persona:
    """A named mood: what was there before, and what goes wrong."""

    name: str
    faults: Callable[[], list[Fault]] = list
    seed: Callable[[World], None] = lambda world: None  # noqa: ARG005


NOT_ACCESSIBLE = "Resource not accessible by integration"
SECONDARY = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
NO_CODE_SECURITY = "Code Security must be enabled for this repository to use code scanning."


def _readonly() -> list[Fault]:
    return [
        Fault(WRITES, ANY_COMMENT, 403, NOT_ACCESSIBLE, times=None),
        Fault(WRITES, SARIFS, 403, NOT_ACCESSIBLE, times=None),
    ]


def _limited(status: int, headers: Mapping[str, str]) -> Callable[[], list[Fault]]:
    return lambda: [Fault(("POST", "PATCH"), f"{ANY_COMMENT}|{SARIFS}", status, SECONDARY, headers)]


def _busy(world: World) -> None:
    for index in range(146):
        world.add_comment(f"comment {index + 1}", SOMEBODY)


def _spoofed(world: World) -> None:
    world.add_comment(FOREIGN_MARKER, SOMEBODY)


def _minimised(world: World) -> None:
    world.add_comment(FOREIGN_MARKER, ACTIONS_BOT, minimized=True)


REDIRECT_TARGET = "REDIRECT TARGET"
"""Stands in a Location header for the URL of the other host."""

PERSONAS: dict[str, Persona] = {
    persona.name: persona
    for persona in (
        Persona("normal"),
        Persona("readonly", _readonly),
        Persona("no-code-scanning", lambda: [Fault(("POST",), SARIFS, 403, NO_CODE_SECURITY, times=None)]),
        Persona("no-code-scanning-404", lambda: [Fault(("POST",), SARIFS, 404, "Not Found", times=None)]),
        Persona("busy", seed=_busy),
        Persona("spoofed", seed=_spoofed),
        Persona("minimised", seed=_minimised),
        Persona(
            "locked",
            lambda: [Fault(("POST",), COMMENTS, 403, "Unable to create comment because issue is locked.", times=None)],
        ),
        Persona("secondary-limit", _limited(403, {})),
        Persona("secondary-limit-retry-after", _limited(403, {"Retry-After": "1"})),
        Persona("too-many-requests", _limited(429, {})),
        Persona("too-many-requests-retry-after", _limited(429, {"Retry-After": "1"})),
        Persona("bad-gateway-before", lambda: [Fault(("POST", "PATCH"), ANY_COMMENT, 502, "Bad Gateway")]),
        Persona(
            "bad-gateway-after",
            lambda: [Fault(("POST", "PATCH"), ANY_COMMENT, 502, "Bad Gateway", executed=True)],
        ),
        Persona("slow", lambda: [Fault(("POST",), COMMENTS, delay=0.6, executed=True)]),
        Persona("truncated", lambda: [Fault(("POST",), COMMENTS, how="truncate", executed=True)]),
        Persona("garbled", lambda: [Fault(("GET",), COMMENTS, how="garble")]),
        Persona("dropped", lambda: [Fault(("POST",), COMMENTS, how="drop", executed=True)]),
        Persona(
            "redirect",
            lambda: [
                Fault(
                    ("GET", *WRITES),
                    ".*",
                    301,
                    "Moved Permanently",
                    {"Location": REDIRECT_TARGET},
                    times=None,
                )
            ],
        ),
        Persona("too-large", lambda: [Fault(("POST",), SARIFS, 413, "Payload Too Large", times=None)]),
        Persona("unavailable", lambda: [Fault(("POST",), SARIFS, 503, "Service unavailable", times=None)]),
    )
}
