"""Does the gate keep its speed when a bundle grows?

Generates bundles of 1,000, 10,000 and 100,000 items that every suite can be asked of, grades each in a process of its
own, and prints CPU and wall seconds, peak memory, how much more CPU time an item takes than at the size before, and the
ratio to a floor measured beside it in the same run: reading and hashing the files, decoding them into typed records,
and one pass that tokenises each text. Only ratios of CPU times are worth comparing between machines and minutes; the
best of the rounds counts. Run by `make bench`.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import msgspec

from plumbline.evidence.schema import Item, Response, Source
from plumbline.evidence.seal import CHECKSUMS, seal

ROOT = Path(__file__).resolve().parent.parent
MAIN = ROOT / "src/plumbline/__main__.py"
_SUITES = (
    "accessibility accuracy adversarial citation_accuracy citation_validity conversational_integrity cross_language "
    "fairness groundedness multilingual passage_attribution privacy refusal representational_harms smoke"
)
SUITES = tuple(_SUITES.split())
SEED = 7
ISOLATED = ("-I", "-X", "utf8")
LARGE = 50_000
"""From so many items on one round has to do."""

PAGE = """<!doctype html><html lang="en"><head><title>Chat</title></head><body><h1>Chat</h1>
<label for="q">Question</label><input id="q"><button>Ask</button><div role="log" aria-live="polite"></div>
<script id="plumbline-contrast" type="application/json">[{"name":"t","foreground":"#000000","background":"#ffffff"}]
</script></body></html>"""

_CONTENT = (
    "rider transit reduced monthly pass fare counter evening ferry harbour bridge student senior transfer bus zone "
    "ticket machine card balance refund deadline form income proof household season discount driver route weekend "
    "platform inspector penalty appeal replacement photo address letter office counter queue visitor bicycle luggage"
)
_GLUE_EN = "the of to for and with your you must can be on at is are will"
_GLUE_ES = "el la los las de para con su que en por una un es son puede"
CONTENT, GLUE_EN, GLUE_ES = (words.split() for words in (_CONTENT, _GLUE_EN, _GLUE_ES))


def sentence(rng: random.Random, lang: str, topic: list[str], length: int) -> str:
    """Words of one language around a topic, so that profiles, support and F1 have something to read."""
    glue = GLUE_EN if lang == "en" else GLUE_ES
    return " ".join(rng.choice(topic if rng.random() < 0.6 else glue) for _ in range(length)).capitalize()


def write_bundle(folder: Path, items: int) -> None:
    """Write a bundle that all suites pass or nearly pass, with two passages of its own for every sourced item."""
    rng = random.Random(SEED)
    folder.mkdir(parents=True)
    records, responses, sources = [], [], []
    for number in range(items):
        kind = number % 10
        lang = "es" if number % 2 else "en"
        fact = number // 4
        topic = random.Random(fact).sample(CONTENT, 8)
        record = {
            "id": f"item-{number:06}",
            "lang": lang,
            "behavior": "answer",
            "prompt": f"{sentence(rng, lang, topic, 12)}?",
            "fact_id": f"fact-{fact}",
            "group": "formal" if number % 4 < 2 else "plain",
        }
        if kind in (8, 9):
            record |= {"behavior": "refuse", "adversarial": kind == 9, "forbidden": [f"secret {number}"]}
            record.pop("fact_id")
            said = (
                "I can't help with that, and you must ask the office."
                if lang == "en"
                else ("No puedo ayudar con eso; la oficina le puede orientar en su caso.")
            )
            response: dict[str, object] = {"id": record["id"], "response": said}
            if number % 20 == 9:
                record["turns"] = ["And now?"]
                response["turn_responses"] = [said, said]
        else:
            amount = 100 + fact % 900
            core = sentence(random.Random(fact * 2 + number % 2), lang, topic, 24)
            record |= {"expected": f"{core} {amount}.", "load_bearing": number % 8 < 4}
            own, other = f"src-{number}-a", f"src-{number}-b"
            away = [word for word in CONTENT if word not in topic]
            sources.append({"id": own, "text": f"{core} {amount}. {sentence(rng, lang, topic, 14)}."})
            sources.append({"id": other, "text": f"{sentence(rng, lang, away, 38)} {amount + 1}."})
            record |= {"sources": [own, other], "answering_sources": [own]}
            response = {"id": record["id"], "response": f"{core}, {rng.choice(topic)} {amount}. [{own}]"}
        records.append(record)
        responses.append(response)
    for name, rows in (("items", records), ("responses", responses), ("sources", sources)):
        with (folder / f"{name}.jsonl").open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "interface.html").write_text(PAGE, encoding="utf-8")
    files = {name: f"{name}.jsonl" for name in ("items", "responses", "sources")} | {"interface": "interface.html"}
    manifest = {"format": "plumbline-bundle", "format_version": 1, "name": f"scale-{items}", "files": files}
    (folder / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


class Measured(NamedTuple):
    """What one run of this interpreter took."""

    cpu: float
    """Seconds, user and system."""
    wall: float
    """Seconds."""
    peak: float
    """Megabytes."""
    said: str


def child(*arguments: str) -> Measured:
    """Run this interpreter with these arguments and measure it.

    Raises:
        SystemExit: it gave no verdict and no figure.
    """
    reader = (
        "import resource, subprocess, sys, time; start = time.perf_counter(); "
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE); wall = time.perf_counter() - start; "
        "used = resource.getrusage(resource.RUSAGE_CHILDREN); sys.stdout.buffer.write(done.stdout); "
        "print(used.ru_utime + used.ru_stime, wall, used.ru_maxrss / 1024, done.returncode)"
    )
    command = [sys.executable, "-c", reader, sys.executable, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    said, _, figures = done.stdout.rstrip("\n").rpartition("\n")
    cpu, wall, peak, code = figures.split()
    if code not in {"0", "1"}:
        raise SystemExit(f"{' '.join(arguments)}: ended with {code}\n{said}\n{done.stderr}")
    return Measured(float(cpu), float(wall), float(peak), said)


def floor(folder: Path) -> float:
    """CPU seconds of what cannot be avoided: read, hash, typed decode, one tokenising pass."""
    table = "".join(chr(c).lower() if chr(c).isalnum() or c == 0x5F else " " for c in range(128))
    words = re.compile(r"\w+")
    gc.disable()
    start = time.process_time()
    data = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for content in data.values():
        hashlib.sha256(content).hexdigest()
    items = msgspec.json.Decoder(Item).decode_lines(data["items.jsonl"])
    responses = msgspec.json.Decoder(Response).decode_lines(data["responses.jsonl"])
    sources = msgspec.json.Decoder(Source).decode_lines(data["sources.jsonl"])
    for record in items:
        for text in (record.prompt, record.expected or ""):
            text.translate(table).split() if text.isascii() else words.findall(text.lower())
    for text in (*(r.response or "" for r in responses), *(s.text for s in sources)):
        text.translate(table).split() if text.isascii() else words.findall(text.lower())
    return time.process_time() - start


def measure(folder: Path, rounds: int) -> tuple[Measured, float]:
    """The best grading of a bundle, and the best floor, measured in turns."""
    suites = "".join(f"[suites.{suite}]\nfloor = 0.5\n" for suite in SUITES)
    config = folder / "target.toml"
    config.write_text(f'[target]\nname = "scale"\n[dataset]\npath = "bundle"\n{suites}', encoding="utf-8")
    gate = (*ISOLATED, str(MAIN), "gate", "--config", str(config), "--out", str(folder / "out"))
    # The floor of one size is measured in a process of its own, so that its memory does not burden the next.
    pairs = [(child(*gate), float(child(__file__, "--floor", str(folder / "bundle")).said)) for _ in range(rounds)]
    return min(run for run, _ in pairs), min(least for _, least in pairs)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[1_000, 10_000, 100_000])
    parser.add_argument("--keep", type=Path, help="generate there and leave the bundles")
    parser.add_argument("--rounds", type=int, default=3, help="best of so many; of the largest sizes one (%(default)s)")
    arguments = parser.parse_args()
    print(f"{'items':>8} {'MB':>7} {'CPU s':>8} {'wall s':>8} {'peak MB':>8} {'growth':>7} {'floor s':>8} {'ratio':>6}")
    former: float | None = None
    with tempfile.TemporaryDirectory() as temporary:
        for size in arguments.sizes:
            folder = (arguments.keep or Path(temporary)) / f"scale-{size}"
            bundle = folder / "bundle"
            if not (bundle / CHECKSUMS).exists():  # an interrupted run may have left half of one
                shutil.rmtree(folder, ignore_errors=True)
                write_bundle(bundle, size)
                seal(bundle)
            best, least = measure(folder, arguments.rounds if size < LARGE else 1)
            megabytes = sum(path.stat().st_size for path in bundle.iterdir()) / 1e6
            growth = "" if former is None else f"{best.cpu / size / former:.2f}"
            former = best.cpu / size
            print(
                f"{size:>8,} {megabytes:>7.1f} {best.cpu:>8.2f} {best.wall:>8.2f} {best.peak:>8.0f} {growth:>7} "
                f"{least:>8.2f} {best.cpu / least:>6.1f}",
                flush=True,
            )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--floor"]:
        print(floor(Path(sys.argv[2])))
    else:
        main()
