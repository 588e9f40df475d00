"""Which browser and which axe-core do the tests use?"""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Chromium cannot confine pages as root, which is who runs the tests in a container.
UNCONFINED = ("--no-sandbox",) if os.geteuid() == 0 else ()


def axe() -> Path:
    """The script of the pinned axe-core."""
    tools = Path(os.environ.get("PLUMBLINE_TEST_TOOLS") or ROOT / ".tools")
    script = tools / "node_modules/axe-core/axe.min.js"
    # A test that is skipped without its tool is a test that nobody runs.
    assert script.is_file(), f"{script} is missing: run tools/install_test_tools.py"
    return script
