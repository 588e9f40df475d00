"""How is the demonstration bundle made?

The texts stand in `tools/tidewater/`; this script turns them into `datasets/tidewater-demo/`. It draws nothing at
random and reads no clock, so the same texts give the same bytes, and `--check` says whether the committed bundle is
what the texts give. `demo_faults` says which texts it refuses.

    python -m tools.build_demo           write the bundle
    python -m tools.build_demo --check   compare only; exit 1 when a byte differs
"""

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plumbline.evidence.bundle import parse
from plumbline.evidence.schema import FORMAT_VERSION, MANIFEST_FORMAT
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, digests, read_inventory, render_checksums
from tools.demo_faults import faults
from tools.demo_page import describe

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "tools" / "tidewater"
TARGET = ROOT / "datasets" / "tidewater-demo"
NAME = "tidewater-demo"
VERSION = "2.0.0"

LANGUAGES = ("en", "es")
ARABIC = "ar"
REGISTERS = ("plain", "formal")
INTERFACE = "interface.html"
RETRIEVED = 3
"""Passages per question: the one that answers and the next ones of the same document."""
_DOLLARS = re.compile(r"^\$(.*)$")


class TextError(Exception):
    """A text of the demonstration would not do what it is there for."""


@dataclass
class Records:
    """The records of the bundle, in file order."""

    items: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, item: dict[str, Any], response: str, replies: Sequence[str] = ()) -> None:
        """Add a question and what the recorded service said to it, before the last turn and at last."""
        if len(replies) != len(item.get("turns", [])):
            raise TextError(f"{item['id']}: not every turn has a response")
        self.items.append({key: value for key, value in item.items() if value not in (None, [], False)})
        said = {"id": item["id"], "response": response}
        self.responses.append({**said, "turn_responses": [*replies, response]} if item.get("turns") else said)


def build(texts: Path = TEXTS) -> dict[str, bytes]:
    """The files of the bundle by name.

    Raises:
        TextError: a text that must not go into the bundle.
        PlumblineError: what the texts give is not a bundle.
    """
    arabic = _read(texts / "arabic.toml")
    facts: list[dict[str, Any]] = _with_arabic(_read(texts / "facts.toml")["fact"], arabic["fact"])
    corpus = _read(texts / "corpus.toml")
    refusals = _with_arabic(_read(texts / "refusals.toml")["refusal"], arabic["refusal"])
    for document, title in arabic["document"].items():
        corpus["document"][document][ARABIC] = title
    records = Records()
    documents = _corpus(records, corpus, facts)
    for fact in facts:
        _ask_fact(records, fact, documents)
    for refusal in refusals:
        _ask_refusal(records, refusal)
    by_id = {fact["id"]: fact for fact in facts}
    for probe in _read(texts / "probes.toml")["probe"]:
        _talk(records, probe, by_id, documents, kind="probe")
    for conversation in _read(texts / "conversations.toml")["conversation"]:
        _talk(records, conversation, by_id, documents, kind="talk")
    files = {
        "DATASET.md": describe(NAME, VERSION, RETRIEVED, records.items, records.sources).encode(),
        MANIFEST: (json.dumps(_manifest(records), indent=2, ensure_ascii=False) + "\n").encode(),
        INTERFACE: (texts / INTERFACE).read_bytes(),
        "items.jsonl": _lines(records.items),
        "responses.jsonl": _lines(records.responses),
        "sources.jsonl": _lines(records.sources),
    }
    files[CHECKSUMS] = render_checksums(digests(files))
    if found := faults(parse(files)):
        raise TextError("\n".join(found))
    return files


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(
        json.dumps(record, ensure_ascii=False, separators=(", ", ": ")) + "\n" for record in records
    ).encode()


