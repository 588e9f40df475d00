"""What the documentation shows, run as it shows it."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.errors import ExitCode
from plumbline.evidence.bundle import load
from plumbline.record.adapters.base import AdapterSettings, NetworkSettings
from plumbline.record.adapters.registry import ADAPTERS
from plumbline.record.adapters.subprocess import Settings
from plumbline.record.template import PLACEHOLDERS
from tests.e2e.test_docs import blocks, matches, steps

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def checkout(tmp_path):
    """A copy of what the examples need, so that nothing is written into the repository."""
    for name in ("examples", "datasets"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("recorded", ".*"))
    return tmp_path


def plumbline(checkout, *words):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environment['PATH']}"
    done = subprocess.run(
        [sys.executable, "-m", "plumbline", *words],
        cwd=checkout,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout, done.stderr


def test_the_page_shows_what_happens(checkout):
    for command, output in steps("".join(blocks("docs/recording.md", "console"))):
        program, *words = shlex.split(command)
        assert program == "plumbline"
        code, out, err = plumbline(checkout, *words)
        assert code == ExitCode.PASS, err
        assert matches(output, out), out


def test_every_key_of_the_table_is_on_the_page():
    page = (ROOT / "docs" / "recording.md").read_text()
    for kind in (AdapterSettings, NetworkSettings, Settings):
        assert [key for key in kind.__struct_fields__ if f"`{key}`" not in page] == []
    assert [name for name in PLACEHOLDERS if f"{{{name}}}" not in page] == []
    assert [kind for kind in ADAPTERS if f"`{kind}`" not in page] == []


def misbehaving(checkout, flag, more=""):
    path = checkout / "examples" / "tidewater-cli.toml"
    text = path.read_text().replace('"fixture_cli_target.py"]', f'"fixture_cli_target.py", "{flag}"]')
    assert flag in text
    path.write_text(text.replace("timeout_seconds = 10", f"timeout_seconds = 10\n{more}"))
    return "record", "--config", "examples/tidewater-cli.toml", "--synthetic"


def test_the_demonstration_is_recorded_and_passes(checkout):
    config = ("--config", "examples/tidewater-cli.toml")
    code, out, _ = plumbline(checkout, "record", *config, "--dry-run")
    assert code == ExitCode.PASS
    assert "How much does the bus cost" in out
    code, _, err = plumbline(checkout, "record", *config, "--synthetic", "--connections", "4")
    assert code == ExitCode.PASS, err
    recorded = load(checkout / "examples" / "recorded" / "tidewater-cli")
    shipped = load(ROOT / "datasets" / "tidewater-demo")
    assert recorded.contents == shipped.contents
    code, out, err = plumbline(checkout, "gate", *config, "--out", "audits")
    assert code == ExitCode.PASS, err
    assert out.splitlines()[-1] == "GATE: PASS"


def test_a_fabricated_fare_is_recorded_as_said_and_caught_by_the_gate(checkout):
    assert plumbline(checkout, *misbehaving(checkout, "--fabricate"))[0] == ExitCode.PASS
    bundle = load(checkout / "examples" / "recorded" / "tidewater-cli")
    assert "$2.75" in bundle.response_text("adult-fare.en.plain")
    assert "$2.75" not in bundle.response_text("adult-fare.es.plain")
    code, out, _ = plumbline(checkout, "gate", "--config", "examples/tidewater-cli.toml", "--out", "audits")
    assert code == ExitCode.FAIL
    assert "adult-fare.en.plain" in out


@pytest.mark.parametrize(
    ("flag", "more", "told"),
    [
        ("--hang", "", "timeout"),
        ("--flood", "", "too_large"),
        ("--fail", "", "exit code 3"),
        ("--silent", "", "empty"),
    ],
)
def test_misbehaviour_is_refused_and_leaves_nothing(checkout, flag, more, told):
    words = misbehaving(checkout, flag, more)
    path = checkout / "examples" / "tidewater-cli.toml"
    path.write_text(path.read_text().replace("timeout_seconds = 10", "timeout_seconds = 1"))
    code, _, err = plumbline(checkout, *words)
    assert code == ExitCode.CONFIGURATION
    assert told in err
    assert not (checkout / "examples" / "recorded" / "tidewater-cli").exists()


def test_the_program_keeps_a_conversation_line_by_line(checkout):
    path = checkout / "examples" / "tidewater-cli.toml"
    text = path.read_text().replace('"fixture_cli_target.py"]', '"fixture_cli_target.py", "--lines"]\nmode = "lines"')
    path.write_text(text)
    code, _, err = plumbline(checkout, "record", "--config", "examples/tidewater-cli.toml", "--synthetic")
    assert code == ExitCode.PASS, err
