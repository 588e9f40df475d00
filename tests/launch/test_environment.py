"""Do only the locked bytes reach the environment of the harness?"""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from plumbline.errors import ConfigurationError
from plumbline.launch import environment as module
from plumbline.launch.environment import make_environment, read_lock
from tests.launch.support import ROOT, World, make_wheel


def make(world: World, *, cache: Path | None = None, **changes: str) -> Path:
    private = world.folder / f"private{len(list(world.folder.iterdir()))}"
    private.mkdir()
    lock = world.harness / "requirements" / "gate.txt"
    return make_environment(
        lock, private, environment={**world.environment, **changes}, workspace=world.consumer, cache=cache
    )


def test_the_locked_wheel_is_there_and_its_pth_is_not(world: World) -> None:
    interpreter = make(world)
    done = subprocess.run(
        [str(interpreter), "-I", "-c", "import probe_wheel, sys; print(probe_wheel.VALUE, sys.path)"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.startswith("1 ")
    assert done.stderr == ""
    others = [line for line in done.stdout.split("'") if "site-packages" in line]
    assert len(others) == 1
    assert others[0].startswith(str(world.folder))


@pytest.mark.parametrize(
    "changes",
    [
        {"PIP_REQUIRE_HASHES": "false"},
        {"PIP_NO_BINARY": ":all:"},
        {"PIP_ONLY_BINARY": ":none:"},
        {"PIP_TARGET": "/nonexistent"},
        {"PIP_PYTHON": "/bin/false"},
        {"PIP_REQUIREMENT": "/nonexistent.txt"},
        {"PYTHONPATH": "/nonexistent", "PYTHONHOME": "/nonexistent"},
    ],
)
def test_settings_that_could_weaken_it_are_dropped(world: World, changes: dict[str, str]) -> None:
    assert make(world, **changes).exists()


@pytest.mark.parametrize("variable", ["PIP_CONFIG_FILE", "HOME", "XDG_CONFIG_HOME", "XDG_CONFIG_DIRS"])
@pytest.mark.parametrize("inside", [True, False])
def test_no_configuration_of_pips_runs_a_program(world: World, variable: str, *, inside: bool) -> None:
    mark = world.folder / "mark"
    program = world.consumer / "py"
    program.write_text(f"#!/bin/sh\n: > {mark}\nexit 0\n")
    program.chmod(0o755)
    top = (world.consumer if inside else world.folder) / "settings"
    text = f"[global]\npython = {program}\nlog = {mark}\ntarget = {mark}\n"
    for file in (top / "pip" / "pip.conf", top / ".config" / "pip" / "pip.conf", top / ".pip" / "pip.conf"):
        file.parent.mkdir(parents=True)
        file.write_text(text)
    value = str(top / "pip" / "pip.conf") if variable == "PIP_CONFIG_FILE" else str(top)
    assert make(world, **{"PIP_CONFIG_FILE": "", variable: value}).exists()
    assert not mark.exists()


def test_the_machines_index_settings_are_honoured(world: World) -> None:
    file = world.folder / "home" / ".config" / "pip" / "pip.conf"
    file.parent.mkdir(parents=True)
    file.write_text(f"[global]\nno_index = true\n[download]\nfind-links =\n    {world.wheels.as_uri()}\n")
    settings = {"PIP_CONFIG_FILE": "", "PIP_FIND_LINKS": "", "PIP_NO_INDEX": ""}
    assert make(world, **settings).exists()
    file.write_text("no section\n")
    with pytest.raises(ConfigurationError, match="not a configuration of pip"):
        make(world, **settings)


def test_index_settings_that_lead_into_the_workspace_are_dropped(world: World) -> None:
    (world.folder / "link").symlink_to(world.consumer)
    given = {
        "HOME": str(world.folder),
        "PIP_CERT": str(world.consumer / "ca.pem"),
        "PIP_FIND_LINKS": f"{world.wheels.as_uri()} {(world.folder / 'link' / 'wheels').as_uri()}",
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_CONFIG_FILE": os.devnull,
    }
    assert module.pip_settings(given, world.consumer) == {"PIP_INDEX_URL": "https://index.example/simple"}


def test_pip_writes_to_the_private_folder_alone(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[list[str], dict[str, str]]] = []
    real = subprocess.run

    def watch(command: list[str], **more: Any) -> object:
        started.append((command, more["env"]))
        return real(command, **more)

    monkeypatch.setattr(module.subprocess, "run", watch)
    make(world)
    ((command, variables),) = started
    assert "--no-cache-dir" in command
    homes = {value for name, value in variables.items() if "HOME" in name or "TMP" in name or "CACHE" in name}
    assert len(homes) == 1
    assert "private" in homes.pop()


def test_another_wheel_of_that_name_is_refused(world: World) -> None:
    make_wheel(world.wheels, "VALUE = 2\n")
    with pytest.raises(ConfigurationError, match="could not be downloaded"):
        make(world)


def test_what_pip_brings_beside_the_lock_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    download = module._download

    def more(lock: Path, folder: Path, *rest: object) -> None:
        download(lock, folder, *rest)  # type: ignore[arg-type]
        make_wheel(folder, name="another")

    monkeypatch.setattr(module, "_download", more)
    with pytest.raises(ConfigurationError, match="not in the lock"):
        make(world)


def test_a_cache_that_was_cut_short_is_filled_again(world: World, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    make(world, cache=cache)
    folder = next((cache / "wheels").iterdir())
    (folder / "wheels.json").unlink()
    make(world, cache=cache)
    assert (folder / "wheels.json").exists()
    next(folder.glob("*.whl")).unlink()
    make(world, cache=cache)
    assert len(list(folder.glob("*.whl"))) == 1


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(world: World, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert make(world, cache=tmp_path / "cache").exists()


def test_a_python_without_pip_names_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sysconfig, "get_path", lambda *_, **__: "/nonexistent")
    monkeypatch.setattr(module.sysconfig, "get_config_var", lambda *_: None)
    is_file = Path.is_file
    monkeypatch.setattr(Path, "is_file", lambda self: "pip" not in self.parts and is_file(self))
    bundled = module._pip()
    assert bundled.name.startswith("pip-")
    assert bundled.suffix == ".whl"
    monkeypatch.setattr(module.os, "__file__", "/nonexistent/os.py")
    with pytest.raises(ConfigurationError, match="neither pip nor ensurepip"):
        module._pip()


def test_the_bundled_pip_works_as_well(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    bundled = next((Path(module.os.__file__).parent / "ensurepip" / "_bundled").glob("pip-*.whl"))
    monkeypatch.setattr(module, "_pip", lambda: bundled)
    assert make(world).exists()


@pytest.mark.parametrize("name", ["../evil.py", "/evil.py", "a/../../evil.py", "a\\b.py"])
def test_names_that_leave_the_environment_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="unsafe"):
        module._place(name)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("a/b.py", "a/b.py"),
        ("a.pth", None),
        ("a/b.pth", "a/b.pth"),
        ("a/tests/test_b.py", None),
        ("a/b.pyi", None),
        ("a-1.data/purelib/a/b.py", "a/b.py"),
        ("a-1.data/platlib/b.so", "b.so"),
        ("a-1.data/scripts/tool", None),
        ("a-1.data/data/etc/x", None),
    ],
)
def test_where_a_file_of_a_wheel_goes(name: str, place: str | None) -> None:
    assert module._place(name) == place


@pytest.mark.parametrize(
    "text",
    [
        "numpy\n",
        "numpy>=2\n",
        "numpy==2\n",
        "-r other.txt\n",
        "--index-url x\n",
        "numpy @ file:///x\n",
        "--hash=sha256:" + "a" * 64 + "\n",
        "numpy==2 \\\n --hash=md5:" + "a" * 32 + "\n",
    ],
)
def test_a_lock_that_is_not_one_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_lock(text)


@pytest.mark.parametrize("name", ["gate", "action", "dev"])
def test_the_locks_of_this_repository(name: str) -> None:
    text = (ROOT / "requirements" / f"{name}.txt").read_text()
    lock = read_lock(text)
    assert {"msgspec", "numpy", "rfc8785"} <= lock.keys()
    assert ("pygithub" in lock) is (name != "gate")
    assert "//" not in text
    assert "/home" not in text


def test_the_interpreter_is_this_one(world: World) -> None:
    done = subprocess.run([str(make(world)), "-V"], capture_output=True, text=True, check=True)
    assert done.stdout.split()[1] == sys.version.split()[0]
