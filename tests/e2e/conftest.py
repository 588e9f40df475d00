"""What the end-to-end tests share: this working tree as a repository of its own, and the wheels of its lock."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.launch.support import PYTHON, ROOT, commit


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The locked wheels, downloaded once, so that a run needs no index."""
    folder = tmp_path_factory.mktemp("wheels")
    subprocess.run(
        [PYTHON, "-m", "pip", "-q", "download", "--no-deps", "--require-hashes", "--only-binary", ":all:",
         "-r", str(ROOT / "requirements" / "action.txt"), "-d", str(folder)],
        check=True,
    )  # fmt: skip
    return folder


@pytest.fixture(scope="session")
def harness(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """This working tree as a repository of one commit."""
    folder = tmp_path_factory.mktemp("harness") / "plumbline"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        if name.startswith(("tests/", "datasets/", "proof/")) or not (ROOT / name).is_file():
            continue
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    return folder, commit(folder)
