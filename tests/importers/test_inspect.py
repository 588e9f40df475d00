"""Do logs of Inspect keep every sample, and does no archive do harm?"""

from __future__ import annotations

import json
import random
import sys
import zipfile
from pathlib import Path

import pytest

from plumbline.cli import main as cli
from plumbline.errors import ExitCode
from plumbline.evidence.bundle import load

FILES = Path(__file__).parent / "files"
STATED = ("--lang", "en", "--behavior", "answer")


def run(file, out, *more):
    return cli.main(["import", "inspect", str(file), "--out", str(out), *STATED, *more])


@pytest.fixture
def log():
    return json.loads((FILES / "inspect.json").read_text())


@pytest.fixture
def refused(tmp_path, capsys):
    def attempt(document):
        path = tmp_path / "log.json"
        path.write_text(json.dumps(document))
        assert run(path, tmp_path / "b") == ExitCode.CONFIGURATION
        assert not (tmp_path / "b").exists()
        return capsys.readouterr().err

    return attempt


def archive(path, members, compression=zipfile.ZIP_DEFLATED):
    with zipfile.ZipFile(path, "w", compression) as out:
        for name, content in members:
            out.writestr(name, content)
    return path


def test_json_and_archive_hold_the_same_in_the_logs_own_order(tmp_path):
    assert run(FILES / "inspect.json", tmp_path / "a") == run(FILES / "inspect.eval", tmp_path / "b") == 0
    one, other = load(tmp_path / "a"), load(tmp_path / "b")
    assert [item.id for item in one.items] == ["fare", "dogs", "late"]
    assert (one.items, one.responses) == (other.items, other.responses)


@pytest.mark.parametrize("name", ["inspect.json", "inspect-broken.json"])
def test_an_error_in_a_sample_is_silence_though_something_was_said(name, tmp_path):
    assert run(FILES / name, tmp_path / "b") == ExitCode.PASS
    bundle = load(tmp_path / "b")
    assert bundle.responses["late"].response is None
    assert bundle.responses["dogs"].turn_responses == ["Dogs travel free.", "Cats too, in a basket."]


def test_the_mapping_may_choose_the_last_answer(tmp_path):
    assert run(FILES / "inspect.json", tmp_path / "b", "--map", "response=output.completion") == 0
    assert load(tmp_path / "b").responses["dogs"].response == "Cats too, in a basket."
    assert load(tmp_path / "b").responses["late"].response is None


def test_epochs_are_passes(log, tmp_path):
    log["samples"] = [sample for sample in log["samples"] if sample["id"] != "dogs"]
    again = [{**sample, "epoch": 2, "output": {"choices": [{}], "completion": "Else."}} for sample in log["samples"]]
    log["samples"] = [*again, *log["samples"]]
    log["eval"]["dataset"]["sample_ids"] = ["fare", "late"]
    log["eval"]["config"]["epochs"] = 2
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert run(tmp_path / "log.json", tmp_path / "b") == 0
    responses = load(tmp_path / "b").responses
    assert responses["fare"].passes == ["A crossing costs 12 crowns.", "Else."]
    assert responses["late"].passes == [None, None]


def test_a_conversation_of_several_epochs_is_refused(tmp_path, capsys):
    assert run(FILES / "inspect-epochs.eval", tmp_path / "b") == ExitCode.CONFIGURATION
    assert "samples/dogs_epoch_2.json" in capsys.readouterr().err


def test_a_sample_that_never_ran_is_told(log, refused):
    log["samples"].pop()
    assert "does not hold: late" in refused(log)


def test_an_epoch_that_never_ran_is_told(log, refused):
    log["eval"]["config"]["epochs"] = 2
    assert "fare (epoch 2), dogs (epoch 2), late (epoch 2)" in refused(log)


def test_a_list_of_a_million_samples_costs_no_more_than_its_reading(log, refused):
    log["eval"]["dataset"]["sample_ids"] = ["fare", "dogs", "late", *map(str, range(10**6))]
    log["eval"]["config"]["epochs"] = 1000
    told = refused(log)
    assert "fare (epoch 2)" in told
    assert "and more" in told


def test_what_the_log_says_of_itself_can_be_written_down(log, tmp_path):
    log["eval"]["model"] = "m\ud800\0" + "x" * 1000
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert run(tmp_path / "log.json", tmp_path / "b") == 0
    model = load(tmp_path / "b").manifest.recording["import"]["file_says"]["model"]
    assert model.startswith("m\\ud800\\0xx")
    assert len(model) == 80


def test_a_given_history_is_refused(log, refused):
    log["samples"][0]["input"] = [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]
    assert "samples[0]: input: a conversation of 2 turns" in refused(log)


def test_several_targets_are_no_reference_answer(log, refused):
    log["samples"][0]["target"] = ["a", "b"]
    assert "expected: missing in 1 of 3 rows (log.json: samples[0])" in refused(log)


def test_attachments_are_put_back(log, tmp_path):
    sample = log["samples"][1]
    sample["attachments"] = {"abc": "The long question."}
    sample["input"] = "attachment://abc"
    sample["target"] = ["one"]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert run(tmp_path / "log.json", tmp_path / "b") == 0
    item = load(tmp_path / "b").items[0]
    assert (item.prompt, item.expected) == ("The long question.", "one")


