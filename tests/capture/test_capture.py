"""Does a real browser's view of a page become evidence, and can no page do harm?"""

from __future__ import annotations

import json
import re
import tempfile
import threading
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from plumbline.cli import main as cli
from plumbline.errors import ExitCode
from plumbline.evidence.bundle import load
from tests.bundles import files, refuse, write
from tests.capture.browsers import UNCONFINED, axe

PAGE = """<!doctype html><html lang="en"><head><title>T</title><style>
body { background: #fff; color: #333 } h1 { color: oklch(0.5 0.1 200) } ::placeholder { color: #757575 }
.grey { background: rgba(0, 0, 0, .5) } .grey p { color: rgba(255, 255, 255, .8) }
.image { background-image: linear-gradient(red, blue) } .faded { opacity: .5 } .blend { filter: blur(1px) }
.over { position: relative; height: 60px } .over div { position: absolute; inset: 0; background: #000 }
.over p { position: relative; z-index: 2; color: #fff; margin: 0 } .says::before { content: "generated" }
.out { background: #000; width: 10px; height: 10px; white-space: nowrap; color: #fff; display: block }
</style></head><body><main><h1>Head</h1><p>Plain <b>text</b></p><div class="grey"><p>on grey</p></div>
<p class="image">gradient</p><p class="faded">faded</p><div class="over"><div></div><p>over black</p></div>
<p class="blend">blurred</p><p class="says">x</p><p><span class="out">this text leaves its box</span></p>
<form><label>L <input placeholder="hint"></label><input value="val" aria-label="v">
<select aria-label="s"><option>o</select><button disabled>no</button>
<button style="background:#123456;color:#fff">yes</button></form>
<svg width="50" height="20"><text y="15">drawn</text></svg><iframe srcdoc="x" title="f"></iframe>
<div hidden>hidden</div><p style="font-size:24px">large</p><p style="font:700 14pt serif;color:#767676">bold</p>
<p style="font:400 14pt serif;color:#767676">not bold</p><p style="margin-top:3000px;color:#00f">far below</p></main>
<script>document.querySelector("main").append(Object.assign(document.createElement("p"),
{ textContent: "scripted \\ud800 \\ud83d\\ude00" }));</script></body></html>"""


class Blocks(HTMLParser):
    """Every block of colours, as a reader of HTML finds it."""

    def __init__(self, text):
        super().__init__()
        self.found, self._inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self._inside = tag == "script" and dict(attrs).get("id") == "plumbline-contrast"

    def handle_data(self, data):
        if self._inside:
            self.found.append(json.loads(data))
            self._inside = False


@pytest.fixture
def scratch():
    # Not under pytest's own folder: the browser keeps a socket there, whose path must be short.
    with tempfile.TemporaryDirectory(prefix="pc-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
def place(tmp_path, scratch, monkeypatch, capsys):
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))

    class Place:
        folder = write(tmp_path / "q", files([refuse("r")], None))

        def run(self, *words):
            code = cli.main(["capture", "--out", str(self.folder), "--wait", "0.3", *UNCONFINED, *map(str, words)])
            assert list(scratch.iterdir()) == []  # no profile stays behind
            return code

        def capture(self, page, *words):
            (tmp_path / "page.html").write_text(page, "utf-8")
            return self.run("--page", tmp_path / "page.html", *words)

        def shown(self, page, *words):
            assert self.capture(page, *words) == ExitCode.PASS, capsys.readouterr().err
            return (self.folder / "interface.html").read_text("utf-8")

        def refused(self, page, *words):
            before = {path.name: path.read_bytes() for path in self.folder.iterdir()}
            assert self.capture(page, *words) == ExitCode.CONFIGURATION
            assert {path.name: path.read_bytes() for path in self.folder.iterdir()} == before
            return capsys.readouterr().err

        def account(self):
            return load(self.folder).manifest.recording["capture"]

    return Place()


class Answers(BaseHTTPRequestHandler):
    def do_GET(self):
        status, headers, body = self.server.pages[self.path.split("?")[0]]
        self.server.asked.append(self.path)
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_args):
        pass


