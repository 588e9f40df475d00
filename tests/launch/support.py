"""A small world for the launch tests: a harness repository, an index of one wheel, and a repository to be gated.

The harness is a stub whose `gate` does what the configuration tells it and writes down everything it could see.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PYTHON = str(Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}")

STUB_MAIN = """
import json, os, socket, sys, tomllib
from pathlib import Path

def value(option):
    return sys.argv[sys.argv.index(option) + 1] if option in sys.argv else None

def attempt(make):
    try:
        make()
    except OSError as fault:
        return type(fault).__name__
    return "allowed"

import probe_wheel
plan = tomllib.loads(Path(value("--config")).read_text())
seen = {
    "argv": sys.argv[1:], "cwd": os.getcwd(), "environ": dict(os.environ), "path": sys.path,
    "isolated": sys.flags.isolated, "utf8": sys.flags.utf8_mode, "executable": sys.executable,
    "tomllib": tomllib.__file__, "wheel": probe_wheel.__file__, "harness": __file__,
    "modules": sorted(sys.modules), "prefix": sys.prefix,
    "parent": attempt(lambda: None),
    "connect": attempt(lambda: socket.create_connection(("127.0.0.1", plan.get("port", 9)), 1)),
}
try:
    seen["parent"] = Path(f"/proc/{os.getppid()}/environ").read_bytes().decode("latin-1")
except OSError:
    pass
out = Path(value("--out"))
out.mkdir(parents=True, exist_ok=True)
(out / "seen.json").write_text(json.dumps(seen))
if (sarif := value("--sarif")):
    Path(sarif).write_text("{}")
code = plan.get("code", 0)
print("GATE: ::error::forged" if plan.get("forge") else "GATE: stub")
if plan.get("result", True):
    said = plan.get("said", code)
    Path(value("--result")).write_text(json.dumps({
        "exit_code": said, "verdict": {0: "PASS", 1: "FAIL"}.get(said), "run_id": "r1",
        "report_json": str((out / "seen.json").resolve()), "report_md": None, "sarif": sarif,
        "label": None if said < 2 else "REFUSED", "message": None if said < 2 else "as told", "remedy": None,
    }))
os._exit(code) if plan.get("hard") else sys.exit(code)
"""

STUB_PUBLISH = """
import json, os, sys
from pathlib import Path
Path(os.environ["RUNNER_TEMP"], "published.json").write_text(json.dumps(
    {"argv": sys.argv[1:], "environ": dict(os.environ)}))
with open(os.environ["GITHUB_OUTPUT"], "a") as out:
    out.write("comment-status=created\\nsarif-status=uploaded\\n")
sys.exit(3)
"""


def git(folder: Path, *arguments: str) -> str:
    """Git as nobody in particular."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": "/nonexistent",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    done = subprocess.run(["git", *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def commit(folder: Path, message: str = "state") -> str:
    """Commit everything in `folder`."""
    if not (folder / ".git").exists():
        git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def make_wheel(folder: Path, body: str = "VALUE = 1\n", name: str = "probe_wheel") -> tuple[Path, str]:
    """A wheel that pip accepts, and its hash."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in {
            f"{name}.py": body,
            f"{name}.pth": "import sys; sys.stderr.write('pth ran')\n",
            f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
            f"{info}/RECORD": "",
        }.items():
            archive.writestr(zipfile.ZipInfo(file, (2020, 1, 1, 0, 0, 0)), text)
    return path, hashlib.sha256(path.read_bytes()).hexdigest()


@dataclass(frozen=True)
class World:
    """Where everything is."""

    folder: Path
    harness: Path
    """The harness repository."""
    commit: str
    consumer: Path
    """The repository that is gated."""
    wheels: Path
    digest: str

    @property
    def environment(self) -> dict[str, str]:
        """What a process of this world is started with: nothing of the machine's but the way to the wheels."""
        home = self.folder / "home"
        home.mkdir(exist_ok=True)
        return {
            "PATH": f"{Path(PYTHON).parent}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "HOME": str(home),
            "TMPDIR": str(self.folder / "tmp"),
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": self.wheels.as_uri(),
            "PIP_CONFIG_FILE": os.devnull,
        }

    def pin(self, **changes: str | None) -> None:
        """Write the consumer's pin."""
        values = {
            "repo": f"file://{self.harness}",
            "ref": self.commit,
            "config": "plumbline/target.toml",
            **changes,
        }
        text = "".join(f"{key} = {value}\n" for key, value in values.items() if value is not None)
        (self.consumer / "plumbline.pin").write_text(text)

    def plan(self, text: str) -> None:
        """What the stub's gate is to do."""
        (self.consumer / "plumbline" / "target.toml").write_text(text)


def make_world(folder: Path) -> World:
    """Build the world in an empty folder."""
    (folder / "tmp").mkdir()
    wheels = folder / "wheels"
    _, digest = make_wheel(wheels)
    harness = folder / "harness"
    write_harness(harness, digest)
    consumer = folder / "consumer"
    (consumer / "plumbline").mkdir(parents=True)
    shutil.copy(ROOT / "gate" / "plumbline-gate.sh", consumer)
    world = World(folder, harness, commit(harness), consumer, wheels, digest)
    world.pin()
    world.plan("code = 0\n")
    (consumer / ".gitignore").write_text("plumbline-audits/\n")
    commit(consumer)
    return world


def write_harness(folder: Path, digest: str, main: str = STUB_MAIN) -> None:
    """Real launcher, stub gate."""
    source = folder / "src" / "plumbline"
    shutil.copytree(
        ROOT / "src" / "plumbline" / "launch", source / "launch", ignore=shutil.ignore_patterns("__pycache__")
    )
    for name in ("__init__.py", "_version.py", "errors.py"):
        shutil.copy(ROOT / "src" / "plumbline" / name, source)
    shutil.copy(ROOT / "entrypoint.py", folder)
    shutil.copy(ROOT / "action.yml", folder)
    (source / "__main__.py").write_text(main)
    (source / "github").mkdir()
    (source / "github" / "__main__.py").write_text(STUB_PUBLISH)
    (folder / "requirements").mkdir()
    for name in ("gate", "action"):
        (folder / "requirements" / f"{name}.txt").write_text(f"probe-wheel==1.0 \\\n    --hash=sha256:{digest}\n")
