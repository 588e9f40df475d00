"""How does a command print a line?"""

import sys

from plumbline.report.sinks import log_line, terminal

_LABEL_WIDTH = 10
_LINE_LIMIT = 2000


def line(label: str, text: str) -> None:
    """Print one labelled line. Whatever stands in `text`, it stays one harmless line."""
    print(log_line(f"{label + ':':<{_LABEL_WIDTH + 1}} {terminal(text, _LINE_LIMIT)}"))


def warn(text: str) -> None:
    """Print a warning on the error stream."""
    print(log_line(f"WARNING: {terminal(text, _LINE_LIMIT)}"), file=sys.stderr)