@pytest.fixture
def server():
    found = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    found.asked = []
    found.address = f"http://127.0.0.1:{found.server_port}"
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


HTML = {"Content-Type": "text/html; charset=utf-8"}


class TestEvidence:
    def test_page_colours_and_axe_are_sealed(self, place, capsys):
        before = load(place.folder).sha256
        text = place.shown(PAGE, "--axe", axe())
        bundle = load(place.folder)
        told = capsys.readouterr().out
        assert f"was:        {before[:12]} ({before})" in told
        assert f"dataset:    {bundle.dataset_id} ({bundle.sha256})" in told
        assert bundle.contents["interface"] == text.encode()
        assert "scripted \ufffd \U0001f600" in text
        result = json.loads((place.folder / "axe.json").read_bytes())
        assert result["testEngine"] == {"name": "axe-core", "version": "4.14.1"}
        assert "svg-img-alt" in {rule["id"] for rule in [*result["violations"], *result["inapplicable"]]}
        assert result["url"] == "page.html"
        account = place.account()
        assert account["axe"]["version"] == "4.14.1"
        assert re.fullmatch(r"[0-9a-f]{64}", account["axe"]["script_sha256"])
        assert account["page"]["file"] == "page.html"
        assert "Chrome/" in account["browser"]
        assert account["sandbox"] is not bool(UNCONFINED)

    def test_the_colours_are_the_pages_own(self, place):
        (pairs,) = Blocks(place.shown(PAGE)).found
        found = {one["name"]: (one["foreground"], one["background"], one.get("size")) for one in pairs}
        assert found == {
            "p: Plain": ("#333333", "#ffffff", None),
            "p: on grey": ("#e6e6e6", "#808080", None),
            "p: faded": ("#999999", "#ffffff", None),
            "input: hint": ("#757575", "#ffffff", None),
            "input: (value)": ("#000000", "#ffffff", None),
            "select: (choice)": ("#000000", "#efefef", None),
            "button: yes": ("#ffffff", "#123456", None),
            "p: large": ("#333333", "#ffffff", "large"),
            "p: bold": ("#767676", "#ffffff", "large"),
            "p: not bold": ("#767676", "#ffffff", None),
            "p: far below": ("#0000ff", "#ffffff", None),
        }
        contrast = place.account()["contrast"]
        assert contrast["not_computed"] == {
            "a frame": 1,
            "background image": 1,
            "colour that cannot be computed": 1,
            "effect": 1,
            "generated text": 1,
            "outside the box that is painted": 1,
            "over another element": 1,
            "text in a drawing": 1,
        }
        assert (contrast["pairs"], contrast["disabled"]) == (len(pairs), 1)
        assert place.account()["requests_refused"] == 0

    def test_without_axe_that_is_said(self, place, capsys):
        place.shown("<p>x</p>")
        assert "not run" in capsys.readouterr().out
        assert not (place.folder / "axe.json").exists()
        assert place.account()["axe"] is None

    def test_an_unsealed_question_set_is_sealed(self, place, capsys):
        (place.folder / "checksums.json").unlink()
        place.shown("<p>x</p>")
        assert "not sealed" in capsys.readouterr().out
        assert load(place.folder).manifest.files.interface == "interface.html"

    def test_a_second_capture_replaces_the_first(self, place):
        place.shown("<p>x</p>", "--axe", axe())
        place.shown("<p>y</p>", "--axe", axe())
        assert b"<p>y</p>" in load(place.folder).contents["interface"]
        assert "--axe" in place.refused("<p>z</p>")

    def test_what_was_recorded_stays_in_the_manifest(self, place):
        manifest = {"recording": {"mode": "import", "import": {"kind": "csv"}}, "version": "3"}
        write(place.folder, files([refuse("r")], {"r": "No."}, manifest=manifest))
        place.shown("<p>x</p>")
        bundle = load(place.folder)
        assert bundle.manifest.version == "3"
        assert bundle.manifest.recording["import"] == {"kind": "csv"}
        assert bundle.responses["r"].response == "No."

    def test_an_edit_under_a_seal_is_not_sealed_by_the_way(self, place):
        path = place.folder / "items.jsonl"
        path.write_bytes(path.read_bytes() + b"\n")
        assert place.capture("<p>x</p>") == ExitCode.INTEGRITY
        assert not (place.folder / "interface.html").exists()

    @pytest.mark.parametrize("name", ["interface.html", "axe.json"])
    def test_nobody_elses_file_is_lost(self, name, place):
        content = files([refuse("r")], None)
        (place.folder / name).write_text("{}")
        (place.folder / "checksums.json").unlink()
        assert name in place.refused("<p>x</p>", "--axe", axe())
        assert content.keys() - {"checksums.json"} <= {path.name for path in place.folder.iterdir()}

    def test_the_same_page_makes_the_same_html(self, place):
        assert place.shown(PAGE) == place.shown(PAGE)


