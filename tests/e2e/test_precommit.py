"""Do the hooks hold in a real git repository under the real pre-commit?

The harness is this work tree, committed into a repository of its own, so that uncommitted work is tested too. Its
environment is built once per session. A missing pre-commit fails: a skipped proof is none.
"""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from tests.hooks.repository import FILES, IDENTITY, Repo, dataset_id, sealed

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).resolve().parents[2]
EDITED = b'{"id": "a", "response": "It is $6 a day."}\n'
OTHER = b'{"id": "a", "response": "It is $7 a day."}\n'
SHIPPED = ("src", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
CONFIG = """\
repos:
- repo: {harness}
  rev: {rev}
  hooks:
  - id: plumbline-validate
{more}"""
SEAL_TOO = "  - id: plumbline-seal\n    stages: [pre-commit]\n"


def _pre_commit():
    beside = Path(sysconfig.get_path("scripts")) / "pre-commit"
    found = str(beside) if beside.exists() else shutil.which("pre-commit")
    assert found, "pre-commit is not installed: this test needs the real one"
    return found


@pytest.fixture(scope="session")
def harness(tmp_path_factory):
    """A repository with this work tree as its only commit."""
    repo = Repo(tmp_path_factory.mktemp("harness") / "plumbline")
    for name in SHIPPED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, repo.path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, repo.path / name)
    repo.git("add", "-A", "-f")
    repo.commit("harness")
    return repo


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("pre-commit-home")


