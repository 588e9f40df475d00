"""How is a local program asked?

`mode = "once"` starts the program anew for every turn; `mode = "lines"` keeps one child for a conversation and
exchanges one line of JSON for each turn. The program is an argument list, run as it stands: there is no shell, and a
placeholder stays within its argument whatever the question holds. Its environment is PATH and what is declared.
"""

import hashlib
import json
import os
import re
import shutil
import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from plumbline.canonical import canonical_sha256
from plumbline.errors import ConfigurationError
from plumbline.record.adapters.base import Adapter, AdapterSettings, CallError, Conversation, Question, Reply
from plumbline.record.child import Child
from plumbline.record.extract import Pointer, answer, identifiers, parse_json, passages
from plumbline.record.secret import Secrets, refuse_variables
from plumbline.record.template import Message, Template, exchanged, refuse_unasked, values_for

HASH_NOTE = (
    "program_sha256 is over the executable alone, and files_sha256 over the files that the command names; what they "
    "load, and how the system runs them, is not covered"
)

_RAW = 64 * 1024
_PER_TURN = frozenset({"prompt", "turn", "history"})
_ABSOLUTE = re.compile(r"(^|=)/(?:[^/]*/)*")


class Settings(AdapterSettings, frozen=True, kw_only=True):
    """`[adapter]` with `kind = "subprocess"`."""

    ranges: ClassVar[Mapping[str, tuple[float, float]]] = {
        "timeout_seconds": (0.1, 900),
        "max_output_bytes": (1, 8 * 1024 * 1024),
    }

    command: list[str]
    """Program and arguments. A program with a slash is looked for from `workdir`, another one on PATH."""
    workdir: str = "."
    """Where it runs, relative to the configuration file."""
    env: dict[str, Any] = {}
    """Name to a string or `{ env = "NAME" }`."""
    mode: Literal["once", "lines"] = "once"
    input: Literal["json", "text", "none"] | None = None
    """What goes to the standard input: `stdin` as JSON, the user turn as text, or nothing. Without it, `json` where
    there is `stdin` and otherwise `none`."""
    stdin: dict[str, Any] | None = None
    output: Literal["json", "text"] = "json"
    response_pointer: str | None = None
    citations_pointer: str | None = None
    retrieved_pointer: str | None = None
    retrieved_id_pointer: str = "id"
    retrieved_text_pointer: str = "text"
    timeout_seconds: float = 30.0
    """For one turn."""
    max_output_bytes: int = 256 * 1024
    """For one turn."""


