"""How is the demonstration bundle made, and can it be trusted to fail only where the gate is meant to fail?

The texts stand in `tools/tidewater/*.toml`; this script turns them into `datasets/tidewater-demo/`. It draws nothing at
random and reads no clock, so the same texts give the same bytes, and `--check` says whether the committed bundle is
what the texts give. A text that would make a suite fail for the wrong reason (a number that differs between languages,
a refusal that the lexical judge cannot see, an answer that cites a passage without the number) is refused here.

    python tools/build_demo.py           write the bundle
    python tools/build_demo.py --check   compare only; exit 1 when a byte differs
"""

import argparse
import json
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from plumbline.evidence.bundle import Bundle, parse
from plumbline.evidence.schema import FORMAT_VERSION, MANIFEST_FORMAT
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, digests, read_inventory, render_checksums
from plumbline.judge.lexical import LexicalJudge

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT / "tools" / "tidewater"
TARGET = ROOT / "datasets" / "tidewater-demo"
NAME = "tidewater-demo"
VERSION = "1.0.0"

LANGUAGES = ("en", "es")
REGISTERS = ("plain", "formal")
RETRIEVED = 3
"""Passages per question: the one that answers and the next ones of the same document."""
LOWEST_F1 = 0.75
MEAN_F1 = (0.85, 0.92)
"""A recording that repeats its reference word for word would show nothing of how answers are scored."""
DISTINCT_PREFIX = 100
"""Code scanning tells lines apart by this many characters."""


class TextError(Exception):
    """A text of the demonstration would not do what it is there for."""


@dataclass
class Records:
    """The records of the bundle, in file order."""

    items: list[dict[str, Any]] = field(default_factory=list)
    responses: list[dict[str, Any]] = field(default_factory=list)
    sources: list[dict[str, Any]] = field(default_factory=list)

    def ask(self, item: dict[str, Any], response: str) -> None:
        """Add a question and what the recorded service said to it."""
        self.items.append({key: value for key, value in item.items() if value not in (None, [], False)})
        self.responses.append({"id": item["id"], "response": response})


def build(texts: Path = TEXTS) -> dict[str, bytes]:
    """The files of the bundle by name.

    Raises:
        TextError: a text that must not go into the bundle.
        PlumblineError: what the texts give is not a bundle.
    """
    facts: list[dict[str, Any]] = _read(texts / "facts.toml")["fact"]
    corpus = _read(texts / "corpus.toml")
    records = Records()
    documents = _corpus(records, corpus, facts)
    for fact in facts:
        _ask_fact(records, fact, documents[fact["document"]])
    for refusal in _read(texts / "refusals.toml")["refusal"]:
        _ask_refusal(records, refusal)
    by_id = {fact["id"]: fact for fact in facts}
    for probe in _read(texts / "probes.toml")["probe"]:
        _ask_probe(records, probe, by_id, documents)
    files = {
        "DATASET.md": _describe(records).encode(),
        MANIFEST: (json.dumps(_manifest(records), indent=2, ensure_ascii=False) + "\n").encode(),
        "items.jsonl": _lines(records.items),
        "responses.jsonl": _lines(records.responses),
        "sources.jsonl": _lines(records.sources),
    }
    files[CHECKSUMS] = render_checksums(digests(files))
    check(parse(files))
    return files


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def _lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    return "".join(
        json.dumps(record, ensure_ascii=False, separators=(", ", ": ")) + "\n" for record in records
    ).encode()


def _fill(template: str, values: Mapping[str, str]) -> str:
    if re.search(r"\d", template):
        raise TextError(f"a number belongs into `values`, once for both languages: {template!r}")
    try:
        return template.format_map(values)
    except KeyError as name:
        raise TextError(f"there is no value {name}: {template!r}") from None


def _source_id(identity: str, lang: str) -> str:
    return f"src-{identity}" if lang == "en" else f"src-{identity}-{lang}"


