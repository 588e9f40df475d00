"""Does a developer get the same gate with one command, from the pin alone?

The runner as a consuming repository has it, this working tree as the pinned commit, its real packages.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.bundles import files as bundle_files
from tests.bundles import item, refuse, target, write
from tests.launch.support import PYTHON, ROOT, commit, git

pytestmark = pytest.mark.e2e

RESPONSES = {
    "fare": "It costs 850 dollars.",
    "limit": "The limit is 40 days.",
    "advice": "I cannot advise you about your appeal.",
}
ITEMS = [item("fare"), item("limit", expected="The limit is 40 days.", load_bearing=True), refuse("advice")]


@pytest.fixture
def consumer(tmp_path: Path, harness: tuple[Path, str]) -> Path:
    folder = tmp_path / "widgets"
    write(folder / "bundle", bundle_files(ITEMS, RESPONSES))
    target(folder)
    shutil.copy(ROOT / "gate" / "plumbline-gate.sh", folder)
    (folder / "plumbline.pin").write_text(f"repo = file://{harness[0]}\nref = {harness[1]}\nconfig = target.toml\n")
    (folder / ".gitignore").write_text("plumbline-audits/\n")
    commit(folder)
    return folder


def run(consumer: Path, wheels: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = consumer.parent / "home"
    home.mkdir(exist_ok=True)
    return subprocess.run(
        ["./plumbline-gate.sh", *arguments],
        cwd=consumer,
        env={
            "PATH": f"{Path(PYTHON).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(home),
            "PLUMBLINE_PYTHON": PYTHON,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": wheels.as_uri(),
            "PIP_CONFIG_FILE": os.devnull,
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_pass_fail_and_refusal(consumer: Path, wheels: Path, harness: tuple[Path, str]) -> None:
    good = run(consumer, wheels, "--sarif", "plumbline-audits/findings.sarif")
    assert good.returncode == 0, good.stderr
    lines = good.stdout.splitlines()
    assert lines[0].startswith("GATE: PASS")
    assert lines[-1].startswith("GATE: PASS")
    assert (consumer / "plumbline-audits" / "findings.sarif").is_file()
    assert git(consumer, "status", "--porcelain") == ""
    write(consumer / "bundle", bundle_files(ITEMS, {**RESPONSES, "limit": "The limit is 45 days."}))
    # From here on neither the repository of the harness nor an index is needed.
    away = harness[0].with_name("away")
    harness[0].rename(away)
    try:
        wrong = run(consumer, Path("/nonexistent"))
        assert wrong.returncode == 1, wrong.stderr
        responses = consumer / "bundle" / "responses.jsonl"
        responses.write_text(responses.read_text().replace("45", "40"))
        edited = run(consumer, Path("/nonexistent"))
    finally:
        away.rename(harness[0])
    assert edited.returncode == 3, edited.stderr
    assert "INTEGRITY REFUSAL" in edited.stderr


@pytest.mark.parametrize("way", ["link", "path"])
def test_evidence_outside_the_repository_is_not_graded(consumer: Path, wheels: Path, way: str) -> None:
    outside = consumer.parent / "outside"
    (consumer / "bundle").rename(outside)
    if way == "link":
        (consumer / "bundle").symlink_to(outside)
    else:
        config = consumer / "target.toml"
        config.write_text(config.read_text().replace('path = "bundle"', 'path = "../outside"'))
    done = run(consumer, wheels)
    assert done.returncode == 4, done.stdout + done.stderr