class Consumer(Repo):
    """A repository that uses the hooks; its commits are made by the real git with the hook installed."""

    def __init__(self, path, harness, cache):
        self.cache = cache
        self.harness = harness
        super().__init__(path)

    def environment(self):
        # The home is of the session: nothing of the machine's own git or pre-commit settings counts.
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRE_COMMIT", "PYTHON", "SKIP"))}
        return {**kept, **IDENTITY, "PRE_COMMIT_HOME": str(self.cache), "PRE_COMMIT_COLOR": "never"}

    def configure(self, more=""):
        rev = self.harness.git("rev-parse", "HEAD")
        text = CONFIG.format(harness=self.harness.path, rev=rev, more=more)
        (self.path / ".pre-commit-config.yaml").write_text(text)

    def tool(self, *arguments, extra=None):
        done = subprocess.run(
            arguments,
            cwd=self.path,
            env=self.environment() | (extra or {}),
            capture_output=True,
            text=True,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def try_commit(self, *arguments, extra=None):
        return self.tool("git", "commit", "-m", "work", *arguments, extra=extra)

    def pre_commit(self, *arguments, extra=None):
        return self.tool(_pre_commit(), *arguments, extra=extra)


@pytest.fixture
def consumer(tmp_path, harness, cache):
    repo = Consumer(tmp_path / "consumer", harness, cache)
    repo.configure()
    repo.write({".gitattributes": b"data/** -text\n", "README": b"hello\n"}, folder="")
    repo.write(sealed(FILES))
    repo.git("add", "-A")
    repo.commit("first")
    code, out = repo.pre_commit("install", "-t", "pre-commit", "-t", "pre-merge-commit", "-t", "pre-push")
    assert code == 0, out
    return repo


def _head(repo):
    return repo.git("rev-parse", "HEAD")


def test_the_hook_manifest_is_valid():
    done = subprocess.run(
        [_pre_commit(), "validate-manifest", str(ROOT / ".pre-commit-hooks.yaml")], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout


def test_an_edit_without_a_seal_is_refused_and_passes_on_the_second_try_after_sealing(consumer):
    consumer.configure(SEAL_TOO)
    consumer.git("add", "-A")
    consumer.git("commit", "-q", "-m", "use the sealing hook too")
    consumer.write({"responses.jsonl": EDITED})
    consumer.git("add", "-A")
    before = _head(consumer)
    code, out = consumer.try_commit()
    assert code != 0
    assert _head(consumer) == before
    assert "content mismatch: responses.jsonl" in out
    assert "exit code: 3" in out
    assert f"{dataset_id(FILES)} -> {dataset_id(FILES | {'responses.jsonl': EDITED})}" in out
    assert "exit code: 1" in out
    # The seal was written but not staged: nothing is committed that nobody looked at.
    assert consumer.git("diff", "--name-only") == "data/small/checksums.json"
    consumer.git("add", "--", "data/small/checksums.json")
    code, out = consumer.try_commit()
    assert code == 0, out
    assert _head(consumer) != before


def test_sealing_by_hand_is_a_hook_of_the_manual_stage(consumer):
    consumer.configure("  - id: plumbline-seal\n")
    consumer.git("add", "-A")
    consumer.write({"responses.jsonl": EDITED})
    consumer.git("add", "-A")
    code, out = consumer.try_commit()
    assert code != 0
    assert "plumbline seal..." not in out
    code, out = consumer.pre_commit("run", "--hook-stage", "manual", "plumbline-seal")
    assert code != 0
    assert "sealed again" in out
    consumer.git("add", "-A")
    assert consumer.try_commit()[0] == 0


@pytest.mark.parametrize("name", ["responses.jsonl", "checksums.json"])
def test_a_commit_that_only_deletes_a_file_of_a_bundle_is_refused(consumer, name):
    consumer.git("rm", "-q", f"data/small/{name}")
    before = _head(consumer)
    code, out = consumer.try_commit()
    assert code != 0
    assert name in out
    assert _head(consumer) == before


def test_partial_staging_is_judged_by_the_index(consumer):
    # Staged: a sealed edit. Not staged: a later edit that no seal covers.
    good = sealed(FILES | {"responses.jsonl": EDITED})
    consumer.write(good)
    consumer.git("add", "-A")
    consumer.write({"responses.jsonl": OTHER})
    code, out = consumer.try_commit()
    assert code == 0, out
    assert (consumer.path / "data/small/responses.jsonl").read_bytes() == OTHER
    # Staged: half of an edit. Not staged: the other half, with which the seal would fit.
    better = sealed(FILES | {"responses.jsonl": OTHER})
    consumer.write(better)
    consumer.git("add", "data/small/responses.jsonl")
    code, out = consumer.try_commit()
    assert code != 0
    assert "content mismatch: responses.jsonl" in out
    assert (consumer.path / "data/small/checksums.json").read_bytes() == better["checksums.json"]


def test_content_that_stands_in_the_index_only_is_judged(consumer):
    consumer.stage("data/small/responses.jsonl", EDITED)
    code, out = consumer.try_commit()
    assert code != 0
    assert "content mismatch: responses.jsonl" in out


@pytest.mark.parametrize("how", [["-a"], ["--", "data/small/responses.jsonl"]])
def test_the_index_of_commit_all_and_of_commit_only_is_judged(consumer, how):
    # git makes a second index for these and says so in the environment.
    consumer.write({"responses.jsonl": EDITED})
    code, out = consumer.try_commit(*how)
    assert code != 0
    assert "content mismatch: responses.jsonl" in out
    consumer.write(sealed(FILES | {"responses.jsonl": EDITED}))
    code, out = consumer.try_commit("-a")
    assert code == 0, out


def test_a_merge_of_two_sealed_edits_is_refused_until_it_is_sealed(consumer):
    consumer.git("checkout", "-q", "-b", "side")
    consumer.write(sealed(FILES | {"responses.jsonl": EDITED}))
    consumer.git("commit", "-q", "-a", "-m", "side")
    consumer.git("checkout", "-q", "main")
    consumer.write(sealed(FILES | {"notes.txt": b"hello\n"}))
    consumer.git("add", "-A")
    consumer.git("commit", "-q", "-m", "main")
    code, _ = consumer.tool("git", "merge", "-q", "side")
    assert code != 0
    consumer.git("checkout", "--ours", "data/small/checksums.json")
    consumer.git("add", "-A")
    code, out = consumer.try_commit()
    assert code != 0
    assert "content mismatch: responses.jsonl" in out
    consumer.write(sealed(FILES | {"responses.jsonl": EDITED, "notes.txt": b"hello\n"}))
    consumer.git("add", "-A")
    code, out = consumer.try_commit()
    assert code == 0, out


def test_a_merge_without_a_conflict_is_judged_too(consumer):
    # Two bundles' worth of edits that git can merge by itself, one of them past the hook.
    consumer.git("checkout", "-q", "-b", "side")
    consumer.write({"responses.jsonl": EDITED})
    consumer.git("commit", "-q", "-a", "--no-verify", "-m", "side")
    consumer.git("checkout", "-q", "main")
    consumer.write({"README": b"other\n"}, folder="")
    consumer.git("commit", "-q", "-a", "-m", "main")
    code, out = consumer.tool("git", "merge", "--no-edit", "side")
    assert code != 0
    assert "content mismatch: responses.jsonl" in out


def test_amending_is_judged(consumer):
    consumer.write(sealed(FILES | {"responses.jsonl": EDITED}))
    consumer.git("commit", "-q", "-a", "-m", "sealed")
    consumer.write({"responses.jsonl": OTHER})
    consumer.git("add", "-A")
    before = _head(consumer)
    code, out = consumer.try_commit("--amend")
    assert code != 0
    assert "content mismatch: responses.jsonl" in out
    assert _head(consumer) == before
    consumer.write(sealed(FILES | {"responses.jsonl": OTHER}))
    consumer.git("add", "-A")
    code, out = consumer.try_commit("--amend")
    assert code == 0, out


def test_renaming_a_bundle_is_allowed_and_losing_a_file_on_the_way_is_not(consumer):
    consumer.git("mv", "data/small", "data/moved")
    consumer.git("rm", "-q", "-f", "data/moved/responses.jsonl")
    code, out = consumer.try_commit()
    assert code != 0
    assert "data/moved" in out
    consumer.write({"responses.jsonl": FILES["responses.jsonl"]}, folder="data/moved")
    consumer.git("add", "-A")
    code, out = consumer.try_commit()
    assert code == 0, out


def test_taking_a_whole_bundle_away_is_allowed(consumer):
    consumer.git("rm", "-q", "-r", "data/small")
    assert consumer.try_commit()[0] == 0


def test_converted_line_endings_are_explained(consumer):
    consumer.write({"responses.jsonl": FILES["responses.jsonl"].replace(b"\n", b"\r\n")})
    consumer.git("add", "-A")
    code, out = consumer.try_commit()
    assert code != 0
    assert "its line endings were converted" in out


def test_a_converting_checkout_does_not_spoil_a_commit(consumer):
    consumer.git("config", "core.autocrlf", "true")
    consumer.write({".gitattributes": b"* text=auto\n"}, folder="")
    consumer.git("add", "-A")
    consumer.git("commit", "-q", "-m", "attributes")
    consumer.git("rm", "-q", "-r", "--cached", "data")
    shutil.rmtree(consumer.path / "data")
    consumer.git("checkout", "-q", "HEAD", "--", "data")
    assert b"\r\n" in (consumer.path / "data/small/responses.jsonl").read_bytes()
    consumer.write({"README": b"other\n"}, folder="")
    consumer.git("add", "-A")
    code, out = consumer.try_commit()
    assert code == 0, out
    code, out = consumer.pre_commit("run", "--all-files", "--verbose")
    assert code == 0, out
    assert "warning: a checkout may convert" in out
    assert "data/small/** -text" in out


def test_all_files_reads_every_bundle_and_a_range_those_it_touches(consumer):
    consumer.write(FILES, folder="data/unsealed")
    consumer.git("add", "-A")
    consumer.git("commit", "-q", "--no-verify", "-m", "past the hook")
    consumer.write({"README": b"other\n"}, folder="")
    consumer.git("commit", "-q", "-a", "-m", "harmless")
    code, out = consumer.pre_commit("run", "--all-files")
    assert code != 0
    assert "data/unsealed" in out
    assert consumer.pre_commit("run", "--from-ref", "HEAD~1", "--to-ref", "HEAD")[0] == 0
    code, out = consumer.pre_commit("run", "--from-ref", "HEAD~2", "--to-ref", "HEAD")
    assert code != 0
    assert "data/unsealed" in out


def test_a_push_of_an_unsealed_edit_is_refused(consumer, tmp_path):
    remote = Repo(tmp_path / "remote")
    remote.git("config", "receive.denyCurrentBranch", "ignore")
    consumer.git("remote", "add", "origin", str(remote.path))
    code, out = consumer.tool("git", "push", "origin", "main")
    assert code == 0, out
    consumer.write({"responses.jsonl": EDITED})
    consumer.git("commit", "-q", "-a", "--no-verify", "-m", "past the hook")
    consumer.write({"README": b"other\n"}, folder="")
    consumer.git("commit", "-q", "-a", "-m", "harmless")
    code, out = consumer.tool("git", "push", "origin", "main")
    assert code != 0
    assert "content mismatch: responses.jsonl" in out
    assert remote.git("rev-parse", "main") == consumer.git("rev-parse", "HEAD~2")


def test_hooks_can_be_stepped_over_so_the_gate_has_to_look_again(consumer):
    # Known and documented: this is why a hook is a courtesy and the merge gate verifies the seal itself.
    consumer.write({"responses.jsonl": EDITED})
    consumer.git("add", "-A")
    code, out = consumer.try_commit(extra={"SKIP": "plumbline-validate"})
    assert code == 0, out


def test_nothing_of_the_audited_repository_is_imported(consumer, tmp_path):
    spy = tmp_path / "imported"
    shout = f"open({str(spy)!r}, 'a').write(__name__ + chr(10))\n".encode()
    names = (
        "sitecustomize",
        "usercustomize",
        "tomllib",
        "msgspec",
        "json",
        "argparse",
        "enum",
        "subprocess",
        "plumbline",
    )
    consumer.write({f"{name}.py": shout for name in names if name != "plumbline"}, folder="")
    packages = ["__init__.py", "__main__.py", "hooks/__init__.py", "hooks/validate.py"]
    consumer.write(dict.fromkeys(packages, shout + b"raise SystemExit(0)\n"), folder="plumbline")
    consumer.write({"responses.jsonl": EDITED})
    consumer.git("add", "-A")
    hostile = {
        "PYTHONPATH": str(consumer.path),
        "PYTHONHOME": "",
        "PYTHONSTARTUP": str(consumer.path / "sitecustomize.py"),
        "PYTHONUSERBASE": str(consumer.path),
    }
    # pre-commit itself is Python and not ours to isolate, so its interpreter is shielded and the hook's is not.
    shielded = [sys.executable, "-I", "-m", "pre_commit", "run"]
    done = subprocess.run(
        [*shielded],
        cwd=consumer.path,
        env=consumer.environment() | hostile,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not spy.exists(), spy.read_text()
    assert done.returncode != 0
    assert "content mismatch: responses.jsonl" in done.stdout


def test_the_built_environment_has_the_base_dependencies_only(consumer):
    assert consumer.pre_commit("run", "--all-files")[0] == 0
    found = [path for path in consumer.cache.glob("repo*/py_env*/") if list(path.rglob("plumbline/hooks/validate.py"))]
    assert len(found) == 1, "one environment serves every test of the session"
    python = found[0] / ("Scripts" if os.name == "nt" else "bin") / "python"
    program = "import json, importlib.metadata as m; print(json.dumps([d.name.lower() for d in m.distributions()]))"
    listed = json.loads(subprocess.run([python, "-I", "-c", program], capture_output=True, check=True).stdout)
    assert set(listed) - {"pip", "setuptools", "wheel"} == {"plumbline", "msgspec", "numpy", "rfc8785"}
