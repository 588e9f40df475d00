"""Which comment under the pull request is ours, and what does it say now?

One comment per target and key, edited in place. It is found by its author first: the right to write comments
is the right to edit anybody's, so a marker alone would let a stranger have us speak in a comment that stays
theirs to edit. Nothing is ever read back from a comment but which run wrote it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final, Self
from urllib.parse import quote

from plumbline.github.event import Event, EventKind
from plumbline.github.rest import ATTEMPTS, ApiError, Client, pause
from plumbline.github.status import PartStatus, Status

ACTIONS_LOGIN: Final = "github-actions[bot]"
"""Whom the token that every job has speaks for."""
LIMIT: Final = 65_536
"""GitHub refuses a longer comment. The unit is not documented; UTF-16 units are the larger count of the
likely two."""
MARKER: Final = re.compile(
    r"<!-- plumbline-comment target=([^ ]+) key=([^ ]+) run=([0-9]{1,19}) attempt=([0-9]{1,19})"
    r" head=([0-9a-f]{40,64}|none) -->"
)
LONGEST_NAME: Final = 120
CONFIRM_AFTER: Final = 1.0
"""Seconds after which a run that had looked before us will have written."""
CONFIRMATIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Marker:
    """The first line of a comment of ours: which comment it is, and which run wrote it."""

    target: str
    key: str
    run_id: int
    attempt: int
    head: str

    @classmethod
    def of(cls, target: str, key: str, event: Event) -> Self:
        """The marker that this run writes."""
        return cls(_name(target), _name(key), event.run_id, event.run_attempt, event.head_sha or "none")

    @classmethod
    def read(cls, body: str) -> Self | None:
        """The marker on the first line of `body`, and nowhere else in it."""
        match = MARKER.fullmatch(body.partition("\n")[0].rstrip())
        if match is None:
            return None
        return cls(match[1], match[2], int(match[3]), int(match[4]), match[5])

    @property
    def line(self) -> str:
        """The marker as it is written."""
        return (
            f"<!-- plumbline-comment target={self.target} key={self.key} run={self.run_id}"
            f" attempt={self.attempt} head={self.head} -->"
        )

    @property
    def order(self) -> tuple[int, int]:
        """Later runs are greater."""
        return self.run_id, self.attempt

    def same_slot(self, other: "Marker") -> bool:
        """Do both stand for the same comment?"""
        return (self.target, self.key) == (other.target, other.key)


@dataclass(frozen=True, slots=True)
class _Own:
    """A comment of ours that is there."""

    id: int
    marker: Marker
    body: str
    url: str


@dataclass(frozen=True, slots=True)
class _Place:
    """Where the comment belongs, and what it is to be."""

    client: Client
    repository: str
    number: int
    author: str
    marker: Marker
    text: str

    @property
    def path(self) -> str:
        return f"/repos/{self.repository}/issues/{self.number}/comments"

    def path_of(self, comment: _Own) -> str:
        return f"/repos/{self.repository}/issues/comments/{comment.id}"


def upsert_comment(
    client: Client, event: Event, *, target: str, key: str, body: str, author: str | None = None
) -> PartStatus:
    """Make the comment for `target` and `key` say `body`.

    Args:
        client: GitHub; its patience is the time budget.
        event: what this run is about.
        target: name of what was audited.
        key: tells jobs and matrix legs apart.
        body: the Markdown, without marker.
        author: the login that the token speaks for, where that is known; else GitHub is asked.

    Returns:
        `created`, `updated`, `unchanged`, `denied`, `failed` or `skipped`, with a reason. Never raises.
    """
    try:
        return _upsert(client, event, Marker.of(target, key, event), body, author)
    except ApiError as error:
        return PartStatus("denied" if error.denied else "failed", error.message)
    except Exception as error:  # noqa: BLE001 - a comment is never worth a verdict
        return PartStatus("failed", f"unexpected {type(error).__name__}")


def _upsert(client: Client, event: Event, marker: Marker, body: str, author: str | None) -> PartStatus:
    if event.merge_queue:
        return PartStatus("skipped", "a merge queue has no pull request to comment on")
    text = f"{marker.line}\n{body}"
    units = len(text.encode("utf-16-le", "surrogatepass")) // 2
    if units > LIMIT:
        return PartStatus("failed", f"the comment has {units} UTF-16 units, GitHub takes {LIMIT}")
    number = event.pull_number
    if number is None:
        found = _open_pulls(client, event)
        if len(found) != 1:
            return PartStatus("skipped", f"{len(found)} open pull requests have the commit of this run as their head")
        number = found[0]
    elif moved := _moved_on(client, event, number):
        return PartStatus("skipped", f"the pull request has moved on to {moved[:12]}")
    place = _Place(client, event.repository, number, author or client.viewer() or ACTIONS_LOGIN, marker, text)
    own = _own_comments(place)
    return _settle(place, own) if own else _create(place)


def _open_pulls(client: Client, event: Event) -> list[int]:
    """The open pull requests onto this repository whose head is this run's commit."""
    if event.head_sha is None or event.kind not in {EventKind.PUSH, EventKind.WORKFLOW_RUN}:
        return []
    return [
        pull["number"]
        for pull in client.pages(f"/repos/{event.repository}/commits/{event.head_sha}/pulls")
        if pull.get("state") == "open"
        and _text(pull, "head", "sha") == event.head_sha
        and _text(pull, "base", "repo", "full_name").lower() == event.repository.lower()
    ]


