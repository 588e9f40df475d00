"""Does the validator that GitHub's documentation names accept what we write?"""

import json
from pathlib import Path

import pytest

from plumbline.report.sarif import refusal_sarif, sarif
from tests.multitool import complaints
from tests.report.reports import EVERY, many, one_wrong_number

pytestmark = pytest.mark.e2e


def serious(file: Path) -> list[tuple[str, str]]:
    return [found for found in complaints(file) if found[1] in {"error", "warning"}]


@pytest.mark.parametrize("name", EVERY)
def test_no_error_and_no_warning(name, tmp_path):
    file = tmp_path / "out.sarif"
    file.write_bytes(sarif(EVERY[name](), root="datasets/a b/ñ"))
    assert serious(file) == []


def test_no_error_and_no_warning_where_findings_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr("plumbline.report.sarif.MAX_RESULTS", 100)
    file = tmp_path / "many.sarif"
    file.write_bytes(sarif(many(300), root="."))
    assert serious(file) == []


@pytest.mark.parametrize("exit_code", [3, 4, 5])
def test_a_refusal_is_valid_too(exit_code, tmp_path):
    file = tmp_path / "refusal.sarif"
    file.write_bytes(refusal_sarif("REFUSAL", "a {0} [b](1)", exit_code=exit_code, file="bundle/checksums.json"))
    assert serious(file) == []


def test_the_validator_would_complain(tmp_path):
    log = json.loads(sarif(one_wrong_number(), root="bundle"))
    log["runs"][0]["results"][0]["locations"] = []
    file = tmp_path / "bad.sarif"
    file.write_text(json.dumps(log), "utf-8")
    assert ("GH1015", "error") in serious(file)
