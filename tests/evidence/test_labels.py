from __future__ import annotations

import json

import pytest

from plumbline.errors import ConfigurationError, ExitCode, IntegrityError
from plumbline.evidence.labels import Label, read_labels, seal_labels
from tests.bundles import bundle, item, refuse

BUNDLE = bundle([item("a"), item("b"), refuse("r")], {"a": "x", "b": "y", "r": "z"})
OTHER = bundle([item("a"), item("b"), refuse("r")], {"a": "x", "b": "another answer", "r": "z"})
BODY = b'{"id": "a", "label": "pass", "labeller": "p1", "split": "dev"}\n\n{"id": "b", "label": "fail"}\n'


def seal(data=BODY, about=BUNDLE):
    return seal_labels(data, about, file="labels.jsonl")


def read(data, about=BUNDLE):
    return read_labels(data, about, file="labels.jsonl")


def test_what_is_sealed_is_read():
    found = read(seal())
    assert found.by_item == {
        "a": Label(id="a", label="pass", labeller="p1", split="dev"),
        "b": Label(id="b", label="fail"),
    }
    assert json.loads(seal().split(b"\n")[0])["labels_sha256"] == found.sha256


def test_sealing_again_changes_nothing():
    assert seal(seal()) == seal()
    assert seal(BODY.rstrip(b"\n")) == seal()


def test_labels_of_other_answers():
    with pytest.raises(ConfigurationError, match="labels are about the dataset"):
        read(seal(), OTHER)
    with pytest.raises(ConfigurationError, match="labels are about the dataset"):
        seal(seal(), OTHER)


@pytest.mark.parametrize(
    "change",
    [(b'"pass"', b'"fail"'), (b'"dev"', b'"test"'), (b'"b"', b'"a"'), (b"\n\n", b"\n"), (b'"fail"}\n', b'"fail"}')],
)
def test_changed_labels(change):
    with pytest.raises(IntegrityError) as caught:
        read(seal().replace(*change))
    assert caught.value.exit_code == ExitCode.INTEGRITY


@pytest.mark.parametrize(
    ("data", "fact"),
    [
        (b"", "there is no label"),
        (b'{"id": "a"}\n', "labels.jsonl:1: the key 'label' is missing"),
        (b'{"id": "a", "label": "good"}\n', "labels.jsonl:1: "),
        (b'{"id": "a", "label": true}\n', "labels.jsonl:1: "),
        (b'{"id": "a", "label": "pass", "note": "x"}\n', "unknown key 'note'"),
        (b'\n{"id": "x", "label": "pass"}\n', "labels.jsonl:2: 'x' is no item"),
        (b'{"id": "r", "label": "pass"}\n', "labels.jsonl:1: 'r' is no item"),
        (BODY + b'{"id": "a", "label": "fail"}\n', "labels.jsonl:4: the item 'a' is labelled twice"),
        (b"[1]\n", "labels.jsonl:1: Expected `object`"),
        (b"nonsense\n", "labels.jsonl:1: not valid JSON"),
        (b'{"format": "x"}\n' + BODY, "labels.jsonl:1: the key"),
    ],
)
def test_what_cannot_be_sealed(data, fact):
    with pytest.raises(ConfigurationError) as caught:
        seal(data)
    assert fact in caught.value.message


def test_lines_of_sealed_labels_are_counted_from_the_seal():
    with pytest.raises(ConfigurationError, match=r"labels\.jsonl:5: the item 'a' is labelled twice"):
        seal(seal() + b'{"id": "a", "label": "fail"}\n')


@pytest.mark.parametrize(
    "change", [(b"plumbline-labels", b"plumbline-tables"), (b'"format_version":1', b'"format_version":2')]
)
def test_another_format(change):
    with pytest.raises(ConfigurationError, match=r"is not 'plumbline-labels' version 1"):
        read(seal().replace(*change))


def test_labels_without_a_seal():
    with pytest.raises(ConfigurationError, match="not sealed"):
        read(BODY)
