"""An adapter that answers from a function of the test's own: `kind = "fake"`."""

from __future__ import annotations

import threading

from plumbline.canonical import canonical_sha256
from plumbline.record.adapters.base import AdapterSettings, CallError, Reply


class Settings(AdapterSettings, frozen=True, kw_only=True):
    headers: dict = {}
    retries: int = 0
    retry_delay_seconds: float = 0.0
    shape: str = "a"


class Fake:
    kind = "fake"
    conversational = True

    def __init__(self, settings):
        self.settings = settings
        self.asked = []
        self.open_now = 0
        self.most_open = 0
        self.closed = False
        self.lock = threading.Lock()

    def describe(self):
        call = {"shape": self.settings.shape}
        return {
            "kind": "fake",
            "endpoint": "fake:" + STATE.get("endpoint", "here"),
            "request_sha256": canonical_sha256(call),
            "call": call,
        }

    def open(self, question):
        return Talk(self, question)

    def preview(self, question):
        return f"ask {question.prompt} with {STATE.get('preview', '')}"

    def close(self):
        self.closed = True


class Talk:
    def __init__(self, adapter, question):
        self.adapter = adapter
        self.question = question
        self.turn = 0
        with adapter.lock:
            adapter.open_now += 1
            adapter.most_open = max(adapter.most_open, adapter.open_now)

    def ask(self, text):
        self.turn += 1
        with self.adapter.lock:
            self.adapter.asked.append((self.question.item, self.turn, text))
            count = len(self.adapter.asked)
        found = STATE.get("answer", echo)(self.question, self.turn, text, count)
        if isinstance(found, BaseException):
            raise found
        return found if isinstance(found, Reply) else Reply(found)

    def close(self):
        with self.adapter.lock:
            self.adapter.open_now -= 1


STATE: dict = {}
"""The test sets `answer(question, turn, text, count)`, `endpoint`, `preview`. `adapter` is the last one made."""


def echo(_question, _turn, text, _count):
    return f"It costs 850 dollars. {text}"


def failing(fault, *, transient=False, retry_after=None, message="the target said no"):
    return CallError(message, fault=fault, transient=transient, retry_after=retry_after, remedy="Mend it.")


def create(settings, *, folder, environ):  # noqa: ARG001 - what every adapter is given
    STATE["adapter"] = Fake(settings)
    return STATE["adapter"]
