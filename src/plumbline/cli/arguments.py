"""Which words of a command line name a file?"""

import argparse
from pathlib import Path


def path(text: str) -> Path:
    """A path given on the command line.

    Raises:
        argparse.ArgumentTypeError: no file can have that name, or no report could write it down.
    """
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError("an empty name or a NUL character names no file")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise argparse.ArgumentTypeError("a name that is not valid UTF-8") from None
    return Path(text)
