"""How is a local program run so that nothing it does costs more than its bounds?

Never through a shell. The child leads a session of its own, and whatever ends a call kills that whole group. Both of
its pipes are read all the time, its end is waited for and not that of whoever else holds a pipe, and every byte of
output counts. What a grandchild does that left the group is out of reach here.
"""

import os
import selectors
import signal
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from plumbline.record.adapters.base import CallError
from plumbline.record.secret import Secrets

_CHUNK = 64 * 1024
_TAIL = 16 * 1024
_QUOTED = 300
_DRAINED = 64
"""Chunks of the error stream that are still read once the child has ended."""
_POLL = 0.02
_MOMENT = 1.0


class Child:
    """A running program.

    Args:
        command: program and arguments.
        environment: all that it inherits.
        folder: where it runs.
        ceiling: bytes of output for one answer.
        timeout: seconds for one answer.
        secrets: what no message may show.

    Raises:
        CallError: it cannot be started.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        folder: Path,
        ceiling: int,
        timeout: float,
        secrets: Secrets,
    ) -> None:
        self._name = Path(command[0]).name
        self._ceiling = ceiling
        self._timeout = timeout
        self._secrets = secrets
        self._output = bytearray()
        self._errors = bytearray()
        self._pending = memoryview(b"")
        self._ending = threading.Lock()
        self._ended = False
        try:
            self._process = subprocess.Popen(  # noqa: S603 - a list and no shell; running it is what was asked for
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,
            )
        except OSError as fault:
            raise CallError(
                f"{self._name}: cannot be started: {fault.strerror}",
                fault="unreachable",
                remedy="Long questions do not fit on a command line; send them on the standard input.",
            ) from None
        self._stdin, self._stdout, self._stderr = (
            cast(BinaryIO, stream) for stream in (self._process.stdin, self._process.stdout, self._process.stderr)
        )
        self._selector = selectors.DefaultSelector()
        self._open = {self._stdout, self._stderr}
        for stream in (self._stdin, self._stdout, self._stderr):
            os.set_blocking(stream.fileno(), False)
        for stream in self._open:
            self._selector.register(stream, selectors.EVENT_READ)
        self._watch = self._watched()

    def _watched(self) -> int | None:
        # Where the kernel can tell the child's end like a byte on a pipe, nothing needs to be asked again and again.
        try:
            descriptor = os.pidfd_open(self._process.pid)
        except (AttributeError, OSError):
            return None
        self._selector.register(descriptor, selectors.EVENT_READ)
        return descriptor

    def once(self, text: bytes) -> bytes:
        """Give the program its whole input, wait for its end, and return all it printed.

        Raises:
            CallError: out of time, too much output, or an end with anything but 0.
        """
        deadline = self._send(text)
        self._close_input_when_sent()
        while not self._has_ended():
            self._step(deadline)
            self._close_input_when_sent()
        self._drain()
        code = self.kill()
        if code:
            raise self._exited(code)
        return bytes(self._output)

    def line(self, text: bytes) -> bytes:
        """Give the program one line, and return the one line that it answers.

        Raises:
            CallError: out of time, too much output, an end, or more output than was asked for.
        """
        self._read(self._stdout)
        if self._output:
            raise self._surplus()
        deadline = self._send(text + b"\n")
        while b"\n" not in self._output:
            if self._has_ended():
                self._drain()
                if b"\n" in self._output:
                    break
                raise self._exited(self.kill())
            if self._stdout in self._open:
                self._step(deadline)
            elif not self._ends_now():
                self.kill()
                raise CallError(f"{self._name}: closed its output before it answered", fault="empty")
        answer, _, rest = bytes(self._output).partition(b"\n")
        self._output = bytearray(rest)
        if rest:
            raise self._surplus()
        return answer

    def _surplus(self) -> CallError:
        self.kill()
        return CallError(
            f"{self._name}: printed more than one line for one turn, so answers would go to the wrong questions",
            fault="malformed",
            remedy='With mode = "lines" each turn is one line in and one line out; progress belongs on stderr.',
        )

    def _send(self, text: bytes) -> float:
        if text and not self._stdin.closed:
            if not self._pending:
                self._selector.register(self._stdin, selectors.EVENT_WRITE)
            # An answer may come before the whole of the last question was read.
            self._pending = memoryview(bytes(self._pending) + text)
        return time.monotonic() + self._timeout

    def _close_input_when_sent(self) -> None:
        if not self._pending and not self._stdin.closed:
            self._forget(self._stdin)

    def _step(self, deadline: float) -> None:
        left = deadline - time.monotonic()
        if left <= 0:
            self.kill()
            raise CallError(
                f"{self._name}: no answer within {self._timeout:g} s; it was killed{self._told()}",
                fault="timeout",
                transient=True,
                remedy="Raise adapter.timeout_seconds if the program may take that long.",
            )
        for key, _ in self._selector.select(left if self._watch is not None else min(left, _POLL)):
            if key.fileobj is self._stdin:
                self._write()
            elif key.fileobj in self._open:
                self._read(self._stdout if key.fileobj is self._stdout else self._stderr)

    def _write(self) -> None:
        try:
            sent = os.write(self._stdin.fileno(), self._pending[:_CHUNK])
        except BlockingIOError:
            return
        except OSError:  # it does not want to know; whether it answers all the same is its own affair
            self._pending = memoryview(b"")
            self._forget(self._stdin)
            return
        self._pending = self._pending[sent:]
        if not self._pending:
            self._selector.unregister(self._stdin)

    def _read(self, stream: BinaryIO) -> bool:
        """Read one chunk; whether there was one."""
        if stream not in self._open:
            return False
        try:
            data = os.read(stream.fileno(), _CHUNK)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._open.discard(stream)
            self._forget(stream)
            return False
        if stream is self._stderr:
            self._errors += data
            del self._errors[:-_TAIL]
            return True
        self._output += data
        if len(self._output) > self._ceiling:
            self.kill()
            raise CallError(
                f"{self._name}: printed more than {self._ceiling} bytes; it was killed",
                fault="too_large",
                remedy="Raise adapter.max_output_bytes if the answers of this target are really that long.",
            )
        return True

    def _drain(self) -> None:
        # What the child wrote before it ended is in the pipe now; what others write into it later is not waited for.
        while self._read(self._stdout):
            pass
        for _ in range(_DRAINED):
            if not self._read(self._stderr):
                break

    def _forget(self, stream: BinaryIO) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(stream)
        with suppress(OSError):
            stream.close()

    def _ends_now(self) -> bool:
        # A program that ends lets go of its pipes a moment before the system can tell with which code.
        patience = time.monotonic() + _MOMENT
        while not (ended := self._has_ended()) and time.monotonic() < patience:
            time.sleep(_POLL)
        return ended

    def _has_ended(self) -> bool:
        # It is not reaped here: while it is a zombie, its number and that of its group belong to nobody else.
        try:
            return os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        except ChildProcessError:  # killed and reaped by `kill` from another thread
            return True

    def kill(self) -> int:
        """End the program and all it started, and let go of everything. May be called twice, and from any thread.

        Returns:
            The exit code; negative for a signal.
        """
        with self._ending:
            if not self._ended:
                self._ended = True
                with suppress(OSError):
                    os.killpg(self._process.pid, signal.SIGKILL)
                with suppress(subprocess.TimeoutExpired):
                    self._process.wait(timeout=5)
        return self._process.returncode or 0

    def close(self) -> None:
        """End the program, and close its pipes; never raises."""
        self.kill()
        for stream in (self._stdin, self._stdout, self._stderr):
            self._forget(stream)
        if self._watch is not None:
            with suppress(OSError):
                os.close(self._watch)
            self._watch = None
        self._selector.close()

    def _exited(self, code: int) -> CallError:
        if code < 0:
            try:
                how = f"was ended by signal {signal.Signals(-code).name}"
            except ValueError:
                how = f"was ended by signal {-code}"
        else:
            how = f"ended with exit code {code}"
        return CallError(f"{self._name}: {how}{self._told()}", fault="exited")

    def _told(self) -> str:
        # Masked as a whole and only then cut: the cut could leave a half of a secret that nothing finds.
        shown = self._secrets.mask_part(bytes(self._errors).decode("utf-8", "replace")).strip()
        if not shown:
            return ""
        return f"; its last words: {self._secrets.quote(shown[-_QUOTED:], 2 * _QUOTED)}"
