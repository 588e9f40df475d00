"""The committed proof is the one that the code and the demonstration give, and it could fail."""

from __future__ import annotations

import json
import sys

import pytest

from plumbline.suites.registry import IMPLEMENTED
from tools import defect_matrix as matrix
from tools import planted


@pytest.fixture(scope="module")
def built():
    return matrix.build()


def test_every_row_holds(built):
    outcomes, _ = built
    assert [outcome.case.id for outcome in outcomes if not outcome.held] == []


def test_the_committed_proof_is_the_one_made_now(built):
    _, files = built
    assert {name: (matrix.PROOF / name).read_bytes() for name in files} == files


def test_every_suite_was_seen_to_fail_alone(built):
    outcomes, _ = built
    alone = {outcome.failed[0] for outcome in outcomes if len(outcome.failed) == 1}
    assert alone == set(IMPLEMENTED)


def test_no_coupling_is_hidden_from_reports(built):
    outcomes, _ = built
    assert matrix.undisclosed(outcomes) == []


def test_a_coupling_that_nobody_declared_is_seen():
    case = matrix.Case("x", "x", lambda _evidence: None, ("accessibility", "smoke"))
    assert matrix.undisclosed([matrix.Outcome(case, 1, ["accessibility", "smoke"])]) == ["x"]


@pytest.mark.parametrize(
    ("exit_code", "failed", "held"),
    [
        (1, ["smoke"], True),
        (1, ["accuracy", "smoke"], False),
        (1, [], False),
        (0, ["smoke"], False),
        (4, [], False),
    ],
)
def test_a_row_holds_only_when_exactly_the_expected_happens(exit_code, failed, held):
    case = matrix.Case("x", "x", planted.silence, ("smoke",))
    assert matrix.Outcome(case, exit_code, failed).held == held


def test_there_is_a_row_of_every_kind(built):
    outcomes, _ = built
    kinds = {outcome.case.kind for outcome in outcomes}
    assert kinds == {"defect", "coupled", "tolerated", "unseen", "empty", "integrity"}


def test_a_stale_proof_ends_with_1(built, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(matrix, "build", lambda: built)
    monkeypatch.setattr(matrix, "PROOF", tmp_path)
    monkeypatch.setattr(sys, "argv", ["defect_matrix.py", "--check"])
    assert matrix.main() == 1
    assert "stale: matrix.json, matrix.md" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["defect_matrix.py"])
    assert matrix.main() == 0
    assert json.loads((tmp_path / "matrix.json").read_text())["cases"]
