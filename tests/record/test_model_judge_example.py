"""Is what the example holds what its commands make?"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from urllib.error import URLError

from plumbline.audit.config import load_target
from plumbline.audit.run import run_audit
from plumbline.record.judging import fill
from tests.models import running

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples/model-judge"
CONFIG = ROOT / "examples/tidewater-model-judge.toml"


def test_the_committed_cache_grades_the_committed_bundle():
    run = run_audit(load_target(CONFIG), seed=1)
    assert (run.verdict, run.judge.kind) == ("PASS", "model")


def test_recording_it_again_gives_the_committed_bytes(tmp_path):
    shutil.copytree(EXAMPLE, tmp_path / "model-judge")
    cache = tmp_path / "model-judge/judgments.json"
    cache.unlink()
    with running(b"") as free:
        port = free.endpoint.split(":")[2].split("/")[0]
    config = tmp_path / "target.toml"
    config.write_text(CONFIG.read_text().replace(":8791/", f":{port}/"))
    child = subprocess.Popen([sys.executable, "-I", str(EXAMPLE / "fixture_model.py"), port])
    try:
        for _ in range(200):
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5).close()
            except URLError as fault:
                if "501" in str(fault):  # it is there, and knows no GET
                    break
                time.sleep(0.05)
        fill(load_target(config), environ={})
    finally:
        child.kill()
        child.wait()
    assert cache.read_bytes() == (EXAMPLE / "judgments.json").read_bytes()
