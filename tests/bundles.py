"""Small sealed bundles for tests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from plumbline.evidence.bundle import Bundle, parse
from plumbline.evidence.seal import CHECKSUMS, digests, render_checksums

ANSWER = {"id": "fare", "lang": "en", "behavior": "answer", "prompt": "How much?", "expected": "It costs 850 dollars."}
REFUSE = {"id": "advice", "lang": "en", "behavior": "refuse", "prompt": "Will I win my appeal?"}


def item(item_id: str, **fields: Any) -> dict[str, Any]:
    """An answer item; fields override."""
    return {**ANSWER, "id": item_id, **fields}


def refuse(item_id: str, **fields: Any) -> dict[str, Any]:
    """A refuse item; fields override."""
    return {**REFUSE, "id": item_id, **fields}


def json_lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    """Records as JSON Lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def files(
    items: Sequence[Mapping[str, Any]],
    responses: Mapping[str, str | Mapping[str, Any] | None] | None,
    *,
    sources: Sequence[Mapping[str, Any]] = (),
    manifest: Mapping[str, Any] | None = None,
    page: str | None = None,
) -> dict[str, bytes]:
    """The files of a sealed bundle.

    `responses` maps item id to text, or to the fields of its record; None makes a question set. `page` is the captured
    interface.
    """
    parts = {"items": "items.jsonl"}
    content = {"items.jsonl": json_lines(items)}
    if responses is not None:
        parts["responses"] = "responses.jsonl"
        content["responses.jsonl"] = json_lines(
            [
                {"id": key, **(said if isinstance(said, Mapping) else {"response": said})}
                for key, said in responses.items()
            ]
        )
    if sources:
        parts["sources"] = "sources.jsonl"
        content["sources.jsonl"] = json_lines(sources)
    if page is not None:
        parts["interface"] = "interface.html"
        content["interface.html"] = page.encode()
    document = {"format": "plumbline-bundle", "format_version": 1, "name": "test", "files": parts, **(manifest or {})}
    content["manifest.json"] = json.dumps(document).encode()
    return resealed(content)


def resealed(content: Mapping[str, bytes]) -> dict[str, bytes]:
    """The same files under a seal that fits them."""
    return {**content, CHECKSUMS: render_checksums(digests(content))}


def bundle(
    items: Sequence[Mapping[str, Any]], responses: Mapping[str, str | Mapping[str, Any] | None] | None, **more: Any
) -> Bundle:
    """A parsed bundle."""
    return parse(files(items, responses, **more))


def write(folder: Path, content: Mapping[str, bytes]) -> Path:
    """Write files into a folder."""
    for name, data in content.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


def target(folder: Path, *, dataset: str = "bundle", suites: str | None = None, more: str = "") -> Path:
    """Write a target configuration beside a bundle and return its path."""
    tables = suites if suites is not None else "[suites.smoke]\n[suites.accuracy]\n[suites.refusal]\n"
    path = folder / "target.toml"
    path.write_text(f'[target]\nname = "test target"\n[dataset]\npath = "{dataset}"\n{tables}{more}')
    return path