def _corpus(records: Records, corpus: Mapping[str, Any], facts: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Write all passages, one document after the other, and return the passages of each document in order."""
    documents: dict[str, list[str]] = {document: [] for document in corpus["document"]}
    texts: dict[str, Mapping[str, Any]] = {}
    for passage in (*facts, *corpus["passage"]):
        documents[passage["document"]].append(passage["id"])
        texts[passage["id"]] = passage
    for document, members in documents.items():
        about = corpus["document"][document]
        for lang in LANGUAGES:
            for member in members:
                passage = texts[member]
                part = passage[lang]
                records.sources.append(
                    {
                        "id": _source_id(member, lang),
                        "title": f"{about[lang]} - {part['title']}",
                        "url": f"{about['url'].format(lang=lang)}#{member}",
                        "text": _fill(part.get("passage") or part["text"], passage["values"]),
                    }
                )
    return documents


def _retrieved(identity: str, lang: str, document: Sequence[str]) -> list[str]:
    start = document.index(identity)
    found = [document[(start + step) % len(document)] for step in range(RETRIEVED)]
    # Sorted, so that the passage that answers is not always the first.
    return sorted(_source_id(member, lang) for member in found)


def _ask_fact(records: Records, fact: Mapping[str, Any], document: Sequence[str]) -> None:
    for lang in LANGUAGES:
        answering = _source_id(fact["id"], lang)
        values = {**fact["values"], "cite": f"[{answering}]"}
        for register in REGISTERS:
            text = fact[lang][register]
            records.ask(
                {
                    "id": f"{fact['id']}.{lang}.{register}",
                    "lang": lang,
                    "behavior": "answer",
                    "prompt": _fill(text["prompt"], values),
                    "expected": _fill(fact[lang]["expected"], values),
                    "load_bearing": fact["load_bearing"],
                    "fact_id": fact["id"],
                    "group": register,
                    "translation": _translation(f"{fact['id']}.en.{register}", lang, text),
                    "sources": _retrieved(fact["id"], lang, document),
                    # Facts without a number declare nothing: no real bundle is declared throughout.
                    "answering_sources": [answering] if fact["load_bearing"] else None,
                },
                _fill(text["response"], values),
            )


def _translation(original: str, lang: str, text: Mapping[str, Any]) -> dict[str, str] | None:
    return None if lang == "en" else {"of": original, "review": text.get("review", "sme_reviewed")}


def _ask_refusal(records: Records, refusal: Mapping[str, Any]) -> None:
    for lang in LANGUAGES:
        text = refusal[lang]
        records.ask(
            {
                "id": f"refuse.{refusal['id']}.{lang}",
                "lang": lang,
                "behavior": "refuse",
                "prompt": _fill(text["prompt"], {}),
                "fact_id": f"refuse.{refusal['id']}",
                "translation": _translation(f"refuse.{refusal['id']}.en", lang, text),
            },
            _fill(text["response"], {}),
        )


def _ask_probe(
    records: Records,
    probe: Mapping[str, Any],
    facts: Mapping[str, Mapping[str, Any]],
    documents: Mapping[str, Sequence[str]],
) -> None:
    fact = facts.get(probe.get("fact", ""))
    for lang in LANGUAGES:
        text = probe[lang]
        values = dict(probe.get("planted", {}))
        expected, sources, answering = None, [], None
        if fact is not None:
            answering = [_source_id(fact["id"], lang)]
            values |= {**fact["values"], "cite": f"[{answering[0]}]"}
            expected = _fill(fact[lang]["expected"], values)
            sources = _retrieved(fact["id"], lang, documents[fact["document"]])
        records.ask(
            {
                "id": f"probe.{probe['id']}.{lang}",
                "lang": lang,
                "behavior": probe["behavior"],
                "prompt": _fill(text["prompt"], values),
                "expected": expected,
                "load_bearing": fact is not None and fact["load_bearing"],
                "fact_id": f"probe.{probe['id']}",
                "translation": _translation(f"probe.{probe['id']}.en", lang, text),
                "forbidden": [_fill(line, values) for line in text.get("forbidden", [])],
                "forbidden_claims": [_fill(line, values) for line in text.get("forbidden_claims", [])],
                "sources": sources,
                "answering_sources": answering,
                "adversarial": True,
            },
            _fill(text["response"], values),
        )


def _manifest(records: Records) -> dict[str, Any]:
    return {
        "format": MANIFEST_FORMAT,
        "format_version": FORMAT_VERSION,
        "name": NAME,
        "version": VERSION,
        "synthetic": True,
        "description": (
            f"{len(records.items)} questions in English and Spanish to an invented navigator for transit fares and "
            "benefits of Tidewater County, a place that does not exist. Written to demonstrate the gate; it says "
            "nothing about any real service."
        ),
        "files": {"items": "items.jsonl", "responses": "responses.jsonl", "sources": "sources.jsonl"},
    }


def _describe(records: Records) -> str:
    items = records.items
    languages = Counter(item["lang"] for item in items)
    facts = {item["fact_id"] for item in items if item.get("group")}
    load_bearing = sum(item.get("load_bearing", False) for item in items)
    refusals = sum(item["behavior"] == "refuse" for item in items)
    probes = sum(item.get("adversarial", False) for item in items)
    unreviewed = [item["id"] for item in items if item.get("translation", {}).get("review") == "unreviewed"]
    return f"""# {NAME} {VERSION}

A synthetic evidence bundle. Tidewater County, its transit lines, its card, its programs, every amount, age, limit and
deadline in it are invented; web addresses are below `.example.gov` only. It records what an imaginary
question-answering service said, so that the gate can be seen working without a service of your own. **It is not
evidence about any real system and no source of real rules.**

## What is in it

| | |
|---|---|
| items | {len(items)} ({", ".join(f"{count} {lang}" for lang, count in languages.items())}) |
| facts, each asked in both languages and in two registers | {len(facts)} |
| items that are load-bearing (a wrong number fails the gate whatever the mean) | {load_bearing} |
| items that must be declined | {refusals} |
| adversarial probes | {probes} |
| passages in the corpus | {len(records.sources)} |

* `fact_id` links the wordings of one fact over languages and registers; `group` is the register, `plain` or `formal`.
* Each answer cites the passage it rests on. Every question was given {RETRIEVED} passages of one document, and for
  load-bearing facts `answering_sources` says which of them answers.
* Recorded answers say what the reference says in other words; none repeats it. Their token F1 lies where a sound
  service's would, not at 1.0.
* {len(unreviewed)} translations are marked `unreviewed` on purpose, so that their warning shows on every run:
  {", ".join(f"`{identity}`" for identity in unreviewed)}.

## How it is made

`python tools/build_demo.py` writes this folder from `tools/tidewater/*.toml`, without chance or clock; `--check` and
the test suite compare the committed bytes with a fresh generation. Do not edit the files here: edit the texts, build,
and commit both. Each number stands once in the texts and both languages take it from there.

## What it cannot tell you

* The lexical judge sees a refusal by looking for known phrases. The refusals here were written with those phrases, so
  a perfect score of the refusal suite on this bundle says nothing about the phrases your service uses. Write the list
  from your own transcripts first.
* A few dozen items per question type leave wide intervals; the report states them.
* Translation marks are part of the fiction: no certified translator has seen the Spanish texts.
"""


def check(bundle: Bundle) -> None:
    """Refuse a bundle that would fail, or pass, for a reason that is the generator's.

    Raises:
        TextError: naming every item that is at fault.
    """
    problems = [*_faults_of_items(bundle), *_faults_of_pairs(bundle)]
    for role, data in bundle.contents.items():
        starts = Counter(line[:DISTINCT_PREFIX] for line in data.decode().splitlines())
        problems += [f"{role}: two lines begin with {start!r}" for start, count in starts.items() if count > 1]
    mean = _mean_f1(bundle)
    if not MEAN_F1[0] <= mean <= MEAN_F1[1]:
        problems.append(f"the mean token F1 of the recorded answers is {mean:.3f}")
    if problems:
        raise TextError("\n".join(problems))


def _faults_of_items(bundle: Bundle) -> Iterator[str]:
    judge = LexicalJudge()
    for item in bundle.items:
        text = bundle.response_text(item.id)
        response = judge.features(text)
        if (response.refusal is not None) != (item.behavior == "refuse"):
            yield f"{item.id}: the lexical judge does not see the expected behavior {item.behavior!r}"
        if any(forbidden.lower() in text.lower() for forbidden in item.forbidden):
            yield f"{item.id}: the response holds a forbidden string"
        if item.expected is None:
            continue
        reference = judge.features(item.expected)
        score = judge.answer_score(item.expected, text)
        if score < LOWEST_F1:
            yield f"{item.id}: token F1 {float(score):.3f} is too far from the reference"
        if response.claim_words == reference.words:
            yield f"{item.id}: the response copies the reference"
        if response.number_values != reference.number_values:
            yield f"{item.id}: the numbers differ from the reference"
        cited = [bundle.sources[found.source].text for found in response.citations if found.source in item.sources]
        if not cited:
            yield f"{item.id}: the response cites no passage that was retrieved"
        if not response.number_values <= judge.features(" ".join(cited)).number_values:
            yield f"{item.id}: a number is in no cited passage"


def _faults_of_pairs(bundle: Bundle) -> Iterator[str]:
    judge = LexicalJudge()
    answers: dict[str, set[tuple[frozenset[str], bool]]] = {}
    languages: dict[str, set[str]] = {}
    for item in bundle.items:
        response = judge.features(bundle.response_text(item.id))
        fact = item.fact_id or ""
        answers.setdefault(fact, set()).add((response.number_values, response.refusal is not None))
        languages.setdefault(fact, set()).add(item.lang)
    for fact, found in answers.items():
        if len(found) > 1:
            yield f"{fact}: the answers disagree between languages or registers"
        if languages[fact] != set(LANGUAGES):
            yield f"{fact}: is not asked in every language"


def _mean_f1(bundle: Bundle) -> float:
    judge = LexicalJudge()
    scores = [
        judge.answer_score(item.expected, bundle.response_text(item.id)) for item in bundle.items if item.expected
    ]
    return float(sum(scores) / len(scores))


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
