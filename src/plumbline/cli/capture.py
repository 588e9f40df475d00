"""What does this page show, as evidence?"""

import argparse
import hashlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from plumbline._version import __version__
from plumbline.canonical import SHORT_ID_LENGTH, sha256_hex
from plumbline.capture.browser import find, started
from plumbline.capture.evidence import AXE, INTERFACE, check, keep
from plumbline.capture.page import HEIGHT, MAX_HTML, STAND_IN, WIDTH, Rendering, render
from plumbline.capture.protocol import Connection
from plumbline.cli.arguments import path
from plumbline.cli.lines import line, warn
from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.files import read_input
from plumbline.report.wording import count

_MAX_SCRIPT = 8 * 1024 * 1024


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    page = parser.add_mutually_exclusive_group(required=True)
    page.add_argument("--url", type=_url, help="address of the page (http or https, no credentials)")
    page.add_argument(
        "--page", type=path, metavar="FILE.html", help="a page in one file; nothing else is loaded for it"
    )
    parser.add_argument("--out", type=path, required=True, metavar="FOLDER", help="a question set or bundle")
    parser.add_argument("--browser", type=path, metavar="PATH", help="Chromium or Chrome (default: the one on PATH)")
    parser.add_argument("--axe", type=path, metavar="FILE", help="script of axe-core; without it only the page is kept")
    parser.add_argument("--timeout", type=_seconds, default=60.0, help="seconds for everything (1 to 600, default 60)")
    parser.add_argument(
        "--wait", type=_wait, default=1.0, help="seconds after the page has loaded (0 to 60, default 1)"
    )
    parser.add_argument("--no-sandbox", action="store_true", help="let the browser run as root, without confinement")


def run(arguments: argparse.Namespace) -> int:
    """Render, keep, seal, and say the old and the new dataset id.

    Raises:
        IntegrityError: the folder's seal does not hold.
        ConfigurationError: no browser, no such page, or one that breaks a bound; nothing is written then.
    """
    folder: Path = arguments.out
    check(folder, axe=arguments.axe is not None)
    content = None if arguments.page is None else _read(arguments.page, "--page", MAX_HTML)
    script = None if arguments.axe is None else _read(arguments.axe, "--axe", _MAX_SCRIPT)
    program = find(arguments.browser)
    offline = content is not None
    with started(program, sandbox=not arguments.no_sandbox, offline=offline) as pipes:
        shown = render(
            Connection(pipes, arguments.timeout),
            address=STAND_IN if offline else arguments.url,
            content=content,
            axe=None if script is None else script.decode("utf-8", "replace"),
            settle=arguments.wait,
        )
    page: dict[str, Any]
    if content is not None:
        page = {"file": arguments.page.name, "sha256": sha256_hex(content)}
    else:
        page = {"url": _without_query(arguments.url)}
    account = _account(shown, page, script, sandbox=not arguments.no_sandbox)
    axe = None if shown.axe is None else {**shown.axe, "url": page.get("url", page.get("file"))}
    before, after = keep(folder, shown.html.encode(), axe, account)
    _tell(folder, shown, before, after)
    return ExitCode.PASS


def _account(shown: Rendering, page: dict[str, Any], script: bytes | None, *, sandbox: bool) -> dict[str, Any]:
    engine = (shown.axe or {}).get("testEngine")
    version = engine.get("version") if isinstance(engine, dict) else None
    axe = None if script is None else {"version": str(version), "script_sha256": hashlib.sha256(script).hexdigest()}
    return {
        "captured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "harness_version": __version__,
        "page": page,
        "browser": shown.browser,
        "sandbox": sandbox,
        "window": [WIDTH, HEIGHT],
        "requests_refused": shown.refused,
        "declared_blocks_renamed": shown.own_blocks,
        "axe": axe,
        "contrast": {
            "pairs": len(shown.contrast.pairs),
            "texts": shown.contrast.texts,
            "not_computed": dict(shown.contrast.unknown),
            "disabled": shown.contrast.disabled,
        },
    }


def _tell(folder: Path, shown: Rendering, before: str | None, after: str) -> None:
    line("captured", f"{folder / INTERFACE} ({len(shown.html.encode())} bytes, {shown.browser})")
    line("colours", f"{count(len(shown.contrast.pairs), 'pair')} of {count(shown.contrast.texts, 'text')}")
    for reason, number in shown.contrast.unknown.items():
        line("unknown", f"{count(number, 'text')} without a pair: {reason}")
    if shown.axe is None:
        line("axe", "not run: --axe FILE names the script")
    else:
        found = {key: len(shown.axe.get(key) or ()) for key in ("violations", "incomplete")}
        line("axe", f"{folder / AXE} ({count(found['violations'], 'rule')} violated, {found['incomplete']} undecided)")
    if shown.refused:
        warn(f"requests of the page refused: {shown.refused}; what they would have shown is not in the capture")
    line("was", "not sealed" if before is None else f"{before[:SHORT_ID_LENGTH]} ({before})")
    line("dataset", f"{after[:SHORT_ID_LENGTH]} ({after})")


def _read(file: Path, option: str, most: int) -> bytes:
    if file.is_file() and file.stat().st_size > most:
        raise ConfigurationError(f"{option}: {file}: {file.stat().st_size} bytes, and at most {most} are read")
    return read_input(file, option)


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        sound = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        raise argparse.ArgumentTypeError("no address of a page") from None
    if not sound or not text.isascii() or not text.isprintable() or " " in text:
        raise argparse.ArgumentTypeError("no address of a page: http://... or https://..., in ASCII")
    if parts.username is not None or parts.password is not None:
        raise argparse.ArgumentTypeError("an address with credentials; they would end up in the evidence")
    return text


def _without_query(url: str) -> str:
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, parts.path, "", ""))


def _seconds(text: str) -> float:
    return _between(text, 1, 600)


def _wait(text: str) -> float:
    return _between(text, 0, 60)


def _between(text: str, least: float, most: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from {least} to {most}")
    return value
