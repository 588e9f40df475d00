"""Can anything in the audited repository become part of the harness?

Each plant leaves a mark when it is executed. Each is first shown to work against a runner that takes less care, so that
a plant that never could have worked proves nothing.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.gate.test_runner import run, seen
from tests.launch.support import PYTHON, World, commit, git, make_world

MARK = "planted-code-ran"
SITE = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"

Naive = Callable[[World, Mapping[str, str]], object]


def shell(world: World, environment: Mapping[str, str], *command: str) -> None:
    subprocess.run(
        command, cwd=world.consumer, env={**world.environment, **environment}, capture_output=True, check=False
    )


def as_module(world: World, environment: Mapping[str, str]) -> None:
    """The runner of section 16: `python -m plumbline` with the harness on PYTHONPATH."""
    path = os.pathsep.join(filter(None, [environment.get("PYTHONPATH", ""), str(world.harness / "src")]))
    shell(world, {**environment, "PYTHONPATH": path}, PYTHON, "-m", "plumbline", "gate", "--config", "x", "--out", "o")


def by_path(world: World, environment: Mapping[str, str]) -> None:
    """By path, but not isolated."""
    main = str(world.harness / "src" / "plumbline" / "__main__.py")
    shell(world, environment, PYTHON, main, "gate", "--config", "plumbline/target.toml", "--out", "o")


def cloned(world: World, environment: Mapping[str, str]) -> None:
    """`git clone` and checkout with the environment as it is."""
    shell(world, environment, "git", "clone", "-q", f"file://{world.harness}", str(world.folder / "naive"))


def by_name(world: World, environment: Mapping[str, str]) -> None:
    """Programs by name."""
    for name in ("git", "python3"):
        shell(world, environment, "sh", "-c", f"{name} --version")


def listed(world: World, environment: Mapping[str, str]) -> None:
    """Git asked about the consumer with the consumer's own configuration."""
    shell(world, environment, "git", "status")


@dataclass(frozen=True)
class Plant:
    """Files of the consumer (`{mark}` is what running them leaves), the variables that go with them, and who falls
    for it.
    """

    name: str
    files: Mapping[str, str]
    naive: Naive
    environment: Mapping[str, str] = field(default_factory=dict)


PY_MARK = "from pathlib import Path\nPath({mark!r}).touch()\n"
SH_MARK = "#!/bin/sh\n: > {mark!r}\n"

