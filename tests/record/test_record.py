"""The command from end to end, against an adapter of the test's own."""

from __future__ import annotations

import datetime as dt
import json
import tracemalloc
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.bundle import load
from plumbline.evidence.seal import CHECKSUMS, read_inventory
from plumbline.record.adapters.base import Reply, Retrieved
from tests.bundles import files, item, json_lines, refuse, resealed, write
from tests.record.fake_adapter import failing

AUTHORISED = """[authorisation]
authorised_by = "the owner"
authorised_on = 2026-01-02
environment = "sandbox"
scope = "all of it"
"""


def records(folder):
    return [json.loads(line) for line in (folder / "responses.jsonl").read_bytes().splitlines()]


def recording(folder):
    return json.loads((folder / "manifest.json").read_bytes())["recording"]


def evidence(folder):
    return {name: data for name, data in read_inventory(folder).items() if name not in {"manifest.json", CHECKSUMS}}


class TestABundle:
    def test_is_written_and_can_be_graded(self, place):
        code, out, err = place.run()
        assert code == ExitCode.PASS, err
        bundle = load(place.out)
        assert [record["id"] for record in records(place.out)] == [item.id for item in bundle.items]
        assert bundle.response_text("q3") == "It costs 850 dollars. Question 3?"
        assert f"({bundle.sha256})" in out
        assert not place.hidden.exists()

    def test_every_file_of_the_question_set_survives(self, place):
        sources = [{"id": "s", "text": "A passage."}]
        content = files([item("q", sources=["s"], cluster="c")], {"q": "old answer"}, sources=sources)
        content["notes/read me.txt"] = b"crlf\r\n\x00"
        content["page.html"] = b"<p>"
        manifest = json.loads(content["manifest.json"]) | {"version": "7", "synthetic": True, "description": "d"}
        manifest["files"] |= {"interface": "page.html", "responses": "old.jsonl"}
        content["old.jsonl"] = content.pop("responses.jsonl")
        content["manifest.json"] = json.dumps(manifest).encode()
        write(place.root / "set", resealed(content))
        assert place.run("--questions", place.root / "set")[0] == ExitCode.PASS
        kept = {"items.jsonl", "sources.jsonl", "notes/read me.txt", "page.html"}
        found = evidence(place.out)
        assert found.keys() == kept | {"responses.jsonl"}
        assert {name: found[name] for name in kept} == {name: content[name] for name in kept}
        written = json.loads((place.out / "manifest.json").read_bytes())
        assert (written["name"], written["version"], written["description"]) == ("test", "7", "d")
        assert written["synthetic"] is False
        assert written["files"]["responses"] == "responses.jsonl"

    def test_the_manifest_says_what_was_asked_of_whom(self, place):
        place.config("min_interval_seconds = 0.001\nconnections = 3\n", more=AUTHORISED)
        before = dt.datetime.now(dt.UTC).replace(microsecond=0)
        assert place.run("--synthetic", "--note", "a trial")[0] == ExitCode.PASS
        block = recording(place.out)
        at = dt.datetime.fromisoformat(block["recorded_at"])
        assert before <= dt.datetime.fromisoformat(block["started_at"]) <= at <= dt.datetime.now(dt.UTC)
        assert block["recorded_at"].endswith("+00:00")
        assert block["mode"] == "live"
        assert block["target"] == "test target"
        assert block["adapter"]["endpoint"] == "fake:here"
        assert block["request_sha256"] == block["adapter"]["request_sha256"]
        assert len(block["harness_source_sha256"]) == 64
        assert block["bounds"] == {
            "max_items": 250,
            "min_interval_seconds": 0.001,
            "connections": 3,
            "on_error": "abort",
        }
        questions = load(place.root / "questions")
        assert block["questions"] == {"name": "test", "version": None, "sha256": questions.sha256, "items": 7}
        assert (block["responses_recorded"], block["responses_recorded_empty"]) == (7, [])
        assert block["attempts"] == {"calls": 7, "retries": {}, "retry_after_seconds": 0.0}
        assert block["passes"] == 1
        assert block["note"] == "a trial"
        assert block["authorisation"] == {
            "authorised_by": "the owner",
            "authorised_on": "2026-01-02",
            "environment": "sandbox",
            "scope": "all of it",
        }
        assert load(place.out).manifest.synthetic

    def test_goes_where_out_says(self, place):
        assert place.run("--out", place.root / "deep" / "er")[0] == ExitCode.PASS
        assert load(place.root / "deep" / "er").items
        assert not place.out.exists()

    def test_what_the_target_returned_beside_the_text_is_kept(self, place, fake):
        fake["answer"] = lambda *_: Reply(
            "text", citations=("s1", "s2"), retrieved=(Retrieved("s1", "words"), Retrieved(None, "x"))
        )
        assert place.run()[0] == ExitCode.PASS
        assert records(place.out)[0] == {
            "id": "q0",
            "response": "text",
            "citations": ["s1", "s2"],
            "retrieved": [{"id": "s1", "text": "words"}, {"text": "x"}],
        }
        assert load(place.out).responses["q0"].retrieved[0].id == "s1"

    def test_captured_and_none_is_not_the_same_as_not_captured(self, place, fake):
        fake["answer"] = lambda *_: Reply("text", citations=(), retrieved=())
        assert place.run()[0] == ExitCode.PASS
        assert records(place.out)[0] == {"id": "q0", "response": "text", "citations": [], "retrieved": []}


