"""How is publishing started by path, from a checkout that nobody installed?

As `plumbline/__main__.py` is: isolated, with only the checkout's own `src` in front.
"""

import os
import sys

if not __package__:
    from pathlib import Path

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from plumbline.github.ending import publish_ending

if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(publish_ending(sys.argv[1:], os.environ, sys.stdout))
