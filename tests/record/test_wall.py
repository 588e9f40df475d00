"""The gate reaches nothing of recording: proved in an interpreter of its own, by what it imported and what it did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.errors import ExitCode
from tests.bundles import files, item, target, write

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import json, sys
sys.path.insert(0, {src!r})
events = []
watched = ("socket.", "subprocess.", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "os.system")
sys.addaudithook(lambda event, _args: events.append(event) if event.startswith(watched) else None)
from plumbline.cli.main import main
code = main({words!r})
forbidden = ("plumbline.record", "plumbline.capture", "plumbline.importers", "requests", "urllib3", "socket", "ssl",
             "subprocess", "http.client", "websocket", "rich", "multiprocessing", "asyncio")
loaded = [name for name in sys.modules if any(name == x or name.startswith(x + ".") for x in forbidden)]
if {guarded!r}:
    from plumbline.guard import GuardError
    try:
        import socket
        socket.socket()
        refused = False
    except GuardError:
        refused = True
    events = [event for event in events if not event.startswith("socket.")]
else:
    refused = None
print(json.dumps({{"code": code, "loaded": loaded, "events": events, "refused": refused}}), file=sys.__stderr__)
"""

ADAPTER = """
[adapter]
kind = "subprocess"
questions = "bundle"
command = ["touch", "was-run", "{prompt}"]
output = "text"
[authorisation]
authorised_by = "the owner"
authorised_on = 2026-01-01
environment = "production"
scope = "all of it"
"""


def in_a_child(place, *words, guarded):
    code = CHILD.format(src=str(ROOT / "src"), words=list(map(str, words)), guarded=guarded)
    # Coverage, which measures children too, would load half of what is looked for.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return json.loads(done.stderr.splitlines()[-1]), done.stdout


@pytest.fixture
def place(tmp_path):
    answers = {"a": "It costs 850 dollars."}
    recording = {"recorded_at": "2026-01-01T00:00:00+00:00", "mode": "live"}
    write(tmp_path / "bundle", files([item("a")], answers, manifest={"recording": recording}))
    target(tmp_path, suites="[suites.smoke]\n[suites.accuracy]\n", more=ADAPTER)
    return tmp_path


def test_a_full_gate_with_every_output(place):
    found, out = in_a_child(
        place,
        *("gate", "--config", "target.toml", "--out", "audits", "--summary-file", "summary.md"),
        *("--result", "result.json", "--sarif", "findings.sarif"),
        guarded=True,
    )
    assert found == {"code": ExitCode.PASS, "loaded": [], "events": [], "refused": True}
    assert out.splitlines()[-1] == "GATE: PASS"
    assert not (place / "was-run").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("audit", "--config", "target.toml", "--out", "audits"),
        ("validate", "bundle"),
        ("seal", "bundle"),
    ],
)
def test_the_other_commands_that_grade(place, words):
    found, _ = in_a_child(place, *words, guarded=False)
    assert found == {"code": ExitCode.PASS, "loaded": [], "events": [], "refused": None}


def test_the_check_can_fail(place):
    # The same child, told to record, does load what is forbidden and does start a process.
    found, _ = in_a_child(
        place,
        *("record", "--config", "target.toml", "--out", "new", "--i-have-permission-to-test-production"),
        guarded=False,
    )
    assert "plumbline.record.run" in found["loaded"]
    assert "subprocess.Popen" in found["events"]
    assert not any(event.startswith("socket.") for event in found["events"])