class TestTurns:
    def test_are_asked_in_one_conversation_and_all_recorded(self, place, fake):
        place.questions([item("talk", turns=["And then?", "Why?"]), item("single")])
        fake["answer"] = lambda _question, turn, text, _count: f"{turn}: {text}"
        assert place.run()[0] == ExitCode.PASS
        talk, single = records(place.out)
        assert talk["turn_responses"] == ["1: How much?", "2: And then?", "3: Why?"]
        assert talk["response"] == "3: Why?"
        assert "turn_responses" not in single
        assert load(place.out).responses["talk"].turn_responses[2] == "3: Why?"

    def test_what_the_graded_answer_rests_on_is_told_of_the_last(self, place, fake):
        place.config('on_error = "record_empty"\n')
        place.questions([item("talk", turns=["And then?"]), item("broken", turns=["And then?"])])
        fake["answer"] = lambda question, turn, text, _count: (
            failing("timeout") if (question.item, turn) == ("broken", 2) else Reply(text, citations=(f"s{turn}",))
        )
        assert place.run("--passes", 2)[0] == ExitCode.PASS
        talk, broken = records(place.out)
        assert talk["citations"] == ["s2"]
        assert "citations" not in broken
        assert (broken["response"], broken["turn_responses"]) == (None, ["How much?", None])
        assert recording(place.out)["responses_recorded_empty"] == [
            {"id": "broken", "fault": "timeout", "turn": 2, "pass": number} for number in (1, 2)
        ]

    def test_a_failure_in_the_middle_leaves_the_rest_unasked(self, place, fake):
        place.config('on_error = "record_empty"\n')
        place.questions([item("talk", turns=["And then?", "Why?"]), item("single")])
        fake["answer"] = lambda _question, turn, text, _count: failing("timeout") if turn == 2 else text
        assert place.run()[0] == ExitCode.PASS
        assert records(place.out)[0]["turn_responses"] == ["How much?", None, None]
        assert recording(place.out)["responses_recorded_empty"] == [
            {"id": "talk", "fault": "timeout", "turn": 2},
            {"id": "talk", "fault": "not_asked", "turn": 3},
        ]

    def test_are_refused_where_nothing_joins_them(self, place, fake, monkeypatch):
        monkeypatch.setattr("tests.record.fake_adapter.Fake.conversational", False)
        place.questions([item("talk", turns=["And then?"])])
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert "talk" in err
        assert fake["adapter"].asked == []


class TestPasses:
    def test_each_is_a_conversation_of_its_own(self, place, fake):
        place.questions([item("a"), item("talk", turns=["And then?"])])
        fake["answer"] = lambda question, turn, _text, count: f"{question.item} {turn} {count}"
        assert place.run("--passes", 3)[0] == ExitCode.PASS
        a, talk = records(place.out)
        assert len(a["passes"]) == len(set(a["passes"])) == 3
        assert a["response"] == a["passes"][0]
        assert talk["response"] == talk["passes"][0] == talk["turn_responses"][1]
        assert len(set(talk["passes"])) == 3
        assert sum(turn == 2 for _, turn, _ in fake["adapter"].asked) == 3
        assert recording(place.out)["passes"] == 3
        assert load(place.out).responses["a"].passes == a["passes"]

    def test_a_failed_pass_is_named(self, place, fake):
        place.config('on_error = "record_empty"\n')
        place.questions([item("a")])
        fake["answer"] = lambda _question, _turn, text, count: failing("timeout") if count == 2 else text
        assert place.run("--passes", 2)[0] == ExitCode.PASS
        assert records(place.out)[0]["passes"] == ["How much?", None]
        assert recording(place.out)["responses_recorded_empty"] == [{"id": "a", "fault": "timeout", "pass": 2}]

    @pytest.mark.parametrize("given", ["0", "11", "-1", "1.5", "x", "٣"])
    def test_have_bounds(self, place, given):
        with pytest.raises(SystemExit) as caught:
            place.run("--passes", given)
        assert caught.value.code == ExitCode.USAGE


