"""Does the sealing hook seal what will be committed, show it, and leave the decision to the committer?"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.errors import ExitCode
from plumbline.hooks import validate
from plumbline.hooks.seal import main
from tests.hooks.repository import FILES, Repo, dataset_id, sealed

EDITED = b'{"id": "a", "response": "It is $6 a day."}\n'


@pytest.fixture
def hook(capsys):
    def run(*arguments):
        capsys.readouterr()
        code = main(arguments)
        return code, capsys.readouterr().out

    return run


def _seal(repo, folder="data/small"):
    return (repo.path / folder / "checksums.json").read_bytes()


def test_a_bundle_that_is_sealed_is_left_alone(repo, hook):
    before = _seal(repo)
    assert hook("--all") == (ExitCode.PASS, "")
    assert _seal(repo) == before


def test_an_edit_is_sealed_shown_and_not_staged(repo, hook):
    files = FILES | {"responses.jsonl": EDITED, "notes.txt": b"hello\n"}
    repo.write({"responses.jsonl": EDITED, "notes.txt": b"hello\n"})
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.FAIL
    assert out.splitlines() == [
        f"data/small: sealed again, dataset {dataset_id(FILES)} -> {dataset_id(files)}",
        "  added: notes.txt",
        "  changed: responses.jsonl",
        "  If this is meant: git add -- data/small/checksums.json",
    ]
    assert json.loads(_seal(repo)) == json.loads(sealed(files)["checksums.json"])
    assert repo.git("diff", "--cached", "--name-only").split() == ["data/small/notes.txt", "data/small/responses.jsonl"]


def test_the_second_try_passes_once_the_seal_is_staged(repo, hook):
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    assert hook()[0] == ExitCode.FAIL
    assert validate.main([]) == ExitCode.INTEGRITY
    repo.git("add", "--", "data/small/checksums.json")
    assert hook() == (ExitCode.PASS, "")
    assert validate.main([]) == ExitCode.PASS


def test_without_staging_the_seal_the_hook_fails_again(repo, hook):
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    first = hook()
    assert first[0] == ExitCode.FAIL
    assert hook() == first


def test_a_removed_file_is_shown(repo, hook):
    repo.write(sealed(FILES | {"notes.txt": b"hello\n"}))
    repo.git("add", "-A")
    repo.commit()
    repo.git("rm", "-q", "data/small/notes.txt")
    code, out = hook()
    assert code == ExitCode.FAIL
    assert "  removed: notes.txt" in out.splitlines()


def test_a_new_bundle_gets_its_first_seal(repo, hook):
    repo.write(FILES, folder="data/new")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.FAIL
    assert f"data/new: sealed again, dataset none -> {dataset_id(FILES)}" in out
    # The seal is a new file, which git calls untracked: that is no reason to refuse the second try.
    assert hook()[0] == ExitCode.FAIL
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")


def test_a_bundle_at_the_top_of_a_repository_is_sealed(empty, hook):
    empty.write(FILES, folder="")
    empty.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.FAIL
    assert "git add -- checksums.json" in out
    assert hook()[0] == ExitCode.FAIL
    empty.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")


def test_the_whole_bundle_taken_away_needs_no_seal(repo, hook):
    repo.git("rm", "-q", "-r", "data/small")
    assert hook() == (ExitCode.PASS, "")


def test_only_touched_bundles_are_sealed(repo, hook):
    repo.write(FILES, folder="data/unsealed")
    repo.git("add", "-A")
    repo.commit("past the hook")
    repo.write({"README": b"other\n"}, folder="")
    repo.git("add", "-A")
    assert hook() == (ExitCode.PASS, "")
    assert hook("--all")[0] == ExitCode.FAIL


def test_an_untracked_file_in_the_folder_is_refused_by_name(repo, hook):
    before = _seal(repo)
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    repo.write({"stray.txt": b"x"})
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "data/small/stray.txt" in out
    assert "not tracked" in out
    assert _seal(repo) == before


def test_an_ignored_file_in_the_folder_is_nobodys_evidence(repo, hook):
    repo.write({".gitignore": b".DS_Store\n"}, folder="")
    repo.write({"responses.jsonl": EDITED, ".DS_Store": b"x"})
    repo.git("add", "-A")
    assert hook()[0] == ExitCode.FAIL
    assert ".DS_Store" not in json.loads(_seal(repo))["files"]


def test_an_unstaged_edit_is_refused_by_name(repo, hook):
    before = _seal(repo)
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    repo.write({"items.jsonl": FILES["items.jsonl"] + b"\n"})
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "data/small/items.jsonl" in out
    assert "not staged" in out
    assert _seal(repo) == before


def test_content_that_is_no_bundle_is_not_sealed(repo, hook):
    before = _seal(repo)
    repo.write({"items.jsonl": b'{"id": "a"}\n'})
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "items.jsonl:1" in out
    assert _seal(repo) == before


def test_a_link_is_not_sealed(repo, hook):
    (repo.path / "data/small/link").symlink_to("items.jsonl")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.INTEGRITY
    assert "symbolic link" in out


def test_one_refusal_does_not_keep_the_other_bundles_from_being_sealed(repo, hook):
    repo.write({"items.jsonl": b'{"id": "a"}\n'})
    repo.write(FILES, folder="data/new")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "data/new: sealed again" in out


def test_the_seal_is_made_of_what_git_stores_and_not_of_a_converted_checkout(empty, hook):
    empty.git("config", "core.autocrlf", "true")
    empty.git("config", "core.safecrlf", "false")
    empty.write({name: data.replace(b"\n", b"\r\n") for name, data in FILES.items()})
    empty.git("add", "-A")
    assert hook()[0] == ExitCode.FAIL
    assert json.loads(_seal(empty))["bundle_sha256"].startswith(dataset_id(FILES))
    empty.git("add", "-A")
    assert validate.main([]) == ExitCode.PASS
    assert hook() == (ExitCode.PASS, "")


def test_a_range_says_what_is_touched_and_the_index_what_is_sealed(repo, hook, monkeypatch):
    repo.write({"responses.jsonl": EDITED})
    repo.git("add", "-A")
    repo.commit("past the hook")
    monkeypatch.setenv("PRE_COMMIT_FROM_REF", "HEAD~1")
    monkeypatch.setenv("PRE_COMMIT_TO_REF", "HEAD")
    assert hook()[0] == ExitCode.FAIL


@pytest.mark.parametrize("linked", ["data", "data/small"])
def test_nothing_is_written_through_a_link(repo, hook, tmp_path, linked):
    repo.stage("data/small/responses.jsonl", EDITED)
    # So git itself does not see that the folder was replaced.
    repo.git("update-index", "--skip-worktree", *repo.git("ls-files", "data").split())
    outside = tmp_path / "outside"
    (repo.path / linked).rename(outside)
    (repo.path / linked).symlink_to(outside)
    before = {path: path.read_bytes() for path in outside.rglob("*.json")}
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert f"takes the place of the folder {linked}" in out
    assert {path: path.read_bytes() for path in outside.rglob("*.json")} == before


@pytest.mark.parametrize("variable", ["filter.spy.clean", "filter.spy.process", "filter.sp=y.two.clean"])
def test_no_filter_is_run(repo, hook, monkeypatch, tmp_path, variable):
    name = variable.split(".", 1)[1].rpartition(".")[0]
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/spy-ran\ncat\n")
    spy.chmod(0o755)
    repo.git("config", variable, str(spy))
    repo.git("config", f"filter.{name}.required", "true")
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Tester")
    repo.stage("data/small/responses.jsonl", EDITED)
    (repo.path / ".git/info").mkdir(exist_ok=True)
    (repo.path / ".git/info/attributes").write_text(f"data/** filter={name}\n")
    repo.write({"responses.jsonl": EDITED, "items.jsonl": FILES["items.jsonl"] + b"\n"})
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "data/small/items.jsonl" in out
    repo.write({"items.jsonl": FILES["items.jsonl"]})
    assert hook()[0] == ExitCode.FAIL
    assert not (tmp_path / "spy-ran").exists()


def test_an_announced_file_is_refused_by_name(repo, hook):
    repo.write({"responses.jsonl": EDITED, "notes.txt": b"hello\n"})
    repo.git("add", "-u")
    repo.git("add", "-N", "data/small/notes.txt")
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "data/small/notes.txt" in out


def test_what_lfs_keeps_is_not_sealed_and_that_is_said(repo, hook):
    repo.write({"manifest.json": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"}, folder="far")
    repo.git("add", "-A")
    code, out = hook()
    assert code == ExitCode.PASS
    assert out.startswith("far: manifest.json is kept in Git LFS")
    assert not (repo.path / "far/checksums.json").exists()


def test_the_remedy_for_a_folder_with_an_odd_name_can_be_run(repo, hook):
    repo.write(FILES, folder="odd name; x")
    repo.git("add", "-A")
    repo.write({"stray.txt": b"x"}, folder="odd name; x")
    assert "git add -- 'odd name; x'" in hook()[1]


def test_a_folder_in_the_place_of_the_seal_is_a_configuration_error(repo, hook):
    repo.write({"responses.jsonl": EDITED})
    repo.git("rm", "-q", "--cached", "data/small/checksums.json")
    repo.git("add", "data/small/responses.jsonl")
    (repo.path / "data/small/checksums.json").unlink()
    (repo.path / "data/small/checksums.json").mkdir()
    code, out = hook()
    assert code == ExitCode.CONFIGURATION
    assert "no regular file" in out
    assert sorted(path.name for path in (repo.path / "data/small").iterdir()) == sorted([*FILES, "checksums.json"])


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return Repo(tmp_path_factory.mktemp("scratch"))


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    extra=st.dictionaries(
        st.text("abc.é ", min_size=1, max_size=4).filter(lambda name: name not in {".", ".."}), st.binary(max_size=9)
    )
)
def test_whatever_was_staged_the_seal_makes_it_valid(scratch, monkeypatch, extra):
    scratch.git("read-tree", "--empty")
    scratch.git("clean", "-q", "-f", "-d", "-x")
    scratch.write(FILES)
    scratch.write(extra, folder="data/small/extra")
    scratch.git("add", "-A")
    monkeypatch.chdir(scratch.path)
    assert validate.main(["--all"]) == ExitCode.INTEGRITY
    assert main(["--all"]) == ExitCode.FAIL
    scratch.git("add", "-A")
    assert validate.main(["--all"]) == ExitCode.PASS
    assert main(["--all"]) == ExitCode.PASS
