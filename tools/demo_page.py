"""What does the page of the demonstration bundle, `DATASET.md`, say?

Everything that can be counted is counted in the records.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

_LANGUAGES = {"en": "English", "es": "Spanish", "ar": "Arabic"}


def describe(
    name: str, version: str, retrieved: int, items: Sequence[Mapping[str, Any]], sources: Sequence[Mapping[str, Any]]
) -> str:
    """The page, as Markdown.

    Args:
        name: of the bundle.
        version: of the bundle.
        retrieved: passages per question.
        items: the records of `items.jsonl`.
        sources: the records of `sources.jsonl`.
    """
    unreviewed = [item["id"] for item in items if item.get("translation", {}).get("review") == "unreviewed"]
    rows = "\n".join(f"| {what} | {count} |" for what, count in _counts(items, sources).items())
    return f"""# {name} {version}

A synthetic evidence bundle. Tidewater County, its transit lines, its card, its programs, every amount, age, limit and
deadline in it are invented; web and mail addresses are below `.example` only, the
telephone number has the exchange `555`, and the Social Security number in two probes is one that was never issued. It
records what an imaginary question-answering service said, so that the gate can be seen working without a service of
your own. **It is not evidence about any real system and no source of real rules.**

## What is in it

| | |
|---|---|
{rows}

* `fact_id` links the wordings of one fact over languages and registers. `group` is the register, `plain` or `formal`,
  in equal numbers per language. Arabic is asked once per fact that has it, and belongs to no register.
* Each answer cites the passage it rests on. Every question was given {retrieved} passages of one document in its own
  language: the one that answers, and others that use the same words. `answering_sources` says which one
  answers; for a few items it is left out, as in any real bundle, and the report suggests.
* Recorded answers say what the reference says in other words; none repeats it. Their token F1 lies where a sound
  service's would, not at 1.0, and so do the measures of support.
* Probes come from somebody who wants the service to go wrong: planted numbers, false premises, roles, requests for
  other people's data. `forbidden` strings have no business in any answer; `forbidden_claims` may be mentioned in order
  to be denied, and in some of the recorded answers they are.
* In a conversation the asker goes on: in most probes, and in some ordinary talks (`talk.`). Some that end with
  something to decline begin harmlessly; whatever was once declined stays declined. `turn_responses` holds every answer,
  and `response` is the last of them, which all other suites read.
* {len(unreviewed)} translations are marked `unreviewed` on purpose, so that their warning shows on every run:
  {", ".join(f"`{identity}`" for identity in unreviewed)}.
* `interface.html` is a captured page of the imaginary service. Its `plumbline-contrast` block declares colours that its
  own style uses.

## How it is made

`python -m tools.build_demo`, with `src` on the module path, writes this folder from `tools/tidewater/`, without chance
or clock; `--check` and the test suite compare the committed bytes with a fresh generation. Do not edit the files here:
edit the texts, build, and commit both. Each number stands once in the texts and all languages take it from there.

The generator refuses a text whose failure would be its own doing: a refusal that the judge does not see or an answer
that reads as one, a response in the wrong language, a forbidden string in a recorded answer or a claim that is not
denied, a number that differs between languages or stands in no cited passage, a fact that is asked in one language
only, a passage beside the answering one that supports the answer nearly as well, registers out of balance, and anything
that any suite of the gate would fail.

## What it cannot tell you

* The lexical judge sees a refusal by looking for known phrases. The refusals here were written with those phrases, so
  a perfect score of the refusal suite on this bundle says nothing about the phrases your service uses. Write the list
  from your own transcripts first and add it to your target file, by language:

  ```toml
  [judge.refusal_markers]
  en = ["only questions about published fares"]
  ```

* Suites that pass on every item pass because every item was written to pass. That each of them can fail is shown
  elsewhere, by planting defects.
* Questions on one fact hang together. Behind the items there are far fewer facts and probes, and the report's intervals
  count those.
* Arabic is told by its script alone, and no list of harms, solicitations or stop words here covers it.
* Screens for personal data and demeaning wording know a few forms. An empty list of findings is not a finding.
* Translation marks are part of the fiction: no certified translator has seen the Spanish and Arabic texts.
"""


def _counts(items: Sequence[Mapping[str, Any]], sources: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    def count(key: str) -> int:
        return sum(bool(item.get(key)) for item in items)

    languages = Counter(item["lang"] for item in items)
    return {
        "items": len(items),
        **{f"items in {_LANGUAGES[lang]}": number for lang, number in languages.items()},
        "facts, each asked in English and Spanish and in two registers": len(
            {item["fact_id"] for item in items if item.get("group")}
        ),
        "items that are load-bearing (a wrong number fails the gate whatever the mean)": count("load_bearing"),
        "items that must be declined": sum(item["behavior"] == "refuse" for item in items),
        "adversarial probes": count("adversarial"),
        "probes that forbid strings": count("forbidden"),
        "probes that forbid claims": count("forbidden_claims"),
        "conversations of two or more turns": count("turns"),
        "items that declare which passage answers": count("answering_sources"),
        "items with passages that leave that open": sum(
            bool(item.get("sources")) and not item.get("answering_sources") for item in items
        ),
        "passages in the corpus": len(sources),
    }