class TestAFailingTarget:
    def test_leaves_no_bundle(self, place, fake):
        fake["answer"] = lambda question, *_: failing("bad_status") if question.item == "q4" else "fine"
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert "'q4'" in err
        assert "bad_status" in err
        assert "--resume" in err
        assert not place.out.exists()
        assert not list(place.root.rglob(f"*recording/**/{CHECKSUMS}"))
        assert fake["adapter"].closed

    def test_that_never_answered_leaves_nothing_at_all(self, place, fake):
        fake["answer"] = lambda *_: failing("auth_rejected")
        assert place.run()[0] == ExitCode.CONFIGURATION
        assert sorted(path.name for path in place.root.iterdir()) == ["questions", "target.toml"]

    def test_is_recorded_as_silence_where_that_is_asked_for(self, place, fake):
        place.config('on_error = "record_empty"\n')
        fake["answer"] = lambda question, *_: failing("timeout") if question.item == "q4" else "It costs 850 dollars."
        code, _, err = place.run()
        assert code == ExitCode.PASS, err
        assert records(place.out)[4] == {"id": "q4", "response": None}
        assert recording(place.out)["responses_recorded_empty"] == [{"id": "q4", "fault": "timeout"}]
        # The suite that counts silence fails on it.
        assert place.run("--out", place.root / "audits", command="audit")[0] == ExitCode.FAIL

    def test_that_says_nothing_well_is_named_too(self, place, fake):
        fake["answer"] = lambda question, *_: " \n" if question.item == "q2" else "fine"
        assert place.run()[0] == ExitCode.PASS
        assert records(place.out)[2]["response"] == " \n"
        assert recording(place.out)["responses_recorded_empty"] == [{"id": "q2", "fault": "empty"}]

    def test_a_fault_of_ours_is_no_fault_of_the_target(self, place, fake):
        fake["answer"] = lambda *_: ZeroDivisionError()
        assert place.run()[0] == ExitCode.INTERNAL
        assert not place.out.exists()


