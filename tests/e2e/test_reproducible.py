"""The same inputs give the same bytes: in any folder, locale and time zone, under any hash seed and Python."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "src/plumbline/__main__.py"
LOCK = ROOT / "requirements/gate.txt"
CACHE = ROOT / ".tools/interpreters"
NEWEST_KNOWN = 14


def lay_out(folder: Path) -> Path:
    """The demonstration and its configuration somewhere else, with one wrong answer so that there are findings."""
    for name in ("datasets", "examples", "baselines"):
        shutil.copytree(ROOT / name, folder / name)
    responses = folder / "datasets/tidewater-demo/responses.jsonl"
    # A wrong number, and letters and marks that Unicode tables of different years read differently.
    wrong = "$2.75 \u039f\u0394\u039f\u03a3\u0ece\u0391 a.\U0001e4d0 \u1c89"
    responses.write_bytes(responses.read_bytes().replace(b"$2.25", wrong.encode(), 1))
    subprocess.run(
        [sys.executable, "-I", str(MAIN), "seal", str(responses.parent)], check=True, stdout=subprocess.DEVNULL
    )
    (folder / ".git").mkdir()
    return folder


def outputs(python: str | Path, folder: Path, *flags: str, **environment: str) -> dict[str, bytes]:
    """What one gate writes, by name."""
    out = folder / "out"
    words = ["gate", "--config", "examples/tidewater.toml", "--out", "out", "--sarif", "out/plumbline.sarif"]
    found = subprocess.run(
        [str(python), *flags, str(MAIN), *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 1, found.stderr
    written = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    written["stdout"] = found.stdout.encode()
    shutil.rmtree(out)
    return written


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return lay_out(tmp_path_factory.mktemp("a") / "consumer")


@pytest.fixture(scope="module")
def expected(place):
    found = outputs(sys.executable, place, "-I", "-X", "utf8")
    assert set(found) == {"report.json", "report.md", "plumbline.sarif", "stdout"}
    assert b"2.75" in found["report.json"]
    return found


def test_in_another_folder(tmp_path, expected):
    other = lay_out(tmp_path / "a folder, of größer depth" / "x" / "consumer")
    assert outputs(sys.executable, other, "-I", "-X", "utf8") == expected


@pytest.mark.parametrize(
    "environment",
    [
        {"TZ": "Pacific/Kiritimati", "LC_ALL": "C"},
        {"TZ": "America/St_Johns", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8"},
        {"PYTHONHASHSEED": "1", "OPENBLAS_NUM_THREADS": "7", "COLUMNS": "20"},
        {"PYTHONHASHSEED": "77", "LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"},
        {"PYTHONOPTIMIZE": "2"},
    ],
)
def test_under_other_circumstances(place, expected, environment):
    # Without -I, so that the variables of the interpreter count.
    assert outputs(sys.executable, place, "-P", **environment) == expected


def other_interpreters() -> list[Path]:
    """Pythons of other minor versions on this machine, from PATH and from pyenv."""
    found = {}
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    for minor in range(11, NEWEST_KNOWN + 1):
        if minor == sys.version_info.minor:
            continue
        candidates = [shutil.which(f"python3.{minor}"), *sorted(pyenv.glob(f"versions/3.{minor}.*/bin/python"))]
        for candidate in filter(None, candidates):
            probe = subprocess.run(
                [str(candidate), "-I", "-c", "import sys; print(sys.version_info[1])"],
                capture_output=True,
                text=True,
                check=False,
            )
            if probe.stdout.strip() == str(minor):
                found[minor] = Path(candidate)
                break
    return list(found.values())


def with_dependencies(python: Path) -> Path:
    """An environment of that Python with what the gate needs, made once per lock file."""
    digest = hashlib.sha256(LOCK.read_bytes() + str(python).encode()).hexdigest()[:16]
    folder = CACHE / digest
    if not (folder / "ok").exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([str(python), "-I", "-m", "venv", str(folder)], check=True)
        install = ["install", "--quiet", "--disable-pip-version-check", "--require-hashes", "--only-binary", ":all:"]
        install.append("--no-deps")
        subprocess.run([str(folder / "bin/python"), "-m", "pip", *install, "-r", str(LOCK)], check=True)
        (folder / "ok").touch()
    return folder / "bin/python"


def test_under_other_pythons(place, expected):
    interpreters = other_interpreters()
    if not interpreters and not os.environ.get("CI"):
        pytest.skip("this machine has one Python only; CI must have more")
    assert interpreters, "no second Python was found, and CI must have one"
    for python in interpreters:
        assert outputs(with_dependencies(python), place, "-I", "-X", "utf8") == expected, python