class TestAddresses:
    def test_a_page_with_its_styles(self, place, server):
        style = (200, {"Content-Type": "text/css"}, "p { color: #fff; background: #010203 }")
        page = '<!doctype html><link rel="stylesheet" href="s.css"><p>x'
        server.pages = {"/a": (200, HTML, page), "/s.css": style, "/favicon.ico": (404, {}, "")}
        assert place.run("--url", f"{server.address}/a?token=hush") == ExitCode.PASS
        (pairs,) = Blocks((place.folder / "interface.html").read_text()).found
        assert pairs == [{"name": "p: x", "foreground": "#ffffff", "background": "#010203"}]
        assert place.account()["page"] == {"url": f"{server.address}/a"}
        assert all(b"hush" not in path.read_bytes() for path in place.folder.iterdir())

    @pytest.mark.parametrize(
        ("answer", "told"),
        [
            ((302, {"Location": "/b"}, ""), "redirects to /b"),
            ((404, HTML, "<p>gone"), "status 404"),
            ((200, {"Content-Type": "application/pdf"}, "%PDF"), "no HTML but application/pdf"),
            ((200, {"Content-Type": "application/zip", "Content-Disposition": "attachment"}, "PK"), "no HTML but"),
            ((200, {**HTML, "Refresh": "0; url=/b"}, "<p>x"), "goes to another"),
            ((200, HTML, "<script>location = '/b'</script>"), "goes to another"),
        ],
    )
    def test_answers_that_are_no_page(self, answer, told, place, server, capsys):
        server.pages = {"/a": answer, "/b": (200, HTML, "<p>b"), "/favicon.ico": (404, {}, "")}
        assert place.run("--url", f"{server.address}/a") == ExitCode.CONFIGURATION
        assert told in capsys.readouterr().err
        assert "/b" not in server.asked
        assert not (place.folder / "interface.html").exists()

    def test_nobody_is_there(self, place, server, capsys):
        server.server_close()
        assert place.run("--url", server.address) == ExitCode.CONFIGURATION
        assert "ERR_CONNECTION_REFUSED" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "url",
        ["file:///etc/passwd", "ftp://example.org", "http://", "http://a:b@example.org", "http://[", "http://e x.org"],
    )
    def test_addresses_that_are_refused(self, url, place):
        with pytest.raises(SystemExit) as leaving:
            place.run("--url", url)
        assert leaving.value.code == ExitCode.USAGE


