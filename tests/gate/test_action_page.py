"""The page about the action says what action.yml says."""

from __future__ import annotations

import re
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
ACTION = YAML(typ="safe").load(ROOT / "action.yml")
PAGE = (ROOT / "docs/action.md").read_text()


def named(section):
    """The names in the first column of a section's table."""
    rows = re.findall(r"^\| (.+?) \|", PAGE.split(f"## {section}\n")[1].split("\n## ")[0], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)}


def test_every_input_and_output_is_described_and_no_other():
    assert named("Inputs") == set(ACTION["inputs"])
    assert named("Outputs") == set(ACTION["outputs"])


def test_defaults_are_those_of_the_file():
    for name, declared in ACTION["inputs"].items():
        row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
        default = declared["default"]
        if default and "${{" not in default:
            assert f"| `{default}` |" in row, name
