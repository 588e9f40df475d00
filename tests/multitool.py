"""Where is the SARIF validator, and what does it say of a file?"""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

PACKAGE = Path("node_modules/@microsoft/sarif-multitool-linux")
ROOT = Path(__file__).resolve().parent.parent


def package() -> Path:
    """The folder of the pinned validator, which also holds the JSON Schema of SARIF 2.1.0."""
    tools = Path(os.environ.get("PLUMBLINE_TEST_TOOLS") or ROOT / ".tools")
    folder = tools / PACKAGE
    # A test that is skipped without its tool is a test that nobody runs.
    assert folder.is_dir(), f"{folder} is missing: run tools/install_test_tools.py"
    return folder


def schema() -> dict[str, Any]:
    """The JSON Schema of SARIF 2.1.0."""
    document: dict[str, Any] = json.loads((package() / "sarif-2.1.0.json").read_bytes())
    return document


def complaints(file: Path) -> list[tuple[str, str]]:
    """(rule, level) of all that the validator finds, GitHub's rules among them.

    Its exit code is 0 even for errors, so the log that it writes is read.
    """
    binary, log = package() / "Sarif.Multitool", file.with_suffix(".validation.sarif")
    binary.chmod(0o755)
    command = [str(binary), "validate", str(file), "--rule-kind", "Sarif;Ghas", "--level", "Error;Warning;Note"]
    options = ["--kind", "Fail;Review;Open", "--max-file-size-in-kb", "200000", "--output", str(log)]
    done = subprocess.run(
        [*command, *options, "--log", "ForceOverwrite"], capture_output=True, text=True, check=False, timeout=120
    )
    assert log.is_file(), done.stdout + done.stderr
    run = json.loads(log.read_bytes())["runs"][0]
    # It always has some advice for us, so a log without a result shows that the file was not read.
    assert run.get("results"), done.stdout + done.stderr
    notices = [notice for invocation in run["invocations"] for notice in _notices(invocation)]
    assert not notices, notices
    return [(found["ruleId"], found.get("level", "warning")) for found in run["results"]]


def _notices(invocation: dict[str, Any]) -> list[dict[str, Any]]:
    found = [*invocation.get("toolExecutionNotifications", []), *invocation.get("toolConfigurationNotifications", [])]
    return [notice for notice in found if notice.get("level", "warning") in {"error", "warning"}]
