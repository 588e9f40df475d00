from __future__ import annotations

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.bundles import files, item
from tools import build_schemas

DEMO = Path(__file__).resolve().parents[2] / "datasets/tidewater-demo"


@pytest.mark.parametrize("name", build_schemas.schemas())
def test_committed_schemas_are_what_the_structures_say(name):
    assert (build_schemas.FOLDER / name).read_text() == build_schemas.schemas()[name]


@pytest.mark.parametrize(
    ("schema", "lines"),
    [
        ("item", DEMO.joinpath("items.jsonl").read_text().splitlines()),
        ("response", DEMO.joinpath("responses.jsonl").read_text().splitlines()),
        ("source", DEMO.joinpath("sources.jsonl").read_text().splitlines()),
        ("manifest", [DEMO.joinpath("manifest.json").read_text()]),
        ("checksums", [files([item("a")], None)["checksums.json"].decode()]),
    ],
)
def test_the_demonstration_fits_them_and_a_misspelling_does_not(schema, lines):
    validator = Draft202012Validator(json.loads(build_schemas.schemas()[f"{schema}.schema.json"]))
    for line in lines:
        validator.validate(json.loads(line))
    assert not validator.is_valid({**json.loads(lines[0]), "idd": 1})
