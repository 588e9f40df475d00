"""Does gate/plumbline-gate.sh fail closed, and does it run what the pin names and nothing else?"""

import json
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.launch.support import PYTHON, World, commit, git, make_wheel, make_world

SHELLS = [["dash"], ["busybox", "sh"], ["bash", "--posix"]]
AVAILABLE = [shell for shell in SHELLS if shutil.which(shell[0])]


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


def run(
    world: World, *arguments: str, shell: list[str] | None = None, cwd: Path | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    built = {**world.environment, "PLUMBLINE_PYTHON": PYTHON, **environment}
    return subprocess.run(
        # Started anew by itself it would run under /bin/sh; a shell that is asked for is told that this was done.
        [
            *(["/bin/sh", "-c", 'plumbline_started=$$ exec "$@"', "sh", *shell] if shell else ["sh"]),
            "./plumbline-gate.sh",
            *arguments,
        ],
        cwd=cwd or world.consumer,
        env={name: value for name, value in built.items() if value != "-"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def seen(world: World) -> dict[str, object]:
    return json.loads((world.consumer / "plumbline-audits" / "seen.json").read_text())


@pytest.mark.parametrize("shell", AVAILABLE, ids=lambda shell: shell[0])
@pytest.mark.parametrize("code", [0, 1, 3, 4, 5])
def test_it_relays_the_exit_code_of_the_gate(world: World, shell: list[str], code: int) -> None:
    world.plan(f"code = {code}\n")
    done = run(world, shell=shell)
    assert done.returncode == code, done.stderr
    assert "GATE: stub" in done.stdout
    assert "pth ran" not in done.stderr
    assert seen(world)["cwd"] == str(world.consumer)


def test_dash_is_here() -> None:
    assert ["dash"] in AVAILABLE
    if os.environ.get("CI"):
        assert AVAILABLE == SHELLS  # what is missing there would go untested without a word


@pytest.mark.parametrize("plan", ["code = 0\nresult = false\n", "code = 0\nsaid = 1\n", "code = 1\nsaid = 0\n"])
def test_an_exit_code_without_a_result_that_agrees_is_no_verdict(world: World, plan: str) -> None:
    world.plan(plan)
    assert run(world).returncode == 5


def test_a_gate_that_is_killed_is_no_verdict(world: World) -> None:
    world.plan("code = 77\nhard = true\n")
    assert run(world).returncode == 5


def test_nothing_is_left_behind(world: World) -> None:
    run(world)
    assert list((world.folder / "tmp").iterdir()) == []
    assert git(world.consumer, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"ref": None}, "ref"),
        ({"config": None}, "config"),
        ({"repo": None}, "repo"),
        ({"ref": "main"}, "40 lowercase hex"),
        ({"ref": "0123abc"}, "40 lowercase hex"),
        ({"ref": "A" * 40}, "40 lowercase hex"),
        ({"ref": "a" * 40}, "no commit"),
        ({"repo": "file:///nonexistent/harness"}, "cannot reach"),
        ({"repo": "https://127.0.0.1:1/harness.git"}, "cannot reach"),
        ({"repo": "ext::sh -c true"}, "URL"),
        ({"repo": "http://127.0.0.1/harness.git"}, "URL"),
        ({"repo": "--upload-pack=touch"}, "URL"),
        ({"config": "../elsewhere.toml"}, "leave the repository"),
        ({"config": "missing.toml"}, "no file"),
        ({"baseline": "missing.json"}, "no file"),
        ({"colour": "red"}, "unknown key"),
        ({"require_comparable_baseline": "yes"}, "exactly true or false"),
    ],
)
def test_whatever_cannot_be_resolved_ends_with_4(world: World, change: dict[str, str | None], said: str) -> None:
    world.pin(**change)
    done = run(world)
    assert done.returncode == 4, (done.stdout, done.stderr)
    assert "CONFIGURATION ERROR" in done.stderr
    assert said in done.stderr
    assert not (world.consumer / "plumbline-audits").exists()


