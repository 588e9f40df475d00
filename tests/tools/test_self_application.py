"""Plumbline asks for reproducible, current evidence; what this repository commits is held to the same."""

from __future__ import annotations

import json
import re
import sys

from plumbline.cli.main import main
from plumbline.errors import ExitCode
from tools import commit_demo_run as run


def test_the_committed_report_is_what_the_documented_command_writes(tmp_path, capsys):
    command = ["gate", "--config", str(run.CONFIG), "--out", str(tmp_path)]
    assert run_gate(command) == ExitCode.PASS, capsys.readouterr().err
    written = {path.relative_to(tmp_path).as_posix(): path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert written == run.committed(), "run `make demo`"


def run_gate(command):
    # The gate installs a guard that stays for the life of a process, so the same audit runs under its other name.
    return main(["audit", *command[1:]])


def test_there_is_exactly_one_audit():
    assert len(list(run.AUDITS.iterdir())) == 1


def test_the_committed_report_passes_all_fifteen_and_verifies():
    (folder,) = run.AUDITS.iterdir()
    assert main(["verify", str(folder)]) == ExitCode.PASS
    report = json.loads((folder / "report.json").read_bytes())
    assert report["verdict"] == "PASS"
    assert len(report["suites"]) == 15
    assert report["scope"]["not_scored"] == []
    assert report["baseline"]["comparable"] is True


def test_no_clock_time_is_in_the_report():
    (folder,) = run.AUDITS.iterdir()
    found = re.findall(r"\d{4}-\d{2}-\d{2}T\d{2}", (folder / "report.json").read_text(encoding="utf-8"))
    assert found == []


def test_a_stale_or_second_report_is_seen(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(run, "AUDITS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["commit_demo_run.py"])
    assert run.main() == 0
    monkeypatch.setattr(sys, "argv", ["commit_demo_run.py", "--check"])
    assert run.main() == 0
    (tmp_path / "0000").mkdir()
    (tmp_path / "0000/report.json").write_text("{}")
    assert run.main() == 1
    assert "stale" in capsys.readouterr().out
