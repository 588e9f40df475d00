from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.cli.main import main
from plumbline.errors import ExitCode
from plumbline.judge.model import NOTICE
from plumbline.report.document import seal_digest
from tests.bundles import files, item, json_lines, resealed, target, write
from tests.models import ANSWERS, ITEMS, chat, judged, model_target, running

SRC = Path(__file__).resolve().parents[2] / "src"
SUITES = "[suites.smoke]\n[suites.accuracy]\nfloor = 0.5\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    # The real guard is tried in a process of its own, below.
    monkeypatch.setattr("plumbline.cli.gate.refuse_network_and_processes", lambda: None)
    write(tmp_path / "bundle", files(ITEMS, ANSWERS))
    return tmp_path


def run(command, folder, config, *more):
    return main([command, "--config", str(config), "--out", str(folder / "audits"), *more])


def report_of(folder):
    (path,) = (folder / "audits").glob("*/report.json")
    return json.loads(path.read_bytes()), path.with_name("report.md").read_text()


def test_a_gate_refuses_a_live_judge_and_asks_nobody(folder, capsys):
    with running(chat("1")) as model:
        config = model_target(folder, endpoint=model.endpoint, judge='mode = "live"', suites=SUITES)
        judged(config, {"a": "1", "b": "1"})  # even with every judgment there
        assert run("gate", folder, config) == ExitCode.CONFIGURATION
        assert model.requests == []
    assert 'mode is "live"' in capsys.readouterr().err
    assert not (folder / "audits").exists()


def test_an_audit_with_a_live_judge_asks_and_a_gate_reads_what_it_kept(folder, capsys):
    with running(chat('{"score": 0.8}')) as model:
        config = model_target(folder, endpoint=model.endpoint, judge='mode = "live"', suites=SUITES)
        assert run("audit", folder, config) == ExitCode.PASS
        assert len(model.requests) == 2
    live = report_of(folder)[0]
    config.write_text(config.read_text().replace('"live"', '"cached"'))
    shown = capsys.readouterr()
    assert run("gate", folder, config) == ExitCode.PASS
    assert report_of(folder)[0] == live
    assert "judge:      model grader-1 NOT DETERMINISTIC" in shown.out
    assert f"WARNING: {NOTICE[:40]}" in shown.err


def test_an_audit_that_may_not_ask_does_not(folder):
    with running(chat("1")) as model:
        config = model_target(folder, endpoint=model.endpoint, suites=SUITES)
        judged(config, {"a": "1"})
        assert run("audit", folder, config) == ExitCode.CONFIGURATION
        assert model.requests == []


def test_every_record_of_a_run_names_the_model(folder):
    config = model_target(folder, suites=SUITES)
    judged(config, {"a": "0.9", "b": "0.75"})
    assert run("gate", folder, config) == ExitCode.PASS
    document, text = report_of(folder)
    judge = document["judge"]
    assert (judge["kind"], judge["deterministic"], judge["model"]) == ("model", False, "grader-1")
    assert (judge["notice"], judge["judgments"], len(judge["judgments_sha256"])) == (NOTICE, 2, 64)
    assert document["warnings"][0] == NOTICE
    # Directly under the verdict, above everything else.
    lines = text.replace("\u2060", "").splitlines()
    assert lines[0].startswith("# Audit verdict: PASS")
    assert lines[2].startswith("> **Judged by the model grader-1 at")
    assert "NOT DETERMINISTIC" in lines[2]
    assert judge["judgments_sha256"] in text
    (report,) = (folder / "audits").glob("*/report.json")
    assert main(["verify", str(report)]) == ExitCode.PASS
    assert main(["baseline", "--from", str(report), "--out", str(folder / "bar.json")]) == ExitCode.PASS
    bar = json.loads((folder / "bar.json").read_bytes())
    assert (bar["judge_kind"], bar["judge_deterministic"]) == ("model", False)


def test_words_of_the_lexical_judge_are_not_said_of_a_model(folder):
    config = model_target(folder, suites=SUITES)
    judged(config, {"a": "1", "b": "0"})
    run("audit", folder, config)
    document, text = report_of(folder)
    accuracy = document["suites"][0]
    assert accuracy["details"]["metric"] == "model_judgment_pooled_mean"
    assert [found["reason"] for found in accuracy["items"] if found["status"] == "FAIL"] == ["judged_zero"]
    assert "Token F1" not in text
    assert "shares no word" not in text


def test_further_answers_are_judged_too(folder):
    rows = [{"id": key, "response": text} for key, text in ANSWERS.items()]
    rows[0] |= {"passes": [ANSWERS["a"], "It is free.", None]}
    content = files(ITEMS, ANSWERS)
    content.pop("checksums.json")
    write(folder / "bundle", resealed({**content, "responses.jsonl": json_lines(rows)}))
    config = model_target(folder, suites=SUITES)
    judged(config, {"a": "1", "b": "1"})
    assert run("gate", folder, config) == ExitCode.CONFIGURATION
    with running(chat("0")) as model:
        config = model_target(folder, endpoint=model.endpoint, suites=SUITES)
        main(["judge", "record", "--config", str(config)])
        assert len(model.requests) == 1
    assert run("gate", folder, config) == ExitCode.PASS


