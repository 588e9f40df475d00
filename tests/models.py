"""Targets with a model judge, their caches, and a model on a loopback address that answers as it is told."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from fractions import Fraction
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from plumbline.audit.config import load_target
from plumbline.evidence.bundle import load
from plumbline.judge.judgments import Entry, Judgments, render_judgments
from plumbline.judge.model import ModelJudge
from tests.bundles import item, refuse, target

NOWHERE = "http://127.0.0.1:9/v1/chat/completions"
ITEMS = [item("a"), item("b", expected="Within 30 days."), refuse("r")]
ANSWERS = {"a": "It is 850 [src-1].", "b": "You have a month.", "r": "I can't help with that."}


def model_target(folder: Path, *, endpoint: str = NOWHERE, judge: str = "", **more: Any) -> Path:
    """Write a target configuration whose judge is a model."""
    table = f'[judge]\nkind = "model"\nmodel = "grader-1"\nendpoint = "{endpoint}"\ncache = "judgments.json"\n{judge}\n'
    return target(folder, more=table, **more)


def judged(config: Path, scores: Mapping[str, str]) -> Path:
    """Write the cache of a target from item id to score."""
    made = load_target(config)
    assert made.model is not None
    judge = ModelJudge(made.model.instrument, Judgments(made.model.instrument.identity, {}))
    bundle = load(made.dataset)
    references = {entry.id: entry.expected or "" for entry in bundle.items}
    entries = {}
    for key, score in scores.items():
        asked = judge.question(references[key], bundle.response_text(key))
        assert asked is not None
        entries[asked[0]] = Entry(Fraction(score), key)
    path = made.model.cache
    path.write_bytes(render_judgments(Judgments(made.model.instrument.identity, entries)))
    return path


def chat(content: Any) -> bytes:
    """What a chat completion endpoint returns."""
    return json.dumps({"choices": [{"message": {"content": content}}]}).encode()


Reply = tuple[int, Mapping[str, str], bytes]


class Model:
    """What a loopback model was asked."""

    def __init__(self) -> None:
        self.endpoint = ""
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []


@contextmanager
def running(reply: Reply | bytes | Callable[[int], Reply | bytes]) -> Iterator[Model]:
    """A model that always answers the same, or the n-th request, counted from 1, by `reply(n)`."""
    model = Model()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            model.requests.append(body)
            model.headers.append(dict(self.headers.items()))
            found = reply(len(model.requests)) if callable(reply) else reply
            status, headers, data = (200, {}, found) if isinstance(found, bytes) else found
            self.send_response(status)
            for name, value in {"Content-Length": str(len(data)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            with suppress(OSError):  # whoever asked may have hung up
                self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    model.endpoint = f"http://127.0.0.1:{server.server_address[1]}/v1/chat/completions"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield model
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
