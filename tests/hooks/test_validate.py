"""Does the validating hook refuse what leaves a bundle unsealed or invalid, and nothing else?"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.errors import ExitCode
from plumbline.hooks import git
from plumbline.hooks.validate import main
from tests.hooks.repository import FILES, Repo, dataset_id, sealed

EDITED = b'{"id": "a", "response": "It is $6 a day."}\n'


@pytest.fixture
def hook(capsys):
    def run(*arguments):
        capsys.readouterr()
        code = main(arguments)
        return code, capsys.readouterr().out

    return run


def test_a_commit_that_touches_no_bundle_is_not_spoken_about(repo, hook):
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")


def test_no_evidence_code_is_loaded_when_no_bundle_is_touched(repo):
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    program = (
        "import sys; from plumbline.hooks.validate import main; code = main([]);"
        "print(code, sorted(m for m in sys.modules if m.split('.')[0] in {'msgspec', 'numpy', 'rfc8785'}"
        " or m.startswith('plumbline.evidence')))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=repo.path, capture_output=True, text=True, check=True)
    assert done.stdout.strip().replace("ExitCode.PASS", "0") == "0 []"


def test_the_hook_is_quick_when_no_bundle_is_touched(repo):
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    command = [sys.executable, "-m", "plumbline.hooks.validate"]
    times = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run(command, cwd=repo.path, check=True)
        times.append(time.perf_counter() - start)
    assert min(times) < 0.3


def test_a_sealed_edit_passes_and_names_the_dataset(repo, hook):
    files = FILES | {"responses.jsonl": EDITED}
    repo.write(sealed(files))
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, f"data/small: sealed and valid, dataset {dataset_id(files)}\n")


def test_an_unsealed_edit_is_refused_with_the_file_and_the_command(repo, hook):
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "data/small" in out
    assert "content mismatch: responses.jsonl" in out
    assert "plumbline seal data/small && git add -- data/small/checksums.json" in out


@pytest.mark.parametrize("name", ["items.jsonl", "responses.jsonl", "manifest.json"])
def test_a_deleted_file_is_refused(repo, hook, name):
    repo.git("rm", "-q", f"data/small/{name}")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert f"listed but missing: {name}" in out


@pytest.mark.parametrize("names", [["checksums.json"], ["checksums.json", "manifest.json"]])
def test_a_deleted_seal_is_refused_even_when_nothing_marks_the_bundle_any_more(repo, hook, names):
    repo.git("rm", "-q", *(f"data/small/{name}" for name in names))
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "checksums.json: there is no seal" in out


def test_taking_the_whole_bundle_away_is_allowed_and_said(repo, hook):
    repo.git("rm", "-q", "-r", "data/small")
    assert hook() == (ExitCode.PASS, "data/small: the whole bundle is taken away\n")


def test_a_renamed_bundle_is_checked_where_it_is_now(repo, hook):
    repo.git("mv", "data/small", "data/moved")
    code, out = hook()
    assert code == ExitCode.PASS
    assert "data/moved: sealed and valid" in out
    assert "data/small: the whole bundle is taken away" in out


def test_a_rename_that_loses_a_file_is_refused(repo, hook):
    repo.git("mv", "data/small", "data/moved")
    repo.git("rm", "-q", "-f", "data/moved/responses.jsonl")
    assert hook()[0] == ExitCode.INTEGRITY


def test_a_new_bundle_without_a_seal_is_refused(repo, hook):
    repo.write(FILES, folder="data/new")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "data/new" in out


def test_a_broken_manifest_of_a_new_bundle_is_still_a_bundle(repo, hook):
    repo.write({"manifest.json": b'{"format": "plumbline-bundle", ' + b"[" * 100_000}, folder="data/new")
    repo.git("add", "-A")
    assert hook()[0] == ExitCode.INTEGRITY


def test_a_format_written_with_an_escape_is_still_a_bundles(repo, hook):
    escaped = {name: data.replace(b"plumbline-", b"plumbline\\u002d") for name, data in sealed(FILES).items()}
    repo.write(escaped, folder="data/escaped")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "data/escaped" in out


@pytest.mark.parametrize(
    "content",
    [b'{"name": "an app"}', b'["plumbline-bundle"]', b'{"about": "plumbline-bundle"}', b"", b"\xff\xfe", b'["\\u002d'],
)
def test_other_manifests_are_nobodys_business(repo, hook, content):
    repo.write({"manifest.json": content}, folder="web")
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")


def test_a_sealed_bundle_that_cannot_be_graded_is_a_configuration_error(repo, hook):
    repo.write(sealed(FILES | {"items.jsonl": b'{"id": "a"}\n'}))
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "items.jsonl:1" in out


@pytest.mark.parametrize("first", ["data/aa", "data/zz"])
def test_broken_evidence_outranks_odd_content_in_any_order(repo, hook, first):
    repo.write(sealed(FILES | {"items.jsonl": b'{"id": "a"}\n'}), folder=first)
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "CONFIGURATION ERROR" in out


def test_only_touched_bundles_are_read_unless_all_are_asked_for(repo, hook):
    repo.write(FILES, folder="data/unsealed")
    repo.git("add", "-A")
    repo.commit("past the hook")
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")
    assert hook("--all")[0] == ExitCode.INTEGRITY


@pytest.mark.usefixtures("repo")
def test_with_nothing_staged_all_bundles_are_read(hook):
    code, out = hook()
    assert code == ExitCode.PASS
    assert "data/small: sealed and valid" in out


def test_the_index_is_judged_when_the_work_tree_is_wrong(repo, hook):
    files = FILES | {"responses.jsonl": EDITED}
    repo.write(sealed(files))
    repo.git("add", "-A")
    repo.write({"responses.jsonl": b"rubbish", "untracked.txt": b"x"})
    assert hook()[0] == ExitCode.PASS


def test_the_index_is_judged_when_the_work_tree_is_right(repo, hook):
    repo.stage("data/small/responses.jsonl", EDITED)
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert (repo.path / "data/small/responses.jsonl").read_bytes() == FILES["responses.jsonl"]
    assert "content mismatch: responses.jsonl" in out


def test_the_index_that_git_names_is_the_one_that_is_judged(repo, hook, monkeypatch, tmp_path):
    other = tmp_path / "index"
    other.write_bytes((repo.path / ".git/index").read_bytes())
    monkeypatch.setenv("GIT_INDEX_FILE", str(other))
    repo.stage("data/small/responses.jsonl", EDITED)
    assert hook("--all")[0] == ExitCode.PASS
    subprocess.run(["git", "rm", "-q", "--cached", "data/small/responses.jsonl"], cwd=repo.path, check=True)
    assert hook()[0] == ExitCode.INTEGRITY


def test_a_file_that_was_sealed_but_not_staged_is_named_with_its_command(repo, hook):
    repo.write(sealed(FILES | {"notes.txt": b"hello\n"}))
    repo.git("add", "-u")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "git add -- data/small/notes.txt" in out


def test_a_file_that_is_only_announced_is_not_in_the_commit(repo, hook):
    repo.write(sealed(FILES | {"notes.txt": b""}))
    repo.git("add", "data/small/checksums.json")
    repo.git("add", "-N", "data/small/notes.txt")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "listed but missing: notes.txt" in out
    assert "git add -- data/small/notes.txt" in out
    repo.git("add", "data/small/notes.txt")
    assert hook()[0] == ExitCode.PASS


def test_a_sealed_file_that_was_taken_out_and_only_announced_again_is_missing(repo, hook):
    repo.write(sealed(FILES | {"notes.txt": b"", "empty.txt": b""}))
    repo.git("add", "-A")
    repo.commit()
    repo.git("rm", "-q", "--cached", "data/small/notes.txt")
    repo.git("add", "-N", "data/small/notes.txt")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "listed but missing: notes.txt" in out
    assert "empty.txt" not in out


def _pointer(data):
    digest = hashlib.sha256(data).hexdigest()
    return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(data)}\n".encode()


@pytest.mark.parametrize("names", [["manifest.json"], ["checksums.json"], [*FILES, "checksums.json"]])
def test_a_bundle_that_lfs_hides_does_not_pass_without_a_word(repo, hook, names):
    files = {name: _pointer(data) if name in names else data for name, data in sealed(FILES).items()}
    repo.write(files, folder="data/far")
    repo.git("add", "-A")
    code, out = hook()
    if len(names) == 1:
        # The other of the two still says that it is a bundle.
        assert code == ExitCode.INTEGRITY
    else:
        assert code == ExitCode.PASS
        assert out.startswith("data/far: warning: ")
        assert "Git LFS" in out
    assert "data/far" in out
    repo.commit("past the hook")
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")


def test_a_bundle_that_is_moved_into_lfs_is_refused(repo, hook):
    repo.write({name: _pointer(data) for name, data in sealed(FILES).items()})
    repo.git("add", "-A")
    assert hook()[0] == ExitCode.INTEGRITY


def test_before_the_first_commit_everything_is_new(empty, hook):
    empty.write(FILES)
    empty.git("add", "-A")
    assert hook()[0] == ExitCode.INTEGRITY
    empty.write(sealed(FILES))
    empty.git("add", "-A")
    assert hook()[0] == ExitCode.PASS


def test_a_repository_can_be_one_bundle(empty, hook):
    empty.write(sealed(FILES), folder="")
    empty.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.PASS
    assert out.startswith(".: sealed and valid")
    empty.write({"stray": b""}, folder="")
    empty.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "plumbline seal . && git add -- checksums.json" in out


def test_the_hook_may_be_run_from_a_folder_below_the_top(repo, hook, monkeypatch):
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    monkeypatch.chdir(repo.path / "data/small")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "data/small" in out


def test_a_bundle_inside_a_bundle_touches_both(repo, hook):
    repo.write(sealed(FILES), folder="data/small/inner")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "present but not listed: inner/checksums.json" in out
    assert "data/small/inner: sealed and valid" in out


@pytest.mark.parametrize(("mode", "what"), [("120000", "symbolic link"), ("160000", "submodule")])
def test_links_and_submodules_inside_a_bundle_are_refused(repo, hook, mode, what):
    blob = repo.git("rev-parse", "HEAD") if mode == "160000" else repo.git("hash-object", "-w", "--stdin", stdin=b"/x")
    repo.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},data/small/extra")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert what in out
    assert "extra" in out


@pytest.mark.parametrize("mode", ["120000", "160000"])
@pytest.mark.parametrize("place", ["data/small", "data"])
def test_a_link_or_submodule_in_place_of_a_bundle_is_refused(repo, hook, mode, place):
    repo.git("rm", "-q", "-r", "--cached", "data")
    blob = repo.git("rev-parse", "HEAD") if mode == "160000" else repo.git("hash-object", "-w", "--stdin", stdin=b"/x")
    repo.git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{place}")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "takes the place of the bundle data/small" in out


def test_a_submodule_called_like_a_manifest_breaks_nothing(repo, hook):
    head = repo.git("rev-parse", "HEAD")
    repo.git("update-index", "--add", "--cacheinfo", f"160000,{head},vendor/manifest.json")
    assert hook() == (ExitCode.PASS, "")
    repo.commit()
    repo.git("update-index", "--force-remove", "vendor/manifest.json")
    assert hook() == (ExitCode.PASS, "")


@pytest.mark.parametrize("name", [b"two\nlines", b"back\\slash", b"\x1b[31mred", b"\xff.txt", b"a\xe2\x80\xa8b"])
def test_a_name_that_no_seal_may_hold_is_refused_and_shown_harmlessly(repo, hook, name):
    blob = repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    entry = f"100644 {blob}\tdata/small/".encode() + name + b"\0"
    repo.git("update-index", "-z", "--index-info", stdin=entry)
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert all(char.isprintable() for char in out.replace("\n", ""))
    assert "two\nlines" not in out


def test_a_bundle_in_a_folder_with_an_odd_name_is_found_and_shown_harmlessly(repo, hook):
    for folder in ("odd name/*?[x]", ":(top)odd", "-x", "a\nb\x1b[0m", "ünï", "a'b"):
        for name, data in FILES.items():
            repo.stage(f"{folder}/{name}", data)
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert out.count("INTEGRITY REFUSAL") == 6
    assert "plumbline seal -- -x && git add -- -x/checksums.json" in out
    assert {line[:17] for line in out.splitlines() if not line.startswith(" ")} == {"INTEGRITY REFUSAL"}
    assert "plumbline seal 'odd name/*?[x]' && git add -- 'odd name/*?[x]/checksums.json'" in out
    assert "\x1b" not in out


def test_a_merge_is_judged_by_its_result(repo, hook):
    repo.git("checkout", "-q", "-b", "side")
    repo.write(sealed(FILES | {"responses.jsonl": EDITED}))
    repo.git("add", "-A")
    repo.commit("sealed edit")
    repo.git("checkout", "-q", "main")
    repo.write(sealed(FILES | {"notes.txt": b"hello\n"}))
    repo.git("add", "-A")
    repo.commit("other sealed edit")
    repo.git("merge", "-q", "side", check=False)
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "data/small/checksums.json: has an unresolved merge conflict" in out
    repo.git("checkout", "--ours", "data/small/checksums.json")
    repo.git("add", "-A")
    assert hook()[0] == ExitCode.INTEGRITY
    repo.write(sealed(FILES | {"responses.jsonl": EDITED, "notes.txt": b"hello\n"}))
    repo.git("add", "-A")
    assert hook()[0] == ExitCode.PASS


def test_a_range_is_judged_by_its_last_commit(repo, hook, monkeypatch):
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    repo.commit("bad")
    bad = repo.git("rev-parse", "HEAD")
    repo.write(sealed(FILES | {"responses.jsonl": EDITED}))
    repo.git("add", "-A")
    repo.commit("good")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~2")
    monkeypatch.setenv("PRE_COMMIT_TO_REF", bad)
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "content mismatch: responses.jsonl" in out
    monkeypatch.setenv("PRE_COMMIT_TO_REF", "HEAD")
    assert hook()[0] == ExitCode.PASS


def test_a_range_that_touches_no_bundle_reads_none(repo, hook, monkeypatch):
    repo.write(FILES, folder="data/unsealed")
    repo.git("add", "-A")
    repo.commit("past the hook")
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    repo.commit("harmless")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
    monkeypatch.setenv("PRE_COMMIT_TO_REF", "HEAD")
    assert hook() == (ExitCode.PASS, "")
    assert hook("--all")[0] == ExitCode.INTEGRITY


def test_a_range_starts_where_the_branches_parted(repo, hook, monkeypatch):
    repo.git("checkout", "-q", "-b", "side")
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    repo.commit("harmless")
    repo.git("checkout", "-q", "main")
    repo.write(FILES, folder="data/unsealed")
    repo.git("add", "-A")
    repo.commit("somebody else's")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "main")
    monkeypatch.setenv("PRE_COMMIT_TO_REF", "side")
    assert hook() == (ExitCode.PASS, "")


@pytest.mark.parametrize("name", ["nowhere", "--upload-pack=touch x", ""])
def test_a_range_of_unknown_commits_is_refused(repo, hook, monkeypatch, name):
    repo.git("rm", "-q", "data/small/responses.jsonl")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD")
    monkeypatch.setenv("PRE_COMMIT_TO_REF", name)
    # An empty end is no range: then the index is judged.
    assert hook()[0] == (ExitCode.CONFIGURATION if name else ExitCode.INTEGRITY)


def test_outside_a_repository_there_is_nothing_to_judge(tmp_path, monkeypatch, hook):
    monkeypatch.chdir(tmp_path)
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "git rev-parse failed" in out


@pytest.mark.usefixtures("repo")
def test_without_git_the_hook_says_so(hook, monkeypatch):
    monkeypatch.setenv("PATH", "")
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "git was not found" in out


def test_a_git_of_the_repository_is_not_run(repo, hook, monkeypatch):
    planted = repo.path / "git"
    planted.write_text("#!/bin/sh\ntouch planted-ran\nexit 1\n")
    planted.chmod(0o755)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}{os.environ['PATH']}")
    assert hook()[0] == ExitCode.PASS
    assert not (repo.path / "planted-ran").exists()


def _blind_git(path):
    """A git that finds nothing wrong: it hides what is staged and asks the real one for the rest."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"""#!/bin/sh
