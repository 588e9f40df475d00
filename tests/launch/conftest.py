from pathlib import Path

import pytest

from tests.launch.support import World, make_world


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A harness with a stub for a gate, and a repository that is gated by it."""
    return make_world(tmp_path)
