"""Which of mutmut's mutants does this pytest session notice?

A pytest plugin. mutmut starts pytest anew for every mutant, which costs more than the tests of one function do; here
one session collects the tests once and forks a child for each mutant. The children's parent runs no test itself, so
nothing that a test computed and kept is found there by another. Answers go where mutmut keeps its own.
"""

import gc
import json
import os
import resource
import signal
import time
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol
from hypothesis import HealthCheck, Phase, settings
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

# Few examples, always the same ones, and none made smaller: a mutant is killed or it is not.
settings.register_profile(
    "mutants", max_examples=15, derandomize=True, database=None, deadline=None,
    phases=(Phase.explicit, Phase.generate), suppress_health_check=list(HealthCheck),
)  # fmt: skip
settings.load_profile("mutants")

SURVIVED, KILLED, NO_TESTS, OUT_OF_TIME = 0, 1, 33, 36
SHARE = 8
"""A mutant may take this many times the seconds that its tests take without it, and a few more."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool:
    """In the place of running every test once: for every mutant, the tests that reach its function."""
    gc.freeze()  # collecting what was imported, in every child, costs more than most tests
    measured = reached(session.items)
    slow_last = sorted(session.items, key=lambda item: measured[item.nodeid][0])
    for results in (Path(path) for path in os.environ["MUTANT_RESULTS"].split(os.pathsep)):
        content = json.loads(results.read_text())
        codes = content["exit_code_by_key"]
        for mutant in list(codes)[:: int(os.environ["MUTANT_STEP"])]:
            function = mangled_name_from_mutant_name(mutant)
            tests = [item for item in slow_last if function in measured[item.nodeid][1]]
            seconds = sum(measured[item.nodeid][0] for item in tests)
            codes[mutant] = tried(mutant, tests, seconds) if tests else NO_TESTS
            results.write_text(json.dumps(content))
    return True


def reached(items: list[pytest.Item]) -> dict[str, tuple[float, list[str]]]:
    """For each test its seconds of processor time and the functions it reaches, measured without any mutant."""
    out, into = os.pipe()
    child = os.fork()
    if child == 0:
        set_mutant_under_test("stats")
        found = {}
        for item in items:
            state()._stats.clear()  # noqa: SLF001 -- where mutmut's trampolines leave what they saw
            began = time.process_time()
            passed = passes(item)
            found[item.nodeid] = (time.process_time() - began, sorted(state()._stats), passed)  # noqa: SLF001
        with os.fdopen(into, "w") as sink:
            json.dump(found, sink)
        os._exit(0)
    os.close(into)
    with os.fdopen(out) as source:
        answer = json.load(source)
    os.waitpid(child, 0)
    if failing := [name for name, (_, _, passed) in answer.items() if not passed]:
        pytest.exit(f"without any mutant these fail: {failing}", returncode=1)
    return {name: (seconds, functions) for name, (seconds, functions, _) in answer.items()}


def tried(mutant: str, tests: list[pytest.Item], seconds: float) -> int:
    """What becomes of one mutant, in a child of its own."""
    child = os.fork()
    if child == 0:
        set_mutant_under_test(mutant)
        limit = int(seconds * SHARE) + 4
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
        signal.alarm(limit * 15)
        os._exit(SURVIVED if all(passes(item) for item in tests) else KILLED)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    return OUT_OF_TIME if code in {-signal.SIGXCPU, -signal.SIGKILL, -signal.SIGALRM} else code


def passes(item: pytest.Item) -> bool:
    """Run one test; whether it passed, or was skipped."""
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))