def create(settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> Adapter:
    """The adapter.

    Raises:
        ConfigurationError: keys that do not go together, a program that is not there, or a variable that is not set.
    """
    return _Subprocess(settings, folder=folder, environ=environ)


class _Subprocess:
    kind = "subprocess"

    def __init__(self, settings: Settings, *, folder: Path, environ: Mapping[str, str]) -> None:
        self.settings = settings
        self.secrets = Secrets(environ)
        self.input = settings.input or ("none" if settings.stdin is None else "json")
        self.command = [Template(word, key=f"adapter.command[{n}]") for n, word in enumerate(settings.command)]
        self.stdin = None if settings.stdin is None else Template(settings.stdin, key="adapter.stdin")
        # After the template, which bounds how deep it goes.
        refuse_variables(
            settings.stdin, "adapter.stdin", "Hand the value over in [adapter.env], where the program can read it."
        )
        self._check()
        self.folder = folder / settings.workdir
        self.path = environ.get("PATH", os.defpath)
        self.program = self._found()
        self.environment = {"PATH": self.path} | {
            name: self.secrets.resolve(value, key=f"adapter.env.{name}", one_line=False)
            for name, value in settings.env.items()
        }
        self.response = self._pointer("response_pointer")
        self.citations = self._pointer("citations_pointer")
        self.retrieved = self._pointer("retrieved_pointer")
        self.passage = (
            Pointer(settings.retrieved_id_pointer, key="adapter.retrieved_id_pointer"),
            Pointer(settings.retrieved_text_pointer, key="adapter.retrieved_text_pointer"),
        )
        self._digests = self._hashed()
        self._children: set[Child] = set()
        self._lock = threading.Lock()
        self._closed = False
        used = frozenset().union(*(template.names for template in (*self.command, *filter(None, [self.stdin]))))
        self.conversational = settings.mode == "lines" or not used.isdisjoint({"history", "conversation"})

    def _check(self) -> None:
        for told in _clashes(self.settings, self.input, self.command):
            raise ConfigurationError(told)
        for name in self.settings.env:
            if not name or "=" in name or "\0" in name or name == "PATH":
                raise ConfigurationError(f"adapter.env: {name!r} is no name for a variable of the child's")
        if self.input != "text":
            refuse_unasked([*self.command, *filter(None, [self.stdin])], "adapter")

    def _found(self) -> str:
        name = self.settings.command[0]
        if not self.folder.is_dir():
            raise ConfigurationError(f"adapter.workdir: there is no folder {self.settings.workdir}")
        local = os.path.abspath(self.folder / name)  # noqa: PTH100 - links must stay: some programs look at their name
        found = shutil.which(local if "/" in name else name, path=self.path)
        if found is None:
            raise ConfigurationError(f"adapter.command[0]: there is no program {name!r} that can be run")
        return found

    def _pointer(self, name: str) -> Pointer | None:
        text = getattr(self.settings, name)
        return None if text is None else Pointer(text, key=f"adapter.{name}")

    def _hashed(self) -> dict[str, Any]:
        files = {}
        for word, template in zip(self.settings.command[1:], self.command[1:], strict=True):
            path = self.folder / word
            if not template.names and word and path.is_file():
                files[_no_path(word)] = _digest(path)
        return {"program_sha256": _digest(Path(self.program)), "files_sha256": files}

    def describe(self) -> Mapping[str, Any]:
        """See `Adapter.describe`."""
        settings = self.settings
        name = Path(settings.command[0]).name
        call = {
            "command": [_no_path(word) for word in settings.command],
            "mode": settings.mode,
            "input": self.input,
            "stdin_template": settings.stdin,
            "output": settings.output,
            **{
                key: getattr(settings, key)
                for key in (
                    "response_pointer",
                    "citations_pointer",
                    "retrieved_pointer",
                    "retrieved_id_pointer",
                    "retrieved_text_pointer",
                )
            },
            "env_names": sorted(settings.env),
            "bounds": {"timeout_seconds": settings.timeout_seconds, "max_output_bytes": settings.max_output_bytes},
        }
        return {
            "kind": self.kind,
            "endpoint": f"subprocess:{name}",
            "request_sha256": canonical_sha256(call),
            "call": call,
            "program": name,
            **self._digests,
            "program_hash_note": HASH_NOTE,
        }

    def open(self, question: Question) -> Conversation:
        """See `Adapter.open`."""
        return _Talk(self, question)

    def preview(self, question: Question) -> str:
        """See `Adapter.preview`."""
        values = values_for(question, question.prompt, turn=1, conversation="(made up for each conversation)")
        text = self.input_for(values)
        lines = [
            f"run: {json.dumps(self.words(values), ensure_ascii=False)}",
            f"environment: {', '.join(self.environment)}",
            f"standard input: {text.decode()}" if text else "standard input: nothing",
        ]
        return self.secrets.mask("\n".join(lines))

    def close(self) -> None:
        """See `Adapter.close`."""
        with self._lock:
            self._closed = True
            children = list(self._children)
        for child in children:
            child.kill()

    def words(self, values: Mapping[str, Any]) -> list[str]:
        """The command with every placeholder filled in, each within its own argument."""
        words: list[str] = [template.render(values) for template in self.command]
        if any("\0" in word for word in words):
            raise CallError(
                "a NUL character cannot stand on a command line",
                fault="malformed",
                remedy="Send the question on the standard input.",
            )
        return [self.program, *words[1:]]

    def input_for(self, values: Mapping[str, Any]) -> bytes:
        """What goes to the standard input for one turn."""
        if self.input == "text":
            return str(values["prompt"]).encode()
        if self.stdin is None:
            return b""
        return json.dumps(self.stdin.render(values), ensure_ascii=False).encode()

    def start(self, values: Mapping[str, Any]) -> Child:
        """Start the program.

        Raises:
            CallError: it cannot be started, or this adapter is closed.
        """
        words = self.words(values)
        with self._lock:
            if self._closed:
                raise CallError("the recording has ended", fault="exited")
            child = Child(
                words,
                environment=self.environment,
                folder=self.folder,
                ceiling=self.settings.max_output_bytes,
                timeout=self.settings.timeout_seconds,
                secrets=self.secrets,
            )
            self._children.add(child)
        return child

    def end(self, child: Child) -> None:
        """End a child, and all it started."""
        child.close()
        with self._lock:
            self._children.discard(child)

    def reply(self, output: bytes) -> Reply:
        """What the program's output says.

        Raises:
            CallError: nothing, or not what was configured.
        """
        where = Path(self.settings.command[0]).name
        if not output.strip():
            raise CallError(f"{where}: ended without having printed anything", fault="empty")
        raw = output[:_RAW].decode("utf-8", "replace")
        if self.response is None:
            try:
                return Reply(output.decode().strip(), raw=raw)
            except UnicodeDecodeError:
                raise CallError(f"{where}: the output is not UTF-8", fault="malformed") from None
        document = parse_json(output, where, self.secrets.quote)
        text = answer(self.response, document, where)
        cited = None if self.citations is None else identifiers(self.citations, document, where)
        seen = None if self.retrieved is None else passages(self.retrieved, *self.passage, document, where)
        return Reply(text, cited, seen, raw)


class _Talk:
    """One item's turns."""

    def __init__(self, adapter: _Subprocess, question: Question) -> None:
        self._adapter = adapter
        self._question = question
        self._conversation = uuid.uuid4().hex
        self._history: Sequence[Message] = ()
        self._turn = 1
        self._kept: Child | None = None

    def ask(self, text: str) -> Reply:
        """See `Conversation.ask`."""
        adapter = self._adapter
        values = values_for(
            self._question, text, turn=self._turn, conversation=self._conversation, history=self._history
        )
        reply = adapter.reply(self._exchanged(values))
        self._history = (*self._history, *exchanged(text, reply.text))
        self._turn += 1
        return reply

    def _exchanged(self, values: Mapping[str, Any]) -> bytes:
        adapter = self._adapter
        if adapter.settings.mode == "lines":
            if self._kept is None:
                self._kept = adapter.start(values)
            return self._kept.line(adapter.input_for(values))
        child = adapter.start(values)
        try:
            return child.once(adapter.input_for(values))
        finally:
            adapter.end(child)

    def close(self) -> None:
        """See `Conversation.close`."""
        if self._kept is not None:
            self._adapter.end(self._kept)
            self._kept = None


def _clashes(settings: Settings, given: str, command: Sequence[Template]) -> Iterator[str]:
    """What the keys of a configuration say that cannot be, or does not go together."""
    is_json = settings.output == "json"
    kept = settings.mode == "lines"
    if not command or not settings.command[0].strip():
        yield "adapter.command: must begin with the program to run"
        return
    if any("\0" in word for word in (*settings.command, settings.workdir)):
        yield "adapter.command: holds a NUL character"
    if command[0].names:
        yield "adapter.command[0]: the program itself cannot come out of a question"
    if any("history" in template.names for template in command):
        yield "adapter.command: {history} is a list, and arguments are texts; use adapter.stdin"
    if (given == "json") != (settings.stdin is not None):
        yield 'adapter.stdin: goes with input = "json", and only with it'
    if kept and not (given == "json" and is_json):
        yield 'adapter.mode: "lines" exchanges JSON; it needs adapter.stdin and output = "json"'
    if kept and any(not template.names.isdisjoint(_PER_TURN) for template in command):
        yield 'adapter.command: with mode = "lines" the program is started before the question is there'
    if is_json != (settings.response_pointer is not None):
        yield 'adapter.response_pointer: goes with output = "json", and only with it'
    if not is_json and (settings.citations_pointer or settings.retrieved_pointer):
        yield 'adapter.citations_pointer, adapter.retrieved_pointer: need output = "json"'


def _no_path(word: str) -> str:
    # One machine's folders are no fact about the target.
    return _ABSOLUTE.sub(r"\1", word)


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as fault:
        raise ConfigurationError(f"adapter.command: {path.name} cannot be read: {fault.strerror}") from None
