"""How is Plumbline started by path, from a checkout that nobody installed?

`python -I <checkout>/src/plumbline/__main__.py` is the road of the action and of the runner: isolated mode keeps the
working folder, PYTHONPATH and the user's site packages out, and only the checkout's own `src` is put in front.
"""

import sys

if not __package__:
    from pathlib import Path

    _own = Path(__file__).resolve().parent
    # Without -I the folder of this file stands first, where our `statistics` would hide the standard library's.
    sys.path[:] = [str(_own.parent), *(entry for entry in sys.path if Path(entry).resolve() != _own)]

from plumbline.cli.main import run

if __name__ == "__main__":
    run()