PLANTS = [
    Plant("package", {"plumbline/__init__.py": "", "plumbline/__main__.py": PY_MARK}, as_module),
    Plant("package in src", {"src/plumbline/__init__.py": PY_MARK}, as_module, {"PYTHONPATH": "{root}/src"}),
    Plant("standard library module", {"tomllib.py": PY_MARK}, as_module),
    Plant("standard library module of pip", {"json.py": PY_MARK}, as_module),
    Plant("sitecustomize", {"sitecustomize.py": PY_MARK}, by_path, {"PYTHONPATH": "{root}"}),
    Plant(
        "usercustomize", {f".local/{SITE}/usercustomize.py": PY_MARK}, by_path, {"PYTHONUSERBASE": "{root}/.local"}
    ),
    Plant(
        "pth of the user site",
        {f".local/{SITE}/x.pth": "import pathlib; pathlib.Path({mark!r}).touch()\n"},
        by_path,
        {"PYTHONUSERBASE": "{root}/.local"},
    ),
    Plant(
        "user site in HOME", {f".local/{SITE}/usercustomize.py": PY_MARK}, by_path, {"HOME": "{root}"}
    ),
    Plant(
        "warning filter", {"evil/__init__.py": PY_MARK + "class W(Warning): pass\n"}, by_path,
        {"PYTHONPATH": "{root}", "PYTHONWARNINGS": "ignore::evil.W"},
    ),
    Plant("git on PATH", {"bin/git": SH_MARK}, by_name, {"PATH": "{root}/bin:{path}"}),
    Plant("git on a relative PATH", {"git": SH_MARK}, by_name, {"PATH": ".:{path}"}),
    Plant("python on PATH", {".venv/bin/python3": SH_MARK}, by_name, {"PATH": "{root}/.venv/bin:{path}"}),
    Plant("hook from a template", {"template/hooks/post-checkout": SH_MARK}, cloned,
          {"GIT_TEMPLATE_DIR": "{root}/template"}),
    Plant("hook from the environment", {"hooks/post-checkout": SH_MARK}, cloned,
          {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.hooksPath", "GIT_CONFIG_VALUE_0": "{root}/hooks"}),
    Plant("file system monitor", {"monitor": SH_MARK}, listed,
          {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": "{root}/monitor"}),
    Plant(
        "smudge filter from HOME",
        {"filter": SH_MARK, ".gitconfig": '[filter "evil"]\n\tsmudge = {root}/filter\n\tclean = {root}/filter\n',
         ".config/git/attributes": "* filter=evil\n"},
        cloned, {"HOME": "{root}"},
    ),
    Plant(
        "included configuration", {"filter": SH_MARK, "evil.config": "[core]\n\tfsmonitor = {root}/filter\n"}, listed,
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "include.path", "GIT_CONFIG_VALUE_0": "{root}/evil.config"},
    ),
]  # fmt: skip


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def plant(world: World, what: Plant) -> tuple[dict[str, str], Path]:
    mark = world.folder / MARK
    for name, text in what.files.items():
        path = world.consumer / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{mark!r}", repr(str(mark))).replace("{root}", str(world.consumer)))
        path.chmod(0o755)
    values = {"root": str(world.consumer), "path": world.environment["PATH"]}
    return {name: value.format(**values) for name, value in what.environment.items()}, mark


@pytest.mark.parametrize("what", PLANTS, ids=lambda what: what.name)
def test_a_plant_runs_under_a_naive_runner_and_not_under_this_one(world: World, what: Plant) -> None:
    environment, mark = plant(world, what)
    what.naive(world, environment)
    assert mark.exists(), "the plant proves nothing: it never ran"
    mark.unlink()
    commit(world.consumer)
    for interpreter in (PYTHON, "-"):
        done = run(world, **{"PLUMBLINE_PYTHON": interpreter, **environment})
        assert done.returncode == 0, done.stderr
        assert not mark.exists()
    assert str(world.consumer) not in json_path(world)


def json_path(world: World) -> str:
    path = seen(world)["path"]
    assert isinstance(path, list)
    return os.pathsep.join(str(entry) for entry in path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PYTHONHOME", "{root}"),
        ("PYTHONSTARTUP", "{root}/startup.py"),
        ("PYTHONPLATLIBDIR", "evil"),
        ("PIP_NO_BINARY", ":all:"),
        ("PIP_REQUIREMENT", "{root}/evil.txt"),
        ("PIP_PYTHON", "{root}/python"),
        ("PIP_TARGET", "{root}/target"),
        ("PIP_NO_DEPS", "false"),
        ("PIP_REQUIRE_HASHES", "false"),
        ("GIT_DIR", "{root}/.git"),
        ("GIT_WORK_TREE", "{root}"),
        ("GIT_OBJECT_DIRECTORY", "{root}/.git/objects"),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", "{root}/.git/objects"),
        ("GIT_SSH_COMMAND", "{root}/ssh"),
        ("GIT_EXEC_PATH", "{root}"),
        ("GIT_INDEX_FILE", "{root}/index"),
        ("GIT_ATTR_SOURCE", "HEAD"),
        ("IFS", "/"),
        ("CDPATH", "/"),
        ("ENV", "{root}/env.sh"),
    ],
)
def test_variables_change_nothing_and_do_not_reach_the_gate(world: World, name: str, value: str) -> None:
    (world.consumer / "env.sh").write_text("exit 0\n")
    done = run(world, **{name: value.format(root=world.consumer)})
    assert done.returncode == 0, done.stderr
    environment = seen(world)["environ"]
    assert isinstance(environment, dict)
    assert name not in environment
    assert done.stdout.count("GATE: stub") == 1


def test_a_python_inside_the_repository_is_refused(world: World) -> None:
    inside = world.consumer / "python3"
    inside.symlink_to(PYTHON)
    assert run(world, PLUMBLINE_PYTHON=str(inside)).returncode == 4
    assert run(world, PLUMBLINE_PYTHON="./python3").returncode == 4


def test_urls_are_not_rewritten(world: World) -> None:
    evil = world.folder / "evil"
    evil.mkdir()
    (evil / "README").write_text("\n")
    commit(evil)
    (world.consumer / ".gitconfig").write_text(f'[url "file://{evil}"]\n\tinsteadOf = file://{world.harness}\n')
    subprocess.run(
        ["git", "clone", "-q", f"file://{world.harness}", str(world.folder / "naive")],
        env={**world.environment, "HOME": str(world.consumer)}, check=True,
    )  # fmt: skip
    assert (world.folder / "naive" / "README").exists(), "the plant proves nothing"
    assert run(world, HOME=str(world.consumer)).returncode == 0


def test_attributes_in_the_harness_do_not_change_its_bytes(world: World) -> None:
    (world.harness / ".gitattributes").write_text("* text eol=crlf ident working-tree-encoding=UTF-16 export-ignore\n")
    (world.harness / "note.txt").write_bytes(b"$Id$ a\nb\n")
    git(world.harness, "config", "core.attributesFile", os.devnull)
    (world.harness / ".git" / "info").mkdir(exist_ok=True)
    (world.harness / ".git" / "info" / "attributes").write_text("* -text -eol -ident -filter -working-tree-encoding\n")
    world.pin(ref=commit(world.harness))
    done = run(world)
    assert done.returncode == 0, done.stderr


def test_the_gate_is_isolated_and_alone(world: World) -> None:
    canaries = dict.fromkeys(("GITHUB_TOKEN", "ACTIONS_RUNTIME_TOKEN", "AWS_SECRET_ACCESS_KEY"), "canary-5e1f")
    done = run(world, **canaries)
    assert done.returncode == 0, done.stderr
    found = seen(world)
    assert found["isolated"] == 1
    assert found["utf8"] == 1
    assert found["connect"] == "PermissionError"
    assert "canary-5e1f" not in str(found["environ"])
    assert str(found["prefix"]).startswith(str(world.folder / "tmp"))
    assert str(found["harness"]).startswith(str(world.folder / "tmp"))
    assert not str(found["tomllib"]).startswith(str(world.consumer))