def _moved_on(client: Client, event: Event, number: int) -> str:
    """The head of the pull request, if it is another commit than this run's."""
    if event.head_sha is None:
        return ""
    try:
        pull = client.ask("GET", f"/repos/{event.repository}/pulls/{number}").value
    except ApiError as error:
        # Some tokens may write comments and not read pull requests. The comment then decides.
        if error.denied:
            return ""
        raise
    head = _text(pull, "head", "sha")
    return head if head != event.head_sha else ""


def _own_comments(place: _Place) -> list[_Own]:
    """Our comments for this target and key, oldest first. Who wrote it is asked before what it says.

    A comment that somebody minimised is theirs to keep hidden; a new one is due then.
    """
    own = []
    for entry in place.client.pages(place.path):
        if not _is_author(entry.get("user"), place.author) or entry.get("minimized"):
            continue
        body = _text(entry, "body")
        marker = Marker.read(body)
        if marker is not None and marker.same_slot(place.marker):
            own.append(_Own(int(entry["id"]), marker, body, _text(entry, "html_url")))
    return sorted(own, key=lambda comment: comment.id)


def _is_author(user: object, login: str) -> bool:
    """Is `user` the account `login`? Only an app's account may end in `[bot]`."""
    if not isinstance(user, Mapping) or user.get("login") != login:
        return False
    return user.get("type") == "Bot" if login.endswith("[bot]") else True


def _create(place: _Place) -> PartStatus:
    """Post a new comment, then look whether another run did the same.

    A POST without a clear answer may have been carried out, so each repetition begins with looking.
    """
    url = ""
    for attempt in range(ATTEMPTS):
        try:
            answer = place.client.once("POST", place.path, body={"body": place.text})
        except ApiError as error:
            again = error.transient and attempt < ATTEMPTS - 1 and place.client.patience.wait(pause(error, attempt))
            if not (again or error.outcome_unknown):
                raise
            own = _own_comments(place)
            if own:
                return _settle(place, own, posted=True)
            if not again:
                raise
        else:
            url = _text(answer.value, "html_url")
            # Whoever GitHub says has written it is who we are: where that was not known, an earlier comment of ours
            # was overlooked, and is found now.
            place = replace(place, author=_text(answer.value, "user", "login") or place.author)
            break
    try:
        own = _own_comments(place)
    except ApiError:
        own = []
    # A list that lags behind the write may not show it yet.
    return _settle(place, own, posted=True) if own else PartStatus("created", url=url)


def _settle(place: _Place, own: Sequence[_Own], *, posted: bool = False) -> PartStatus:
    """Of all comments that are ours, leave the oldest, with the word of the latest run.

    The oldest is never deleted, by any run. Runs that meet here see different lists, and if each could delete what it
    does not want, two of them could agree on nothing at all.
    """
    kept, *others = own
    newest = max(own, key=lambda comment: comment.marker.order)
    if newest.marker.order > place.marker.order:
        note = _delete(place, [comment for comment in others if comment.marker == place.marker])
        return PartStatus("skipped", f"the later run {newest.marker.run_id} has already commented{note}", newest.url)
    status: Status = "created" if posted and kept.marker == place.marker else "unchanged"
    # The marker is compared too: it must name the latest run, or a run in between could overwrite its word.
    if not _same_text(kept.body, place.text):
        try:
            _edit(place, kept)
        except ApiError as error:
            if error.status != 404:
                raise
            # Somebody deleted it since it was listed.
            return _settle(place, others, posted=posted) if others else _create(place)
        status = "updated"
    note = _delete(place, others)
    if status == "updated" and kept.marker.head == place.marker.head:
        _confirm(place, kept)
    return PartStatus(status, note.removeprefix("; "), kept.url)


def _edit(place: _Place, comment: _Own) -> None:
    place.client.ask("PATCH", place.path_of(comment), body={"body": place.text})


def _confirm(place: _Place, comment: _Own) -> None:
    """Look whether an older run, that had looked before we wrote, wrote after us; then our word is due again.

    Only runs about the same commit meet like this, so it is only asked for when there were any.
    """
    for _ in range(CONFIRMATIONS):
        if not place.client.patience.wait(CONFIRM_AFTER):
            return
        try:
            marker = Marker.read(_text(place.client.ask("GET", place.path_of(comment)).value, "body"))
            if marker is None or marker.order >= place.marker.order:
                return
            _edit(place, comment)
        except ApiError:
            return  # our word was taken; that it still stands could not be seen


def _delete(place: _Place, comments: Sequence[_Own]) -> str:
    """Delete duplicates as far as that goes; what stays is said and does no harm."""
    left = []
    for comment in comments:
        try:
            place.client.ask("DELETE", place.path_of(comment))
        except ApiError as error:
            if error.status != 404:
                left.append(comment.id)
    return f"; {len(left)} duplicates could not be deleted" if left else ""


def _same_text(there: str, wanted: str) -> bool:
    """Equal but for what a service does to line ends and the end of a text."""
    return there.replace("\r\n", "\n").rstrip() == wanted.replace("\r\n", "\n").rstrip()


def _name(text: str) -> str:
    """`text` as one word that cannot end an HTML comment; a long one by its digest."""
    word = quote(text, safe="").replace("-", "%2D") or "none"
    return word if len(word) <= LONGEST_NAME else f"sha256:{sha256(text.encode()).hexdigest()}"


def _text(value: Any, *path: str) -> str:  # noqa: ANN401 - any JSON value
    """The text at `path` in an answer, or nothing where the answer has another shape."""
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, str) else ""
