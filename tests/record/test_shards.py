from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.errors import ExitCode
from plumbline.evidence.bundle import load
from plumbline.evidence.seal import CHECKSUMS, read_inventory
from plumbline.record.questions import Shard
from tests.bundles import item, json_lines, resealed, write
from tests.record.fake_adapter import failing
from tests.record.test_record import AUTHORISED, records
from tests.record.test_resume import evidence, manifest


@pytest.fixture
def shards(place, fake):
    """Three shards, recorded."""
    fake["answer"] = lambda question, turn, text, _count: f"{question.item} {turn} {text}"
    place.questions(
        [item(f"q{n}", prompt=f"Question {n}?", turns=["And?"] if n == 4 else []) for n in range(8)],
        sources=[{"id": "s", "text": "words"}],
    )
    for index in (1, 2, 3):
        code, _, err = place.run("--shard", f"{index}/3", "--passes", 2, "--out", place.root / f"s{index}")
        assert code == ExitCode.PASS, err
    return place


def merge(place, *names, out="merged", words=()):
    return place.run(place.root / out, *(place.root / name for name in names), *words, command="merge")


def changed(place, name, change):
    """Reseal a shard after a change to its manifest and files."""
    content = dict(read_inventory(place.root / name))
    del content[CHECKSUMS]
    found = json.loads(content["manifest.json"])
    change(found, content)
    content["manifest.json"] = json.dumps(found).encode()
    write(place.root / name, resealed(content))


class TestAShard:
    def test_answers_every_nth_item(self, shards):
        assert [record["id"] for record in records(shards.root / "s2")] == ["q1", "q4", "q7"]
        block = manifest(shards.root / "s2")["recording"]
        assert block["shard"] == {"index": 2, "of": 3, "responses": "responses.jsonl"}
        assert block["responses_recorded"] == 3
        assert block["questions"]["items"] == 8

    def test_cannot_be_graded(self, shards):
        bundle = load(shards.root / "s1")
        assert bundle.responses is None
        shards.config(more="", suites="[suites.smoke]\n")
        text = (shards.root / "target.toml").read_text().replace('path = "out"', 'path = "s1"')
        (shards.root / "target.toml").write_text(text)
        assert shards.run("--out", shards.root / "audits", command="audit")[0] == ExitCode.CONFIGURATION

    def test_is_no_question_set(self, shards):
        code, _, err = shards.run("--questions", shards.root / "s1")
        assert code == ExitCode.CONFIGURATION
        assert "merge" in err

    def test_of_more_shards_than_items_is_refused(self, place):
        assert place.run("--shard", "8/8")[0] == ExitCode.CONFIGURATION

    @pytest.mark.parametrize(
        "text", ["0/3", "4/3", "1", "1/0", "a/b", "1/3/4", "-1/3", "1/1001", "01/3", " 1/3", "\u0661/\u0663"]
    )
    def test_must_be_written_plainly(self, place, text):
        with pytest.raises(SystemExit) as caught:
            place.run("--shard", text)
        assert caught.value.code == ExitCode.USAGE

    @given(st.integers(1, 20), st.integers(0, 100))
    @settings(deadline=None)
    def test_every_item_is_in_exactly_one(self, of, position):
        assert sum(Shard(index, of).holds(position) for index in range(1, of + 1)) == 1

    def test_permission_for_volume_is_judged_by_the_whole(self, place):
        place.config("max_items = 2000\n")
        place.questions([item(f"i{n}") for n in range(501)])
        code, _, err = place.run("--shard", "1/9", "--passes", 2)
        assert code == ExitCode.CONFIGURATION
        assert "1002 calls" in err


