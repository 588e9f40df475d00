"""What was answered survives whatever happens, and what was taken up again is the same evidence."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from plumbline.errors import ConfigurationError, ExitCode
from plumbline.evidence.bundle import load
from plumbline.evidence.seal import CHECKSUMS, read_inventory, seal, verify_inventory
from plumbline.record.journal import Entry, Header, Journal
from tests.bundles import files, item, write
from tests.record.fake_adapter import failing

SRC = Path(__file__).resolve().parents[2] / "src"


def evidence(folder):
    return {name: data for name, data in read_inventory(folder).items() if name not in {"manifest.json", CHECKSUMS}}


def manifest(folder):
    return json.loads((folder / "manifest.json").read_bytes())


def fails_after(calls):
    return lambda _question, _turn, text, count: failing("bad_status") if count > calls else f"about {text}"


@pytest.fixture
def interrupted(place, fake):
    """A recording that stopped after three answers."""
    fake["answer"] = fails_after(3)
    assert place.run("--passes", 2, "--note", "n", "--synthetic")[0] == ExitCode.CONFIGURATION
    fake["answer"] = fails_after(1000)
    return place


class TestResume:
    def test_gives_the_same_evidence_as_one_run(self, interrupted, fake):
        place = interrupted
        code, _, err = place.run("--resume")
        assert code == ExitCode.PASS, err
        assert len(fake["adapter"].asked) == 2 * 7 - 3
        assert place.run("--passes", 2, "--note", "n", "--synthetic", "--out", place.root / "whole")[0] == ExitCode.PASS
        assert evidence(place.out) == evidence(place.root / "whole")
        one, two = manifest(place.out), manifest(place.root / "whole")
        for found in (one, two):
            for key in ("recorded_at", "started_at", "attempts"):
                del found["recording"][key]
        assert one == two
        assert not place.hidden.exists()

    def test_is_never_silent(self, interrupted, fake):
        code, _, err = interrupted.run()
        assert code == ExitCode.CONFIGURATION
        assert "3 answers" in err
        assert fake["adapter"].asked == []

    def test_can_be_declined(self, interrupted, fake):
        assert interrupted.run("--restart")[0] == ExitCode.PASS
        assert len(fake["adapter"].asked) == 7
        assert manifest(interrupted.out)["recording"]["passes"] == 1

    def test_cannot_be_both(self, interrupted):
        assert interrupted.run("--restart", "--resume")[0] == ExitCode.CONFIGURATION

    def test_needs_something_to_take_up(self, place):
        code, _, err = place.run("--resume")
        assert code == ExitCode.CONFIGURATION
        assert "no unfinished recording" in err
        assert not place.hidden.exists()

    @pytest.mark.parametrize(
        ("change", "named"),
        [
            (lambda place: place.questions([item(f"q{n}") for n in range(7)]), "question set"),
            (lambda place: place.config('shape = "b"\n'), "call shape"),
            (lambda place: place.config('on_error = "record_empty"\n'), "on_error"),
            (lambda place: place.config(target="another"), "the target's name"),
            (
                lambda place: place.config(
                    more='[authorisation]\nauthorised_by = "somebody"\nauthorised_on = 2026-01-01\n'
                    'environment = "dev"\nscope = "all"\n'
                ),
                "[authorisation]",
            ),
        ],
    )
    def test_refuses_a_recording_of_something_else(self, interrupted, fake, change, named):
        change(interrupted)
        code, _, err = interrupted.run("--resume")
        assert code == ExitCode.CONFIGURATION
        assert named in err
        assert fake["adapter"].asked == []
        with Journal.reopen(interrupted.hidden / "journal.jsonl") as journal:
            assert len(journal) == 3

    @pytest.mark.parametrize(
        ("words", "named"),
        [(("--passes", 3), "--passes"), (("--shard", "1/2"), "--shard"), (("--note", "other"), "--note")],
    )
    def test_refuses_other_words(self, interrupted, words, named):
        code, _, err = interrupted.run("--resume", *words)
        assert code == ExitCode.CONFIGURATION
        assert named in err

    def test_refuses_to_become_synthetic_halfway(self, place, fake):
        fake["answer"] = fails_after(3)
        assert place.run()[0] == ExitCode.CONFIGURATION
        assert "--synthetic" in place.run("--resume", "--synthetic")[2]

    def test_refuses_another_target_at_another_address(self, interrupted, fake):
        fake["endpoint"] = "elsewhere"
        code, _, err = interrupted.run("--resume")
        assert code == ExitCode.CONFIGURATION
        assert "what [adapter] describes" in err

    def test_refuses_another_harness(self, interrupted, monkeypatch):
        monkeypatch.setattr("plumbline.record.run.harness_source_sha256", lambda: "0" * 64)
        assert "Plumbline's own code" in interrupted.run("--resume")[2]

    def test_may_ask_more_slowly(self, interrupted):
        interrupted.config("min_interval_seconds = 0.001\nconnections = 2\n")
        assert interrupted.run("--resume")[0] == ExitCode.PASS

    def test_a_torn_last_line_is_dropped(self, interrupted, fake):
        journal = interrupted.hidden / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:-5])
        assert interrupted.run("--resume")[0] == ExitCode.PASS
        assert len(fake["adapter"].asked) == 2 * 7 - 2
        assert load(interrupted.out).response_text("q2") == "about Question 2?"

    def test_a_recording_without_answers_may_begin_anew(self, interrupted):
        journal = interrupted.hidden / "journal.jsonl"
        journal.write_bytes(journal.read_bytes().splitlines(keepends=True)[0])
        assert interrupted.run()[0] == ExitCode.PASS
        assert manifest(interrupted.out)["recording"]["passes"] == 1

    def test_a_torn_header_is_no_recording(self, interrupted):
        journal = interrupted.hidden / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:40])
        assert interrupted.run()[0] == ExitCode.PASS

    @pytest.mark.parametrize("damage", [b"{}\n", b"not json\n", b'{"format": "x"}\n'])
    def test_a_damaged_line_is_refused(self, interrupted, damage):
        journal = interrupted.hidden / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join([lines[0], damage, *lines[1:]]))
        code, _, err = interrupted.run("--resume")
        assert code == ExitCode.CONFIGURATION
        assert "journal.jsonl:2" in err

    def test_an_answer_that_stands_twice_is_refused(self, interrupted):
        journal = interrupted.hidden / "journal.jsonl"
        lines = journal.read_bytes().splitlines(keepends=True)
        journal.write_bytes(b"".join([*lines, lines[1]]))
        assert "stands twice" in interrupted.run("--resume")[2]

    def test_a_complete_journal_needs_no_call(self, place, fake, monkeypatch):
        def broken(*_args, **_named):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("plumbline.record.place.Workplace.publish", broken)
            assert place.run()[0] == ExitCode.CONFIGURATION
        assert not place.out.exists()
        assert place.run("--resume")[0] == ExitCode.PASS
        assert fake["adapter"].asked == []

    def test_a_disk_that_is_full_says_where_and_what_is_kept(self, place, monkeypatch):
        append, kept = Journal.append, []

        def full(journal, entries):
            if kept:
                raise OSError(28, "No space left on device")
            append(journal, entries[:1])
            kept.append(entries[0])

        with monkeypatch.context() as patch:
            patch.setattr(Journal, "append", full)
            code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert f"{place.out}: No space left on device" in err
        assert "1 of 7 answers are kept" in err
        assert "--resume" in err
        assert not place.out.exists()
        assert place.run("--resume")[0] == ExitCode.PASS

    def test_a_broken_standard_output_says_where_the_bundle_is(self, place, monkeypatch):
        def broken(_done):
            raise BrokenPipeError(32, "Broken pipe")

        monkeypatch.setattr("plumbline.cli.record._tell", broken)
        code, _, err = place.run()
        assert code == ExitCode.CONFIGURATION
        assert str(place.out) in err
        assert verify_inventory(read_inventory(place.out)).bundle_sha256 in err

    @pytest.mark.parametrize("left", [True, False])
    @pytest.mark.parametrize("words", [[], ["--overwrite"]])
    def test_a_kill_in_the_last_moment_is_a_complete_recording(self, place, fake, monkeypatch, left, words):
        with monkeypatch.context() as patch:
            patch.setattr("plumbline.record.place.Workplace.drop", lambda _: None)
            assert place.run()[0] == ExitCode.PASS
        if not left:
            shutil.rmtree(place.hidden)
        before = read_inventory(place.out)
        code, _, err = place.run("--resume", *words)
        assert code == ExitCode.CONFIGURATION
        assert f"{place.out}: the recording is complete" in err
        assert (place.hidden.name in err) is left
        assert fake["adapter"].asked == []
        assert read_inventory(place.out) == before

    def test_an_older_bundle_is_not_the_recording_that_was_interrupted(self, place, fake):
        assert place.run()[0] == ExitCode.PASS
        manifest = json.loads((place.out / "manifest.json").read_bytes())
        manifest["recording"]["started_at"] = "2020-01-01T00:00:00+00:00"
        (place.out / "manifest.json").write_text(json.dumps(manifest))
        seal(place.out)
        fake["answer"] = fails_after(3)
        assert place.run("--overwrite")[0] == ExitCode.CONFIGURATION
        assert "complete" not in place.run("--resume")[2]
        fake["answer"] = fails_after(1000)
        assert place.run("--resume", "--overwrite")[0] == ExitCode.PASS

    @pytest.mark.parametrize("damage", ["target", "seal"])
    def test_another_bundle_is_no_complete_recording(self, place, damage):
        assert place.run()[0] == ExitCode.PASS
        if damage == "target":
            place.config(target="another target")
        else:
            (place.out / "responses.jsonl").write_bytes(b"")
        code, _, err = place.run("--resume")
        assert code == ExitCode.CONFIGURATION
        assert "complete" not in err
        assert "is there already" in err

    def test_a_stop_between_the_two_moves_loses_no_bundle(self, place, fake):
        place.questions([item("x")], folder="out")
        before = read_inventory(place.out)
        place.hidden.mkdir()
        place.out.rename(place.hidden / "replaced")
        fake["answer"] = fails_after(0)
        assert place.run("--overwrite")[0] == ExitCode.CONFIGURATION
        assert read_inventory(place.out) == before


def header(**more):
    given = {
        "started_at": "2026-01-01T00:00:00+00:00",
        "target": "t",
        "questions_sha256": "a",
        "adapter_sha256": "b",
        "request_sha256": "c",
        "harness_source_sha256": "d",
        "on_error": "abort",
        "passes": 1,
        "shard": None,
        "authorisation": None,
        "synthetic": False,
        "note": None,
    }
    return Header(**(given | more))


def test_every_line_is_on_the_disk_before_it_counts(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr("plumbline.record.journal.os.fsync", lambda _fd: synced.append((tmp_path / "j").read_bytes()))
    with Journal.create(tmp_path / "j", header()) as journal:
        for position in range(3):
            journal.append([Entry(position=position, id=f"q{position}", number=1, response="x", calls=1)])
            assert synced[-1].count(b"\n") == position + 2
        journal.append(
            [Entry(position=position, id=f"q{position}", number=1, response="x", calls=1) for position in (3, 4)]
        )
        assert synced[-1].count(b"\n") == 6
        assert journal.entry(4, 1).id == "q4"
    assert len(synced) == 5


def test_answers_are_read_back_by_place(tmp_path):
    with Journal.create(tmp_path / "j", header(passes=2)) as journal:
        for position, number in ((1, 2), (0, 1), (1, 1), (0, 2)):
            text = f"{position}{number}"
            journal.append([Entry(position=position, id=str(position), number=number, response=text, calls=1)])
        found = [[entry.response for entry in passes] for passes in journal.entries([0, 1])]
    assert found == [["01", "02"], ["11", "12"]]
    assert (0, 1) in journal
    assert (2, 1) not in journal


@pytest.mark.parametrize("change", [{"format": "other"}, {"format_version": 2}])
def test_another_format_is_refused(tmp_path, change):
    Journal.create(tmp_path / "j", header(**change)).close()
    with pytest.raises(ConfigurationError, match="j:1"):
        Journal.reopen(tmp_path / "j")


TARGET = """
import os, sys, time
with open("pids", "a") as log:
    log.write(f"{os.getpid()}\\n")