touch {path}.ran
case "$*" in *diff-index*|*ls-files*) exit 0;; esac
exec {shutil.which("git")} "$@"
""")
    path.chmod(0o755)
    return path


def _in_the_repository(repo, _outside):
    return _blind_git(repo.path / "bin/git").parent


def _in_a_submodules_superproject(repo, _outside):
    (repo.path.parent / ".git").mkdir()
    return _blind_git(repo.path.parent / "tools/git").parent


def _a_link_into_it(repo, outside):
    (outside / "git").symlink_to(_blind_git(repo.path / "bin/git"))
    return outside


def _a_link_of_its_own(repo, outside):
    (repo.path / "bin").mkdir()
    (repo.path / "bin/git").symlink_to(_blind_git(outside / "git"))
    return repo.path / "bin"


def _a_link_through_a_link_of_its_own(repo, outside):
    _blind_git(outside / "far/git")
    (repo.path / "bin").symlink_to("../outside/far")
    (outside / "near").symlink_to("../repo/bin")
    return outside / "near"


@pytest.mark.parametrize(
    "plant",
    [
        _in_the_repository,
        _in_a_submodules_superproject,
        _a_link_into_it,
        _a_link_of_its_own,
        _a_link_through_a_link_of_its_own,
    ],
)
def test_a_git_that_the_repository_decides_on_is_not_run(repo, hook, monkeypatch, tmp_path, plant):
    outside = tmp_path / "outside"
    outside.mkdir()
    repo.stage("data/small/responses.jsonl", EDITED)
    monkeypatch.setenv("PATH", f"{plant(repo, outside)}{os.pathsep}{os.environ['PATH']}")
    for folder in ("", "data/small"):
        monkeypatch.chdir(repo.path / folder)
        assert hook()[0] == ExitCode.INTEGRITY
    assert list(tmp_path.rglob("git.ran")) == []


def test_a_git_in_a_work_tree_that_lies_apart_is_not_run(repo, hook, monkeypatch, tmp_path):
    apart = tmp_path / "apart"
    shutil.copytree(repo.path, apart, ignore=shutil.ignore_patterns(".git"))
    monkeypatch.setenv("GIT_DIR", str(repo.path / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(apart))
    repo.stage("data/small/responses.jsonl", EDITED)
    monkeypatch.setenv("PATH", f"{_blind_git(apart / 'bin/git').parent}{os.pathsep}{os.environ['PATH']}")
    assert hook()[0] == ExitCode.INTEGRITY
    monkeypatch.delenv("GIT_WORK_TREE")
    monkeypatch.chdir(apart)
    assert hook()[0] == ExitCode.INTEGRITY
    assert list(tmp_path.rglob("git.ran")) == []


def test_a_link_outside_of_the_repository_is_followed(repo, hook, monkeypatch, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/git").symlink_to(shutil.which("git"))
    (tmp_path / "near").symlink_to("elsewhere/./../elsewhere")
    monkeypatch.setenv("PATH", str(tmp_path / "near"))
    repo.stage("data/small/responses.jsonl", EDITED)
    assert hook()[0] == ExitCode.INTEGRITY


def test_where_the_only_git_is_the_repositorys_own_the_hook_says_so(repo, hook, monkeypatch):
    monkeypatch.setenv("PATH", str(_blind_git(repo.path / "bin/git").parent))
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert str(repo.path / "bin/git") in out


@pytest.mark.parametrize("known", [True, False])
def test_a_clone_without_its_objects_fetches_nothing(repo, hook, monkeypatch, tmp_path, known):
    if not known:
        # As with a git that is older than the variable.
        monkeypatch.delitem(git._QUIET, "GIT_NO_LAZY_FETCH")
    repo.git("config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repo.path}", str(clone)],
        env=repo.environment(),
        check=True,
    )
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/spy-ran\n")
    spy.chmod(0o755)
    subprocess.run(["git", "config", "remote.origin.uploadpack", str(spy)], cwd=clone, check=True)
    subprocess.run(["git", "read-tree", "HEAD"], cwd=clone, env=repo.environment(), check=True)
    (tmp_path / "spy-ran").unlink(missing_ok=True)
    monkeypatch.chdir(clone)
    assert hook("--all")[0] == ExitCode.CONFIGURATION
    assert not (tmp_path / "spy-ran").exists()


def test_no_program_that_the_repository_configures_is_run(repo, hook):
    script = repo.path / "spy.sh"
    script.write_text("#!/bin/sh\ntouch spy-ran\n")
    script.chmod(0o755)
    for setting in ("core.fsmonitor", "diff.external", "filter.spy.smudge", "filter.spy.clean"):
        repo.git("config", setting, "./spy.sh")
    repo.write({".gitattributes": b"data/** -text filter=spy diff=spy\n"}, folder="")
    repo.git("-c", "core.fsmonitor=false", "-c", "filter.spy.clean=cat", "add", ".gitattributes")
    (repo.path / "spy-ran").unlink(missing_ok=True)
    hook("--all")
    assert not (repo.path / "spy-ran").exists()


def test_a_replacement_object_does_not_stand_in_for_what_is_stored(repo, hook):
    good = repo.git("rev-parse", "HEAD:data/small/responses.jsonl")
    repo.stage("data/small/responses.jsonl", EDITED)
    bad = repo.git("rev-parse", ":data/small/responses.jsonl")
    repo.git("replace", bad, good)
    assert hook()[0] == ExitCode.INTEGRITY


def test_an_object_that_is_not_there_is_a_configuration_error(repo, hook):
    repo.git("update-index", "--cacheinfo", f"100644,{'1' * 40},data/small/responses.jsonl")
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "1" * 40 in out


def test_converted_line_endings_are_recognised(repo, hook):
    repo.write({name: data.replace(b"\n", b"\r\n") for name, data in FILES.items()})
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "its line endings were converted" in out
    assert ".gitattributes" in out


def test_autocrlf_on_the_way_in_does_not_matter(empty, hook):
    empty.git("config", "core.autocrlf", "true")
    empty.git("config", "core.safecrlf", "false")
    files = sealed(FILES)
    empty.write({name: data.replace(b"\n", b"\r\n") for name, data in files.items()})
    empty.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.PASS
    assert "a checkout may convert 4 of its 4 files" in out


@pytest.mark.parametrize(
    ("attributes", "warned"),
    [
        (b"", True),
        (b"* text=auto\n", True),
        (b"data/** text eol=crlf\n", True),
        (b"data/** text eol=lf\n", False),
        (b"data/** -text\n", False),
        (b"data/** binary\n", False),
        (b"data/** -text filter=lfs\n", True),
        (b"data/** -text ident\n", True),
        (b"data/** -text working-tree-encoding=UTF-16\n", True),
    ],
)
def test_a_bundle_that_a_checkout_could_convert_is_warned_about(empty, hook, attributes, warned):
    for name, data in sealed(FILES).items():
        empty.stage(f"data/small/{name}", data)
    empty.stage(".gitattributes", attributes)
    code, out = hook()
    assert code == ExitCode.PASS
    assert ("put this into .gitattributes: data/small/** -text" in out) is warned


@pytest.mark.usefixtures("repo")
def test_a_crash_is_five_and_never_one(hook, monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("plumbline.hooks.validate.find", crash)
    code, out = hook()
    assert code == ExitCode.INTERNAL
    assert "planted" in out


def test_a_misspelt_option_is_a_usage_error():
    with pytest.raises(SystemExit) as ended:
        main(["--al"])
    assert ended.value.code == ExitCode.USAGE


NAMES = ["responses.jsonl", "items.jsonl", "notes.txt", "deep/er/more.txt"]
EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("write"), st.sampled_from(NAMES), st.sampled_from([b"\n", b" \n", b"\n\n"])),
        st.tuples(st.just("delete"), st.sampled_from(NAMES), st.none()),
        st.tuples(st.just("seal"), st.none(), st.none()),
        st.tuples(st.just("flip seal"), st.integers(0, 400), st.none()),
    ),
    max_size=6,
)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return Repo(tmp_path_factory.mktemp("scratch"))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edits=EDITS)
def test_a_commit_is_refused_exactly_when_the_index_is_not_what_the_seal_says(scratch, monkeypatch, edits):
    index = sealed(FILES)
    for kind, where, what in edits:
        if kind == "write":
            # Blank lines: the content stays a bundle, so only the seal decides.
            index[where] = FILES.get(where, b"") + what
        elif kind == "delete":
            index.pop(where, None)
        elif kind == "seal":
            index = sealed(index)
        else:
            seal = bytearray(index["checksums.json"])
            seal[where % len(seal)] ^= 1
            index["checksums.json"] = bytes(seal)
    scratch.git("read-tree", "--empty")
    for name, data in index.items():
        scratch.stage(f"data/small/{name}", data)
    monkeypatch.chdir(scratch.path)
    code = main(["--all"])
    if index != sealed(index):
        assert code == ExitCode.INTEGRITY
    elif {"items.jsonl", "responses.jsonl"} <= index.keys():
        assert code == ExitCode.PASS
    else:
        assert code == ExitCode.CONFIGURATION
    assert json.loads(sealed(index)["checksums.json"])["files"].keys() == index.keys() - {"checksums.json"}


def test_a_seal_that_was_converted_with_everything_else_is_recognised(repo, hook):
    repo.write({name: data.replace(b"\n", b"\r\n") for name, data in sealed(FILES).items()})
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "checksums.json: its line endings were converted" in out


def test_no_name_can_forge_a_line_or_a_command_of_the_workflow_log(repo, hook):
    for name, data in FILES.items():
        repo.stage(f"a\ndata/small: sealed and valid\n::error::x/{name}", data)
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert not [line for line in out.splitlines() if line.startswith(("data/small", "::"))]
