"""A real git repository driven as a user drives it, and a small bundle to put into it."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "Tester",
    "GIT_AUTHOR_EMAIL": "tester@example.com",
    "GIT_COMMITTER_NAME": "Tester",
    "GIT_COMMITTER_EMAIL": "tester@example.com",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
FILES = {
    "manifest.json": b'{"format": "plumbline-bundle", "format_version": 1, "name": "small",\n'
    b' "files": {"items": "items.jsonl", "responses": "responses.jsonl"}}\n',
    "items.jsonl": b'{"id": "a", "lang": "en", "behavior": "answer", "prompt": "How much?", "expected": "It is $5."}\n',
    "responses.jsonl": b'{"id": "a", "response": "It is $5 a day."}\n',
}


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with a seal; written out here, so that the seal is checked against something else than itself."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "checksums.json"}
    lines = "".join(f"{name}={sums[name]}\n" for name in sorted(sums))
    seal = {
        "format": "plumbline-checksums",
        "format_version": 1,
        "algorithm": "sha256",
        "files": dict(sorted(sums.items())),
        "bundle_sha256": hashlib.sha256(lines.encode()).hexdigest(),
    }
    return {**files, "checksums.json": json.dumps(seal, indent=2).encode() + b"\n"}


def dataset_id(files: dict[str, bytes]) -> str:
    return json.loads(sealed(files)["checksums.json"])["bundle_sha256"][:12]


class Repo:
    """A repository in a folder, driven as a user drives it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self.git("init", "-q", "-b", "main")

    def git(self, *arguments: str, stdin: bytes = b"", check: bool = True) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.path, input=stdin, capture_output=True, check=False, env=self.environment()
        )
        if check:
            assert done.returncode == 0, done.stderr.decode()
        return done.stdout.decode().strip()

    @staticmethod
    def environment() -> dict[str, str]:
        return {**{k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT"))}, **IDENTITY}

    def write(self, files: dict[str, bytes], folder: str = "data/small") -> None:
        for name, data in files.items():
            path = self.path / folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def stage(self, name: str, data: bytes, mode: str = "100644") -> None:
        """Put content into the index and leave the work tree alone."""
        blob = self.git("hash-object", "-w", "--stdin", stdin=data)
        self.git("update-index", "-z", "--index-info", stdin=f"{mode} {blob}\t{name}".encode() + b"\0")

    def commit(self, message: str = "work") -> None:
        self.git("commit", "-q", "--allow-empty", "-m", message)
