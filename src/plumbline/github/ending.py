"""What is to be shown of how a gate ended?

Turns the ending that the audit step stored, and the report it names, into a `Publication`. A run without a verdict is
shown by the same means as one with a verdict, in the same comment.
"""

import argparse
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, TextIO
from urllib.parse import quote

from plumbline.errors import ConfigurationError, PlumblineError
from plumbline.github.annotations import Annotation
from plumbline.github.event import Event, read_event
from plumbline.github.publish import NOTE_ROOM, Publication, publish
from plumbline.launch.gate import Ending, read_ending
from plumbline.report.blocks import Link, nowhere
from plumbline.report.comment import (
    SUMMARY_BUDGET,
    CommentContext,
    comment_markdown,
    refusal_markdown,
    summary_markdown,
)
from plumbline.report.document import Location, Report, parse_report
from plumbline.report.findings import findings

_SUMMARY = "GITHUB_STEP_SUMMARY"


def publish_ending(arguments: Sequence[str], environment: Mapping[str, str], out: TextIO) -> int:
    """Show how a gate ended.

    Args:
        arguments: what the action's publishing step says.
        environment: the runner's variables, the token among them.
        out: the workflow log.

    Returns:
        0, whatever became of the parts: each says so itself.

    Raises:
        ConfigurationError: the audit left nothing that can be read.
    """
    parser = argparse.ArgumentParser(prog="plumbline.github", allow_abbrev=False)
    parser.add_argument("--ending", type=Path, required=True)
    parser.add_argument("--target", required=True, help="names the gate's comment, with or without a verdict")
    parser.add_argument("--key", required=True)
    parser.add_argument("--annotations", choices=("true", "false"), required=True)
    parser.add_argument("--summary", choices=("true", "false"), required=True)
    parser.add_argument("--comment", choices=("auto", "true", "false"), required=True)
    parser.add_argument("--upload-sarif", choices=("auto", "true", "false"), required=True)
    options = parser.parse_args(arguments)
    ending = read_ending(options.ending)
    if ending is None:
        raise ConfigurationError(f"{options.ending.name}: not an ending of a gate")
    event = _event(environment)
    context = CommentContext(
        key=options.key,
        commit=None if event is None else event.head_sha,
        isolation=ending.isolation,
        report_url=None if event is None else event.run_url,
    )
    shown = _Shown(ending, _report(ending), _link(ending, event), context)
    publication = Publication(
        target=options.target,
        key=options.key,
        findings=shown.annotations if options.annotations == "true" else list,
        summary=shown.summaries,
        comment=None if options.comment == "false" else shown.comment,
        sarif=None if options.upload_sarif == "false" or ending.sarif is None else Path(ending.sarif),
    )
    kept = {name: value for name, value in environment.items() if name != _SUMMARY or options.summary == "true"}
    publish(publication, kept, out)
    return 0


class _Shown:
    """One ending in its renderings."""

    def __init__(self, ending: Ending, report: Report | None, link: Link, context: CommentContext) -> None:
        self._ending = ending
        self._report = report
        self._link = link
        self._context = context

    def annotations(self) -> list[Annotation]:
        if self._report is None:
            return [Annotation("error", self._label, self._message)]
        found = [self._annotation(finding.level, finding.suite.suite, finding.message, finding.place)
                 for finding in findings(self._report)]  # fmt: skip
        if self._ending.exit_code > 1:
            found.insert(0, Annotation("error", self._label, self._message))
        return found

    def _annotation(
        self, level: Literal["error", "warning"], title: str, message: str, place: Location | None
    ) -> Annotation:
        if place is None:
            return Annotation(level, title, message)
        return Annotation(level, title, message, _path(self._ending, place), place.line)

    def comment(self) -> str:
        if self._report is None:
            return self._refusal()
        text = comment_markdown(self._report, link=self._link, context=self._context)
        return f"{self._refused_comparison()}{text}"

    def summaries(self) -> Iterator[str]:
        if self._report is None:
            yield self._refusal()
            return
        for budget in (SUMMARY_BUDGET - 2 * NOTE_ROOM, 500_000, 100_000):
            text = summary_markdown(self._report, link=self._link, budget=budget, context=self._context)
            yield f"{self._refused_comparison()}{text}"

    def _refusal(self) -> str:
        ending = self._ending
        return refusal_markdown(ending.exit_code, self._label, self._message, ending.remedy, self._context)

    def _refused_comparison(self) -> str:
        return f"{self._refusal()}\n\n" if self._ending.exit_code > 1 else ""

    @property
    def _label(self) -> str:
        return self._ending.label or "NO VERDICT"

    @property
    def _message(self) -> str:
        return self._ending.message or "the log says why"


def _event(environment: Mapping[str, str]) -> Event | None:
    try:
        return read_event(environment)
    except PlumblineError:
        return None  # the parts that need it say so themselves


def _report(ending: Ending) -> Report | None:
    if ending.report_json is None:
        return None
    path = Path(ending.report_json)
    try:
        return parse_report(path.read_bytes(), file=path.name)
    except OSError as fault:
        raise ConfigurationError(f"{path.name}: cannot be read: {fault.strerror}") from None


def _path(ending: Ending, location: Location) -> str:
    return posixpath.normpath(posixpath.join(ending.bundle or "", location.file))


def _link(ending: Ending, event: Event | None) -> Link:
    if event is None or event.head_sha is None:
        return nowhere
    base = f"{event.server_url}/{event.repository}/blob/{event.head_sha}"

    def link(location: Location) -> str:
        return f"{base}/{quote(_path(ending, location))}#L{location.line}"

    return link
