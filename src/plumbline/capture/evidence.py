"""How does what a page showed become a part of a bundle?

The folder is checked before the browser starts: what was edited under a seal is not sealed anew by the way.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import Bundle, parse
from plumbline.evidence.files import write_atomically
from plumbline.evidence.seal import CHECKSUMS, MANIFEST, digests, read_inventory, recorded_hash, render_checksums

INTERFACE = "interface.html"
AXE = "axe.json"


def check(folder: Path, *, axe: bool) -> None:
    """See to it that a capture may go into this folder.

    Raises:
        IntegrityError: its seal does not hold.
        ConfigurationError: it is no bundle and no question set, or a file that is not a capture's would be lost.
    """
    inventory = read_inventory(folder)
    sealed = inventory if CHECKSUMS in inventory else {**inventory, CHECKSUMS: render_checksums(digests(inventory))}
    bundle = parse(sealed)
    earlier = _earlier(bundle)
    if bundle.manifest.files.interface is None and INTERFACE in inventory:
        raise ConfigurationError(f"{folder / INTERFACE}: is there, and the manifest does not say what it is")
    if AXE in inventory and not earlier.get("axe"):
        raise ConfigurationError(f"{folder / AXE}: is there, and no capture wrote it")
    if AXE in inventory and not axe:
        raise ConfigurationError(
            f"{folder / AXE}: is about an earlier capture",
            remedy="Give --axe FILE, or remove that file and seal again.",
        )


def _earlier(bundle: Bundle) -> Mapping[str, Any]:
    found = (bundle.manifest.recording or {}).get("capture")
    return found if isinstance(found, dict) else {}


def keep(
    folder: Path, page: bytes, axe: Mapping[str, Any] | None, account: Mapping[str, Any]
) -> tuple[str | None, str]:
    """Write the page, the result of axe-core and the account of the capture, and seal the folder.

    Args:
        folder: a bundle or a question set that `check` has passed.
        page: the HTML.
        axe: what axe-core returned, if it ran.
        account: what the manifest is to say at `recording.capture`.

    Returns:
        The dataset hash of the old seal, None where there was none, and the new one.

    Raises:
        ConfigurationError: it cannot be written.
    """
    inventory = read_inventory(folder)
    manifest = json.loads(inventory[MANIFEST])
    name = manifest["files"].get("interface") or INTERFACE
    manifest["files"]["interface"] = name
    manifest["recording"] = {**(manifest.get("recording") or {}), "capture": dict(account)}
    new = {name: page, MANIFEST: (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()}
    if axe is not None:
        # Halves of surrogate pairs, which axe-core quotes from a page, become question marks.
        new[AXE] = (json.dumps(axe, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")
    after = {**inventory, **new}
    new[CHECKSUMS] = render_checksums(digests(after))
    bundle = parse({**after, CHECKSUMS: new[CHECKSUMS]})
    # The seal last: what is cut short is refused, not half believed.
    for file, content in new.items():
        write_atomically(folder / file, content)
    return recorded_hash(inventory), bundle.sha256
