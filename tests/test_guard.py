from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from plumbline import guard
from plumbline.errors import ExitCode
from plumbline.guard import GuardError

SRC = Path(__file__).resolve().parents[1] / "src"


def behind_the_guard(code):
    return subprocess.run(
        [
            sys.executable,
            "-I",
            "-c",
            f"import sys; sys.path.insert(0, {str(SRC)!r})\n"
            "from plumbline.guard import GuardError, refuse_network_and_processes\n"
            "refuse_network_and_processes()\n"
            f"try:\n    {code}\nexcept GuardError as error:\n    print('refused', error.exit_code)\n    sys.exit(9)",
        ],
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.socket()",
        "import socket; socket.getaddrinfo('localhost', 1)",
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import urllib.request; urllib.request.urlopen('http://127.0.0.1:9')",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import os; os.execv('/bin/true', ['true'])",
        "import os; os.fork()",
        "import os; os.posix_spawn('/bin/true', ['true'], {})",
        "import os; os.spawnv(os.P_WAIT, '/bin/true', ['true'])",
        "import os; os.popen('true')",
        "import pty; pty.spawn('true')",
        "import multiprocessing; multiprocessing.Process(target=print).start()",
    ],
)
def test_no_socket_and_no_process(code):
    found = behind_the_guard(code)
    assert (found.returncode, found.stdout) == (9, "refused 5\n"), found.stderr


def test_everything_else_goes_on():
    found = behind_the_guard("open('/dev/null').close(); print('fine')")
    assert (found.returncode, found.stdout) == (0, "fine\n")


def test_the_hook_itself():
    # Coverage does not see code that runs inside an audit hook.
    with pytest.raises(GuardError) as caught:
        guard._hook("socket.connect", ())
    assert caught.value.exit_code == ExitCode.INTERNAL
    guard._hook("open", ())