def test_a_lexical_report_says_nothing_of_models(folder):
    config = target(folder, suites="[suites.smoke]\n")
    assert run("audit", folder, config) == ExitCode.PASS
    document, text = report_of(folder)
    assert document["judge"] == {"kind": "lexical", "deterministic": True, "languages": ["ar", "en", "es"]}
    assert "NOT DETERMINISTIC" not in text


def test_a_hidden_notice_is_seen(folder):
    config = model_target(folder, suites=SUITES)
    judged(config, {"a": "0.9", "b": "0.75"})
    run("gate", folder, config)
    (path,) = (folder / "audits").glob("*/report.json")
    path.with_name("report.md").unlink()
    document = json.loads(path.read_bytes())
    changes = ({}, {"notice": None}, {"deterministic": True}, {"deterministic": True, "notice": None})
    for change in changes:
        judge = {key: value for key, value in {**document["judge"], **change}.items() if value is not None}
        forged = {**document, "judge": judge}
        forged["provenance"] = {**document["provenance"], "report_sha256": seal_digest(forged)}
        path.write_text(json.dumps(forged))
        assert main(["verify", str(path)]) == (ExitCode.INTEGRITY if change else ExitCode.PASS), change


def test_the_judge_hash_of_other_judgments_refuses_the_comparison(folder):
    config = model_target(folder, suites=SUITES)
    judged(config, {"a": "0.9", "b": "0.75"})
    run("audit", folder, config)
    (report,) = (folder / "audits").glob("*/report.json")
    main(["baseline", "--from", str(report), "--out", str(folder / "bar.json")])
    judged(config, {"a": "0.9", "b": "0.76"})
    more = ("--baseline", str(folder / "bar.json"), "--require-comparable-baseline")
    assert run("gate", folder, config, *more) == ExitCode.CONFIGURATION


CHILD = """
import socket, sys
from plumbline.cli.main import main
code = main(sys.argv[1:])
loaded = sorted(name for name in sys.modules if name.startswith(("plumbline.record", "requests", "urllib3", "ssl")))
try:
    socket.socket()
except BaseException as fault:
    refused = type(fault).__name__
else:
    refused = "a socket was opened"
print("CHILD", code, loaded, refused)
"""


