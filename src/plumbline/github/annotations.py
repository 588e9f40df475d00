"""Which findings does the workflow log show as annotations, and how are all of them logged without harm?

A composite action is one step, and a step shows ten annotations of each level; the rest vanish without a
word. So the tenth place goes to a line that counts them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, Literal, Protocol

from plumbline.report.sinks import log_line, workflow_data, workflow_property

Level = Literal["error", "warning", "notice"]

LEVELS: Final[tuple[Level, ...]] = ("error", "warning", "notice")
"""Most severe first."""
ROOM: Final[Mapping[Level, int]] = MappingProxyType({"error": 10, "warning": 10, "notice": 10})
"""What the runner keeps of one step."""
MAX_TITLE: Final = 255


class Finding(Protocol):
    """Something a reader should see at a place in the repository."""

    @property
    def level(self) -> Level:
        """How severe it is."""
        ...

    @property
    def title(self) -> str:
        """A short line: suite and item."""
        ...

    @property
    def message(self) -> str:
        """What was found."""
        ...

    @property
    def file(self) -> str | None:
        """Path from the repository's root, with forward slashes; None where no file is to blame."""
        ...

    @property
    def line(self) -> int | None:
        """Line in `file`, from 1."""
        ...


@dataclass(frozen=True, slots=True)
class Annotation:
    """A finding that is nothing but these five: a refusal before anything was graded, for one."""

    level: Level
    title: str
    message: str
    file: str | None = None
    line: int | None = None


def annotation_commands(findings: Sequence[Finding], *, room: Mapping[Level, int] = ROOM) -> list[str]:
    """The workflow commands for the findings that a step has room for, most severe level first.

    Within a level the order is that of `findings`, which the report gives by suite and item.

    Args:
        findings: all findings.
        room: how many commands of each level may be issued; the last place says how many more there are.
    """
    commands = []
    for level in LEVELS:
        some = [finding for finding in findings if finding.level == level]
        shown = some if len(some) <= room[level] else some[: max(room[level] - 1, 0)]
        commands += [command(level, entry.message, entry.title, entry.file, entry.line) for entry in shown]
        if hidden := len(some) - len(shown):
            plural = "" if hidden == 1 else "s"
            message = f"and {hidden} more {level}{plural}; the job summary and the report list all of them"
            commands.append(command(level, message))
    return commands


def command(
    level: Level, message: str, title: str = "Plumbline", file: str | None = None, line: int | None = None
) -> str:
    """One workflow command that shows `message`, at a place in the repository if there is one."""
    # No columns: the runner drops them anyway, and with a wrong pair the line as well.
    properties = [f"file={workflow_property(file)}"] if file else []
    if file and line is not None and line > 0:
        properties.append(f"line={line}")
    properties.append(f"title={workflow_property(title, MAX_TITLE)}")
    return f"::{level} {','.join(properties)}::{workflow_data(message)}"


def findings_log(findings: Sequence[Finding], token: str) -> list[str]:
    """All findings as a folded part of the log, between lines that stop the runner from obeying any of it.

    Args:
        findings: all findings.
        token: a word nobody can guess, from which on the runner obeys again.
    """
    if not findings:
        return []
    lines = [f"::group::All findings ({len(findings)})", f"::stop-commands::{token}"]
    for level in LEVELS:
        for entry in findings:
            if entry.level == level:
                where = f"{entry.file}:{entry.line or 1}: " if entry.file else ""
                lines.append(log_line(f"{level}: {where}{entry.title}: {entry.message}"))
    return [*lines, f"::{token}::", "::endgroup::"]
