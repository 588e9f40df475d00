"""A service on loopback that stands in for a target: it answers the demonstration's questions as they were recorded.

    python3 examples/fixture_target.py

speaks every transport that a recording can use, with the standard library alone:

    POST /chat        one JSON document              examples/tidewater-live.toml
    POST /stream      Server-Sent Events             examples/tidewater-sse.toml
    POST /jobs        submit, then GET /jobs/<id>    examples/tidewater-poll.toml
    GET  /socket      WebSocket                      examples/tidewater-websocket.toml

The flags make it misbehave, so that the recorder's bounds can be watched. It is no example of how to write a server.
"""

import argparse
import base64
import hashlib
import itertools
import json
import re
import struct
import sys
import threading
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from fixture_cli_target import answer, answers

MARKER = re.compile(r"\[([a-z0-9-]+)\]")
ACCEPT = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, 1.3."""
KEPT = 1000
"""Jobs that are remembered."""
MOST_A_SECOND = 20
"""What --rate-limit allows."""
LARGEST = 1 << 20


class Target(ThreadingHTTPServer):
    """The service, and what it remembers."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], given: argparse.Namespace) -> None:
        super().__init__(address, Handler)
        self.given = given
        self.known = answers(fabricate=given.fabricate)
        self.lock = threading.Lock()
        self.numbers = itertools.count(1)
        self.jobs: OrderedDict[str, dict] = OrderedDict()
        self.window = (0, 0)

    def reply_to(self, messages: list[dict[str, str]]) -> dict:
        """What is said to the last of these messages, with the ids of the passages that the text names."""
        text = answer(self.known, messages)
        cited = list(dict.fromkeys(MARKER.findall(text)))
        return {"answer": text, "citations": [{"id": name} for name in cited]}

    def submit(self, messages: list[dict[str, str]]) -> str:
        """Take a question and hand out a handle."""
        with self.lock:
            handle = f"job-{next(self.numbers)}"
            self.jobs[handle] = {"polls": 0, **self.reply_to(messages)}
            if len(self.jobs) > KEPT:
                self.jobs.popitem(last=False)
        return handle

    def refuses(self) -> tuple[int, dict[str, str]] | None:
        """The status, and headers, with which the flags have this request refused."""
        with self.lock:
            number = next(self.numbers)
            now = int(time.monotonic())
            self.window = (now, self.window[1] + 1) if self.window[0] == now else (now, 1)
            busy = self.window[1] > MOST_A_SECOND
        if self.given.fail_every and number % self.given.fail_every == 0:
            return 500, {}
        if self.given.rate_limit and busy:
            return 429, {"Retry-After": "1"}
        return None


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or each reply waits for the other side to say that it got the head
    server: Target

    def log_message(self, *_: object) -> None:
        """Say nothing: the target's own log is not what is watched."""

    def do_POST(self) -> None:
        """Answer a question, or take it."""
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), LARGEST))
        if self.refused():
            return
        try:
            messages = json.loads(body)["messages"]
        except (ValueError, KeyError, TypeError):
            self.document({"error": "send a JSON object with messages"}, 400)
            return
        if self.path == "/chat":
            self.document(self.server.reply_to(messages))
        elif self.path == "/stream":
            self.stream(self.server.reply_to(messages))
        elif self.path == "/jobs":
            self.document({"job": self.server.submit(messages)}, 202)
        else:
            self.document({"error": "no such path"}, 404)

    def do_GET(self) -> None:
        """The state of a job, or a WebSocket."""
        if self.path == "/socket" and self.headers.get("Upgrade", "").lower() == "websocket":
            self.socket()
        elif self.path.startswith("/jobs/") and not self.refused():
            self.job(self.path.removeprefix("/jobs/"))
        elif not self.path.startswith("/jobs/"):
            self.document({"error": "no such path"}, 404)

    def refused(self) -> bool:
        """Misbehave as told; whether that was all there is to this request."""
        if self.server.given.hang:
            time.sleep(3600)
        refused = self.server.refuses()
        if refused is not None:
            self.document({"error": "as told on the command line"}, *refused)
        return refused is not None

    def document(self, value: dict, status: int = 200, headers: dict[str, str] | None = None) -> None:
        """Send one JSON document."""
        body = json.dumps(value).encode()
        self.send_response(status)
        for name, text in {
            "Content-Type": "application/json",
            "Content-Length": str(len(body)),
            **(headers or {}),
        }.items():
            self.send_header(name, text)
        self.end_headers()
        self.wfile.write(body)

    def stream(self, reply: dict) -> None:
        """Send an answer word by word, then where it is from, then the end."""
        events = [("token", {"text": piece}) for piece in re.findall(r"\s*\S+|\s+", reply["answer"])]
        events += [("sources", {"citations": reply["citations"]}), ("end", {})]
        text = ": a comment keeps the connection open\n\n"
        text += "".join(f"event: {name}\ndata: {json.dumps(data)}\n\n" for name, data in events)
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def job(self, handle: str) -> None:
        """Say how far a job is: ready at the second look."""
        with self.server.lock:
            job = self.server.jobs.get(handle)
            if job is not None:
                job["polls"] += 1
        if job is None:
            self.document({"error": "no such job"}, 404)
        elif job["polls"] < 2:
            self.document({"status": "running"})
        else:
            self.document({"status": "done", "answer": job["answer"], "citations": job["citations"]})

    def socket(self) -> None:
        """Answer every message of a WebSocket until it is closed."""
        key = self.headers.get("Sec-WebSocket-Key", "") + ACCEPT
        accept = base64.b64encode(hashlib.sha1(key.encode(), usedforsecurity=False).digest())
        self.send_response(101)
        self.send_header("Upgrade", "websocket")
        self.send_header("Connection", "Upgrade")
        self.send_header("Sec-WebSocket-Accept", accept.decode())
        self.end_headers()
        self.close_connection = True
        messages = []  # the connection is the conversation
        while (message := self.message()) is not None:
            if self.server.given.hang:
                time.sleep(3600)
            if self.server.refuses() is not None:
                self.frame(8, struct.pack(">H", 1013))  # "try again later"
                return
            messages.append({"role": "user", "content": json.loads(message)["question"]})
            reply = self.server.reply_to(messages)
            for piece in re.findall(r"\s*\S+|\s+", reply["answer"]):
                self.frame(1, json.dumps({"type": "text", "text": piece}).encode())
            self.frame(1, json.dumps({"type": "end", "citations": reply["citations"]}).encode())

    def message(self) -> bytes | None:
        """The next text message, which the recorder sends in one frame; None at the end."""
        while True:
            first = self.rfile.read(2)
            if len(first) < 2:
                return None
            length = first[1] & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", self.rfile.read(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", self.rfile.read(8))
            if length > LARGEST:
                return None
            mask = self.rfile.read(4)
            data = bytes(byte ^ mask[place % 4] for place, byte in enumerate(self.rfile.read(length)))
            kind = first[0] & 0x0F
            if kind == 8:
                self.frame(8, data)
                return None
            if kind == 1:
                return data

    def frame(self, kind: int, data: bytes) -> None:
        """Send one frame."""
        size = len(data)
        head = bytes([0x80 | kind])
        if size < 126:
            head += bytes([size])
        else:
            head += bytes([126]) + struct.pack(">H", size) if size < 1 << 16 else bytes([127]) + struct.pack(">Q", size)
        self.wfile.write(head + data)


def main() -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=8911, help="0 takes any that is free (default: 8911)")
    parser.add_argument("--hang", action="store_true", help="never answer")
    parser.add_argument("--fail-every", type=int, default=0, metavar="N", help="answer every N-th request with 500")
    parser.add_argument(
        "--rate-limit", action="store_true", help=f"answer {MOST_A_SECOND} requests a second, and no more"
    )
    parser.add_argument("--fabricate", action="store_true", help="state one wrong fare, in English only")
    given = parser.parse_args()
    with Target(("127.0.0.1", given.port), given) as target:
        print(f"listening on http://127.0.0.1:{target.server_address[1]}", flush=True)
        try:
            target.serve_forever()
        except KeyboardInterrupt:
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