class TestThePlace:
    def test_is_never_the_questions(self, place):
        before = read_inventory(place.root / "questions")
        for words in (
            ("--out", place.root / "questions"),
            ("--out", place.root / "questions", "--overwrite"),
            ("--out", place.root / "questions" / "in"),
            ("--out", place.root, "--overwrite"),
            ("--out", place.root / "x" / ".." / "questions"),
        ):
            code, _, err = place.run(*words)
            assert code == ExitCode.CONFIGURATION, err
            assert "questions" in err
        (place.root / "link").symlink_to("questions")
        assert place.run("--out", place.root / "link", "--overwrite")[0] == ExitCode.CONFIGURATION
        assert read_inventory(place.root / "questions") == before

    def test_is_in_no_other_bundle(self, place):
        other = place.questions([item("x")], folder="other")
        assert place.run("--out", other / "in")[0] == ExitCode.CONFIGURATION

    def test_is_not_taken_from_somebody_else(self, place, fake):
        write(place.out, {"precious.txt": b"x"})
        for words in ((), ("--overwrite",)):
            assert place.run(*words)[0] == ExitCode.CONFIGURATION
        place.questions([item("x")], folder="out")
        assert "precious.txt" in place.run("--overwrite")[2]
        (place.out / "precious.txt").unlink()
        assert place.run()[0] == ExitCode.CONFIGURATION
        assert fake["adapter"].asked == []
        place.out.joinpath("manifest.json").write_text("{}")
        assert place.run("--overwrite")[0] == ExitCode.CONFIGURATION

    @pytest.mark.parametrize("within", ["", "/deeper"])
    def test_never_grows_where_the_questions_are(self, place, within):
        folder = place.questions([item("q")], folder=f".other.recording{within}")
        before = read_inventory(folder)
        code, _, err = place.run("--questions", folder, "--out", place.root / "other")
        assert code == ExitCode.CONFIGURATION
        assert ".other.recording" in err
        assert read_inventory(folder) == before
        assert not (place.root / "other").exists()

    @pytest.mark.parametrize("words", [(), ("--resume",), ("--restart",)])
    def test_never_takes_away_what_somebody_else_keeps_under_that_name(self, place, fake, words):
        place.hidden.mkdir()
        (place.hidden / "mine.txt").write_text("precious")
        code, _, err = place.run(*words)
        assert code == ExitCode.CONFIGURATION
        assert "'mine.txt'" in err
        assert [entry.name for entry in place.hidden.iterdir()] == ["mine.txt"]
        assert "adapter" not in fake or not fake["adapter"].asked

    @pytest.mark.parametrize("name", ["journal.jsonl", "bundle", "replaced", "lock"])
    @pytest.mark.parametrize("words", [(), ("--restart",)])
    def test_never_writes_through_a_link(self, place, name, words):
        victim = place.root / "victim"
        victim.write_text("precious")
        place.hidden.mkdir()
        (place.hidden / name).symlink_to(victim)
        assert place.run(*words)[0] == ExitCode.CONFIGURATION
        assert victim.read_text() == "precious"
        assert not place.out.exists()

    def test_a_file_or_a_link_is_no_place(self, place):
        place.out.write_text("x")
        assert place.run("--overwrite")[0] == ExitCode.CONFIGURATION
        place.out.unlink()
        place.out.symlink_to(place.root / "elsewhere")
        assert place.run()[0] == ExitCode.CONFIGURATION

    def test_an_older_bundle_is_replaced_whole(self, place):
        place.questions([item("x")], folder="out", sources=[{"id": "stale", "text": "t"}])
        assert place.run("--overwrite")[0] == ExitCode.PASS
        assert evidence(place.out).keys() == {"items.jsonl", "responses.jsonl"}
        assert sorted(path.name for path in place.root.iterdir()) == ["out", "questions", "target.toml"]

    def test_an_older_bundle_stays_until_the_new_one_is_whole(self, place, fake):
        place.questions([item("x")], folder="out")
        before = read_inventory(place.out)
        fake["answer"] = lambda _question, _turn, _text, count: failing("timeout") if count > 3 else "fine"
        assert place.run("--overwrite")[0] == ExitCode.CONFIGURATION
        assert read_inventory(place.out) == before

    def test_what_came_there_meanwhile_stays(self, place, fake):
        fake["answer"] = lambda *_: write(place.out, {"theirs.txt": b"x"}) and "fine"
        assert place.run()[0] == ExitCode.CONFIGURATION
        assert [path.name for path in place.out.iterdir()] == ["theirs.txt"]
        assert (place.hidden / "journal.jsonl").exists()

    def test_an_older_bundle_comes_back_where_the_new_one_cannot_be_moved(self, place, monkeypatch):
        place.questions([item("x")], folder="out")
        before = read_inventory(place.out)
        rename = Path.rename

        def refuse_new(path, to):
            if path.name == "bundle":
                raise OSError(5, "Input/output error")
            return rename(path, to)

        monkeypatch.setattr(Path, "rename", refuse_new)
        assert place.run("--overwrite")[0] == ExitCode.CONFIGURATION
        assert read_inventory(place.out) == before

    def test_must_be_one_where_something_can_be_written(self, place):
        (place.root / "file").write_text("x")
        for out in (place.root / "file" / "out", "/"):
            assert place.run("--out", out)[0] == ExitCode.CONFIGURATION
        place.hidden.symlink_to(place.root / "elsewhere")
        assert place.run()[0] == ExitCode.CONFIGURATION
        assert not (place.root / "elsewhere").exists()

    def test_a_bundle_of_another_format_is_no_bundle(self, place):
        content = files([item("x")], None)
        content["manifest.json"] = content["manifest.json"].replace(b"plumbline-bundle", b"other")
        write(place.out, resealed(content))
        assert "'other'" in place.run("--overwrite")[2]

    def test_a_lock_that_was_taken_away_is_no_lock(self, place, monkeypatch):
        import fcntl

        lock = fcntl.flock

        def late(descriptor, how):
            (place.hidden / "lock").unlink()
            return lock(descriptor, how)

        monkeypatch.setattr(fcntl, "flock", late)
        assert "another run" in place.run()[2]

    def test_an_empty_folder_will_do(self, place):
        place.out.mkdir()
        assert place.run()[0] == ExitCode.PASS

    def test_one_run_at_a_time(self, place, fake):
        codes = []

        def answer(*_):
            if not codes:
                codes.append(place.run()[0])
            return "fine"

        fake["answer"] = answer
        assert place.run()[0] == ExitCode.PASS
        assert codes == [ExitCode.CONFIGURATION]


