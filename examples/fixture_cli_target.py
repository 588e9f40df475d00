"""A local program that stands in for a target: it answers the demonstration's questions from its recorded answers.

    echo '{"messages": [{"role": "user", "content": "How much does the bus cost for one grown-up?"}]}' |
        python3 examples/fixture_cli_target.py

Reads one JSON object with all messages of a conversation from the standard input and prints one with the answer to the
last of them. With --lines it goes on, a line at a time, until the input ends. The other flags make it misbehave, so
that the recorder's bounds can be watched.
"""

import argparse
import json
import re
import sys
import time
from pathlib import Path

BUNDLE = Path(__file__).resolve().parent.parent / "datasets" / "tidewater-demo"
NOT_KNOWN = "I can't help with that."
ONE_FACT = "adult-fare"
"""What --fabricate changes: the first amount in the English answers to these items."""


def answers(*, fabricate: bool) -> dict[str, list[str]]:
    """Prompt to what was recorded for each turn of the conversation that it begins."""
    told = {}
    for line in (BUNDLE / "responses.jsonl").read_text(encoding="utf-8").splitlines():
        record = json.loads(line)
        told[record["id"]] = record.get("turn_responses") or [record["response"]]
    known = {}
    for line in (BUNDLE / "items.jsonl").read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        turns = told[item["id"]]
        if fabricate and item["lang"] == "en" and item.get("fact_id") == ONE_FACT:
            turns = [re.sub(r"\$\d+(\.\d+)?", "$2.75", answer, count=1) for answer in turns]
        known[item["prompt"]] = turns
    return known


def answer(known: dict[str, list[str]], messages: list[dict[str, str]]) -> str:
    """The answer to the last of these messages."""
    asked = [message["content"] for message in messages if message["role"] == "user"]
    turns = known.get(asked[0], [])
    return turns[len(asked) - 1] if len(asked) <= len(turns) else NOT_KNOWN


def main() -> int:
    """Answer, or misbehave as told."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lines", action="store_true", help="answer one line of input after the other")
    parser.add_argument("--hang", action="store_true", help="never answer")
    parser.add_argument("--flood", action="store_true", help="print without end")
    parser.add_argument("--fail", action="store_true", help="end with exit code 3")
    parser.add_argument("--silent", action="store_true", help="end well without a word")
    parser.add_argument("--fabricate", action="store_true", help="state one wrong fare, in English only")
    given = parser.parse_args()
    if given.hang:
        time.sleep(3600)
    while given.flood:
        print("the same line over and over " * 100)
    if given.fail:
        print("cannot reach the index", file=sys.stderr)
        return 3
    if given.silent:
        return 0
    known = answers(fabricate=given.fabricate)
    for text in sys.stdin if given.lines else [sys.stdin.read()]:
        print(json.dumps({"answer": answer(known, json.loads(text)["messages"])}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
