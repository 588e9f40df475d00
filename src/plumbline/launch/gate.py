"""How did the gate of the resolved harness end?

Starts it with a built environment and reads the result it leaves. An exit code alone is not believed: 0 and 1 count
only when the result says the same, so that nothing but a finished audit can look like a verdict.
"""

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from plumbline.errors import ExitCode
from plumbline.launch.machine import SYSTEM, TERMINAL, chosen

ENDED = "ended"
"""File of the run's folder that repeats the exit code, for the shell that started Python."""

_VERDICTS = {ExitCode.PASS: "PASS", ExitCode.FAIL: "FAIL"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What the later steps need to know, and all they get to know."""

    exit_code: int
    verdict: str | None = None
    run_id: str | None = None
    report_json: str | None = None
    report_md: str | None = None
    sarif: str | None = None
    bundle: str | None = None
    """The bundle's folder relative to the repository."""
    label: str | None = None
    message: str | None = None
    remedy: str | None = None
    isolation: str | None = None

    def write(self, path: Path) -> None:
        """Store it for the next step."""
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")
        partial.replace(path)


def read_ending(path: Path) -> Ending | None:
    """What an earlier step stored, or None when that is missing or is no ending."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    return _ending(value)


def _ending(value: object) -> Ending | None:
    if not isinstance(value, dict):
        return None
    code = value.get("exit_code")
    if type(code) is not int or code not in set(ExitCode):
        return None
    texts: dict[str, Any] = {field.name: value.get(field.name) for field in fields(Ending) if field.name != "exit_code"}
    if not all(text is None or isinstance(text, str) for text in texts.values()):
        return None
    if code in _VERDICTS and texts["verdict"] != _VERDICTS[ExitCode(code)]:
        return None
    return Ending(exit_code=code, **texts)


def run_gate(
    interpreter: Path,
    harness: Path,
    arguments: Sequence[str],
    *,
    workspace: Path,
    private: Path,
    environment: Mapping[str, str],
    terminal: bool = False,
) -> Ending:
    """Run `gate` and tell how it ended.

    Args:
        interpreter: of the environment made for the harness.
        harness: the checked checkout.
        arguments: of `gate`, without `--result`.
        workspace: the audited repository; relative paths in the configuration's name are meant from here.
        private: folder for everything this run leaves.
        environment: the machine's variables, of which the gate sees next to nothing.
        terminal: whether somebody may be reading along, in colour.
    """
    result = private / "result.json"
    result.unlink(missing_ok=True)
    command = [*start(interpreter, private), str(harness / "src" / "plumbline" / "__main__.py"), "gate", *arguments]
    try:
        code = subprocess.run(  # noqa: S603 - the harness that was just checked
            [*command, "--result", str(result)],
            cwd=workspace,
            env={
                **basic_environment(environment, private),
                **(chosen(environment, TERMINAL) if terminal else {}),
            },
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
    except OSError as fault:
        return Ending(
            exit_code=ExitCode.CONFIGURATION,
            label="CONFIGURATION ERROR",
            message=f"the harness cannot be started: {fault.strerror}",
        )
    ending = read_ending(result)
    if ending is not None and ending.exit_code == code:
        return ending
    if code in set(ExitCode) - set(_VERDICTS):
        return Ending(exit_code=code, label="REFUSED", message="the gate gave no verdict; the log says why")
    return Ending(
        exit_code=ExitCode.INTERNAL,
        label="INTERNAL ERROR",
        message=f"the gate ended with {code} and left no result that agrees",
    )


def start(interpreter: Path, private: Path) -> list[str]:
    """How an interpreter of ours is started: isolated, UTF-8, and with no bytecode that somebody left behind."""
    return [str(interpreter), "-I", "-X", "utf8", "-X", f"pycache_prefix={private / 'bytecode'}"]


def basic_environment(environment: Mapping[str, str], private: Path) -> dict[str, str]:
    """Variables for a child that needs no network, no token and nobody's settings."""
    built = {
        **chosen(environment, SYSTEM),
        "PATH": os.defpath,
        "HOME": str(private),
        "USERPROFILE": str(private),
        "TMPDIR": str(private),
        "TEMP": str(private),
        "TMP": str(private),
        "LC_ALL": "C.UTF-8",
        # One thread is enough for sums over a few thousand scores, and starting a pool costs more than it gives.
        "OPENBLAS_NUM_THREADS": "1",
    }
    # Some builds of Python find their own library only through this; any other folder in it is dropped.
    own = str(Path(sys.base_prefix) / "lib")
    if own in environment.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        built["LD_LIBRARY_PATH"] = own
    return built
