"""docs/target-file.md names every table and key that a target file may have, and none that it may not."""

import re
import tomllib
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from plumbline.audit.config import BaselineTable, DatasetTable, SuiteTable, TargetFile, TargetTable, load_target
from plumbline.audit.judge_table import TABLES
from plumbline.audit.rules import LanguageTable
from plumbline.record.adapters.registry import ADAPTERS, adapter_module
from plumbline.record.adapters.settings import HistoryKeys
from plumbline.record.authorisation import Authorisation

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/target-file.md").read_text()
SECTIONS = {part.split("\n")[0]: part for part in PAGE.split("\n## ")[1:]}
NAME = re.compile(r"`([a-z_]+)`")


def keys(kind: type[msgspec.Struct]) -> set[str]:
    return {field.encode_name for field in msgspec.structs.fields(kind)}


def test_every_table_is_named():
    rows = set(re.findall(r"^\| `\[([a-z]+)", PAGE, re.MULTILINE))
    assert rows == keys(TargetFile)


@pytest.mark.parametrize(
    ("section", "kind"),
    [
        ("suites", SuiteTable),
        ("authorisation", Authorisation),
    ],
)
def test_a_table_has_exactly_its_keys(section, kind):
    assert set(re.findall(r"^\| `([a-z_]+)`", SECTIONS[section], re.MULTILINE)) == keys(kind)


def test_small_tables_and_the_judge():
    first = SECTIONS["target, dataset, baseline"]
    for name, kind in {"target": TargetTable, "dataset": DatasetTable, "baseline": BaselineTable}.items():
        assert set(re.findall(rf"^\| `{name}\.([a-z_]+)`", first, re.MULTILINE)) == keys(kind)
    judge = SECTIONS["judge"]
    assert set(re.findall(r"`languages\.<tag>\.([a-z]+)`", judge)) == keys(LanguageTable)
    only = judge.split('Only with `kind = "model"`')[1]
    assert set(NAME.findall(only)) == keys(TABLES["model"]) - keys(TABLES["lexical"])
    assert keys(TABLES["lexical"]) == {"languages", "refusal_markers"}


@pytest.mark.parametrize("name", sorted(ADAPTERS))
def test_every_key_of_an_adapter_is_in_a_row_of_its_kind(name):
    rows = {
        row.split("|")[1].strip(): set(NAME.findall(row.split("|")[2]))
        for row in SECTIONS["adapter"].splitlines()
        if row.startswith("| ")
    }
    told = rows["every kind"] | rows[f"`{name}`"]
    if name != "subprocess":
        told |= rows["every kind but `subprocess`"] - keys(HistoryKeys)
        assert keys(HistoryKeys) <= rows["every kind but `subprocess`"]
    assert told - {"kind"} == keys(adapter_module(name).Settings) - {"kind"}


def test_the_examples_are_valid(tmp_path):
    examples = re.findall(r"^```toml\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    whole, judge = examples
    (tmp_path / "target.toml").write_text(whole)
    target = load_target(tmp_path / "target.toml")
    assert target.disabled["privacy"].gap
    rest = '[target]\nname = "t"\n[dataset]\npath = "e"\n[suites.smoke]\n'
    (tmp_path / "judge.toml").write_text(rest + judge)
    assert {"de", "uk"} <= set(load_target(tmp_path / "judge.toml").rules.profiles)
    assert tomllib.loads(whole, parse_float=Decimal)["suites"]["accuracy"]["floor"] == Decimal("0.8")
