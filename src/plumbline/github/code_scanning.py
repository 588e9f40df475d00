"""How do the findings reach GitHub's code scanning, where no other action brings them there?

The documented endpoint, which wants the right to write and so never serves a pull request from a fork; those
go through GitHub's own upload action. A refusal is a status with the name of the missing setting, never a
failure of the
gate: alerts inform, the exit code blocks.
"""

import base64
import gzip
import re
from typing import Final

from plumbline.github.event import Event, EventKind
from plumbline.github.rest import ApiError, Client
from plumbline.github.status import PartStatus

MAX_COMPRESSED: Final = 10_000_000
"""GitHub's limit is on the compressed file."""
POLLS: Final = (2.0, 4.0, 8.0, 16.0, 32.0)
"""Seconds before each look at how the processing goes."""
FULL_REF: Final = re.compile(r"refs/(?:heads|tags|pull)/.+")
SCOPES: Final = (
    "the job needs `security-events: write`, and in a private repository also `contents: read` and "
    "`actions: read`; a pull request from a fork or from Dependabot never gets them"
)
SETTING: Final = (
    "code scanning is not enabled here: Settings, Advanced Security, Code scanning; a private repository "
    "needs GitHub Code Security for it"
)


def upload_sarif(client: Client, event: Event, sarif: bytes) -> PartStatus:
    """Upload a SARIF log for the commit and ref of this run, and see it processed.

    Returns:
        `uploaded`, `pending`, `denied`, `failed` or `skipped`, with a reason. Never raises.
    """
    if reason := _unsuited(event):
        return PartStatus("skipped", reason)
    # No time stamp inside, so that the same log is the same request.
    packed = gzip.compress(sarif, mtime=0)
    if len(packed) > MAX_COMPRESSED:
        return PartStatus(
            "failed",
            f"the SARIF log has {len(packed)} bytes compressed ({len(sarif)} plain), GitHub takes {MAX_COMPRESSED}",
        )
    body = {"commit_sha": event.sha, "ref": event.ref, "sarif": base64.b64encode(packed).decode("ascii")}
    path = f"/repos/{event.repository}/code-scanning/sarifs"
    try:
        # Unlike a comment, the same log for the same commit and category replaces itself, so repeating is
        # harmless.
        identity = str(client.ask("POST", path, body=body).value["id"])
        return _processed(client, f"{path}/{identity}", identity)
    except ApiError as error:
        return PartStatus("denied" if error.denied else "failed", _explained(error))
    except Exception as error:  # noqa: BLE001 - an upload is never worth a verdict
        return PartStatus("failed", f"unexpected {type(error).__name__}")


def _unsuited(event: Event) -> str:
    """Why nothing can be uploaded for this event, or nothing."""
    if event.merge_queue:
        return "a merge queue's ref vanishes, and an upload for it is refused"
    if event.kind in {EventKind.PULL_REQUEST_TARGET, EventKind.WORKFLOW_RUN}:
        return f"on {event.name} the ref is the default branch's, and the findings are not about it"
    if not FULL_REF.fullmatch(event.ref):
        return f"code scanning takes branches, tags and pull requests, not {event.ref or 'an empty ref'}"
    return ""


def _processed(client: Client, path: str, identity: str) -> PartStatus:
    """Wait, not for long, until GitHub says what became of the upload."""
    for seconds in POLLS:
        if not client.patience.wait(seconds):
            break
        try:
            state = client.ask("GET", path).value
        except ApiError as error:
            return PartStatus("pending", f"received as {identity}; its processing could not be seen: {error.message}")
        status = state.get("processing_status")
        if status == "complete":
            return PartStatus("uploaded", f"received as {identity}")
        if status == "failed":
            told = "; ".join(map(str, state.get("errors") or ["no reason given"]))
            return PartStatus("failed", f"GitHub could not process the log: {told}"[:500])
    return PartStatus("pending", f"received as {identity}, still being processed")


def _explained(error: ApiError) -> str:
    """The refusal, and which setting or right is missing where one is."""
    lowered = error.message.lower()
    if error.status == 404:
        return f"{error.message}: {SETTING}; or {SCOPES}"
    if error.status == 403 and not error.transient:
        switched_off = "enabled" in lowered or "advanced security" in lowered
        return f"{error.message}: {SETTING if switched_off else SCOPES}"
    if error.status == 413:
        return f"{error.message}: the SARIF log is too large for GitHub"
    return error.message
