"""What does a page show once it is rendered?

Pages are hostile. A page opens no window and no dialogue that stays, downloads nothing, reads no file, goes nowhere
else, and has a bounded time and size; whatever breaks a bound ends the capture. What is asked of the page is asked in a
world of its own, where the page's scripts have no say.
"""

import base64
import html
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from plumbline.capture.contrast import BLOCK_ID, Contrast, block, composited
from plumbline.capture.protocol import CaptureError, Connection

MAX_HTML = 8 * 1024 * 1024
"""Bytes of a page, as given and as rendered."""
MAX_ELEMENTS = 50_000
WIDTH, HEIGHT = 1280, 800
"""CSS pixels of the window."""

STAND_IN = "https://page.invalid/"
"""The address under which a page from a file is shown, so that it has no file's rights."""

_MOST_DIALOGUES = 20
_AXE_OPTIONS = {"iframes": False, "resultTypes": ["violations", "incomplete", "passes", "inapplicable"]}
_MARK = re.compile(BLOCK_ID, re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendering:
    """A page as it was shown."""

    html: str
    """With the block of colours, and without any that the page had itself."""
    axe: Mapping[str, Any] | None
    """What axe-core returned."""
    contrast: Contrast
    browser: str
    """Product and version."""
    refused: int
    """Requests that were not let through."""
    own_blocks: int
    """Mentions of the block's name in the page itself, which were renamed."""


def render(connection: Connection, *, address: str, content: bytes | None, axe: str | None, settle: float) -> Rendering:
    """Show a page and ask it what is there.

    Args:
        connection: to a fresh browser.
        address: what to open.
        content: the page itself, where it comes from a file; then nothing else can be reached.
        axe: the script of axe-core, if it is to be run.
        settle: seconds to wait after the page has loaded.

    Raises:
        CaptureError: it cannot be opened, goes elsewhere, or breaks a bound.
    """
    browser = str(connection.call("Browser.getVersion").get("product", "unknown"))
    connection.call("Browser.setDownloadBehavior", {"behavior": "deny"})
    target = connection.call("Target.createTarget", {"url": "about:blank"})["targetId"]
    attached = connection.call("Target.attachToTarget", {"targetId": target, "flatten": True})
    connection.session = attached["sessionId"]
    watch = _Watch(connection, content)
    connection.listener = watch.heard
    _prepare(connection)
    frame = connection.call("Page.getFrameTree")["frameTree"]["frame"]["id"]
    watch.main = frame
    opened = connection.call("Page.navigate", {"url": address})
    watch.judge()
    if opened.get("errorText"):
        raise CaptureError(f"the page cannot be opened: {opened['errorText']!s:.100}")
    connection.listen(lambda: watch.loaded or watch.fault is not None)
    watch.judge()
    connection.listen(lambda: watch.fault is not None, settle)
    watch.judge()
    world = connection.call("Page.createIsolatedWorld", {"frameId": frame, "worldName": "plumbline"})
    asked = _World(connection, watch, world["executionContextId"])
    _refuse_large(asked)
    found = json.loads(asked.text(files("plumbline.capture").joinpath("colours.js").read_text("utf-8")))
    shown = asked.text("(document.doctype ? '<!DOCTYPE html>\\n' : '') + document.documentElement.outerHTML")
    checked = None if axe is None else _axe(asked, axe)
    contrast = composited(found)
    text, renamed = _with_block(shown, contrast)
    return Rendering(
        html=text,
        axe=checked,
        contrast=contrast,
        browser=browser,
        refused=watch.refused,
        own_blocks=renamed,
    )


def _prepare(connection: Connection) -> None:
    connection.call("Page.enable")
    connection.call("Inspector.enable")
    connection.call("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
    connection.call("Network.setBypassServiceWorker", {"bypass": True})
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    connection.call("Emulation.setDeviceMetricsOverride", size)
    features = [
        {"name": "prefers-color-scheme", "value": "light"},
        {"name": "prefers-reduced-motion", "value": "reduce"},
    ]
    connection.call("Emulation.setEmulatedMedia", {"media": "screen", "features": features})
    stages = [
        {"urlPattern": "*", "requestStage": "Request"},
        {"urlPattern": "*", "resourceType": "Document", "requestStage": "Response"},
    ]
    connection.call("Fetch.enable", {"patterns": stages})


class _Watch:
    """What happens while a page is open, and which of it ends the capture."""

    def __init__(self, connection: Connection, content: bytes | None) -> None:
        self._connection = connection
        self._content = content
        self._opened = False
        self._arrived = False
        self._dialogues = 0
        self.main: str | None = None
        self.loaded = False
        self.refused = 0
        self.fault: str | None = None

    def judge(self) -> None:
        """End the capture if something happened that ends it."""
        if self.fault is not None:
            raise CaptureError(self.fault)

    def heard(self, method: str, told: Mapping[str, Any]) -> None:
        """One event. Answers are sent and not waited for."""
        if method == "Fetch.requestPaused":
            self._request(told)
        elif method == "Page.loadEventFired":
            self.loaded = self._arrived
        elif method == "Page.frameNavigated" and told["frame"]["id"] == self.main:
            if self._arrived:
                self._blame(f"the page goes to another: {told['frame'].get('url', '')!s:.200}")
            self._arrived = told["frame"].get("url") != "about:blank"
        elif method == "Page.javascriptDialogOpening":
            self._dialogues += 1
            if self._dialogues > _MOST_DIALOGUES:
                self._blame(f"the page opens more than {_MOST_DIALOGUES} dialogues")
                return  # the page hangs in its dialogue until the browser is ended
            self._connection.send("Page.handleJavaScriptDialog", {"accept": False})
        elif method == "Inspector.targetCrashed":
            self._blame("the page crashed its renderer, as when it needs more memory than it may have")

    def _blame(self, fault: str) -> None:
        self.fault = self.fault or fault

    def _request(self, told: Mapping[str, Any]) -> None:
        document = told.get("resourceType") == "Document" and told.get("frameId") == self.main
        if "responseStatusCode" in told or "responseErrorReason" in told:
            if document:
                self._answered(told)
            self._connection.send("Fetch.continueRequest", {"requestId": told["requestId"]})
            return
        url = str(told["request"]["url"])
        if document:
            if self._opened:
                self._blame(f"the page goes to another: {url:.200}")
                self._refuse(told)
                return
            self._opened = True
            if self._content is not None:
                self._fulfil(told, self._content)
                return
        schemes = (
            ("about:", "data:", "blob:")
            if self._content is not None
            else ("about:", "data:", "blob:", "http://", "https://")
        )
        if url.startswith(schemes):
            self._connection.send("Fetch.continueRequest", {"requestId": told["requestId"]})
        else:
            self._refuse(told)

    def _answered(self, told: Mapping[str, Any]) -> None:
        code = told.get("responseStatusCode")
        headers = {str(one["name"]).lower(): str(one["value"]) for one in told.get("responseHeaders", [])}
        if isinstance(code, int) and 300 <= code < 400:
            self._blame(
                f"the page redirects to {headers.get('location', 'nowhere'):.200}: name the last address itself"
            )
        elif isinstance(code, int) and code >= 400:
            self._blame(f"the page is answered with status {code}")
        elif "html" not in headers.get("content-type", "html"):
            self._blame(f"what is answered is no HTML but {headers['content-type']:.100}")

    def _fulfil(self, told: Mapping[str, Any], content: bytes) -> None:
        answer = {
            "requestId": told["requestId"],
            "responseCode": 200,
            "responseHeaders": [{"name": "Content-Type", "value": "text/html"}],
            "body": base64.b64encode(content).decode(),
        }
        self._connection.send("Fetch.fulfillRequest", answer)

    def _refuse(self, told: Mapping[str, Any]) -> None:
        # A browser asks for a site's picture unasked; it shows nothing in the page.
        self.refused += told["request"]["url"] != f"{STAND_IN}favicon.ico"
        self._connection.send("Fetch.failRequest", {"requestId": told["requestId"], "errorReason": "Aborted"})


class _World:
    """Questions to a page, out of reach of its scripts."""

    def __init__(self, connection: Connection, watch: _Watch, context: int) -> None:
        self._connection = connection
        self._watch = watch
        self._context = context

    def value(self, expression: str) -> Any:  # noqa: ANN401 - a JSON value
        """What an expression comes to; a promise is waited for."""
        question = {
            "expression": expression,
            "contextId": self._context,
            "returnByValue": True,
            "awaitPromise": True,
        }
        answer = self._connection.call("Runtime.evaluate", question)
        self._watch.judge()
        if "exceptionDetails" in answer:
            thrown = answer["exceptionDetails"].get("exception", {}).get("description", "an error")
            raise CaptureError(f"the page cannot be read: {thrown!s:.200}")
        return answer["result"].get("value")

    def text(self, expression: str) -> str:
        """The same for a text. Halves of surrogate pairs, which no file can hold, become U+FFFD."""
        found = self.value(expression)
        if not isinstance(found, str):
            raise CaptureError("the page cannot be read: no text came back")
        return found.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _refuse_large(asked: _World) -> None:
    elements = asked.value("document.getElementsByTagName('*').length")
    if not isinstance(elements, int) or elements > MAX_ELEMENTS:
        raise CaptureError(f"the page is too large: it has {elements} elements, and at most {MAX_ELEMENTS} are read")
    if asked.value("document.documentElement.tagName") != "HTML":
        raise CaptureError("the page is no HTML")
    length = asked.value("document.documentElement.outerHTML.length")
    if not isinstance(length, int) or length > MAX_HTML:
        raise CaptureError(f"the page is too large: {length} characters, and at most {MAX_HTML} are kept")


def _axe(asked: _World, script: str) -> dict[str, Any]:
    asked.value(f"{script}\n;typeof axe")
    if asked.value("typeof axe === 'object' && typeof axe.run === 'function'") is not True:
        raise CaptureError("--axe: the script is not axe-core: it defines no axe.run")
    options = json.dumps(_AXE_OPTIONS)
    found = json.loads(asked.text(f"axe.run(document, {options}).then((found) => JSON.stringify(found))"))
    if not isinstance(found, dict) or not isinstance(found.get("violations"), list) or "testEngine" not in found:
        raise CaptureError("--axe: what the script returned is no result of axe-core")
    return found


def _with_block(shown: str, contrast: Contrast) -> tuple[str, int]:
    # A block of the page's own would be a claim; here it is what was measured.
    text, renamed = _MARK.subn(f"{BLOCK_ID[:9]}-declared", shown)
    if _MARK.search(html.unescape(text)):
        raise CaptureError(
            f"the page hides the name {BLOCK_ID!r} in character references; whose block counts is unclear"
        )
    body, end = (text[: -len(_END)], _END) if text.endswith(_END) else (text, "")
    return f"{body}{block(contrast)}\n{end}\n", renamed


_END = "</body></html>"
