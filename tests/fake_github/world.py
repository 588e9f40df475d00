"""What is in the repository that the fake GitHub serves?"""

import base64
import binascii
import gzip
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

MAX_COMMENT = 65_536
MAX_SARIF = 10_000_000


@dataclass(frozen=True)
class User:
    """Who a token speaks for, or who wrote a comment."""

    login: str
    type: str = "User"
    id: int = 1


ACTIONS_BOT = User("github-actions[bot]", "Bot", 41898282)
"""Whom the token of a workflow run speaks for."""

SOMEBODY = User("somebody", "User", 1001)


@dataclass
class Comment:
    """A comment under a pull request."""

    id: int
    pull: int
    author: User
    body: str
    minimized: bool = False
    edits: int = 0


@dataclass
class Pull:
    """A pull request."""

    number: int
    head: str
    state: str = "open"
    base_repository: str = "acme/widgets"


@dataclass
class Upload:
    """A SARIF file that was received."""

    id: str
    commit_sha: str
    ref: str
    log: dict[str, Any]
    compressed: int
    polls: int = 0


class RefusedError(Exception):
    """The service says no, with a status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass
class World:
    """The state behind the service. Tests look into it and change it freely."""

    repository: str = "acme/widgets"
    number: int = 7
    """The one open pull request that is there from the start."""
    head: str = "a" * 40
    viewer: User = ACTIONS_BOT
    pulls: dict[int, Pull] = field(default_factory=dict)
    comments: list[Comment] = field(default_factory=list)
    uploads: dict[str, Upload] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    pending_polls: int = 1
    deleted: list[int] = field(default_factory=list)
    _next_id: int = 5_000

    def __post_init__(self) -> None:
        self.pulls.setdefault(self.number, Pull(self.number, self.head, base_repository=self.repository))

    def add_comment(
        self, body: str, author: User | None = None, pull: int | None = None, *, minimized: bool = False
    ) -> Comment:
        """A comment that is there before, or comes from somebody else meanwhile."""
        self._next_id += 1
        comment = Comment(self._next_id, pull or self.number, author or self.viewer, body, minimized)
        self.comments.append(comment)
        return comment

    def on(self, pull: int) -> list[Comment]:
        """The comments of one pull request, oldest first."""
        if pull not in self.pulls:
            raise RefusedError(404, "Not Found")
        return sorted((entry for entry in self.comments if entry.pull == pull), key=lambda entry: entry.id)

    def by(self, author: User) -> list[Comment]:
        """The comments of one author, oldest first."""
        return sorted((entry for entry in self.comments if entry.author == author), key=lambda entry: entry.id)

    def comment(self, number: int) -> Comment:
        """One comment."""
        for entry in self.comments:
            if entry.id == number:
                return entry
        raise RefusedError(404, "Not Found")

    def create(self, pull: int, body: object) -> Comment:
        """POST a comment."""
        self.on(pull)
        return self.add_comment(_checked(body), self.viewer, pull)

    def edit(self, number: int, body: object) -> Comment:
        """PATCH a comment. With `pull-requests: write`, GitHub lets a token edit anybody's, and so does
        this."""
        comment = self.comment(number)
        comment.body = _checked(body)
        comment.edits += 1
        return comment

    def delete(self, number: int) -> None:
        """DELETE a comment."""
        self.comments.remove(self.comment(number))
        self.deleted.append(number)

    def upload(self, commit_sha: str, ref: str, sarif: str) -> Upload:
        """POST a SARIF file: what GitHub refuses at the door."""
        try:
            packed = base64.b64decode(sarif, validate=True)
        except binascii.Error:
            raise RefusedError(400, "sarif is not base64") from None
        if len(packed) > MAX_SARIF:
            raise RefusedError(413, "Payload Too Large")
        if "/gh-readonly-queue/" in ref:
            raise RefusedError(404, f"ref '{ref}' not found in this repository")
        try:
            log = json.loads(gzip.decompress(packed))
        except (OSError, EOFError, ValueError):
            raise RefusedError(400, "sarif is not gzip-compressed JSON") from None
        digest = hashlib.sha256(f"{len(self.uploads)}:{sarif}".encode()).hexdigest()
        upload = Upload(f"{digest[:8]}-{digest[8:12]}", commit_sha, ref, log, len(packed))
        self.uploads[upload.id] = upload
        return upload

    def poll(self, identity: str) -> tuple[str, list[str] | None]:
        """How far the processing of an upload is."""
        upload = self.uploads.get(identity)
        if upload is None:
            raise RefusedError(404, "Not Found")
        upload.polls += 1
        if upload.polls <= self.pending_polls:
            return "pending", None
        faults = list(_sarif_faults(upload.log))
        return ("failed", faults) if faults else ("complete", None)

    def snapshot(self) -> dict[str, Any]:
        """The whole state as JSON, for a test in another process."""
        return {
            "comments": [
                {"id": entry.id, "pull": entry.pull, "author": entry.author.login, "body": entry.body,
                 "minimized": entry.minimized, "edits": entry.edits}
                for entry in sorted(self.comments, key=lambda entry: entry.id)
            ],
            "deleted": self.deleted,
            "uploads": [
                {"id": entry.id, "commit_sha": entry.commit_sha, "ref": entry.ref, "log": entry.log}
                for entry in self.uploads.values()
            ],
        }  # fmt: skip


def _checked(body: object) -> str:
    if not isinstance(body, str) or not body.strip():
        raise RefusedError(422, "Validation Failed")
    if len(body) > MAX_COMMENT:
        raise RefusedError(422, f"Body is too long (maximum is {MAX_COMMENT} characters)")
    return body


def _sarif_faults(log: dict[str, Any]) -> Iterator[str]:
    """What GitHub refuses when it processes a file: the rules that bite, not all there are."""
    runs = log.get("runs", [])
    if len(runs) > 20:
        yield "more runs than allowed"
    for run in runs:
        results = run.get("results", [])
        if len(results) > 25_000:
            yield "more results than allowed"
        if any(not result.get("locations") for result in results):
            yield "locationFromSarifResult: expected at least one location"
