"""Does the kernel refuse what it is said to refuse, to us and to whatever we start?"""

import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.launch import confinement
from tests.launch.support import ROOT

TRY = """
import ctypes, errno, os, socket, subprocess, sys
sys.path.insert(0, {src!r})
from plumbline.launch.confinement import confine
port = int(sys.argv[1])
def attempt(family, kind=socket.SOCK_STREAM):
    try:
        socket.socket(family, kind).close()
    except OSError as fault:
        return errno.errorcode[fault.errno]
    return "allowed"
def call(number):
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(number, -1, -1, -1, -1, -1, -1)  # so that nothing happens where it is allowed
    return ctypes.get_errno()
before = attempt(socket.AF_INET)
done = confine()
print(before, done)
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX, socket.AF_NETLINK, socket.AF_PACKET, socket.AF_VSOCK):
    print(attempt(family), end=" ")
print()
numbers = {{"x86_64": (425, 101, 310, 311, 438, 0x40000000 | 41, 0x40000000 | 39)}}.get(os.uname().machine, (425,))
print(*[call(number) for number in numbers])
child = "import socket; socket.create_connection(('127.0.0.1', %d), 2)" % port
print(subprocess.run([sys.executable, "-c", child], stderr=subprocess.DEVNULL).returncode)
print([line for line in open("/proc/self/status") if line.startswith("NoNewPrivs")])
"""


def attempt(*prefix: str, python: str = sys.executable) -> list[str]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        done = subprocess.run(
            [*prefix, python, "-c", TRY.format(src=str(ROOT / "src")), str(server.getsockname()[1])],
            capture_output=True, text=True, check=False, cwd="/", timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        with pytest.raises(TimeoutError):
            server.accept()
    return done.stdout.splitlines()


def test_sockets_are_refused_to_us_and_to_children() -> None:
    lines = attempt()
    assert lines[0] == "allowed True"
    assert set(lines[1].split()) == {"EACCES"}
    assert set(lines[2].split()) == {"13"}
    assert lines[3] == "1"
    assert "1" in lines[4]


def test_it_needs_no_rights() -> None:
    system = "/usr/bin/python3"
    if shutil.which("setpriv") is None or not Path(system).exists():
        pytest.fail("this test needs setpriv and a Python that everybody may run")
    run = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    done = subprocess.run([*run, system, "-c", "import sys; print(sys.version_info >= (3, 11))"],
                          capture_output=True, text=True, check=True)  # fmt: skip
    if done.stdout.strip() == "True":
        source = (ROOT / "src" / "plumbline" / "launch" / "confinement.py").read_text()
        check = source + "\nprint(confine())\n"
        done = subprocess.run([*run, system, "-c", check], capture_output=True, text=True, check=True, cwd="/")
        assert done.stdout.strip() == "True"


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")])
def test_elsewhere_nothing_is_claimed(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(confinement.sys, "platform", system)
    monkeypatch.setattr(confinement.platform, "machine", lambda: machine)
    monkeypatch.setattr(confinement, "_install", lambda _: pytest.fail("must not be tried"))
    assert confinement.confine() is False


def test_a_filter_that_was_taken_but_does_not_hold_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "_install", lambda _: True)
    assert confinement.confine() is False


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_the_program_by_an_interpreter_of_its_own(machine: str) -> None:
    known = confinement._MACHINES[machine]
    code = confinement._program(known)
    steps = list(struct.iter_unpack("HBBI", code))

    def run(architecture: int, number: int) -> int:
        at, word = 0, 0
        while True:
            kind, yes, no, value = steps[at]
            at += 1
            if kind == 0x20:
                word = {0: number, 4: architecture}[value]
            elif kind == 0x06:
                return value
            else:
                at += yes if (word == value if kind == 0x15 else word >= value) else no

    refused = 0x00050000 | 13
    for number in range(600):
        expected = refused if number in known.refused else 0x7FFF0000
        assert run(known.architecture, number) == expected, number
    assert run(known.architecture, 0x40000001) == refused
    assert run(0x40000003, 1) == refused