def test_a_missing_pin_ends_with_4(world: World) -> None:
    (world.consumer / "plumbline.pin").unlink()
    assert run(world).returncode == 4
    assert run(world, PLUMBLINE_PIN_FILE="elsewhere.pin").returncode == 4


def test_the_pin_may_be_elsewhere(world: World) -> None:
    (world.consumer / "plumbline.pin").rename(world.consumer / "plumbline" / "my.pin")
    assert run(world, PLUMBLINE_PIN_FILE="plumbline/my.pin").returncode == 0


def test_a_machine_without_git_or_python_ends_with_4(world: World, tmp_path: Path) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("env", "sed", "tr", "wc", "mktemp", "rm", "mkdir", "mv", "cat", "grep", "tail", "dash", "readlink"):
        (tools / name).symlink_to(shutil.which(name) or "")
    shell = [shutil.which("dash") or ""]
    no_git = run(world, shell=shell, PATH=str(tools))
    assert (no_git.returncode, "git was not found" in no_git.stderr) == (4, True), no_git.stderr
    (tools / "git").symlink_to(shutil.which("git") or "")
    no_python = run(world, shell=shell, PATH=str(tools), PLUMBLINE_PYTHON="-")
    assert (no_python.returncode, "no Python 3.11" in no_python.stderr) == (4, True), no_python.stderr


def test_an_old_python_ends_with_4(world: World) -> None:
    old = world.folder / "old"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    assert run(world, PLUMBLINE_PYTHON=str(old)).returncode == 4


def test_a_commit_without_a_harness_ends_with_4(world: World) -> None:
    shutil.rmtree(world.harness / "src")
    world.pin(ref=commit(world.harness))
    done = run(world)
    assert (done.returncode, "no src/plumbline" in done.stderr) == (4, True), done.stderr


def test_a_commit_of_a_branch_that_moved_on_is_still_had(world: World) -> None:
    (world.harness / "later.txt").write_text("later\n")
    commit(world.harness)
    assert run(world).returncode == 0


def test_a_commit_on_no_branch_ends_with_4(world: World) -> None:
    # What a host hands out under the original's name although only a fork holds it.
    git(world.harness, "config", "uploadpack.allowAnySHA1InWant", "true")
    (world.harness / "src" / "plumbline" / "impostor.py").write_text("\n")
    impostor = commit(world.harness)
    git(world.harness, "reset", "-q", "--hard", world.commit)
    world.pin(ref=impostor)
    done = run(world)
    assert (done.returncode, "no branch" in done.stderr or "no commit" in done.stderr) == (4, True), done.stderr
    git(world.harness, "tag", "kept", impostor)
    assert run(world).returncode == 0


def test_extra_arguments_cannot_change_what_is_graded(world: World) -> None:
    (world.consumer / "other.toml").write_text("code = 0\n")
    world.plan("code = 1\n")
    for words in (["--config", "other.toml"], ["--conf=other.toml"], ["--out", "x"], ["--", "--config", "other.toml"]):
        assert run(world, *words).returncode == 2, words
    other = world.consumer / "other.pin"
    other.write_text((world.consumer / "plumbline.pin").read_text().replace("plumbline/target.toml", "other.toml"))
    assert run(world, "--pin", "other.pin").returncode == 1
    assert run(world, "--seed", "7", "--summary-file", "summary.md").returncode == 1
    assert seen(world)["argv"][-6:-2] == ["--seed", "7", "--summary-file", "summary.md"]


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_asking_for_help_is_no_verdict(world: World, option: str) -> None:
    assert run(world, option).returncode == 2


def test_a_program_that_only_ends_well_is_no_python(world: World) -> None:
    for program in ("/bin/true", "/bin/echo"):
        done = run(world, PLUMBLINE_PYTHON=program)
        assert (done.returncode, "no Python 3.11" in done.stderr) == (4, True), done.stderr


