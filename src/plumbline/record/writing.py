"""What does a recording leave on disk?

The files of the question set, byte for byte; the answers, in order of the items; a manifest whose `recording` says what
was asked, of whom, when and under whose permission; and a seal. The answers of one shard are sealed, too, but its
manifest does not offer them for grading: a part of a recording is not evidence of the whole.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plumbline.audit.provenance import harness_source_sha256, harness_version
from plumbline.errors import ConfigurationError
from plumbline.evidence.schema import Manifest, decode
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, bundle_sha256, render_checksums
from plumbline.record.journal import Entry, Header
from plumbline.record.questions import RESPONSES, QuestionSet
from plumbline.record.secret import Secrets

_CHUNK = 1 << 20


class Tally:
    """What the entries of a recording add up to."""

    def __init__(self) -> None:
        self.records = 0
        self.empty: list[dict[str, Any]] = []
        self.replaced: list[str] = []
        self._calls = 0
        self._waited_ms = 0
        self._retries: dict[str, int] = {}

    def add(self, passes: Sequence[Entry]) -> None:
        """Count all passes of one item."""
        self.records += 1
        if any(entry.replaced for entry in passes):
            self.replaced.append(passes[0].id)
        for entry in passes:
            self._calls += entry.calls
            self._waited_ms += entry.waited_ms
            for fault, count in entry.retries.items():
                self._retries[fault] = self._retries.get(fault, 0) + count
            self.empty.extend(_empties(entry, several=len(passes) > 1))

    def attempts(self) -> dict[str, Any]:
        """`recording.attempts`."""
        return {
            "calls": self._calls,
            "retries": dict(sorted(self._retries.items())),
            "retry_after_seconds": self._waited_ms / 1000,
        }


def _empties(entry: Entry, *, several: bool) -> Iterable[dict[str, Any]]:
    answers = entry.turn_responses if entry.turn_responses is not None else [entry.response]
    for turn, answer in enumerate(answers, start=1):
        if answer is not None and answer.strip():
            continue
        if entry.fault is None or turn < entry.fault.turn:
            fault = "empty"
        else:
            fault = entry.fault.fault if turn == entry.fault.turn else "not_asked"
        yield {
            "id": entry.id,
            "fault": fault,
            **({"turn": turn} if len(answers) > 1 else {}),
            **({"pass": entry.number} if several else {}),
        }


def response_line(passes: Sequence[Entry]) -> bytes:
    """One line of `responses.jsonl`: the first pass, with the texts of all where there were several.

    `response` is the last entry of `turn_responses`, where an item has turns: suites that read one answer grade what
    stands at the end of the conversation.
    """
    first = passes[0]
    record: dict[str, Any] = {"id": first.id, "response": first.response}
    if first.turn_responses is not None:
        record["turn_responses"] = first.turn_responses
    if len(passes) > 1:
        record["passes"] = [entry.response for entry in passes]
    if first.citations is not None:
        record["citations"] = first.citations
    if first.retrieved is not None:
        record["retrieved"] = [
            {key: value for key, value in (("id", passage.id), ("text", passage.text)) if value is not None}
            for passage in first.retrieved
        ]
    return (json.dumps(record, ensure_ascii=False) + "\n").encode()


def recording_block(
    header: Header,
    questions: QuestionSet,
    tally: Tally,
    *,
    recorded_at: str,
    adapter: Mapping[str, Any],
    bounds: Mapping[str, Any],
) -> dict[str, Any]:
    """`recording` of the manifest (specification, "What recording writes").

    Args:
        header: which recording.
        questions: what was asked.
        tally: what came of it.
        recorded_at: when the last answer was in; UTC, to the second.
        adapter: the adapter's description of itself.
        bounds: the bounds that every transport has.
    """
    block: dict[str, Any] = {
        "mode": "live",
        "recorded_at": recorded_at,
        "started_at": header.started_at,
        "harness_version": harness_version(),
        "harness_source_sha256": harness_source_sha256(),
        "target": header.target,
        "adapter": dict(adapter),
        "request_sha256": header.request_sha256,
        "bounds": dict(bounds),
        "questions": {
            "name": questions.name,
            "version": questions.manifest.version,
            "sha256": questions.sha256,
            "items": len(questions.items),
        },
        "passes": header.passes,
        "responses_recorded": tally.records,
        "responses_recorded_empty": tally.empty,
        "attempts": tally.attempts(),
    }
    if tally.replaced:
        block["surrogates_replaced"] = tally.replaced
    if header.shard is not None:
        index, of = header.shard.split("/")
        block["shard"] = {"index": int(index), "of": int(of), "responses": RESPONSES}
    if header.authorisation is not None:
        block["authorisation"] = header.authorisation
    if header.note is not None:
        block["note"] = header.note
    return block


def manifest_bytes(questions: QuestionSet, recording: Mapping[str, Any], *, synthetic: bool, whole: bool) -> bytes:
    """The new manifest.

    Args:
        questions: whose name, version and description it keeps.
        recording: its `recording` block.
        synthetic: what the person who recorded says of the target.
        whole: whether the answers are those of every item, and may be graded.

    Raises:
        BundleError: it would not be a manifest.
    """
    old = questions.manifest
    files = {role: name for role, name in old.files.declared().items() if role != "responses"}
    document = {
        "format": old.format,
        "format_version": old.format_version,
        "name": questions.name,
        **({"version": old.version} if old.version is not None else {}),
        "synthetic": synthetic,
        **({"description": old.description} if old.description is not None else {}),
        "files": {"items": files.pop("items"), **({"responses": RESPONSES} if whole else {}), **files},
        "recording": recording,
    }
    data = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    decode(data, Manifest, file=MANIFEST)
    return data


def write_bundle(
    folder: Path, carried: Mapping[str, bytes], answers: Iterable[bytes], manifest: Callable[[], bytes]
) -> str:
    """Write and seal a bundle into an empty folder.

    Args:
        folder: the place.
        carried: files of the question set.
        answers: lines of `responses.jsonl`, in order; read one at a time.
        manifest: its bytes; asked for once the answers are through, so that it can say what they added up to.

    Returns:
        The dataset hash.
    """
    sums: dict[str, str] = {}
    with (folder / RESPONSES).open("wb") as file:
        digest = hashlib.sha256()
        for line in answers:
            file.write(line)
            digest.update(line)
        sums[RESPONSES] = digest.hexdigest()
    for name, data in {**carried, MANIFEST: manifest()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        sums[name] = hashlib.sha256(data).hexdigest()
    (folder / CHECKSUMS).write_bytes(render_checksums(sums))
    return bundle_sha256(sums)


def refuse_secrets(secrets: Secrets, texts: Iterable[bytes]) -> None:
    """Nothing that a recording says of itself may hold a secret.

    Raises:
        ConfigurationError: something does.
    """
    for data in texts:
        if (name := secrets.found_in(data.decode(errors="replace"))) is not None:
            raise ConfigurationError(
                f"the manifest, or the journal, would hold the value of {name}, which is a secret",
                remedy=f'Name the variable instead, {{ env = "{name}" }}, and see to it that no other key repeats it.',
            )
