"""How does the gate run on a developer's machine?

gate/plumbline-gate.sh has found and checked the harness; this makes its environment, with wheels kept between runs
and checked at each, and runs the same gate with the same confinement as the action.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from plumbline.errors import ConfigurationError
from plumbline.launch.confinement import confine
from plumbline.launch.environment import make_environment
from plumbline.launch.gate import ENDED, run_gate
from plumbline.launch.pin import Pin, inside, read_pin

PASSED_ON = ("--seed", "--summary-file", "--sarif")
"""What the runner hands through to `gate`. What is graded, and against which bar, stands in the pin alone."""


def run_local(own: Path, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Grade the working folder as its pin says.

    Returns:
        The gate's exit code.

    Raises:
        ConfigurationError: the pin or the environment does not allow a verdict.
    """
    parser = argparse.ArgumentParser(prog="plumbline-gate.sh", allow_abbrev=False, add_help=False)
    # No --help: it would end with 0, and 0 is a verdict.
    parser.add_argument("--pin", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--private", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, required=True, help=argparse.SUPPRESS)
    for option in PASSED_ON:
        parser.add_argument(option, help="handed to the gate")
    options = parser.parse_args(arguments)
    workspace = Path.cwd()
    pin = read_pin(options.pin)
    interpreter = make_environment(
        own / "requirements" / "gate.txt",
        options.private,
        environment=environment,
        workspace=workspace,
        cache=options.cache,
    )
    confine()
    ending = run_gate(
        interpreter,
        own,
        [*_gate_arguments(pin, workspace), *_passed_on(options)],
        workspace=workspace,
        private=options.private,
        environment=environment,
        terminal=True,
    )
    # The runner believes 0 and 1 only when this says the same.
    (options.private / ENDED).write_text(f"{int(ending.exit_code)}\n", encoding="ascii")
    return ending.exit_code


def _gate_arguments(pin: Pin, workspace: Path) -> list[str]:
    for what, path in (("config", pin.config), ("baseline", pin.baseline)):
        if path is not None and not inside(workspace, path, what).is_file():
            raise ConfigurationError(f"{what}: there is no file {path} in {workspace}")
    inside(workspace, pin.out, "out")
    arguments = ["--config", pin.config, "--out", pin.out, "--repository", str(workspace)]
    if pin.baseline is not None:
        arguments += ["--baseline", pin.baseline]
    if pin.require_comparable_baseline:
        arguments.append("--require-comparable-baseline")
    return arguments


def _passed_on(options: argparse.Namespace) -> list[str]:
    given = ((option, getattr(options, option[2:].replace("-", "_"))) for option in PASSED_ON)
    return [word for option, value in given if value is not None for word in (option, value)]