@pytest.mark.parametrize("code", [0, 1])
def test_a_launcher_that_leaves_no_number_is_not_believed(world: World, code: int) -> None:
    (world.harness / "entrypoint.py").write_text(f"raise SystemExit({code})\n")
    world.pin(ref=commit(world.harness))
    done = run(world)
    assert (done.returncode, "no verdict that agrees" in done.stderr) == (5, True), done.stderr


def test_a_link_into_the_repository_is_no_python_and_no_git(world: World) -> None:
    for name, target in (("python3", PYTHON), ("git", shutil.which("git") or "")):
        (world.consumer / name).symlink_to(target)
        (world.folder / name).symlink_to(world.consumer / name)
    path = f"{world.folder}:{world.environment['PATH']}"
    assert run(world, PLUMBLINE_PYTHON=str(world.folder / "python3")).returncode == 4
    done = run(world, PATH=path)
    assert (done.returncode, "git was not found" in done.stderr) == (4, True), done.stderr


@pytest.mark.parametrize("command", [
    "ulimit -v 20000; exec sh ./plumbline-gate.sh", "exec sh ./plumbline-gate.sh 2>/dev/full",
    "exec sh ./plumbline-gate.sh 2>&-", "ulimit -f 0; exec sh ./plumbline-gate.sh",
    "umask 777; exec sh ./plumbline-gate.sh",
    "mkdir gone; cd gone; rmdir ../gone; exec sh ../plumbline-gate.sh",
])  # fmt: skip
def test_a_run_that_cannot_write_is_no_verdict(world: World, command: str) -> None:
    world.plan("code = 1\n")
    world.pin(ref="a" * 40)
    environment = {**world.environment, "PLUMBLINE_PYTHON": PYTHON}
    done = subprocess.run(["sh", "-c", command], cwd=world.consumer, env=environment, check=False, capture_output=True)
    assert done.returncode in {4, 5}, done


def test_a_full_standard_error_ends_with_4(world: World) -> None:
    (world.consumer / "plumbline.pin").unlink()
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(["sh", "./plumbline-gate.sh"], cwd=world.consumer, stderr=full, check=False)
    assert done.returncode == 4


def test_a_folder_below_the_root_is_refused(world: World) -> None:
    below = world.consumer / "below"
    below.mkdir()
    for name in ("plumbline-gate.sh", "plumbline.pin"):
        shutil.copy(world.consumer / name, below)
    (below / "plumbline").mkdir()
    (below / "plumbline" / "target.toml").write_text("code = 0\n")
    done = run(world, cwd=below)
    assert (done.returncode, "from the root of the repository" in done.stderr) == (4, True), done.stderr


def test_a_pin_that_leads_out_of_the_repository_is_refused(world: World) -> None:
    pin = world.consumer / "plumbline.pin"
    pin.rename(world.folder / "plumbline.pin")
    pin.symlink_to("../plumbline.pin")
    done = run(world)
    assert (done.returncode, "leads out" in done.stderr) == (4, True), done.stderr


HOSTILE = {
    "LD_LIBRARY_PATH": ":{root}/lib", "LD_PRELOAD": "{root}/lib/libz.so.1", "OPENSSL_CONF": "{root}/openssl.cnf",
    "GCONV_PATH": "{root}", "BASH_FUNC_exec%%": "() {{ exit 0; }}", "BASH_FUNC_printf%%": "() {{ exit 0; }}",
}  # fmt: skip