text = sys.stdin.read()
with open("asked.log", "a") as log:
    log.write("x\\n")
if len(open("asked.log").readlines()) > int(open("allowed").read()):
    time.sleep(600)
print("about " + text)
"""


class TestRealProcesses:
    """The command in a process of its own, ended in the middle."""

    @pytest.fixture
    def real(self, tmp_path):
        write(tmp_path / "questions", files([item(f"q{n}", prompt=f"Question {n}?") for n in range(8)], None))
        (tmp_path / "target.py").write_text(TARGET)
        (tmp_path / "allowed").write_text("4")
        (tmp_path / "target.toml").write_text(
            '[target]\nname = "t"\n[dataset]\npath = "out"\n[suites.smoke]\n'
            f'[adapter]\nkind = "subprocess"\nquestions = "questions"\ncommand = ["{sys.executable}", "target.py"]\n'
            'input = "text"\noutput = "text"\ntimeout_seconds = 600\n'
        )
        yield tmp_path
        # A recorder that is killed outright cannot end what it started.
        for pid in (tmp_path / "pids").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)

    def start(self, real, *words):
        return subprocess.Popen(
            [sys.executable, "-m", "plumbline", "record", "--config", str(real / "target.toml"), *words],
            env={**os.environ, "PYTHONPATH": str(SRC)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_answers(self, real, count):
        journal = real / ".out.recording" / "journal.jsonl"
        asked = real / "asked.log"
        for _ in range(6000):
            there = journal.read_bytes().count(b"\n") if journal.exists() else 0
            # The call after the last answer is in flight, too.
            if there == count + 1 and asked.exists() and asked.read_bytes().count(b"\n") == count + 1:
                return
            if there > count + 1:
                break
            time.sleep(0.01)
        pytest.fail("the recording did not get as far as that")

    def finish(self, real, *words):
        (real / "allowed").write_text("1000")
        done = self.start(real, *words)
        out, err = done.communicate(timeout=300)
        return done.returncode, out, err

    def test_kill_minus_nine_loses_what_was_in_flight_and_no_more(self, real):
        running = self.start(real)
        self.wait_for_answers(real, 4)
        running.kill()
        running.communicate(timeout=60)
        assert not (real / "out").exists()
        assert not list(real.rglob(CHECKSUMS))[1:]
        asked = (real / "asked.log").read_bytes().count(b"\n")
        assert self.finish(real)[0] == ExitCode.CONFIGURATION
        code, _, err = self.finish(real, "--resume")
        assert code == ExitCode.PASS, err
        assert (real / "asked.log").read_bytes().count(b"\n") == asked + 4
        assert self.finish(real, "--out", str(real / "whole"))[0] == ExitCode.PASS
        assert evidence(real / "out") == evidence(real / "whole")

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    def test_a_signal_ends_it_cleanly(self, real, number):
        running = self.start(real)
        self.wait_for_answers(real, 4)
        running.send_signal(number)
        _, err = running.communicate(timeout=60)
        assert running.returncode == ExitCode.CONFIGURATION
        assert "4 of 8 answers are kept" in err
        assert "--resume" in err
        assert not (real / "out").exists()
        assert self.finish(real, "--resume")[0] == ExitCode.PASS
        assert load(real / "out").response_text("q7") == "about Question 7?"

    def test_a_second_run_is_refused_while_one_is_at_work(self, real):
        running = self.start(real)
        try:
            self.wait_for_answers(real, 4)
            second = self.start(real, "--resume")
            _, err = second.communicate(timeout=60)
            assert second.returncode == ExitCode.CONFIGURATION
            assert "another run" in err
            assert running.poll() is None
        finally:
            running.kill()
            running.communicate(timeout=60)