class TestMerge:
    def test_equals_the_unsharded_recording(self, shards):
        code, out, err = merge(shards, "s3", "s1", "s2")
        assert code == ExitCode.PASS, err
        assert shards.run("--passes", 2, "--out", shards.root / "whole")[0] == ExitCode.PASS
        assert evidence(shards.root / "merged") == evidence(shards.root / "whole")
        one, two = (manifest(shards.root / name) for name in ("merged", "whole"))
        joined = one["recording"].pop("shards")
        assert [entry["index"] for entry in joined] == [1, 2, 3]
        assert joined[0]["dataset_sha256"] == load(shards.root / "s1").sha256
        for found in (one, two):
            del found["recording"]["recorded_at"], found["recording"]["started_at"]
        assert one == two
        assert load(shards.root / "merged").sha256 in out
        assert not (shards.root / ".merged.recording").exists()

    def test_adds_up_what_was_tried_and_missed(self, place, fake):
        faults = {"q1": iter([failing("timeout", transient=True)]), "q2": iter([failing("timeout", transient=True)])}
        place.config('retries = 1\non_error = "record_empty"\n')

        def answer(question, *_):
            if question.item == "q0":
                return "half \ud800"
            if question.item in {"q3", "q4"}:
                return failing("bad_status")
            return next(faults.get(question.item, iter(())), "fine")

        fake["answer"] = answer
        for index, note in ((1, "a"), (2, "b")):
            words = ("--note", note, "--connections", index)
            assert place.run("--shard", f"{index}/2", "--out", place.root / f"s{index}", *words)[0] == ExitCode.PASS
        assert merge(place, "s1", "s2")[0] == ExitCode.PASS
        block = manifest(place.root / "merged")["recording"]
        assert block["attempts"] == {"calls": 9, "retries": {"timeout": 2}, "retry_after_seconds": 0}
        assert [entry["id"] for entry in block["responses_recorded_empty"]] == ["q3", "q4"]
        assert block["surrogates_replaced"] == ["q0"]
        assert block["responses_recorded"] == 7
        assert block["note"] == "a; b"
        assert "connections" not in block["bounds"]
        assert block["bounds"]["on_error"] == "record_empty"

    @pytest.mark.parametrize(
        ("names", "told"),
        [
            (("s1", "s2"), "3/3"),
            (("s1", "s2", "s3", "s3"), "twice"),
            (("s1", "s1", "s2"), "twice"),
            (("s1", "s2", "questions"), "no shard"),
        ],
    )
    def test_refuses_what_is_not_all_of_it_once(self, shards, names, told):
        code, _, err = merge(shards, *names)
        assert code == ExitCode.CONFIGURATION
        assert told in err
        assert not (shards.root / "merged").exists()

    def test_refuses_shards_of_another_number(self, shards):
        assert shards.run("--shard", "2/4", "--passes", 2, "--out", shards.root / "other")[0] == ExitCode.PASS
        code, _, err = merge(shards, "s1", "other", "s3")
        assert code == ExitCode.CONFIGURATION
        assert "one of" in err

    @pytest.mark.parametrize(
        ("key", "told"),
        [
            ("request_sha256", "call shape"),
            ("target", "the target"),
            ("passes", "passes"),
            ("harness_source_sha256", "harness_source_sha256"),
            ("questions", "the question set"),
        ],
    )
    def test_refuses_what_differs_in_the_recording(self, shards, key, told):
        changed(shards, "s2", lambda found, _content: found["recording"].update({key: "other"}))
        code, _, err = merge(shards, "s1", "s2", "s3")
        assert code == ExitCode.CONFIGURATION
        assert told in err

    def test_refuses_what_differs_otherwise(self, shards):
        changed(shards, "s2", lambda found, _content: found["recording"]["bounds"].update(on_error="record_empty"))
        assert "on_error" in merge(shards, "s1", "s2", "s3")[2]
        changed(shards, "s1", lambda found, _content: found.update(synthetic=True))
        assert "synthetic" in merge(shards, "s1", "s2", "s3")[2]
        changed(shards, "s1", lambda found, _content: found["recording"].update(authorisation={"scope": "x"}))
        assert "authorisation" in merge(shards, "s1", "s2", "s3")[2]

    @pytest.mark.parametrize("key", ["name", "version", "description"])
    def test_refuses_another_name(self, shards, key):
        changed(shards, "s2", lambda found, _content: found.update({key: "other"}))
        assert "name, version or description" in merge(shards, "s1", "s2", "s3")[2]

    def test_refuses_another_adapter_under_the_same_digest(self, shards):
        changed(shards, "s2", lambda found, _content: found["recording"]["adapter"].update(endpoint="fake:there"))
        assert "the target" in merge(shards, "s1", "s2", "s3")[2]

    def test_refuses_other_files(self, shards):
        changed(
            shards,
            "s2",
            lambda _found, content: content.update({"sources.jsonl": json_lines([{"id": "s", "text": "x"}])}),
        )
        assert "files of the question set" in merge(shards, "s1", "s2", "s3")[2]

    @pytest.mark.parametrize("change", ["missing", "order", "other", "twice"])
    def test_refuses_answers_that_are_not_the_shards(self, shards, change):
        lines = (shards.root / "s2" / "responses.jsonl").read_bytes().splitlines(keepends=True)
        answers = {
            "missing": lines[:2],
            "order": lines[::-1],
            "other": [*lines[:2], lines[2].replace(b"q7", b"q6")],
            "twice": [*lines, lines[2]],
        }[change]
        changed(shards, "s2", lambda _found, content: content.update({"responses.jsonl": b"".join(answers)}))
        code, _, err = merge(shards, "s1", "s2", "s3")
        assert code == ExitCode.CONFIGURATION
        assert "2/3" in err

    @pytest.mark.parametrize(
        "change",
        [
            lambda record: record.pop("passes"),
            lambda record: record["passes"].append("a third"),
            lambda record: record.pop("turn_responses"),
            lambda record: record["turn_responses"].insert(0, "never asked"),
        ],
    )
    def test_refuses_a_part_of_an_answer(self, shards, change):
        def edit(_manifest, content):
            found = [json.loads(line) for line in content["responses.jsonl"].splitlines()]
            change(found[1])
            content["responses.jsonl"] = json_lines(found)

        changed(shards, "s2", edit)
        code, _, err = merge(shards, "s1", "s2", "s3")
        assert code == ExitCode.CONFIGURATION
        assert "responses.jsonl:2" in err
        assert not (shards.root / "merged").exists()

    def test_refuses_a_shard_that_was_changed(self, shards):
        (shards.root / "s2" / "responses.jsonl").write_bytes(b"")
        assert merge(shards, "s1", "s2", "s3")[0] == ExitCode.INTEGRITY

    @pytest.mark.parametrize(
        "change",
        [
            lambda found, _content: found["recording"].update(
                shard={"index": 9, "of": 3, "responses": "responses.jsonl"}
            ),
            lambda found, _content: found["recording"].update(shard={"index": 2, "of": 3, "responses": "nowhere"}),
            lambda found, _content: found["recording"].update(shard={"index": 2, "of": 3}),
            lambda found, _content: found["recording"].pop("adapter"),
            lambda found, _content: found["recording"].update(bounds=[]),
            lambda found, _content: found["recording"].pop("attempts"),
            lambda found, _content: found["recording"].update(attempts={"retries": [1]}),
        ],
    )
    def test_refuses_a_block_that_is_not_whole(self, shards, change):
        changed(shards, "s2", change)
        code, _, err = merge(shards, "s1", "s2", "s3")
        assert code == ExitCode.CONFIGURATION, err
        assert not (shards.root / "merged").exists()

    def test_never_writes_over_or_into_a_shard(self, shards):
        before = read_inventory(shards.root / "s1")
        for out in ("s1", "s1/in", "."):
            assert merge(shards, "s1", "s2", "s3", out=out, words=("--overwrite",))[0] == ExitCode.CONFIGURATION
        assert read_inventory(shards.root / "s1") == before

    def test_replaces_an_older_bundle_only_when_told(self, shards):
        assert merge(shards, "s1", "s2", "s3")[0] == ExitCode.PASS
        assert merge(shards, "s1", "s2", "s3")[0] == ExitCode.CONFIGURATION
        assert merge(shards, "s1", "s2", "s3", words=("--overwrite",))[0] == ExitCode.PASS

    def test_spares_an_unfinished_recording_of_the_same_place(self, shards, fake):
        fake["answer"] = lambda _question, _turn, text, count: failing("timeout") if count > 2 else text
        assert shards.run()[0] == ExitCode.CONFIGURATION
        assert merge(shards, "s1", "s2", "s3", out="out")[0] == ExitCode.CONFIGURATION
        fake["answer"] = lambda _question, _turn, text, _count: text
        assert shards.run("--resume")[0] == ExitCode.PASS

    def test_with_blank_lines_still_deals_back_right(self, shards):
        data = (shards.root / "s2" / "responses.jsonl").read_bytes()
        changed(
            shards,
            "s2",
            lambda _found, content: content.update({"responses.jsonl": b"\n" + data.replace(b"\n", b"\n\n")}),
        )
        assert merge(shards, "s1", "s2", "s3")[0] == ExitCode.PASS
        assert [record["id"] for record in records(shards.root / "merged")] == [f"q{n}" for n in range(8)]


def test_a_shard_can_be_taken_up_without_saying_which(place, fake):
    place.config(more=AUTHORISED)
    fake["answer"] = lambda _question, _turn, text, count: failing("timeout") if count > 1 else text
    assert place.run("--shard", "2/2")[0] == ExitCode.CONFIGURATION
    fake["answer"] = lambda _question, _turn, text, _count: text
    assert place.run("--resume")[0] == ExitCode.PASS
    assert [record["id"] for record in records(place.out)] == ["q1", "q3", "q5"]