@pytest.mark.parametrize("shell", [["sh"], ["bash"]], ids=lambda shell: shell[0])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_variable_of_a_loader_or_shell_reaches_a_program(world: World, name: str, shell: list[str]) -> None:
    (world.consumer / "lib").mkdir()
    (world.consumer / "lib" / "libz.so.1").write_text("no library: a program that loads it does not start\n")
    (world.consumer / "openssl.cnf").write_text("openssl_conf = x\n[x]\nengines = y\n[y]\nz = zz\n")
    world.plan("code = 1\n")
    environment = {**world.environment, "PLUMBLINE_PYTHON": PYTHON, name: HOSTILE[name].format(root=world.consumer)}
    command = [shutil.which(shell[0]) or "", "./plumbline-gate.sh"]
    done = subprocess.run(command, cwd=world.consumer, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stderr
    # The loader of the first shell itself is beyond reach; every program after it is clean.
    assert done.stderr.count("preload") <= 1


def test_the_runner_does_not_keep_the_callers_tokens(world: World) -> None:
    source = world.harness / "entrypoint.py"
    told = str(world.folder / "told")
    probe = f"import os\nwith open({told!r}, 'wb') as f:\n"
    probe += "    f.write(open(f'/proc/{os.getppid()}/environ', 'rb').read())\n"
    source.write_text(source.read_text().replace("if __name__", f"{probe}\nif __name__"))
    world.pin(ref=commit(world.harness))
    assert run(world, GITHUB_TOKEN="canary-5e1f").returncode == 0
    assert b"PATH=" in (world.folder / "told").read_bytes()
    assert b"canary-5e1f" not in (world.folder / "told").read_bytes()


class TestBypass:
    def test_it_is_loud(self, world: World) -> None:
        world.pin(ref="b" * 40)
        done = run(world, PLUMBLINE_SRC=str(world.harness))
        assert done.returncode == 0, done.stderr
        assert done.stderr.count("NOT PINNED") == done.stderr.count("NOT REPRODUCIBLE") == 1

    @pytest.mark.parametrize("value", ["true", "1", "false", "0", " "])
    def test_it_is_refused_in_ci(self, world: World, value: str) -> None:
        done = run(world, PLUMBLINE_SRC=str(world.harness), CI=value)
        assert (done.returncode, "PLUMBLINE_SRC" in done.stderr) == (4, True)
        assert done.stdout == ""

    def test_it_does_not_dirty_the_checkout(self, world: World) -> None:
        run(world, PLUMBLINE_SRC=str(world.harness))
        assert git(world.harness, "status", "--porcelain", "--ignored") == ""


class TestCache:
    def cache(self, world: World) -> Path:
        return world.folder / "home" / ".cache" / "plumbline"

    def test_a_second_run_needs_no_network(self, world: World) -> None:
        assert run(world).returncode == 0
        world.harness.rename(world.folder / "gone")
        world.wheels.rename(world.folder / "gone-too")
        assert run(world).returncode == 0

    @pytest.mark.parametrize("name", ["HEAD:src/plumbline/__main__.py", "HEAD"], ids=["file", "commit"])
    def test_a_changed_object_is_noticed(self, world: World, name: str) -> None:
        assert run(world).returncode == 0
        (store,) = (self.cache(world) / "harness").glob("*.git")
        evil = world.folder / "evil"
        shutil.copytree(world.harness, evil)
        (evil / "src" / "plumbline" / "__main__.py").write_text("import sys\nprint('EVIL')\nsys.exit(0)\n")
        commit(evil)
        _replace(world, store, evil, name)
        world.harness.rename(world.folder / "gone")
        done = run(world)
        assert "EVIL" not in done.stdout
        assert done.returncode == 4, done.stderr
        (world.folder / "gone").rename(world.harness)
        assert run(world).returncode == 0

    def test_a_changed_wheel_is_not_used(self, world: World) -> None:
        assert run(world).returncode == 0
        wheel = next((self.cache(world) / "wheels").glob("*/*.whl"))
        make_wheel(wheel.parent, "raise SystemExit(0)\n")
        assert run(world).returncode == 0
        assert "GATE: stub" in run(world).stdout
        wheel.write_bytes(b"not a wheel")
        world.wheels.rename(world.folder / "gone")
        done = run(world)
        assert done.returncode == 4, done.stderr

    def test_a_wheel_beside_the_locked_ones_is_not_used(self, world: World) -> None:
        assert run(world).returncode == 0
        wheel = next((self.cache(world) / "wheels").glob("*/*.whl"))
        make_wheel(wheel.parent, "raise SystemExit(0)\n", name="tomllib")
        done = run(world)
        assert (done.returncode, "GATE: stub" in done.stdout) == (0, True), done.stderr

    def test_it_may_lie_in_the_repository_when_git_does_not_track_it(self, world: World) -> None:
        assert run(world, PLUMBLINE_CACHE_DIR=".plumbline-cache").returncode == 0
        assert git(world.consumer, "status", "--porcelain") == ""
        assert run(world, PLUMBLINE_CACHE_DIR=".plumbline-cache").returncode == 0

    def test_it_never_leads_through_a_link(self, world: World) -> None:
        kept = world.folder / "kept"
        (kept / "harness").mkdir(parents=True)
        (kept / "precious").write_text("mine")
        link = world.consumer / "cache"
        link.symlink_to(kept)
        done = run(world, PLUMBLINE_CACHE_DIR="cache")
        assert (done.returncode, "link" in done.stderr) == (4, True), done.stderr
        link.unlink()
        link.mkdir()
        for name in ("harness", "wheels"):
            (link / name).symlink_to(kept)
            done = run(world, PLUMBLINE_CACHE_DIR="cache")
            assert (done.returncode, "holds a link" in done.stderr) == (4, True), done.stderr
            (link / name).unlink()
        assert (kept / "precious").read_text() == "mine"
        (world.consumer / ".git" / "index").write_bytes(b"no index")
        done = run(world, PLUMBLINE_CACHE_DIR="cache")
        assert (done.returncode, "git cannot say" in done.stderr) == (4, True), done.stderr

    def test_a_commit_that_was_proved_for_one_repository_is_not_for_another(self, world: World) -> None:
        assert run(world).returncode == 0
        other = world.folder / "other"
        other.mkdir()
        (other / "README").write_text("\n")
        commit(other)
        world.pin(repo=f"file://{other}")
        assert run(world).returncode == 4

    def test_one_that_cannot_be_written_costs_time_only(self, world: World) -> None:
        self.cache(world).mkdir(parents=True)
        (self.cache(world) / "harness").write_text("a file")
        (self.cache(world) / "wheels").write_text("a file")
        assert run(world).returncode == 0

    def test_cold_runs_at_once_do_not_refuse_each_other(self, world: World) -> None:
        with ThreadPoolExecutor(4) as pool:
            assert [done.returncode for done in pool.map(lambda _: run(world), range(4))] == [0] * 4

    def test_a_tracked_one_is_refused(self, world: World) -> None:
        assert run(world, PLUMBLINE_CACHE_DIR=".plumbline-cache").returncode == 0
        commit(world.consumer)
        done = run(world, PLUMBLINE_CACHE_DIR=".plumbline-cache")
        assert (done.returncode, "tracks" in done.stderr) == (4, True)
        assert run(world, PLUMBLINE_CACHE_DIR=".").returncode == 4
        assert run(world, HOME="-", TMPDIR="/tmp").returncode == 4


def _replace(world: World, store: Path, evil: Path, name: str) -> None:
    """Put an evil object under a good one's name: git reads what it finds under a name without hashing it again."""
    objects = store / "objects"
    for pack in (objects / "pack").glob("*.pack"):
        moved = store / pack.name
        pack.rename(moved)
        for index in (objects / "pack").iterdir():
            index.unlink()
        with moved.open("rb") as stream:
            subprocess.run(["git", f"--git-dir={store}", "unpack-objects", "-q"], stdin=stream, check=True)
    good, bad = git(world.harness, "rev-parse", name), git(evil, "rev-parse", name)
    shutil.copytree(evil / ".git" / "objects", objects, dirs_exist_ok=True, copy_function=_put)
    _put(str(evil / ".git" / "objects" / bad[:2] / bad[2:]), str(objects / good[:2] / good[2:]))


def _put(source: str, target: str) -> None:
    Path(target).unlink(missing_ok=True)
    shutil.copy(source, target)