class TestQuestions:
    def test_that_were_changed_are_refused(self, place, fake):
        (place.root / "questions" / "items.jsonl").write_bytes(json_lines([item("other")]))
        assert place.run()[0] == ExitCode.INTEGRITY
        assert fake.get("adapter") is None

    def test_more_than_allowed_are_refused(self, place, fake):
        place.config("max_items = 6\n")
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert "7 items" in err
        assert fake["adapter"].asked == []

    def test_a_part_that_is_called_like_the_answers_is_refused(self, place):
        content = files([item("q")], None)
        content["responses.jsonl"] = content.pop("items.jsonl")
        manifest = json.loads(content["manifest.json"])
        manifest["files"]["items"] = "responses.jsonl"
        content["manifest.json"] = json.dumps(manifest).encode()
        write(place.root / "odd", resealed(content))
        assert place.run("--questions", place.root / "odd")[0] == ExitCode.CONFIGURATION

    def test_unreviewed_translations_are_warned_of(self, place):
        place.questions([item("a"), item("b", lang="es", translation={"of": "a", "review": "unreviewed"})])
        assert "unreviewed translation" in place.run()[2]


class TestDryRun:
    def test_sends_and_writes_nothing(self, place, fake, monkeypatch):
        fake["preview"] = "canary-secret-1"
        place.config('headers = { Authorization = { env = "TOKEN" } }\n')
        monkeypatch.setenv("TOKEN", "canary-secret-1")
        code, out, err = place.run("--dry-run")
        assert code == ExitCode.PASS, err
        assert "Question 0?" in out
        assert "canary-secret-1" not in out
        assert "[masked: TOKEN]" in out
        assert fake["adapter"].asked == []
        assert sorted(path.name for path in place.root.iterdir()) == ["questions", "target.toml"]

    def test_needs_permission_like_the_real_run(self, place):
        place.questions([refuse("r", adversarial=True)])
        assert place.run("--dry-run")[0] == ExitCode.CONFIGURATION


class TestHostileAnswers:
    HOSTILE = [
        "\x1b[2J\x07\x00nul",
        "::error::pwned\n##[error]x",
        "<script>alert(1)</script> [link](javascript:x)",
        "\u202e\u200b\u2028",
        "x" * 1_000_000,
        '{"id": "q0"}\n{"id": "q1"}',
    ]

    def test_are_kept_exactly_and_break_nothing(self, place, fake):
        texts = {f"q{n}": text for n, text in enumerate(self.HOSTILE)}
        fake["answer"] = lambda question, *_: texts.get(question.item, "fine")
        code, out, err = place.run()
        assert code == ExitCode.PASS
        bundle = load(place.out)
        assert {key: bundle.response_text(key) for key in texts} == texts
        for stream in (out, err):
            assert all(char.isprintable() or char == "\n" for char in stream)

    def test_half_a_surrogate_pair_becomes_what_utf_8_can_hold_and_is_named(self, place, fake):
        fake["answer"] = lambda question, *_: (
            Reply("a\ud800b", citations=("\udc00",), retrieved=(Retrieved("\ud800", "\ud83d\ude00"),))
            if question.item == "q1"
            else "fine"
        )
        assert place.run()[0] == ExitCode.PASS
        found = load(place.out).responses["q1"]
        assert (found.response, found.citations) == ("a\ufffdb", ["\ufffd"])
        assert found.retrieved[0].text == "\U0001f600"
        assert recording(place.out)["surrogates_replaced"] == ["q1"]

    def test_in_an_error_stay_on_their_line(self, place, fake):
        fake["answer"] = lambda *_: failing("malformed", message="it said ::error::\x1b[2J\n::warning::x")
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert "\x1b" not in err
        assert not any(line.startswith("::") for line in err.splitlines())


