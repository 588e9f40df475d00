"""Which report do the demonstration and this code give?

Writes `audits/<run id>/` anew: the report of the documented command, committed like any verdict. There is exactly one
folder: a second, left over from older code or data, would be another verdict standing beside it.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from plumbline.audit.config import load_target
from plumbline.audit.provenance import DEFAULT_SEED
from plumbline.audit.run import run_audit
from plumbline.report.build import build
from plumbline.report.document import to_json
from plumbline.report.markdown import report_markdown

ROOT = Path(__file__).resolve().parent.parent
AUDITS = ROOT / "audits"
CONFIG = ROOT / "examples/tidewater.toml"


def made() -> dict[str, bytes]:
    """Path below `audits/` to bytes, for every file that belongs there."""
    report = build(run_audit(load_target(CONFIG), seed=DEFAULT_SEED))
    folder = report.provenance.run_id
    return {
        f"{folder}/report.json": to_json(report),
        f"{folder}/report.md": report_markdown(report).encode(),
    }


def committed() -> dict[str, bytes]:
    """The same for what is there."""
    return {path.relative_to(AUDITS).as_posix(): path.read_bytes() for path in AUDITS.rglob("*") if path.is_file()}


def main() -> int:
    """Write the folder, or with --check compare it with what is committed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    files = made()
    if parser.parse_args().check:
        if committed() == files:
            return 0
        print("stale: audits/ (make demo)")
        return 1
    shutil.rmtree(AUDITS, ignore_errors=True)
    for name, content in files.items():
        path = AUDITS / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
