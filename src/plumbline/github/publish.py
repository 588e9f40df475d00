"""How is a verdict that already stands shown on GitHub?

The third of the action's three phases: the only one with a token, and the only one that cannot change the
verdict. Each part stands alone. One that goes wrong ends with a status, which is logged, noted in the summary
and handed on as an output, and the next one begins.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, TextIO

from plumbline.errors import PlumblineError
from plumbline.github.annotations import (
    ROOM,
    Finding,
    Level,
    annotation_commands,
    command,
    findings_log,
)
from plumbline.github.code_scanning import upload_sarif
from plumbline.github.comment import upsert_comment
from plumbline.github.event import Event, read_event
from plumbline.github.outputs import SUMMARY_BUDGET, random_word, write_outputs, write_summary
from plumbline.github.rest import Client, Patience
from plumbline.github.status import PartStatus
from plumbline.report.sinks import code_span, log_line

TOKEN_VARIABLE: Final = "GITHUB_TOKEN"
PARTS: Final = ("annotations", "summary", "sarif", "comment")
NOTE_ROOM: Final = 4_000
"""Bytes of the summary that are kept for a note on what could not be published."""


@dataclass(frozen=True, slots=True)
class Publication:
    """What is to be shown. Renderings are functions, because one that fails must not take the others with
    it.
    """

    target: str
    """Name of what was audited."""
    key: str
    """Tells the comments of jobs and matrix legs apart."""
    findings: Callable[[], Sequence[Finding]]
    summary: Callable[[], Iterable[str]]
    """The job summary as Markdown, in falling length; the first that fits is taken."""
    comment: Callable[[], str] | None = None
    """The comment as Markdown, or None where none is wanted."""
    sarif: Path | None = None
    """The SARIF log to upload, or None where none is wanted."""
    outputs: Mapping[str, str] = field(default_factory=dict)
    """The action's outputs that do not depend on publishing: verdict, exit code, paths."""
    author: str | None = None
    """The login that the token speaks for, where that is known."""


def publish(
    publication: Publication,
    environment: Mapping[str, str],
    out: TextIO,
    *,
    patience: Callable[[], Patience] = Patience,
) -> dict[str, PartStatus]:
    """Show the verdict: annotations, summary, SARIF upload, comment, outputs.

    Args:
        publication: what to show.
        environment: the runner's variables, the token among them.
        out: the workflow log.
        patience: makes the time budget of one part.

    Returns:
        How each part ended, by its name: `annotations`, `summary`, `sarif`, `comment`, `outputs`. Never
        raises.
    """
    ends: dict[str, PartStatus] = {}
    ends["annotations"] = _guarded(lambda: _annotate(publication, out))
    ends["summary"] = _guarded(lambda: _summarise(publication, environment))
    ends["sarif"] = _guarded(lambda: _upload(publication, environment, patience))
    ends["comment"] = _guarded(lambda: _comment(publication, environment, patience))
    _guarded(lambda: _note(ends, environment))
    ends["outputs"] = _guarded(lambda: _hand_on(publication, ends, environment))
    _guarded(lambda: _tell(ends, out))
    return ends


def _guarded(part: Callable[[], PartStatus]) -> PartStatus:
    try:
        return part()
    except PlumblineError as error:
        return PartStatus("failed", error.message)
    except Exception as error:  # noqa: BLE001 - showing a verdict is never worth the verdict
        return PartStatus("failed", f"unexpected {type(error).__name__}")


def _annotate(publication: Publication, out: TextIO) -> PartStatus:
    findings = publication.findings()
    # A trouble with publishing is a warning too, and comes last: two places are kept for it.
    room: dict[Level, int] = {**ROOM, "warning": ROOM["warning"] - 2}
    lines = [*findings_log(findings, random_word()), *annotation_commands(findings, room=room)]
    out.write("".join(f"{line}\n" for line in lines))
    out.flush()
    return PartStatus("written")


def _summarise(publication: Publication, environment: Mapping[str, str]) -> PartStatus:
    path = environment.get("GITHUB_STEP_SUMMARY")
    if not path:
        return PartStatus("skipped", "GITHUB_STEP_SUMMARY is not set")
    return write_summary(Path(path), publication.summary(), budget=SUMMARY_BUDGET - NOTE_ROOM)


def _upload(publication: Publication, environment: Mapping[str, str], patience: Callable[[], Patience]) -> PartStatus:
    if publication.sarif is None:
        return PartStatus("skipped", "not wanted")
    sarif = publication.sarif.read_bytes()
    return _with_client(environment, patience, lambda client, event: upload_sarif(client, event, sarif))


def _comment(publication: Publication, environment: Mapping[str, str], patience: Callable[[], Patience]) -> PartStatus:
    if publication.comment is None:
        return PartStatus("skipped", "not wanted")
    body = publication.comment()
    return _with_client(
        environment,
        patience,
        lambda client, event: upsert_comment(
            client,
            event,
            target=publication.target,
            key=publication.key,
            body=body,
            author=publication.author,
        ),
    )


def _with_client(
    environment: Mapping[str, str],
    patience: Callable[[], Patience],
    part: Callable[[Client, Event], PartStatus],
) -> PartStatus:
    token = environment.get(TOKEN_VARIABLE, "").strip()
    if not token:
        return PartStatus("skipped", "there is no token")
    event = read_event(environment)
    with Client(
        event.api_url,
        token,
        graphql_url=event.graphql_url,
        ca_bundle=environment.get("REQUESTS_CA_BUNDLE", ""),
        patience=patience(),
    ) as client:
        return part(client, event)


def _note(ends: Mapping[str, PartStatus], environment: Mapping[str, str]) -> PartStatus:
    """Say in the summary what could not be published, for whoever looks for the comment there is none of."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    troubles = [f"- {name}: {code_span(_sentence(end), in_table=False)}" for name, end in ends.items() if end.troubled]
    if not path or not troubles:
        return PartStatus("skipped")
    text = "\n".join(["", "**Not published** (the verdict stands)", "", *troubles])
    return write_summary(Path(path), [text])


def _hand_on(publication: Publication, ends: Mapping[str, PartStatus], environment: Mapping[str, str]) -> PartStatus:
    path = environment.get("GITHUB_OUTPUT")
    if not path:
        return PartStatus("skipped", "GITHUB_OUTPUT is not set")
    statuses = {f"{name}-status": end.status for name, end in ends.items() if name in PARTS}
    values = {**publication.outputs, **statuses, "comment-url": ends["comment"].url}
    write_outputs(Path(path), values)
    return PartStatus("written")


def _tell(ends: Mapping[str, PartStatus], out: TextIO) -> PartStatus:
    """One plain line per part, and one warning for all that went wrong together."""
    out.write("".join(log_line(f"plumbline: {name}: {_sentence(end)}") + "\n" for name, end in ends.items()))
    troubles = [f"{name}: {_sentence(end)}" for name, end in ends.items() if end.troubled]
    if troubles:
        out.write(command("warning", "\n".join(troubles), "Plumbline could not publish everything") + "\n")
    out.flush()
    return PartStatus("written")


def _sentence(end: PartStatus) -> str:
    return f"{end.status}: {end.reason}" if end.reason else end.status
