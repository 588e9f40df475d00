"""What does the step hand back to the workflow: its outputs and its summary?"""

import re
import secrets
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from plumbline.errors import InternalError
from plumbline.github.status import PartStatus

SUMMARY_BUDGET: Final = 1_000_000
"""UTF-8 bytes. Over 1 MiB the runner drops the whole summary and marks the step."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def random_word() -> str:
    """A word that nobody who wrote a value or a message could know."""
    return f"plumbline-{secrets.token_hex(16)}"


def write_outputs(path: Path, values: Mapping[str, str], *, word: Callable[[], str] = random_word) -> None:
    """Append `values` to the file that GITHUB_OUTPUT names.

    Every value is written between delimiters, so that a value with line ends cannot become an output of its
    own.

    Raises:
        InternalError: a name is not one, or a value holds its delimiter. Nothing is written then.
        OSError: the file cannot be written.
    """
    text = ""
    for name, value in values.items():
        if not NAME.fullmatch(name):
            raise InternalError(f"not the name of an output: {name!r}")
        delimiter = word()
        if delimiter in value or delimiter in name:
            raise InternalError(f"the value of {name} holds its own delimiter")
        text += f"{name}<<{delimiter}\n{value}\n{delimiter}\n"
    _append(path, text)


def write_summary(path: Path, texts: Iterable[str], *, budget: int = SUMMARY_BUDGET) -> PartStatus:
    """Append the first of `texts` that fits to the file that GITHUB_STEP_SUMMARY names.

    Args:
        path: the file; what it already holds counts.
        texts: the summary in falling length. Each is whole in itself, because a cut could fall into a table.
        budget: UTF-8 bytes that the file may have in the end.

    Returns:
        `written`, or `failed` with a reason. Never raises.
    """
    try:
        room = budget - (path.stat().st_size if path.exists() else 0)
        for index, text in enumerate(texts):
            whole = text if text.endswith("\n") else f"{text}\n"
            if _size(whole) <= room:
                _append(path, whole)
                return PartStatus("written", "shortened to fit" if index else "")
    except Exception as error:  # noqa: BLE001 - a summary is never worth a verdict
        return PartStatus("failed", f"the summary could not be written ({type(error).__name__})")
    return PartStatus("failed", f"the summary does not fit into {max(room, 0)} bytes")


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))


def _append(path: Path, text: str) -> None:
    # Bytes, because text mode would turn line ends on Windows into ones that end up in the values.
    with path.open("ab") as stream:
        stream.write(text.encode("utf-8", "replace"))
