"""What did people say of the answers, and are these the labels they gave?

JSON Lines, one label a line, under a first line that seals the rest and names the evidence: a label is about one
recorded answer, so labels of one bundle say nothing about another recording of the same questions.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import msgspec

from plumbline.canonical import sha256_hex
from plumbline.errors import ConfigurationError, IntegrityError
from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Record, decode

FORMAT = "plumbline-labels"
FORMAT_VERSION = 1
_SEAL = "Seal the labels: plumbline judge seal-labels --labels <file> --config <target>"


class Label(Record, frozen=True):
    """What somebody said of the answer to one item."""

    id: str
    label: Literal["pass", "fail"]
    labeller: str | None = None
    """Who, as a code; no name is needed."""
    split: str | None = None
    """Which part of the labels it is in, where a judge's prompt was tuned on another part."""


class _Seal(Record, frozen=True):
    format: str
    format_version: int
    dataset_sha256: str
    labels_sha256: str


@dataclass(frozen=True, slots=True)
class Labels:
    """Sealed labels of one bundle."""

    sha256: str
    by_item: Mapping[str, Label]


def seal_labels(data: bytes, bundle: Bundle, *, file: str) -> bytes:
    """The labels under a seal that binds them to a bundle. Sealed ones are checked and sealed again.

    Raises:
        ConfigurationError: a line is no label of this bundle, or the labels were sealed for other evidence.
    """
    body = data
    if _is_sealed(data):
        body = _body(data)
        seal = decode(_first(data), _Seal, file=file, line=1, error=ConfigurationError)
        if seal.dataset_sha256 != bundle.sha256:
            raise _other_evidence(file, seal, bundle)
    body = body if not body or body.endswith(b"\n") else body + b"\n"
    _parse(body, bundle, file, first=1 if body is data else 2)
    seal = _Seal(
        format=FORMAT, format_version=FORMAT_VERSION, dataset_sha256=bundle.sha256, labels_sha256=sha256_hex(body)
    )
    return msgspec.json.encode(seal) + b"\n" + body


def read_labels(data: bytes, bundle: Bundle, *, file: str) -> Labels:
    """Check the seal and read the labels.

    Raises:
        IntegrityError: they are not the ones that were sealed.
        ConfigurationError: there is no seal, it names other evidence, or a line is no label of this bundle.
    """
    if not _is_sealed(data):
        raise ConfigurationError(f"{file}: the labels are not sealed", remedy=_SEAL)
    seal = decode(_first(data), _Seal, file=file, line=1, error=ConfigurationError)
    if (seal.format, seal.format_version) != (FORMAT, FORMAT_VERSION):
        raise ConfigurationError(
            f"{file}:1: {seal.format!r} version {seal.format_version} is not {FORMAT!r} version {FORMAT_VERSION}"
        )
    if sha256_hex(_body(data)) != seal.labels_sha256:
        raise IntegrityError(f"{file}: the labels are not the ones that were sealed", remedy=_SEAL)
    if seal.dataset_sha256 != bundle.sha256:
        raise _other_evidence(file, seal, bundle)
    return Labels(seal.labels_sha256, _parse(_body(data), bundle, file, first=2))


def _first(data: bytes) -> bytes:
    return data.split(b"\n", 1)[0]


def _body(data: bytes) -> bytes:
    return data.partition(b"\n")[2]


def _is_sealed(data: bytes) -> bool:
    return b'"format"' in _first(data)


def _other_evidence(file: str, seal: _Seal, bundle: Bundle) -> ConfigurationError:
    return ConfigurationError(
        f"{file}:1: the labels are about the dataset {seal.dataset_sha256[:12]}, not {bundle.dataset_id}",
        remedy="Label the answers of this bundle. Where every labelled answer is the same, remove the first line and "
        "seal the labels anew.",
    )


def _parse(body: bytes, bundle: Bundle, file: str, *, first: int) -> dict[str, Label]:
    answers = {item.id for item in bundle.items if item.behavior == "answer" and item.expected is not None}
    found: dict[str, Label] = {}
    for number, text in enumerate(body.split(b"\n"), start=first):
        if not text.strip():
            continue
        label = decode(text, Label, file=file, line=number, error=ConfigurationError)
        if label.id not in answers:
            raise ConfigurationError(f"{file}:{number}: {label.id!r} is no item with a reference answer in this bundle")
        if label.id in found:
            raise ConfigurationError(
                f"{file}:{number}: the item {label.id!r} is labelled twice",
                remedy="Where people differ, settle it and keep the label they settled on.",
            )
        found[label.id] = label
    if not found:
        raise ConfigurationError(f"{file}: there is no label")
    return found