class TestSecrets:
    CANARY = "canary-8f3a9d"

    @pytest.fixture
    def secret(self, place, monkeypatch):
        monkeypatch.setenv("TOKEN", self.CANARY)
        place.config('headers = { Authorization = { env = "TOKEN" } }\n')
        return place

    def everything(self, place):
        return b"\n".join(path.read_bytes() for path in place.root.rglob("*") if path.is_file())

    def test_stand_in_nothing_that_is_written_or_printed(self, secret):
        code, out, err = secret.run()
        assert code == ExitCode.PASS
        assert self.CANARY not in out + err
        assert self.CANARY.encode() not in self.everything(secret)

    def test_that_come_back_in_an_error_are_masked(self, secret, fake):
        fake["answer"] = lambda *_: failing("bad_status", message=f"rejected {self.CANARY}")
        code, out, err = secret.run()
        assert code == ExitCode.CONFIGURATION
        assert self.CANARY not in out + err
        assert "[masked: TOKEN]" in err

    @pytest.mark.parametrize(
        ("fault", "code"),
        [
            (ValueError(f"bad header {CANARY}"), ExitCode.INTERNAL),
            (ConfigurationError(f"adapter: {CANARY}", remedy=f"not {CANARY}"), ExitCode.CONFIGURATION),
        ],
    )
    def test_that_stand_in_a_fault_of_ours_are_masked(self, secret, fake, fault, code):
        fake["answer"] = lambda *_: fault
        found, out, err = secret.run()
        assert found == code
        assert self.CANARY not in out + err
        assert "[masked: TOKEN]" in err

    def test_a_crash_still_says_where_it_came_from(self, place, fake):
        fake["answer"] = lambda *_: ZeroDivisionError("by zero")
        assert "session.py" in place.run()[2]

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(f"your key is {CANARY}"),
            Reply("fine", citations=(CANARY,)),
            Reply("fine", retrieved=(Retrieved(CANARY, None),)),
            Reply("fine", retrieved=(Retrieved("s", f"x{CANARY}"),)),
        ],
    )
    def test_that_come_back_in_an_answer_are_not_recorded(self, secret, fake, reply):
        fake["answer"] = lambda question, *_: reply if question.item == "q3" else "fine"
        code, out, err = secret.run()
        assert code == ExitCode.CONFIGURATION
        assert "secret_echoed" in err
        assert self.CANARY not in out + err
        assert self.CANARY.encode() not in self.everything(secret)

    def test_that_come_back_where_silence_is_recorded(self, place, fake, monkeypatch):
        monkeypatch.setenv("TOKEN", self.CANARY)
        place.config('on_error = "record_empty"\nheaders = { Authorization = { env = "TOKEN" } }\n')
        fake["answer"] = lambda question, *_: f"key {self.CANARY}" if question.item == "q3" else "fine"
        assert place.run()[0] == ExitCode.PASS
        assert recording(place.out)["responses_recorded_empty"] == [{"id": "q3", "fault": "secret_echoed"}]
        assert self.CANARY.encode() not in self.everything(place)

    def test_in_a_note_are_refused(self, secret):
        assert secret.run("--note", f"with {self.CANARY}")[0] == ExitCode.CONFIGURATION
        assert not secret.out.exists()
        assert self.CANARY.encode() not in self.everything(secret)

    def test_written_into_the_configuration_are_warned_of_and_masked(self, place, fake):
        place.config(f'headers = {{ X-Api-Key = "{self.CANARY}" }}\n')
        fake["answer"] = lambda *_: failing("bad_status", message=f"rejected {self.CANARY}")
        _, _, err = place.run()
        assert "WARNING: target.toml: adapter.headers.X-Api-Key" in err
        assert self.CANARY not in err


def test_answers_pile_up_on_the_disk_and_not_in_memory(place, fake):
    # 40 MB of answers pass through, and no more are held than wait for the disk.
    fake["answer"] = lambda question, *_: question.item * 25_000
    place.config("max_items = 1000\nconnections = 4\n", more=AUTHORISED)
    place.questions([item(f"i{n:03}") for n in range(400)])
    tracemalloc.start()
    try:
        assert place.run()[0] == ExitCode.PASS
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (place.out / "responses.jsonl").stat().st_size > 40_000_000
    assert peak < 10_000_000
