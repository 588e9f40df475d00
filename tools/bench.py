"""How fast is Plumbline, in ratios to a floor measured beside it in the same run?

Seconds differ between machines and between minutes; a ratio to work that cannot be avoided does not. Each pair is
measured in turns, and the best of several rounds counts.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from plumbline.evidence.bundle import parse
from plumbline.evidence.seal import digests, read_inventory, render_checksums, seal

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parent.parent
MAIN = ROOT / "src/plumbline/__main__.py"
DEMO = ROOT / "datasets/tidewater-demo"
CONFIG = ROOT / "examples/tidewater.toml"


def best(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The best wall time of each work in seconds, measured in turns."""
    times = [float("inf")] * len(works)
    for _ in range(rounds):
        for index, work in enumerate(works):
            start = time.perf_counter()
            work()
            times[index] = min(times[index], time.perf_counter() - start)
    return times


def start(*arguments: str) -> Callable[[], object]:
    """Running this interpreter with these arguments, isolated."""
    command = [sys.executable, "-I", "-X", "utf8", *arguments]
    return lambda: subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def large_bundle(items: int) -> dict[str, bytes]:
    """A sealed bundle of about 1.5 kB per item, without sources."""
    words = "the monthly fare of a county bus for a rider with a reduced pass is due before the first day of the month"
    lines = [
        json.dumps(
            {
                "id": f"item-{n:06}",
                "lang": "en",
                "behavior": "answer",
                "prompt": f"Question {n}: what does {words}?",
                "expected": f"{words} and costs {n}.50 dollars, {words}.",
                "load_bearing": n % 3 == 0,
            }
        )
        for n in range(items)
    ]
    answers = [
        json.dumps({"id": f"item-{n:06}", "response": f"{words} and it costs {n}.50 dollars [src-{n}], {words}."})
        for n in range(items)
    ]
    content = {
        "manifest.json": json.dumps(
            {
                "format": "plumbline-bundle",
                "format_version": 1,
                "name": "bench",
                "files": {"items": "items.jsonl", "responses": "responses.jsonl"},
            }
        ).encode(),
        "items.jsonl": "\n".join(lines).encode(),
        "responses.jsonl": "\n".join(answers).encode(),
    }
    return {**content, "checksums.json": render_checksums(digests(content))}


def row(what: str, seconds: float, floor_name: str, floor: float) -> None:
    """Print one line of the table."""
    print(f"{what:<38} {seconds:8.3f} s   {floor_name:<42} {floor:8.3f} s   ratio {seconds / floor:6.2f}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--items", type=int, default=10_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as out:
        gate, libraries, bare, validate, version = best(
            arguments.rounds,
            start(str(MAIN), "gate", "--config", str(CONFIG), "--out", out),
            start("-c", "import argparse, msgspec, numpy, rfc8785, tomllib, fractions, dataclasses"),
            start("-c", "pass"),
            start(str(MAIN), "validate", str(DEMO)),
            start(str(MAIN), "--version"),
        )
        row("gate on the demonstration", gate, "an interpreter that imports the same", libraries)
        row("validate on the demonstration", validate, "an interpreter that does nothing", bare)
        row("--version", version, "an interpreter that does nothing", bare)

        content = large_bundle(arguments.items)
        folder = Path(out) / "bench"
        folder.mkdir()
        for name, data in content.items():
            (folder / name).write_bytes(data)
        size = sum(map(len, content.values())) / 1e6

        def hash_again() -> None:
            for path in folder.iterdir():
                hashlib.sha256(path.read_bytes()).digest()

        def decode_again() -> None:
            hash_again()
            for name in ("items.jsonl", "responses.jsonl"):
                for line in (folder / name).read_bytes().split(b"\n"):
                    json.loads(line)

        load, sealing, hashing, decoding = best(
            arguments.rounds,
            lambda: parse(read_inventory(folder)),
            lambda: seal(folder),
            hash_again,
            decode_again,
        )
        what = f"{arguments.items} items, {size:.1f} MB"
        row(f"sealing {what}", sealing, "reading and hashing the same bytes", hashing)
        row(f"loading {what}", load, "reading and hashing the same bytes", hashing)
        row(f"loading {what}", load, "the same and one plain JSON decode", decoding)


if __name__ == "__main__":
    main()
