"""The target files and the fixture service in `examples/` do what their words say."""

import json
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from plumbline.cli.main import main
from plumbline.errors import ExitCode

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
QUESTIONS = ROOT / "datasets" / "tidewater-demo"
FILES = ["tidewater-live", "tidewater-sse", "tidewater-poll", "tidewater-websocket"]
PORT = "127.0.0.1:8911"


@contextmanager
def fixture(*flags):
    command = [sys.executable, str(EXAMPLES / "fixture_target.py"), "--port", "0", *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child.stdout.readline().removeprefix("listening on http://").strip()
        finally:
            child.terminate()


def recorded(folder, name, address, *, flags=(), changed=None):
    """Record by an example's own words, but for the port, which another test may have."""
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    assert PORT in text
    text = text.replace(PORT, address).replace('"../datasets/tidewater-demo"', json.dumps(str(QUESTIONS)))
    for old, new in (changed or {}).items():
        assert old in text
        text = text.replace(old, new)
    folder.mkdir(exist_ok=True)
    config = folder / f"{name}.toml"
    config.write_text(text, encoding="utf-8")
    return main(["record", "--config", str(config), "--synthetic", *flags]), config


def texts(config):
    file = config.parent / "recorded" / config.stem / "responses.jsonl"
    records = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return {record["id"]: record for record in records}


def demonstration():
    lines = (QUESTIONS / "responses.jsonl").read_text(encoding="utf-8").splitlines()
    return {record["id"]: (record["response"], record.get("turn_responses")) for record in map(json.loads, lines)}


def languages():
    lines = (QUESTIONS / "items.jsonl").read_text(encoding="utf-8").splitlines()
    return {item["id"]: item["lang"] for item in map(json.loads, lines)}


@pytest.mark.parametrize("name", FILES)
def test_each_transport_brings_the_same_answers(name, tmp_path):
    with fixture() as address:
        code, config = recorded(tmp_path, name, address)
        assert code == ExitCode.PASS
        assert main(["probe", "--config", str(config)]) == ExitCode.PASS
    found = texts(config)
    said = {key: (record["response"], record.get("turn_responses")) for key, record in found.items()}
    assert said == demonstration()
    assert found["adult-fare.en.plain"]["citations"] == ["src-adult-fare"]
    assert main(["audit", "--config", str(config), "--out", str(tmp_path / "audits")]) == ExitCode.PASS


def test_fabricate_changes_one_number_in_english_alone(tmp_path):
    with fixture("--fabricate") as address:
        code, config = recorded(tmp_path, "tidewater-live", address)
    assert code == ExitCode.PASS
    spoken, told = languages(), demonstration()
    changed = [key for key, record in texts(config).items() if record["response"] != told[key][0]]
    assert changed
    assert {spoken[key] for key in changed} == {"en"}


def test_a_service_that_fails_now_and_then_is_asked_again(tmp_path):
    with fixture("--fail-every", "7") as address:
        code, config = recorded(tmp_path, "tidewater-live", address)
        assert code == ExitCode.PASS
        assert texts(config)["adult-fare.en.plain"]["response"]
        changed = {"retries = 2": "retries = 0"}
        code, config = recorded(tmp_path / "strict", "tidewater-live", address, changed=changed)
        assert code == ExitCode.CONFIGURATION
        assert not (config.parent / "recorded" / config.stem).exists()


def test_a_service_that_limits_says_for_how_long(tmp_path, capsys):
    with fixture("--rate-limit") as address:
        code, _ = recorded(tmp_path, "tidewater-live", address, changed={"retries = 2": "retries = 0"})
    assert code == ExitCode.CONFIGURATION
    assert "429" in capsys.readouterr().err


def test_a_service_that_hangs(tmp_path, capsys):
    changed = {"timeout_seconds = 10": "timeout_seconds = 0.3", "retries = 2": "retries = 0"}
    with fixture("--hang") as address:
        for name in FILES:
            assert recorded(tmp_path, name, address, changed=changed)[0] == ExitCode.CONFIGURATION
            assert "timeout" in capsys.readouterr().err


def test_a_dry_run_shows_the_first_request_of_each(tmp_path, capsys):
    for name in FILES:
        assert recorded(tmp_path, name, "127.0.0.1:9", flags=["--dry-run"])[0] == ExitCode.PASS
        out = capsys.readouterr().out
        assert "How much does the bus cost for one grown-up?" in out
        assert '"language":"en"}' in out
        assert "Host: 127.0.0.1:9" in out