def test_a_real_gate_grades_by_a_model_with_sockets_refused(folder):
    with running(chat("1")) as model:
        config = model_target(folder, endpoint=model.endpoint, suites=SUITES)
        judged(config, {"a": "0.9", "b": "0.75"})
        arguments = ["gate", "--config", str(config), "--out", str(folder / "audits")]
        child = subprocess.run(
            [sys.executable, "-c", CHILD, *arguments],
            env={**os.environ, "PYTHONPATH": str(SRC)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert model.requests == []
    assert child.stdout.splitlines()[-1] == "CHILD 0 [] GuardError", child.stdout + child.stderr


LOADS = """
import sys
from plumbline.cli.main import main
main(sys.argv[1:])
print("LOADED", [name for name in sys.modules if name.startswith(("plumbline.judge.", "plumbline.record"))])
"""


def test_a_lexical_run_never_loads_the_model_judge(folder):
    child = subprocess.run(
        [sys.executable, "-c", LOADS, "audit", "--config", str(target(folder)), "--out", str(folder / "audits")],
        env={**os.environ, "PYTHONPATH": str(SRC)},
        capture_output=True,
        text=True,
        check=False,
    )
    loaded = child.stdout.splitlines()[-1]
    assert "plumbline.judge.lexical" in loaded, child.stderr
    for name in ("judge.model", "judge.prompt", "judge.judgments", "plumbline.record"):
        assert name not in loaded


def test_record(folder, capsys):
    with running(chat("0.5")) as model:
        config = model_target(folder, endpoint=model.endpoint)
        assert main(["judge", "record", "--config", str(config)]) == ExitCode.PASS
    shown = capsys.readouterr()
    assert "asked:      2 now" in shown.out
    assert "judged 2 of 2" in shown.err
    assert main(["judge", "record", "--config", str(target(folder))]) == ExitCode.CONFIGURATION


def test_a_cache_is_never_written_into_evidence(folder):
    with running(chat("0.5")) as model:
        config = model_target(folder, endpoint=model.endpoint)
        config.write_text(config.read_text().replace("judgments.json", "bundle/judgments.json"))
        assert main(["judge", "record", "--config", str(config)]) == ExitCode.CONFIGURATION
        live = config.read_text().replace('kind = "model"', 'kind = "model"\nmode = "live"')
        config.write_text(live)
        assert run("audit", folder, config) == ExitCode.CONFIGURATION
        assert model.requests == []
    assert not list((folder / "bundle").glob("judgments*"))


# Calibration


def many(folder, *, judge_wrong=()):
    items = [item(f"q{n:02}", expected=f"It costs {n} dollars today.") for n in range(60)]
    # Every third answer is wrong; a lexical judge scores it 0 and a right one 1.
    answers = {
        f"q{n:02}": "Nobody knows." if (n % 3 == 0) != (n in judge_wrong) else f"It costs {n} dollars today."
        for n in range(60)
    }
    write(folder / "bundle", files(items, answers))
    labels = folder / "labels.jsonl"
    rows = [{"id": f"q{n:02}", "label": "fail" if n % 3 == 0 else "pass", "split": "test"} for n in range(45)]
    labels.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return target(folder, suites="[suites.smoke]\n[suites.accuracy]\n"), labels


def judge(action, config, labels, *more):
    return main(["judge", action, "--config", str(config), "--labels", str(labels), *more])


def test_calibrate_a_lexical_judge(folder, capsys):
    config, labels = many(folder, judge_wrong={3, 4, 5})
    assert judge("calibrate", config, labels) == ExitCode.CONFIGURATION
    assert "not sealed" in capsys.readouterr().err
    assert judge("seal-labels", config, labels) == ExitCode.PASS
    capsys.readouterr()
    out = folder / "calibration.json"
    assert judge("calibrate", config, labels, "--out", str(out)) == ExitCode.PASS
    shown = capsys.readouterr().out
    found = json.loads(out.read_bytes())
    assert found["confusion"] == {
        "people_pass_judge_pass": 28,
        "people_pass_judge_fail": 2,
        "people_fail_judge_pass": 1,
        "people_fail_judge_fail": 14,
    }
    assert (found["items"], found["labelled"], found["threshold"]) == (60, 45, 0.5)
    assert found["agreement"]["value"] == pytest.approx(42 / 45, abs=1e-6)
    assert (folder / "calibration.txt").read_text() == shown
    assert "a score of at least 0.5 is a pass" in shown
    first = out.read_bytes()
    assert judge("calibrate", config, labels, "--out", str(out)) == ExitCode.PASS
    assert out.read_bytes() == first


def test_calibrate_a_model_judge(folder, capsys):
    _, labels = many(folder)
    with running(chat("0.9")) as model:
        config = model_target(folder, endpoint=model.endpoint, suites="[suites.smoke]\n[suites.accuracy]\n")
        judge("seal-labels", config, labels)
        judged(config, {})
        assert judge("calibrate", config, labels) == ExitCode.CONFIGURATION
        told = capsys.readouterr().err
        assert "60 judgments are missing" in told
        assert "q00, q01" in told
        assert model.requests == []
        main(["judge", "record", "--config", str(config)])
    # A model that likes everything is no better than chance.
    assert judge("calibrate", config, labels) == ExitCode.CONFIGURATION
    assert "no better than chance" in capsys.readouterr().err
    judged(config, {f"q{n:02}": "0.1" if n % 3 == 0 else "0.9" for n in range(60)})
    assert judge("calibrate", config, labels, "--threshold", "0.9") == ExitCode.PASS
    assert "judge:        model grader-1 NOT DETERMINISTIC" in capsys.readouterr().out


def test_too_few_labels_of_a_class(folder, capsys):
    config, labels = many(folder)
    judge("seal-labels", config, labels)
    assert judge("calibrate", config, labels, "--split", "test") == ExitCode.PASS
    assert judge("calibrate", config, labels, "--split", "dev") == ExitCode.CONFIGURATION
    assert "0 pass and 0 fail in split 'dev'" in capsys.readouterr().err


def test_changed_labels_are_an_integrity_refusal(folder):
    config, labels = many(folder)
    judge("seal-labels", config, labels)
    labels.write_bytes(labels.read_bytes().replace(b'"fail"', b'"pass"', 1))
    assert judge("calibrate", config, labels) == ExitCode.INTEGRITY


@pytest.mark.parametrize("threshold", ["0", "1.1", "-0.5", "x", "1e-1", "", "0.5.5", "½", ".5", "0.12345678901"])
def test_thresholds_that_are_none(folder, threshold):
    config, labels = many(folder)
    with pytest.raises(SystemExit) as caught:
        judge("calibrate", config, labels, "--threshold", threshold)
    assert caught.value.code == ExitCode.USAGE


def test_outputs_destroy_nothing(folder):
    config, labels = many(folder)
    judge("seal-labels", config, labels)
    (folder / "other.json").write_text("{}")
    (folder / "notes.txt").write_text("mine")
    for out in ("other.json", "notes.json", "labels.jsonl", "target.toml", "bundle/x.json", "x.txt"):
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        assert judge("calibrate", config, labels, "--out", str(folder / out)) == ExitCode.CONFIGURATION, out
        assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_a_question_set_cannot_be_calibrated(folder):
    config, labels = many(folder)
    write(folder / "bundle", files(ITEMS, None))
    (folder / "bundle/responses.jsonl").unlink()
    labels.write_text('{"id": "a", "label": "pass"}\n')
    assert judge("seal-labels", config, labels) == ExitCode.CONFIGURATION
    assert judge("calibrate", config, labels) == ExitCode.CONFIGURATION