def _with_arabic(texts: list[dict[str, Any]], arabic: Mapping[str, Any]) -> list[dict[str, Any]]:
    if unknown := arabic.keys() - {text["id"] for text in texts}:
        raise TextError(f"asked in Arabic only: {', '.join(sorted(unknown))}")
    return [{**text, ARABIC: arabic[text["id"]]} if text["id"] in arabic else text for text in texts]


def _fill(template: str, values: Mapping[str, str], lang: str) -> str:
    if re.search(r"\d", template):
        raise TextError(f"a number belongs into `values`, once for all languages: {template!r}")
    written = {name: value if lang != ARABIC else _DOLLARS.sub(r"\1 دولار", value) for name, value in values.items()}
    try:
        return template.format_map(written)
    except KeyError as name:
        raise TextError(f"there is no value {name}: {template!r}") from None


def _source_id(identity: str, lang: str) -> str:
    return f"src-{identity}" if lang == "en" else f"src-{identity}-{lang}"


def _corpus(
    records: Records, corpus: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]
) -> dict[tuple[str, str], list[str]]:
    """Write all passages, one document after the other, and return those of each document and language in order."""
    documents: dict[tuple[str, str], list[str]] = {}
    for document, about in corpus["document"].items():
        members = [passage for passage in (*facts, *corpus["passage"]) if passage["document"] == document]
        for lang in (*LANGUAGES, ARABIC):
            documents[document, lang] = [passage["id"] for passage in members if lang in passage]
            for passage in members:
                if lang not in passage:
                    continue
                part = passage[lang]
                records.sources.append(
                    {
                        "id": _source_id(passage["id"], lang),
                        "title": f"{about[lang]} - {part['title']}",
                        "url": f"{about['url'].format(lang=lang)}#{passage['id']}",
                        "text": _fill(part.get("passage") or part["text"], passage["values"], lang),
                    }
                )
    return documents


def _retrieved(fact: Mapping[str, Any], lang: str, documents: Mapping[tuple[str, str], Sequence[str]]) -> list[str]:
    document = documents[fact["document"], lang]
    start = document.index(fact["id"])
    found = [document[(start + step) % len(document)] for step in range(min(RETRIEVED, len(document)))]
    # Sorted, so that the passage that answers is not always the first.
    return sorted(_source_id(member, lang) for member in found)


def _ask_fact(records: Records, fact: Mapping[str, Any], documents: Mapping[tuple[str, str], Sequence[str]]) -> None:
    asked = [
        (lang, register, fact[lang][register])
        for lang in LANGUAGES
        for register in REGISTERS
        if register in fact.get(lang, ())
    ]
    if ARABIC in fact:
        asked.append((ARABIC, None, fact[ARABIC]))
    for lang, register, text in asked:
        answering = _source_id(fact["id"], lang)
        values = {**fact["values"], "cite": f"[{answering}]"}
        records.ask(
            {
                "id": f"{fact['id']}.{lang}.{register}" if register else f"{fact['id']}.{lang}",
                "lang": lang,
                "behavior": "answer",
                "prompt": _fill(text["prompt"], values, lang),
                "expected": _fill(fact[lang]["expected"], values, lang),
                "load_bearing": fact["load_bearing"],
                "fact_id": fact["id"],
                "group": register,
                "translation": _translation(f"{fact['id']}.en.{register or REGISTERS[0]}", lang, text),
                "sources": _retrieved(fact, lang, documents),
                "answering_sources": [answering] if fact.get("declared", True) else None,
            },
            _fill(text["response"], values, lang),
        )


def _translation(original: str, lang: str, text: Mapping[str, Any]) -> dict[str, str] | None:
    return None if lang == "en" else {"of": original, "review": text.get("review", "sme_reviewed")}


