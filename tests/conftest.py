"""What holds for every test."""

import pytest


@pytest.fixture(autouse=True)
def no_guard_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard of `gate` cannot be taken off again, so a test that runs the real one needs a process of its own."""

    def refuse() -> None:
        pytest.fail("this test would install the guard for every test after it")

    monkeypatch.setattr("plumbline.cli.gate.refuse_network_and_processes", refuse)