class TestHostilePages:
    def test_an_endless_script(self, place):
        assert "within 4 seconds" in place.refused("<script>for (;;);</script>", "--timeout", "4")

    def test_a_loop_of_alerts(self, place):
        assert "dialogues" in place.refused("<script>for (;;) alert(1)</script>")

    def test_a_few_dialogues_are_dismissed(self, place):
        page = "<script>alert(1); document.title = String(confirm(2)) + prompt(3); print()</script><p>x"
        assert "<title>falsenull</title>" in place.shown(page)

    def test_fifty_megabytes_of_text(self, place):
        page = "<body><p hidden></p><script>document.querySelector('p').append('x'.repeat(50 * 2 ** 20))</script>"
        assert "too large: 5" in place.refused(page, "--timeout", "120")

    def test_a_hundred_thousand_elements(self, place):
        page = "<script>document.write('<i></i>'.repeat(1e5))</script>"
        assert "elements, and at most" in place.refused(page, "--timeout", "120")

    def test_no_file_is_reached_and_no_address(self, place, server, tmp_path):
        (tmp_path / "secret.txt").write_text("canary-of-the-disc")
        server.pages = {"/b": (200, HTML, "canary-of-the-network")}
        reach = f"['file://{tmp_path}/secret.txt', '{server.address}/b']"
        page = (
            f"<body><script>for (const url of {reach}) {{ fetch(url).then((r) => r.text())"
            ".then((t) => document.body.append(t));"
            "for (const tag of ['iframe', 'img', 'script', 'embed']) { const made = document.createElement(tag);"
            "made.src = url; document.body.append(made); } new Worker(URL.createObjectURL(new Blob(["
            "`fetch('${url}').then((r) => r.text()).then((t) => postMessage(t))`]))).onmessage = (e) =>"
            "document.body.append(e.data);"
            "try { navigator.sendBeacon(url); new WebSocket(url.replace(/^\\w+/, 'ws')) } catch {} }"
            "</script>"
        )
        text = place.shown(page)
        assert "canary" not in text
        assert server.asked == []
        assert place.account()["requests_refused"] > 0

    def test_windows_and_downloads_are_not_opened(self, place, tmp_path):
        page = (
            "<a id='a' download='evil.txt' href='data:text/plain,evil'>x</a>"
            "<script>a.click(); document.title = String(window.open('about:blank'))</script>"
        )
        assert "<title>null</title>" in place.shown(page)
        assert not list(tmp_path.rglob("evil*"))

    def test_a_page_cannot_lie_to_the_questions(self, place):
        page = (
            "<p style='color:#777'>true</p><script>window.getComputedStyle = () => ({ color: 'rgb(0, 0, 0)' });"
            "JSON.stringify = () => '{}'; Array.prototype.push = () => 0;"
            "Element.prototype.checkVisibility = () => false;"
            "Object.defineProperty(Element.prototype, 'outerHTML', { get: () => 'lie' });"
            "window.axe = { run: 1 };</script>"
        )
        (pairs,) = Blocks(place.shown(page, "--axe", axe())).found
        assert pairs == [{"name": "p: true", "foreground": "#777777", "background": "#ffffff"}]

    @pytest.mark.parametrize("name", ["plumbline-contrast", "Plumbline-Contrast"])
    def test_a_block_of_the_pages_own_is_no_longer_one(self, name, place):
        claim = '[{"name": "claimed", "foreground": "#000", "background": "#fff"}]'
        page = f'<script id="{name}" type="application/json">{claim}</script><p style="color:#777">true</p>'
        (pairs,) = Blocks(place.shown(page)).found
        assert [one["name"] for one in pairs] == ["p: true"]
        assert place.account()["declared_blocks_renamed"] == 1

    def test_a_block_hidden_in_character_references(self, place):
        page = '<noscript><script id="plumbline&#45;contrast">[]</script></noscript><p>x'
        assert "character references" in place.refused(page)

    def test_text_in_a_shadow_is_seen(self, place):
        page = (
            "<div></div><script>const root = document.querySelector('div').attachShadow({ mode: 'open' });"
            "root.innerHTML = '<p style=\"color:#777;background:#fff\">in the shadow</p>'</script>"
        )
        (pairs,) = Blocks(place.shown(page)).found
        assert pairs == [{"name": "p: in the shadow", "foreground": "#777777", "background": "#ffffff"}]

    def test_text_that_looks_like_a_block(self, place):
        (pairs,) = Blocks(place.shown("<p>&lt;/script&gt;&lt;script id=plumbline-contrast&gt;</p>")).found
        assert pairs[0]["name"].startswith("p: </script><script id=plumbline-contra")

    def test_a_document_that_is_no_html(self, place):
        page = "<script>document.replaceChild(document.createElement('p'), document.documentElement)</script>"
        assert "no HTML" in place.refused(page)

    def test_a_crash_of_the_renderer(self, place):
        page = "<script>const a = []; for (;;) a.push(new Array(1e6).fill(Math.random()))</script>"
        told = place.refused(page, "--timeout", "60")
        assert "crashed" in told or "seconds" in told

    def test_deep_nesting(self, place):
        page = "<script>let at = document.documentElement; for (let n = 0; n < 5000; n++) at = at.appendChild("
        page += "Object.assign(document.createElement('div'), { style: 'background:rgba(0,0,0,.001)' }));"
        page += "at.append('x')</script>"
        code = place.capture(page)
        assert code in {ExitCode.PASS, ExitCode.CONFIGURATION}


