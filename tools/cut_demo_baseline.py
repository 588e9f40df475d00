"""Which bar does the demonstration hold?

Cuts `baselines/tidewater.json` anew from the demonstration as it is. A change of the data, of the judge or of any line
of the harness makes the committed bar stale, and a test says so.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import msgspec

from plumbline.audit.config import load_target
from plumbline.audit.provenance import DEFAULT_SEED
from plumbline.audit.run import run_audit
from plumbline.report.build import build
from plumbline.report.document import baseline_of

ROOT = Path(__file__).resolve().parent.parent
BASELINE = ROOT / "baselines/tidewater.json"
CONFIG = ROOT / "examples/tidewater.toml"


def cut() -> bytes:
    """The bytes of the baseline that the demonstration sets by itself, without an older bar."""
    target = replace(load_target(CONFIG), baseline=None)
    baseline = baseline_of(build(run_audit(target, seed=DEFAULT_SEED)))
    return msgspec.json.format(msgspec.json.encode(baseline), indent=2) + b"\n"


def main() -> int:
    """Write the baseline, or with --check compare it with what is committed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    if parser.parse_args().check:
        if BASELINE.read_bytes() == cut():
            return 0
        print("stale: baselines/tidewater.json (make demo)")
        return 1
    BASELINE.write_bytes(cut())
    return 0


if __name__ == "__main__":
    sys.exit(main())
