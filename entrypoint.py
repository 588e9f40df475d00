"""Which part of the gate was asked for, on a machine where nothing is installed yet?

Started as `python -I -S -X utf8 entrypoint.py <part>`, with the standard library alone. It only checks the version and
hands over to the checkout it lies in; so that it can say what is wrong, it must parse on Pythons that it refuses.
"""

import sys
from pathlib import Path
from typing import List  # noqa: UP035 - see above

OLDEST = (3, 11)
CONFIGURATION, INTERNAL = 4, 5


def main(arguments: List[str]) -> int:  # noqa: UP006
    """Run one step of the action, or the gate on this machine; returns the exit code."""
    if sys.version_info < OLDEST:
        found = ".".join(str(part) for part in sys.version_info[:3])
        needed = ".".join(str(part) for part in OLDEST)
        print(f"CONFIGURATION ERROR: Python {needed} or newer is needed; {sys.executable} is {found}", file=sys.stderr)
        return CONFIGURATION
    own = Path(__file__).resolve().parent
    # Neither write bytecode into a checkout that is compared with its commit, nor believe what lies there.
    sys.dont_write_bytecode = True
    sys.pycache_prefix = str(own / "entrypoint.py" / "none")  # no folder can be there
    sys.path.insert(0, str(own / "src"))
    try:
        from plumbline.launch.main import run  # noqa: PLC0415 - only now is it known where from
    except BaseException as fault:  # noqa: BLE001 - Python itself would end with 1, and 1 is a verdict
        try:  # noqa: SIM105 - memory may be gone, so nothing more is imported
            print(f"INTERNAL ERROR: {own} is no whole checkout, or memory ran out: {fault!r}", file=sys.stderr)
        except BaseException:  # noqa: BLE001, S110 - a line that cannot be written must not end with 1 either
            pass
        return INTERNAL
    return run(own, arguments)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