@pytest.mark.parametrize(
    ("key", "value", "place"),
    [
        ("id", None, "samples[0]: id: null"),
        ("id", True, "samples[0]: id: a truth value"),
        ("epoch", "1", "samples[0]: epoch: a text"),
        ("input", 3, "samples[0]: input: a number"),
        ("messages", {"a": 1}, "samples[0]: messages: an object"),
        ("target", {"a": 1}, "samples[0]: target: an object"),
    ],
)
def test_wrong_types(key, value, place, log, refused):
    log["samples"][0][key] = value
    assert place in refused(log)


def test_ids_that_are_no_ids(log, refused):
    log["eval"]["dataset"]["sample_ids"] = [None]
    assert "eval.dataset.sample_ids" in refused(log)


def test_a_log_that_lists_no_samples_is_taken_as_it_is(log, tmp_path):
    del log["eval"]["dataset"]["sample_ids"]
    (tmp_path / "log.json").write_text(json.dumps(log))
    assert run(tmp_path / "log.json", tmp_path / "b") == 0
    assert [item.id for item in load(tmp_path / "b").items] == ["dogs", "fare", "late"]


def test_the_same_sample_twice_with_other_content(log, refused):
    log["samples"].append({**log["samples"][1], "epoch": 2, "target": "Something else."})
    del log["eval"]["dataset"]["sample_ids"]
    assert "samples[3]: the id 'fare' stands already at log.json: samples[1]" in refused(log)


class TestArchives:
    @pytest.mark.parametrize(
        ("members", "told"),
        [
            ([("../evil.json", "{}")], "'../evil.json'"),
            ([("/etc/evil.json", "{}")], "'/etc/evil.json'"),
            ([("samples/../../x.json", "{}")], "'samples/../../x.json'"),
            ([("samples/a.json", "{}")], "header.json is missing"),
            ([("header.json", "[]")], "header.json: a list"),
            ([("header.json", "{")], "log.eval/header.json:1: not valid JSON"),
            ([("header.json", b"\xff")], "log.eval/header.json:1: not UTF-8"),
            ([("header.json", '{"eval": 1}')], "log.eval: eval: a number"),
            ([("header.json", '{"eval": {}}')], "log.eval: it holds no question"),
            ([("header.json", "[" * 200_000)], "nested too deeply"),
        ],
    )
    def test_members_that_are_refused(self, members, told, tmp_path, capsys):
        assert run(archive(tmp_path / "log.eval", members), tmp_path / "b") == ExitCode.CONFIGURATION
        assert told in capsys.readouterr().err
        assert not (tmp_path / "b").exists()

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_a_member_twice(self, tmp_path, capsys):
        path = archive(tmp_path / "log.eval", [("header.json", "{}"), ("header.json", "{}")])
        assert run(path, tmp_path / "b") == ExitCode.CONFIGURATION
        assert "stands twice" in capsys.readouterr().err

    def test_a_bomb_is_not_unpacked(self, tmp_path, capsys):
        with zipfile.ZipFile(tmp_path / "log.eval", "w", zipfile.ZIP_DEFLATED) as out:
            for n in range(5):
                with out.open(f"samples/{n}.json", "w") as member:
                    for _ in range(64):
                        member.write(b" " * 2**20)
        assert run(tmp_path / "log.eval", tmp_path / "b") == ExitCode.CONFIGURATION
        assert "unpacks to more than" in capsys.readouterr().err

    def test_a_size_that_lies_is_found_out(self, tmp_path, capsys):
        path = archive(tmp_path / "log.eval", [("header.json", " " * 100_000)])
        data = path.read_bytes()
        path.write_bytes(data.replace((100_000).to_bytes(4, "little"), (10).to_bytes(4, "little")))
        assert run(path, tmp_path / "b") == ExitCode.CONFIGURATION
        assert "header.json" in capsys.readouterr().err

    def test_another_compression(self, tmp_path, capsys):
        path = archive(tmp_path / "log.eval", [("header.json", "{}")], zipfile.ZIP_BZIP2)
        assert run(path, tmp_path / "b") == ExitCode.CONFIGURATION
        assert "compression 12" in capsys.readouterr().err

    def test_no_archive_at_all(self, tmp_path, capsys):
        (tmp_path / "log.eval").write_bytes(b"PK not really")
        assert run(tmp_path / "log.eval", tmp_path / "b") == ExitCode.CONFIGURATION
        assert "log.eval: not a sound archive" in capsys.readouterr().err

    @pytest.mark.skipif(sys.version_info >= (3, 14), reason="this Python reads Zstandard itself")
    def test_without_the_package_it_is_said_what_to_install(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setitem(sys.modules, "backports.zstd", None)
        assert run(FILES / "inspect.eval", tmp_path / "b") == ExitCode.CONFIGURATION
        assert "plumbline[import]" in capsys.readouterr().err

    def test_any_damage_ends_in_a_refusal_or_a_bundle(self, tmp_path):
        data = (FILES / "inspect.eval").read_bytes()
        draw = random.Random(4)
        codes = set()
        for n in range(150):
            broken = bytearray(data)
            for _ in range(draw.randrange(1, 4)):
                broken[draw.randrange(len(broken))] = draw.randrange(256)
            (tmp_path / "log.eval").write_bytes(broken)
            codes.add(run(tmp_path / "log.eval", tmp_path / str(n)))
        assert codes <= {ExitCode.PASS, ExitCode.CONFIGURATION}
        assert ExitCode.CONFIGURATION in codes
