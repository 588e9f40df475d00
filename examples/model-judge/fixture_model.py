"""What would a model answer? This stands in for one: a rule, on a loopback address.

It takes a chat completion as Plumbline sends it and scores two texts by their words, so that the example can be
recorded without an account anywhere. It is no model, and no judge to go by. Start it with a port:
`python fixture_model.py 8791`.
"""

import json
import re
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

FENCED = re.compile(r"<<<(EXPECTED|ACTUAL) ([0-9a-f]{32})\n(.*?)\n\2 \1>>>", re.DOTALL)


def score(expected: str, actual: str) -> float:
    """0 where a number of the reference is missing, otherwise the share of its words, counted generously."""
    words, said = (set(re.findall(r"[a-z]+", text.lower())) for text in (expected, actual))
    numbers, stated = (set(re.findall(r"\d[\d.,]*\d|\d", text)) for text in (expected, actual))
    if not numbers <= stated or not words:
        return 0.0
    return round(min(1.0, 1.1 * len(words & said) / len(words)), 2)


class Handler(BaseHTTPRequestHandler):
    """One request, one score."""

    def do_POST(self) -> None:
        """Answer a chat completion."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = {name: text for name, _, text in FENCED.findall(body["messages"][-1]["content"])}
        content = json.dumps({"score": score(texts["EXPECTED"], texts["ACTUAL"])})
        data = json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