def _ask_refusal(records: Records, refusal: Mapping[str, Any]) -> None:
    for lang in (*LANGUAGES, ARABIC):
        if lang not in refusal:
            continue
        text = refusal[lang]
        records.ask(
            {
                "id": f"refuse.{refusal['id']}.{lang}",
                "lang": lang,
                "behavior": "refuse",
                "prompt": _fill(text["prompt"], {}, lang),
                "fact_id": f"refuse.{refusal['id']}",
                "translation": _translation(f"refuse.{refusal['id']}.en", lang, text),
            },
            _fill(text["response"], {}, lang),
        )


def _talk(
    records: Records,
    asked: Mapping[str, Any],
    facts: Mapping[str, Mapping[str, Any]],
    documents: Mapping[tuple[str, str], Sequence[str]],
    *,
    kind: str,
) -> None:
    fact = facts.get(asked.get("fact", ""))
    if fact is None and "fact" in asked:
        raise TextError(f"{kind}.{asked['id']}: there is no fact {asked['fact']!r}")
    for lang in LANGUAGES:
        text = asked[lang]
        values = dict(asked.get("planted", {}))
        expected, sources, answering = None, [], None
        if fact is not None:
            cite = _source_id(fact["id"], lang)
            values |= {**fact["values"], "cite": f"[{cite}]"}
            if asked["behavior"] == "answer":
                expected = _fill(fact[lang]["expected"], values, lang)
                sources = _retrieved(fact, lang, documents)
                answering = [cite] if fact.get("declared", True) else None
        records.ask(
            {
                "id": f"{kind}.{asked['id']}.{lang}",
                "lang": lang,
                "behavior": asked["behavior"],
                "prompt": _fill(text["prompt"], values, lang),
                "turns": [_fill(turn, values, lang) for turn in text.get("turns", [])],
                "expected": expected,
                "load_bearing": expected is not None and fact is not None and fact["load_bearing"],
                "fact_id": f"{kind}.{asked['id']}",
                "translation": _translation(f"{kind}.{asked['id']}.en", lang, text),
                "forbidden": [_fill(line, values, lang) for line in text.get("forbidden", [])],
                "forbidden_claims": [_fill(line, values, lang) for line in text.get("forbidden_claims", [])],
                "sources": sources,
                "answering_sources": answering,
                "adversarial": kind == "probe",
            },
            _fill(text["response"], values, lang),
            [_fill(reply, values, lang) for reply in text.get("replies", [])],
        )


def _manifest(records: Records) -> dict[str, Any]:
    return {
        "format": MANIFEST_FORMAT,
        "format_version": FORMAT_VERSION,
        "name": NAME,
        "version": VERSION,
        "synthetic": True,
        "description": (
            f"{len(records.items)} questions in English, Spanish and Arabic to an invented navigator for transit fares "
            "and benefits of Tidewater County, a place that does not exist. Written to demonstrate the gate; it says "
            "nothing about any real service."
        ),
        "files": {
            "items": "items.jsonl",
            "responses": "responses.jsonl",
            "sources": "sources.jsonl",
            "interface": INTERFACE,
        },
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, or compare, the bundle; 0 when it is, or now is, what the texts give."""
    parser = argparse.ArgumentParser(description="Build the demonstration bundle.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when the committed bundle differs")
    parser.add_argument("--out", type=Path, default=TARGET, help="the folder to write or compare")
    options = parser.parse_args(arguments)
    target: Path = options.out
    try:
        files = build()
    except TextError as fault:
        print(fault, file=sys.stderr)
        return 1
    present = read_inventory(target) if target.is_dir() else {}
    differing = sorted(name for name in files.keys() | present.keys() if files.get(name) != present.get(name))
    if options.check:
        print("\n".join(f"{target / name}: is not what the texts give" for name in differing) or f"{target}: as built")
        return 1 if differing else 0
    target.mkdir(parents=True, exist_ok=True)
    for name in differing:
        if name in files:
            (target / name).write_bytes(files[name])
        else:
            (target / name).unlink()
    print(f"{target}: {len(differing)} of {len(files)} files written")
    return 0


if __name__ == "__main__":
    sys.exit(main())
