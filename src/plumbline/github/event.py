"""What happened, that this workflow is running?

Read once from the runner's variables and the event's payload, both given as values, so that a test is a
mapping and a file. The payload is partly written by whoever opened the pull request: only numbers and commit
hashes are taken from it, and only in the shape they must have.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from plumbline.errors import ConfigurationError

COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
REPOSITORY: Final = re.compile(r"[A-Za-z0-9._-]+/[A-Za-z0-9._-]+")
PULL_REF: Final = re.compile(r"refs/pull/([1-9][0-9]{0,9})/(?:merge|head)")
MERGE_QUEUE_REF: Final = "refs/heads/gh-readonly-queue/"
SAFE_USE: Final = "https://docs.github.com/en/actions/reference/security/securely-using-pull_request_target"


class EventKind(StrEnum):
    """The events that Plumbline treats differently."""

    PULL_REQUEST = "pull_request"
    """A pull request, in its own unprivileged run. Also a review of one."""
    PULL_REQUEST_TARGET = "pull_request_target"
    """A pull request, in a run that has the rights of the base branch."""
    PUSH = "push"
    MERGE_GROUP = "merge_group"
    """A merge queue asks whether it may merge. There is no pull request, and the ref vanishes afterwards."""
    WORKFLOW_RUN = "workflow_run"
    """A second stage, with rights, after an unprivileged run."""
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Event:
    """What the runner says about this run."""

    kind: EventKind
    name: str
    """The event's own name, for messages."""
    repository: str
    """`owner/name`."""
    pull_number: int | None
    """The pull request that the event is about, if it says so."""
    head_sha: str | None
    """The commit that people see: the head of the pull request, or the pushed commit."""
    base_sha: str | None
    """What a merge would go onto, where the event says so."""
    sha: str
    """The commit that was checked out. On a pull request that is the merge, not the head."""
    ref: str
    run_id: int
    run_attempt: int
    server_url: str
    api_url: str
    graphql_url: str

    @property
    def merge_queue(self) -> bool:
        """Is this run on a merge queue's own branch, by either of the two events that happen there?"""
        return self.kind is EventKind.MERGE_GROUP or self.ref.startswith(MERGE_QUEUE_REF)

    @property
    def run_url(self) -> str:
        """Where a reader finds this run."""
        return f"{self.server_url}/{self.repository}/actions/runs/{self.run_id}/attempts/{self.run_attempt}"


def read_event(environment: Mapping[str, str]) -> Event:
    """The event, from the `GITHUB_*` variables in `environment` and the payload file they name.

    Raises:
        ConfigurationError: this is not a workflow run, or the runner's variables are not what GitHub
            documents.
    """
    name = _required(environment, "GITHUB_EVENT_NAME")
    repository = _required(environment, "GITHUB_REPOSITORY")
    if not REPOSITORY.fullmatch(repository):
        raise ConfigurationError(f"GITHUB_REPOSITORY is not owner/name: {repository!r}")
    sha = _required(environment, "GITHUB_SHA").lower()
    if not COMMIT.fullmatch(sha):
        raise ConfigurationError(f"GITHUB_SHA is not a full commit hash: {sha!r}")
    ref = environment.get("GITHUB_REF", "")
    payload = _payload(environment.get("GITHUB_EVENT_PATH", ""))
    kind = _kind(name)
    pull = _dict(payload, "pull_request")
    number: int | None = None
    head: str | None = sha
    base: str | None = None
    if kind in {EventKind.PULL_REQUEST, EventKind.PULL_REQUEST_TARGET}:
        number = _pull_number(payload, pull, ref)
        head = _commit(_dict(pull, "head").get("sha"))
        base = _commit(_dict(pull, "base").get("sha"))
    elif kind is EventKind.MERGE_GROUP:
        group = _dict(payload, "merge_group")
        head = _commit(group.get("head_sha")) or sha
        base = _commit(group.get("base_sha"))
    elif kind is EventKind.WORKFLOW_RUN:
        # Its `pull_requests` is empty for forks, and a number that an artifact brings is the author's own
        # word.
        head = _commit(_dict(payload, "workflow_run").get("head_sha"))
    elif kind is EventKind.PUSH:
        base = _commit(payload.get("before"))
    api_url = (environment.get("GITHUB_API_URL") or "https://api.github.com").rstrip("/")
    return Event(
        kind=kind,
        name=name,
        repository=repository,
        pull_number=number,
        head_sha=head,
        base_sha=base,
        sha=sha,
        ref=ref,
        run_id=_positive(environment, "GITHUB_RUN_ID"),
        run_attempt=_positive(environment, "GITHUB_RUN_ATTEMPT"),
        server_url=(environment.get("GITHUB_SERVER_URL") or "https://github.com").rstrip("/"),
        api_url=api_url,
        graphql_url=environment.get("GITHUB_GRAPHQL_URL") or f"{api_url.removesuffix('/v3')}/graphql",
    )


def refuse_privileged_audit(event: Event) -> None:
    """Refuse to grade anything from the workspace in a run that holds the base branch's rights.

    Raises:
        ConfigurationError: the event is `pull_request_target`.
    """
    if event.kind is EventKind.PULL_REQUEST_TARGET:
        raise ConfigurationError(
            "pull_request_target runs with a write token, secrets and the default branch's cache; Plumbline "
            "reads nothing from a pull request there",
            remedy=f"gate on pull_request; comment from a workflow_run stage if forks need it: {SAFE_USE}",
        )


def default_comment_key(workflow: str, job: str, matrix: str = "") -> str:
    """The key that tells this job's comment from that of another job, or of another leg of its matrix.

    Args:
        workflow: GITHUB_WORKFLOW.
        job: GITHUB_JOB.
        matrix: the job's `matrix` context as JSON; "null" or nothing where the job has none.
    """
    try:
        leg = json.loads(matrix or "null")
    except (ValueError, RecursionError):
        leg = matrix
    named = [workflow, job] + ([] if leg in (None, {}) else [leg])
    return json.dumps(named, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _kind(name: str) -> EventKind:
    if name in {"pull_request_review", "pull_request_review_comment"}:
        return EventKind.PULL_REQUEST
    return EventKind(name) if name in set(EventKind) else EventKind.OTHER


def _required(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(name, "")
    if not value:
        raise ConfigurationError(f"{name} is not set", remedy="run this step in a GitHub Actions workflow")
    return value


def _positive(environment: Mapping[str, str], name: str) -> int:
    value = environment.get(name) or "1"
    if not re.fullmatch(r"[1-9][0-9]{0,18}", value):
        raise ConfigurationError(f"{name} is not a positive whole number: {value!r}")
    return int(value)


def _payload(path: str) -> dict[str, Any]:
    """The payload, or nothing where there is none: the variables alone are enough for a verdict."""
    try:
        value = json.loads(Path(path).read_bytes()) if path else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _dict(value: Mapping[str, Any], key: str) -> dict[str, Any]:
    inner = value.get(key)
    return inner if isinstance(inner, dict) else {}


def _commit(value: object) -> str | None:
    return value if isinstance(value, str) and COMMIT.fullmatch(value) else None


def _pull_number(payload: Mapping[str, Any], pull: Mapping[str, Any], ref: str) -> int | None:
    for value in (pull.get("number"), payload.get("number")):
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    match = PULL_REF.fullmatch(ref)
    return int(match[1]) if match else None