class TestTools:
    @pytest.mark.parametrize(
        ("script", "told"),
        [
            ("let x = 1", "defines no axe.run"),
            ("throw new Error('boom')", "boom"),
            ("var axe = { run: () => Promise.resolve({}) }", "no result of axe-core"),
            ("var axe = { run: () => Promise.resolve(undefined) }", "no text"),
        ],
    )
    def test_a_script_that_is_not_axe(self, script, told, place, tmp_path):
        (tmp_path / "axe.js").write_text(script)
        assert told in place.refused("<p>x</p>", "--axe", tmp_path / "axe.js")

    def test_no_browser(self, place, monkeypatch, tmp_path):
        monkeypatch.setenv("PATH", str(tmp_path))
        told = place.refused("<p>x</p>")
        assert "there is no browser" in told
        assert "apt-get install chromium" in told

    def test_a_browser_that_is_not_there(self, place, tmp_path):
        assert "--browser" in place.refused("<p>x</p>", "--browser", tmp_path / "none")

    def test_a_program_that_is_no_browser(self, place):
        assert "ended before" in place.refused("<p>x</p>", "--browser", "/bin/true")

    def test_a_program_that_cannot_be_started(self, place, tmp_path):
        program = tmp_path / "broken"
        program.write_bytes(b"\x7fELF")
        program.chmod(0o755)
        assert "cannot be started" in place.refused("<p>x</p>", "--browser", program)

    def test_a_program_that_hangs(self, place, tmp_path):
        program = tmp_path / "hangs"
        program.write_text(f"#!/bin/sh\nsleep 1000 & echo $! > {tmp_path}/child; wait\n")
        program.chmod(0o755)
        assert "within 2 seconds" in place.refused("<p>x</p>", "--browser", program, "--timeout", "2")
        # Its child is gone too, or waits for whoever adopted it to notice.
        stat = Path("/proc") / (tmp_path / "child").read_text().strip() / "stat"
        assert not stat.exists() or stat.read_text().split(")")[1].split()[0] == "Z"

    def test_root_must_say_that_nothing_confines_the_page(self, place, monkeypatch, tmp_path, capsys):
        monkeypatch.setattr("os.geteuid", lambda: 0)
        (tmp_path / "p.html").write_text("<p>x")
        assert cli.main(["capture", "--out", str(place.folder), "--page", str(tmp_path / "p.html")]) == 4
        assert "--no-sandbox" in capsys.readouterr().err

    @pytest.mark.parametrize("option", ["--page", "--axe"])
    def test_files_that_are_too_large(self, option, place, tmp_path, capsys):
        with (tmp_path / "big").open("wb") as file:
            file.truncate(9 * 2**20)
        (tmp_path / "p.html").write_text("<p>x")
        words = (
            ("--page", tmp_path / "big")
            if option == "--page"
            else ("--page", tmp_path / "p.html", "--axe", tmp_path / "big")
        )
        assert place.run(*words) == ExitCode.CONFIGURATION
        assert option in capsys.readouterr().err

    @pytest.mark.parametrize(
        "words", [("--timeout", "0"), ("--timeout", "nan"), ("--wait", "x"), ("--url", "http://a.example")]
    )
    def test_usage(self, words, place, tmp_path):
        with pytest.raises(SystemExit) as leaving:
            place.run("--page", tmp_path / "p.html", *words)
        assert leaving.value.code == ExitCode.USAGE

    def test_no_folder(self, place, tmp_path, capsys):
        place.folder = tmp_path / "none"
        assert place.run("--page", tmp_path / "p.html") == ExitCode.CONFIGURATION
        assert "there is no such bundle folder" in capsys.readouterr().err
