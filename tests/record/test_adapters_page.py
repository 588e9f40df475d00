"""docs/adapters.md names every key there is, and its examples are configurations."""

import re
import tomllib
from pathlib import Path
from typing import get_args

import pytest

from plumbline.record.adapters.base import AdapterSettings, Fault
from plumbline.record.adapters.registry import ADAPTERS, adapter_module
from plumbline.record.config import read_settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "adapters.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
NETWORK = sorted(set(ADAPTERS) - {"subprocess"})


@pytest.mark.parametrize("kind", NETWORK)
def test_every_key_is_described(kind):
    shared = set(AdapterSettings.__struct_fields__)
    for key in set(adapter_module(kind).Settings.__struct_fields__) - shared:
        assert f"`{key}`" in PAGE, key


def test_every_kind_and_every_fault_is_described():
    for word in (*ADAPTERS, *get_args(Fault)):
        assert word == "exited" or f"`{word}`" in PAGE, word


def test_the_examples_are_configurations(tmp_path):
    environ = {"ASSISTANT_TOKEN": "a-token-for-this-test"}
    kinds = []
    for text in EXAMPLES:
        table = tomllib.loads(text)["adapter"]
        module = adapter_module(table["kind"])
        adapter = module.create(read_settings(module.Settings, table), folder=tmp_path, environ=environ)
        assert adapter.kind == table["kind"]
        kinds.append(adapter.kind)
    assert sorted(kinds) == NETWORK
