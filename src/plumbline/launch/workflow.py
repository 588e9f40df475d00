"""What does the workflow runner say, and how is it answered?

Inputs are read strictly: the runner only warns of an unknown input and hands every value over as text, so a value that
is not exactly what it may be is refused here rather than taken for a default.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from plumbline.errors import ConfigurationError, PlumblineError

GRADED_EVENTS = (
    "pull_request", "push", "merge_group", "workflow_dispatch", "schedule", "repository_dispatch", "release",
)  # fmt: skip
_PRIVILEGED = {
    "pull_request_target": "it runs with a write token and secrets while a pull request's files are read",
    "workflow_run": "it runs with the default branch's rights on what a pull request's run left behind",
}
_TRI_STATE = ("auto", "true", "false")
_KEY_LENGTH = 80


@dataclass(frozen=True, slots=True)
class Inputs:
    """The action's inputs, checked."""

    pin: str
    config: str | None
    require_isolation: bool
    annotations: bool
    summary: bool
    comment: str
    upload_sarif: str
    key: str
    """Tells this gate's comment and alerts from those of another job, or of another leg of a matrix."""


def read_inputs(environment: Mapping[str, str]) -> Inputs:
    """The inputs, from the variables that action.yml maps them to.

    Raises:
        ConfigurationError: a value is not exactly what it may be.
    """
    config = _text(environment, "config")
    return Inputs(
        pin=_text(environment, "pin") or _refuse("pin", "is empty"),
        config=config or None,
        require_isolation=_one_of(environment, "require-isolation", ("true", "false")) == "true",
        annotations=_one_of(environment, "annotations", ("true", "false")) == "true",
        summary=_one_of(environment, "summary", ("true", "false")) == "true",
        comment=_one_of(environment, "comment", _TRI_STATE),
        upload_sarif=_one_of(environment, "upload-sarif", _TRI_STATE),
        key=_key(environment),
    )


def _variable(name: str) -> str:
    return f"PLUMBLINE_INPUT_{name.upper().replace('-', '_')}"


def _text(environment: Mapping[str, str], name: str) -> str:
    value = environment.get(_variable(name))
    if value is None:
        _refuse(name, "did not reach the action: its variable is not mapped")
    if value.startswith("-"):
        _refuse(name, "reads like an option")
    if any(char < " " or char == "\x7f" for char in value):
        _refuse(name, "holds a control character")
    return value


def _one_of(environment: Mapping[str, str], name: str, allowed: tuple[str, ...]) -> str:
    value = _text(environment, name)
    if value not in allowed:
        _refuse(name, f"is {value!r} and must be exactly {' or '.join(allowed)}")
    return value


def _refuse(name: str, what: str) -> NoReturn:
    raise ConfigurationError(f"input {name} {what}")


def _key(environment: Mapping[str, str]) -> str:
    if given := _text(environment, "comment-key"):
        if not re.fullmatch(r"[A-Za-z0-9._/-]{1,80}", given):
            _refuse("comment-key", "may hold letters, digits and . _ / - only, 80 at most")
        return given
    parts = [environment.get("GITHUB_WORKFLOW", ""), environment.get("GITHUB_JOB", "")]
    matrix = environment.get(_variable("matrix"), "")
    try:
        leg = json.loads(matrix or "null")
    except (ValueError, RecursionError):
        leg = matrix
    if leg not in (None, {}, ""):
        parts.append(json.dumps(leg, sort_keys=True, separators=(",", ":")))
    exact = "/".join(parts)
    plain = re.sub(r"[^A-Za-z0-9._/-]+", "-", exact).strip("-/")
    if plain == exact and len(plain) <= _KEY_LENGTH:
        return plain
    # Two names that read alike once they are plain must still be two keys.
    return f"{plain[: _KEY_LENGTH - 9]}-{hashlib.sha256(exact.encode()).hexdigest()[:8]}"


def refuse_event(environment: Mapping[str, str]) -> None:
    """Refuse to grade where the run has rights that the graded files' author may not have.

    Raises:
        ConfigurationError: the event is not one that a gate belongs on.
    """
    event = environment.get("GITHUB_EVENT_NAME", "")
    if event in _PRIVILEGED:
        raise ConfigurationError(
            f"the gate does not run on {event}: {_PRIVILEGED[event]}", remedy="Run it on pull_request."
        )
    if event not in GRADED_EVENTS:
        raise ConfigurationError(
            f"the gate does not run on {event or 'an event without a name'}",
            remedy=f"Events it runs on: {', '.join(GRADED_EVENTS)}.",
        )


def folder(environment: Mapping[str, str], name: str) -> Path:
    """A folder that the runner names.

    Raises:
        ConfigurationError: it names none that exists.
    """
    value = environment.get(name, "")
    if not value or not Path(value).is_absolute() or not Path(value).is_dir():
        raise ConfigurationError(f"{name} does not name a folder", remedy="Run this step in a workflow.")
    return Path(value)


def state_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder that the first step made for this run, or None when there is none."""
    value = environment.get("PLUMBLINE_STATE", "")
    temporary = environment.get("RUNNER_TEMP", "")
    path = Path(value)
    if not value or not temporary or not path.is_dir() or path.parent.resolve() != Path(temporary).resolve():
        return None
    return path


def hand_on(environment: Mapping[str, str], values: Mapping[str, str | None]) -> None:
    """Set outputs of the step, each between delimiters nobody can guess."""
    path = environment.get("GITHUB_OUTPUT")
    if not path:
        return
    text = ""
    for name, value in values.items():
        word = f"plumbline-{secrets.token_hex(16)}"
        text += f"{name}<<{word}\n{value or ''}\n{word}\n"
    with Path(path).open("ab") as stream:
        stream.write(text.encode("utf-8", "backslashreplace"))


def say(text: str) -> None:
    """One line of the log that the runner obeys in nothing."""
    print(f"plumbline: {plain(text)}", flush=True)


def warn(text: str) -> None:
    """A warning that does not change the verdict."""
    _command("warning", text)


def tell_refusal(environment: Mapping[str, str], error: PlumblineError) -> None:
    """Say why there is no verdict, where no harness is there to say it: in the log and in the summary."""
    remedy = f"\n-> {error.remedy}" if error.remedy else ""
    _command("error", f"{error.label}: {error.message}{remedy}")
    path = environment.get("GITHUB_STEP_SUMMARY")
    if path and environment.get("PLUMBLINE_INPUT_SUMMARY", "true") != "false":
        lines = "".join(f"    {plain(line)}\n" for line in f"{error.message}{remedy}".splitlines())
        with Path(path).open("ab") as stream:
            stream.write(f"**Plumbline: {error.label}** Nothing was scored.\n\n{lines}\n".encode())


def _command(level: str, text: str) -> None:
    data = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::{level} title=Plumbline::{data}", flush=True)


def plain(text: str) -> str:
    """`text` with every character that a terminal or a reader could take for something else written as a number."""
    return "".join(char if char.isprintable() else f"\\x{ord(char):02x}" for char in text)


@contextmanager
def commands_stopped() -> Iterator[None]:
    """For as long as it lasts, the runner obeys no line of the log: evidence may be quoted in it."""
    word = f"plumbline-{secrets.token_hex(16)}"
    print(f"::stop-commands::{word}", flush=True)
    try:
        yield
    finally:
        print(f"::{word}::", flush=True)
