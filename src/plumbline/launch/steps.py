"""What does each step of the action do, and with which rights?

Four steps: `resolve` has the network and no token, `audit` has neither, `publish` has the token and no say in the
verdict, `verdict` ends with the gate's exit code. They share one folder under the runner's temporary one. A step that
gives no verdict stores why and ends well, so that the steps after it can still tell people.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import NoReturn

from plumbline.errors import ConfigurationError, ExitCode, PlumblineError
from plumbline.launch.confinement import confine
from plumbline.launch.environment import make_environment
from plumbline.launch.gate import ENDED, Ending, basic_environment, read_ending, run_gate, start
from plumbline.launch.harness import Git, GitError, Harness, UnreachableError, resolve, trusted_by_name
from plumbline.launch.machine import NETWORK, SYSTEM, chosen
from plumbline.launch.pin import inside, read_pin
from plumbline.launch.workflow import (
    Inputs,
    commands_stopped,
    folder,
    hand_on,
    read_inputs,
    refuse_event,
    say,
    state_folder,
    tell_refusal,
    warn,
)

PUBLISH_TIMEOUT_S = 600
_RESOLVED = "resolved.json"
_ENDING = "ending.json"
# What the runner reads back into the caller's later steps; the token's step has no business with these.
_AUDIT_VARIABLES = ("PLUMBLINE_STATE", "RUNNER_TEMP", "GITHUB_STEP_SUMMARY", "LD_LIBRARY_PATH", *SYSTEM)
_NOT_FOR_PUBLISH = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_STATE")


def step(name: str, own: Path, environment: Mapping[str, str]) -> int:
    """Run one step.

    Args:
        name: `resolve`, `audit` (which becomes `audit-alone`), `publish` or `verdict`.
        own: the checkout that this code runs from.
        environment: the step's variables.

    Returns:
        The step's exit code.
    """
    if name == "resolve":
        return _resolve(own, environment)
    state = state_folder(environment)
    if name == "publish":
        return 0 if state is None else _publish(state, environment)
    if name == "verdict":
        return _verdict(state, environment)
    if name == "audit" and os.name != "nt":
        _forget_environment(own, environment)
    return _stored(state, environment, lambda there: _audit(there, environment))


def _forget_environment(own: Path, environment: Mapping[str, str]) -> NoReturn:
    # A child may read the variables that its parent was started with, so they have to go from this process too.
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(own / "entrypoint.py"), "audit-alone"]
    os.execve(sys.executable, command, chosen(environment, _AUDIT_VARIABLES))  # noqa: S606 - no shell is the point


def _stored(state: Path | None, environment: Mapping[str, str], work: Callable[[Path], Ending | None]) -> int:
    """Do `work` and store how it ended, a refusal like a verdict."""
    if state is None:
        tell_refusal(environment, ConfigurationError("the first step of the action left no folder to work in"))
        return ExitCode.CONFIGURATION
    try:
        ending = work(state)
    except PlumblineError as error:
        return _refused(state, environment, error)
    except OSError as fault:  # a full disk, a folder that was taken away: the machine's
        return _refused(state, environment, ConfigurationError(f"{type(fault).__name__}: {fault}"))
    if ending is not None:
        ending.write(state / _ENDING)
    return 0


def _refused(state: Path, environment: Mapping[str, str], error: PlumblineError) -> int:
    # First stored, then shown: a summary that cannot be written must not change how this ends.
    try:
        Ending(
            exit_code=error.exit_code, label=error.label, message=error.message, remedy=error.remedy, isolation="none"
        ).write(state / _ENDING)
    except OSError:
        return error.exit_code
    finally:
        with suppress(OSError):
            tell_refusal(environment, error)
    return 0


def _resolve(own: Path, environment: Mapping[str, str]) -> int:
    try:
        temporary = folder(environment, "RUNNER_TEMP")
    except PlumblineError as error:
        tell_refusal(environment, error)
        return error.exit_code
    try:
        state = Path(tempfile.mkdtemp(prefix="plumbline-", dir=temporary))
        hand_on(environment, {"state": str(state)})
    except OSError as fault:
        with suppress(OSError):
            tell_refusal(environment, ConfigurationError(f"RUNNER_TEMP cannot be written: {fault.strerror}"))
        return ExitCode.CONFIGURATION
    return _stored(state, environment, lambda there: _resolve_into(there, own, environment))


def _resolve_into(state: Path, own: Path, environment: Mapping[str, str]) -> None:
    try:
        _find_harness(state, own, environment)
    except (ValueError, RuntimeError, GitError) as fault:
        # A loop of links, a name that no file can have, an old git: the machine's, or the repository's.
        raise ConfigurationError(f"{type(fault).__name__}: {fault}") from fault


def _find_harness(state: Path, own: Path, environment: Mapping[str, str]) -> None:
    refuse_event(environment)
    inputs = read_inputs(environment)
    workspace = folder(environment, "GITHUB_WORKSPACE")
    pin = read_pin(inside(workspace, inputs.pin, "input pin"))
    config = inputs.config or pin.config
    for what, path in (("config", config), ("baseline", pin.baseline)):
        if path is not None and not inside(workspace, path, what).is_file():
            raise ConfigurationError(f"{what}: there is no file {path} in the repository")
    say(f"harness {pin.repo} at {pin.ref}")
    try:
        git = Git(state, workspace, environment)
        harness = resolve(git, repo=pin.repo, commit=pin.ref, own=own, private=state)
    except UnreachableError as error:
        named = trusted_by_name(
            own,
            repo=pin.repo,
            commit=pin.ref,
            action_ref=environment.get("PLUMBLINE_ACTION_REF", ""),
            action_repository=environment.get("PLUMBLINE_ACTION_REPOSITORY", ""),
        )
        if named is None:
            raise
        warn(f"{error.message}; the runner downloaded the action at the pinned commit, so that checkout is used")
        harness = named
    say(f"harness tree {harness.tree}: {harness.origin}")
    interpreter = make_environment(
        harness.folder / "requirements" / "action.txt", state, environment=environment, workspace=workspace
    )
    resolved = {
        "harness": str(harness.folder),
        "commit": harness.commit,
        "tree": harness.tree,
        "executables": harness.executables,
        "origin": harness.origin,
        "interpreter": str(interpreter),
        "workspace": str(workspace),
        "config": config,
        "baseline": pin.baseline,
        "require_comparable_baseline": pin.require_comparable_baseline,
        "inputs": asdict(inputs),
    }
    (state / _RESOLVED).write_text(json.dumps(resolved, indent=2), encoding="utf-8")
    hand_on(environment, {"ready": "true"})


def _audit(state: Path, environment: Mapping[str, str]) -> Ending:
    resolved = json.loads((state / _RESOLVED).read_bytes())
    inputs = Inputs(**resolved["inputs"])
    workspace = Path(resolved["workspace"])
    harness = _harness(resolved)
    harness.check_again()
    isolation = "kernel" if confine() else "in-process"
    say(f"isolation: {isolation}")
    if inputs.require_isolation and isolation != "kernel":
        raise ConfigurationError(
            "require-isolation is true, and this runner cannot deny the network in the kernel",
            remedy="Linux on x86-64 or ARM64 can. Elsewhere set require-isolation: false.",
        )
    arguments = ["--config", resolved["config"], "--out", str(state / "reports")]
    arguments += ["--sarif", str(state / "plumbline.sarif"), f"--key={inputs.key}"]
    # Also where git says the same: a bundle behind a link that leads out of the workspace is then refused.
    arguments += ["--repository", str(workspace)]
    if resolved["baseline"] is not None:
        arguments += ["--baseline", resolved["baseline"]]
    if resolved["require_comparable_baseline"]:
        arguments.append("--require-comparable-baseline")
    with commands_stopped():
        ending = run_gate(
            Path(resolved["interpreter"]),
            harness.folder,
            arguments,
            workspace=workspace,
            private=state,
            environment=environment,
        )
    return replace(ending, isolation=isolation)


def _harness(resolved: Mapping[str, object]) -> Harness:
    executables = resolved["executables"]
    return Harness(
        folder=Path(str(resolved["harness"])),
        commit=str(resolved["commit"]),
        tree=str(resolved["tree"]),
        executables=tuple(executables) if isinstance(executables, list) else None,
        origin=str(resolved["origin"]),
    )


def _publish(state: Path, environment: Mapping[str, str]) -> int:
    """Show the verdict. Whatever goes wrong here is a warning: the verdict stands."""
    try:
        code = _start_publishing(state, environment)
    except PlumblineError as error:
        warn(f"nothing was published: {error.message}; the verdict stands")
    except Exception as fault:  # noqa: BLE001 - showing a verdict is never worth the verdict
        warn(f"nothing was published: {type(fault).__name__}: {fault}; the verdict stands")
    else:
        if code:
            warn(f"publishing ended with {code}; the verdict stands")
    return 0


def _start_publishing(state: Path, environment: Mapping[str, str]) -> int:
    if read_ending(state / _ENDING) is None:
        raise ConfigurationError("the audit left nothing to publish")
    resolved = json.loads((state / _RESOLVED).read_bytes())
    inputs = Inputs(**resolved["inputs"])
    harness = _harness(resolved)
    harness.check_again()
    return subprocess.run(  # noqa: S603 - the harness that was just checked
        [
            *start(Path(resolved["interpreter"]), state),
            str(harness.folder / "src" / "plumbline" / "github" / "__main__.py"),
            *("--ending", str(state / _ENDING)),
            *("--target", resolved["config"]),
            f"--key={inputs.key}",
            *("--annotations", str(inputs.annotations).lower()),
            *("--summary", str(inputs.summary).lower()),
            *("--comment", inputs.comment),
            *("--upload-sarif", inputs.upload_sarif),
        ],
        cwd=state,
        env=_publish_environment(state, environment, Path(resolved["workspace"])),
        stdin=subprocess.DEVNULL,
        timeout=PUBLISH_TIMEOUT_S,
        check=False,
    ).returncode


def _publish_environment(state: Path, environment: Mapping[str, str], workspace: Path) -> dict[str, str]:
    given = {
        name: value
        for name, value in environment.items()
        if name.startswith(("GITHUB_", "RUNNER_")) and "TOKEN" not in name and name not in _NOT_FOR_PUBLISH
    }
    token = environment.get("PLUMBLINE_INPUT_TOKEN", "").strip()
    return {
        **basic_environment(environment, state),
        **chosen(environment, NETWORK, workspace),
        **given,
        **({"GITHUB_TOKEN": token} if token else {}),
    }


def _verdict(state: Path | None, environment: Mapping[str, str]) -> int:
    if state is None:
        # Where the first step found no place to write, it has said so, and nothing after it ran.
        warn("the first step of the action left no folder, so there is no verdict")
        ending: Ending | None = Ending(exit_code=ExitCode.CONFIGURATION, label="CONFIGURATION ERROR")
    else:
        ending = read_ending(state / _ENDING)
        for name in ("venv", "harness", "wheels", "store", "history", "bytecode"):
            shutil.rmtree(state / name, ignore_errors=True)
    if ending is None:
        warn("no step left a result that can be read, so there is no verdict")
        ending = Ending(exit_code=ExitCode.INTERNAL, label="INTERNAL ERROR")
    hand_on(
        environment,
        {
            "exit-code": str(int(ending.exit_code)),
            "verdict": ending.verdict,
            "run-id": ending.run_id,
            "report-json": ending.report_json,
            "report-md": ending.report_md,
            "sarif": ending.sarif,
            "isolation": ending.isolation,
        },
    )
    if state is not None:
        # step.sh believes 0 and 1 only when this says the same.
        (state / ENDED).write_text(f"{int(ending.exit_code)}\n", encoding="ascii")
    say(f"verdict: {ending.verdict or ending.label or 'none'} (exit {int(ending.exit_code)})")
    return ending.exit_code
