"""Which JSON Schemas describe the files that Plumbline reads and writes?

Generated from the same structures that decode the files, so they cannot say anything else.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import msgspec

from plumbline.audit.baseline import Baseline
from plumbline.audit.config import TargetFile
from plumbline.cli.outputs import Result
from plumbline.evidence.labels import Label
from plumbline.evidence.schema import Checksums, Item, Manifest, Response, Source
from plumbline.report.calibration import Calibration
from plumbline.report.document import Report

FOLDER = Path(__file__).resolve().parent.parent / "docs/schemas"
DOCUMENTS: dict[str, tuple[type[msgspec.Struct], str]] = {
    "manifest": (Manifest, "manifest.json of a bundle"),
    "item": (Item, "one line of a bundle's items"),
    "response": (Response, "one line of a bundle's responses"),
    "source": (Source, "one line of a bundle's sources"),
    "checksums": (Checksums, "checksums.json of a bundle"),
    "target": (TargetFile, "a target configuration, as the values of its TOML"),
    "report": (Report, "report.json"),
    "baseline": (Baseline, "a committed baseline"),
    "label": (Label, "one label of a labels file, below its first line"),
    "calibration": (Calibration, "what judge calibrate --out writes"),
    "result": (Result, "what gate --result writes"),
}


def schemas() -> dict[str, str]:
    """File name to content."""
    made = {}
    for name, (structure, title) in DOCUMENTS.items():
        body = msgspec.json.schema(structure)
        document = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": title, **body}
        made[f"{name}.schema.json"] = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    return made


def main() -> int:
    """Write the schemas, or with --check compare them with what is committed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    FOLDER.mkdir(parents=True, exist_ok=True)
    stale = []
    for name, content in schemas().items():
        path = FOLDER / name
        if check and (not path.exists() or path.read_text() != content):
            stale.append(name)
        elif not check:
            path.write_text(content)
    for name in stale:
        print(f"stale: docs/schemas/{name}")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
