"""Can this process, or any program it starts, still reach the network?

A seccomp filter, set through ctypes, that needs no rights and that no child can shed. It refuses every socket, the
second road to one (io_uring), and the calls that read another process's memory. It hides no file: what /proc shows of
other processes to this user, it still shows. Where the system is not Linux on x86-64 or ARM64 there is no such wall;
the gate's own guard then stands alone, and the run says so.
"""

import ctypes
import errno
import platform
import socket
import struct
import sys
from dataclasses import dataclass

_PR_SET_NO_NEW_PRIVS = 38
_PR_SET_SECCOMP = 22
_SECCOMP_MODE_FILTER = 2
_ALLOW = 0x7FFF0000
_REFUSE = 0x00050000 | errno.EACCES

_LOAD_WORD = 0x20  # BPF_LD | BPF_W | BPF_ABS
_JUMP_EQUAL = 0x15  # BPF_JMP | BPF_JEQ | BPF_K
_JUMP_AT_LEAST = 0x35  # BPF_JMP | BPF_JGE | BPF_K
_RETURN = 0x06  # BPF_RET | BPF_K
_OFFSET_NUMBER = 0
_OFFSET_ARCHITECTURE = 4
_X32 = 0x40000000


@dataclass(frozen=True, slots=True)
class _Machine:
    architecture: int
    """The kernel's name of the calling convention that the numbers belong to."""
    refused: tuple[int, ...]
    """socket, io_uring_setup, ptrace, process_vm_readv, process_vm_writev, pidfd_getfd."""


_MACHINES = {
    "x86_64": _Machine(0xC000003E, (41, 425, 101, 310, 311, 438)),
    "aarch64": _Machine(0xC00000B7, (198, 425, 117, 270, 271, 438)),
}


def confine() -> bool:
    """Take the network away from this process for the rest of its life.

    Returns:
        Whether the kernel now refuses it. False means that nothing was changed that could be relied on.
    """
    machine = _MACHINES.get(platform.machine())
    # A 32-bit interpreter on a 64-bit kernel reports the kernel's machine and uses other numbers.
    if sys.platform != "linux" or machine is None or sys.maxsize < 2**32:
        return False
    return _install(_program(machine)) and _refused()


def _program(machine: _Machine) -> bytes:
    """The filter: allow everything but the refused calls, and nothing under another calling convention."""
    refused = machine.refused
    steps: list[tuple[int, int, int, int]] = [(_LOAD_WORD, 0, 0, _OFFSET_ARCHITECTURE)]
    last = len(refused) + 5  # where the refusing return stands

    def away() -> int:
        # A jump counts from the step after it.
        return last - len(steps) - 1

    steps.append((_JUMP_EQUAL, 0, away(), machine.architecture))
    steps.append((_LOAD_WORD, 0, 0, _OFFSET_NUMBER))
    steps.append((_JUMP_AT_LEAST, away(), 0, _X32))
    for number in refused:  # one by one: each jump is shorter than the one before
        steps.append((_JUMP_EQUAL, away(), 0, number))  # noqa: PERF401
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _REFUSE)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def _install(program: bytes) -> bool:
    try:
        prctl = ctypes.CDLL(None, use_errno=True).prctl
    except (OSError, AttributeError):
        return False
    prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)
    prctl.restype = ctypes.c_int
    # Without this no unprivileged process may set a filter; it also keeps sudo from lifting it.
    if prctl(_PR_SET_NO_NEW_PRIVS, 1, None, 0, 0) != 0:
        return False
    chosen = _Filter(len(program) // struct.calcsize("HBBI"), program)
    return bool(prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(chosen), 0, 0) == 0)


def _refused() -> bool:
    """Try it: what was asked for is not always what is in force."""
    for family in (socket.AF_INET, socket.AF_INET6, socket.AF_UNIX):
        try:
            socket.socket(family, socket.SOCK_STREAM).close()
        except PermissionError:
            continue
        except OSError:
            return False
        return False
    return True
