from __future__ import annotations

import argparse
import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from plumbline.cli import main as cli
from plumbline.cli.grading import bundle_root
from plumbline.errors import ConfigurationError, ExitCode, PlumblineError
from tests.bundles import files, item, refuse, target, write

ROOT = Path(__file__).resolve().parents[2]
MAIN = ROOT / "src/plumbline/__main__.py"
ITEMS = [item("a", load_bearing=True), refuse("r")]
GOOD = {"a": "It costs 850 dollars.", "r": "I can't help with that."}
WRONG = {**GOOD, "a": "It costs 900 dollars [src-850]."}


@pytest.fixture
def place(tmp_path, monkeypatch):
    write(tmp_path / "bundle", files(ITEMS, GOOD))
    target(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words):
    return cli.main([str(word) for word in words])


def gate(*words, cwd=None, **environment):
    """The gate as the action starts it: by path, isolated, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-I", "-X", "utf8", str(MAIN), "gate", "--config", "target.toml", "--out", "out", *words],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def plant(place, responses):
    write(place / "bundle", files(ITEMS, responses))


class TestValidateAndSeal:
    def test_a_sound_bundle(self, place, capsys):
        assert run("validate", place / "bundle") == ExitCode.PASS
        out = capsys.readouterr().out.splitlines()
        assert out[-1].split() == ["integrity:", "OK"]
        assert any("2 (en 2)" in line for line in out)

    def test_a_question_set_is_valid_too(self, place, capsys):
        write(place / "questions", files(ITEMS, None))
        assert run("validate", place / "questions") == ExitCode.PASS
        assert "question set" in capsys.readouterr().out

    def test_what_is_said_of_the_rest(self, place, capsys):
        translated = item("b", lang="es", translation={"of": "a", "review": "unreviewed"}, sources=["src-1"])
        manifest = {"synthetic": True, "version": "3", "recording": {"recorded_at": "2026-01-02T03:04:05+00:00"}}
        sources = [{"id": "src-1", "text": "A passage."}]
        write(place / "more", files([*ITEMS, translated], GOOD, sources=sources, manifest=manifest))
        assert run("validate", place / "more") == ExitCode.PASS
        captured = capsys.readouterr()
        for fact in ("(1 items have none)", "synthetic", "2026-01-02", "sources:", "test (3)"):
            assert fact in captured.out
        assert captured.err == "WARNING: item b (es) is an unreviewed translation of a\n"

    def test_an_edit_is_refused_until_it_is_sealed(self, place, capsys):
        path = place / "bundle/responses.jsonl"
        path.write_text(path.read_text().replace("850", "900"))
        assert run("validate", place / "bundle") == ExitCode.INTEGRITY
        assert "content mismatch: responses.jsonl" in capsys.readouterr().err
        assert run("seal", place / "bundle") == ExitCode.PASS
        out = capsys.readouterr().out
        assert "was:" in out
        assert "every later report names this dataset" in out
        assert run("validate", place / "bundle") == ExitCode.PASS
        capsys.readouterr()
        assert run("seal", place / "bundle") == ExitCode.PASS
        assert "unchanged" in capsys.readouterr().out

    @pytest.mark.parametrize("spoil", ["manifest.json", "items.jsonl"])
    def test_what_could_not_be_graded_is_not_sealed(self, place, spoil):
        (place / "bundle" / spoil).write_text("{}")
        before = (place / "bundle/checksums.json").read_bytes()
        assert run("seal", place / "bundle") == ExitCode.CONFIGURATION
        assert (place / "bundle/checksums.json").read_bytes() == before
        (place / "no bundle").mkdir()
        (place / "no bundle/notes.txt").write_text("x")
        assert run("seal", place / "no bundle") == ExitCode.CONFIGURATION
        assert [path.name for path in (place / "no bundle").iterdir()] == ["notes.txt"]

    def test_a_missing_bundle(self, place):
        assert run("validate", place / "nowhere") == run("seal", place / "nowhere") == ExitCode.CONFIGURATION


class TestGate:
    def test_pass_is_the_first_and_the_last_line(self, place, capsys):
        assert run("audit", "--config", "target.toml", "--out", "out") == ExitCode.PASS
        capsys.readouterr()
        found = gate(cwd=place)
        assert (found.returncode, found.stderr) == (0, "")
        lines = found.stdout.splitlines()
        assert lines[0].startswith("GATE: PASS")
        assert lines[-1] == "GATE: PASS"

    def test_one_wrong_number_is_exit_1_and_named(self, place):
        plant(place, WRONG)
        found = gate(cwd=place)
        assert found.returncode == ExitCode.FAIL
        assert found.stdout.splitlines()[-1] == "GATE: FAIL"
        assert "responses.jsonl:1:" in found.stdout
        assert "the reference answer states 850; the response states 900 instead" in found.stdout

    def test_unsealed_evidence_is_exit_3_and_nothing_is_written(self, place):
        path = place / "bundle/responses.jsonl"
        path.write_text(path.read_text().replace("850", "900"))
        found = gate(cwd=place)
        assert found.returncode == ExitCode.INTEGRITY
        assert found.stdout == "GATE: REFUSED (exit 3): INTEGRITY REFUSAL\n"
        assert "content mismatch: responses.jsonl" in found.stderr
        assert not (place / "out").exists()

    def test_everything_later_steps_need_is_left(self, place):
        plant(place, WRONG)
        (place / "summary.md").write_text("before\n")
        found = gate("--sarif", "s/f.sarif", "--result", "r/r.json", "--summary-file", "summary.md", cwd=place)
        assert found.returncode == ExitCode.FAIL
        result = json.loads((place / "r/r.json").read_text())
        report = json.loads(Path(result["report_json"]).read_text())
        assert (result["exit_code"], result["verdict"], result["run_id"]) == (1, "FAIL", report["provenance"]["run_id"])
        assert result["bundle"] == "bundle"
        assert json.loads(Path(result["sarif"]).read_text())["runs"][0]["results"][0]["ruleId"].startswith("accuracy")
        summary = (place / "summary.md").read_text()
        assert summary.startswith("before\n")
        assert "900" in summary

    @pytest.mark.parametrize("option", [None, "--sarif", "--out", "--repository", "--config", "--baseline"])
    def test_a_loop_of_links_is_exit_4(self, place, option):
        (place / "loop").symlink_to("loop")
        if option is None:
            target(place, dataset="loop")
        assert gate(*([option, "loop"] if option else []), cwd=place).returncode == ExitCode.CONFIGURATION

    def test_evidence_outside_the_repository_that_is_named_is_not_graded(self, place):
        (place / "repository").mkdir()
        found = gate("--repository", "repository", cwd=place)
        assert found.returncode == ExitCode.CONFIGURATION
        assert not (place / "out").exists()

    @pytest.mark.parametrize("break_it", ["seal", "config"])
    def test_a_refusal_leaves_its_reason(self, place, break_it):
        if break_it == "seal":
            (place / "bundle/extra.txt").write_text("x")
        else:
            (place / "target.toml").write_text("[target]\n")
        found = gate("--sarif", "f.sarif", "--result", "r.json", "--summary-file", "summary.md", cwd=place)
        result = json.loads((place / "r.json").read_text())
        assert result["exit_code"] == found.returncode == (3 if break_it == "seal" else 4)
        assert (result["verdict"], result["report_json"]) == (None, None)
        assert result["message"]
        (sarif,) = json.loads((place / "f.sarif").read_text())["runs"][0]["results"]
        blamed = sarif["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert blamed.endswith("checksums.json" if break_it == "seal" else "target.toml")
        assert "No verdict" in (place / "summary.md").read_text()

    def test_what_an_earlier_run_left_is_not_taken_for_this_one(self, place):
        for name in ("r.json", "f.sarif"):
            (place / name).write_text('{"exit_code": 0, "verdict": "PASS", "runs": []}')
        (place / "bundle/extra.txt").write_text("x")
        assert gate("--sarif", "f.sarif", "--result", "r.json", cwd=place).returncode == ExitCode.INTEGRITY
        assert json.loads((place / "r.json").read_text())["exit_code"] == 3
        assert "INTEGRITY" in (place / "f.sarif").read_text()

    @pytest.mark.parametrize("option", ["--sarif", "--result"])
    def test_a_device_or_a_link_is_not_replaced_by_a_file(self, place, option):
        (place / "link").symlink_to("elsewhere")
        assert gate(option, "link", cwd=place).returncode == ExitCode.CONFIGURATION
        assert (place / "link").is_symlink()
        os.mkfifo(place / "pipe")
        assert gate(option, "pipe", cwd=place).returncode == ExitCode.CONFIGURATION
        assert (place / "pipe").is_fifo()

    @pytest.mark.parametrize(
        "words",
        [
            ["--sarif", "bundle/items.jsonl"],
            ["--result", "bundle/new.json"],
            ["--summary-file", "bundle/new.md"],
            ["--out", "bundle/out"],
            ["--sarif", "target.toml"],
            ["--sarif", "x", "--result", "x"],
            ["--result", "bundle/responses.jsonl", "--summary-file", "bundle/items.jsonl"],
            ["--summary-file", "linked.md"],
            ["--summary-file", "bar.json"],
            ["--result", "bar.json"],
        ],
    )
    @pytest.mark.parametrize("config", ["target.toml", "broken.toml"])
    def test_outputs_never_meet_inputs_or_each_other(self, place, words, config):
        (place / "broken.toml").write_text((place / "target.toml").read_text().replace("[suites", "[suits", 1))
        os.link(place / "bundle/responses.jsonl", place / "linked.md")
        (place / "bar.json").write_text("{}")
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        found = gate(*words, "--config", config, cwd=place)
        assert found.returncode == ExitCode.CONFIGURATION, found.stdout
        assert {path: path.read_bytes() for path in before} == before

    @pytest.mark.parametrize("option", ["--out", "--sarif", "--result", "--summary-file"])
    def test_a_place_that_cannot_be_written_is_exit_4(self, place, option):
        (place / "file").write_text("")
        assert gate(option, "file/x", cwd=place).returncode == ExitCode.CONFIGURATION

    def test_a_summary_may_be_a_device(self, place):
        assert gate("--summary-file", os.devnull, cwd=place).returncode == ExitCode.PASS

    @pytest.mark.parametrize("act", ["import socket; socket.socket()", "import subprocess; subprocess.run(['true'])"])
    def test_nothing_inside_a_gate_reaches_out(self, place, act):
        code = (
            f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r})\n"
            "from plumbline.cli import grading, main\n"
            f"def reach_out(_arguments):\n    {act}\n"
            "grading.grade = reach_out\n"
            "sys.exit(main.main(['gate', '--config', 'target.toml', '--result', 'r.json']))"
        )
        found = subprocess.run(
            [sys.executable, "-I", "-c", code], cwd=place, capture_output=True, text=True, check=False
        )
        assert found.returncode == ExitCode.INTERNAL
        assert "a gate opens no socket and starts no process" in found.stderr
        assert json.loads((place / "r.json").read_text())["exit_code"] == ExitCode.INTERNAL

    def test_a_terminal_gets_a_table_in_colour(self, place):
        leader, follower = pty.openpty()
        environment = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": "100"}
        with subprocess.Popen(
            [sys.executable, "-I", str(MAIN), "gate", "--config", "target.toml", "--out", "out"],
            cwd=place,
            stdout=follower,
            stderr=follower,
            env=environment,
        ) as process:
            os.close(follower)
            shown = b""
            try:
                while piece := os.read(leader, 65536):
                    shown += piece
            except OSError:  # the other end is closed
                pass
        assert process.returncode == 0
        assert b"\x1b[1;32mGATE: PASS" in shown
        assert b"95% interval" in shown


class TestGateInThisProcess:
    """What cannot be seen from outside: the guard stays out, since it could not be taken away again."""

    @pytest.fixture(autouse=True)
    def unguarded(self, monkeypatch):
        monkeypatch.setattr("plumbline.cli.gate.refuse_network_and_processes", lambda: None)

    def test_a_fault_of_ours_is_written_down_as_one(self, place, monkeypatch, capsys):
        def crash(_arguments):
            raise ZeroDivisionError

        monkeypatch.setattr("plumbline.cli.grading.grade", crash)
        assert run("gate", "--config", "target.toml", "--result", "r.json", "--sarif", "f.sarif") == ExitCode.INTERNAL
        assert json.loads((place / "r.json").read_text())["label"] == "INTERNAL ERROR"
        captured = capsys.readouterr()
        assert captured.out.startswith("GATE: REFUSED (exit 5)")
        assert "Traceback" in captured.err
        assert captured.err.rstrip().endswith("nothing was measured")

    @pytest.mark.usefixtures("place")
    def test_sarif_without_its_package_is_exit_4_and_says_what_to_install(self, monkeypatch, capsys):
        for name in [name for name in sys.modules if name.startswith(("sarif_om", "plumbline.report.sarif"))]:
            monkeypatch.delitem(sys.modules, name)
        monkeypatch.setitem(sys.modules, "sarif_om", None)
        Path("f.sarif").write_text('{"runs": ["of an earlier run"]}')
        assert run("gate", "--config", "target.toml", "--sarif", "f.sarif") == ExitCode.CONFIGURATION
        err = capsys.readouterr().err
        assert err.count("sarif-om") == 1
        assert "pip install '.[sarif]'" in err
        assert not Path("f.sarif").exists()

    def test_evidence_that_no_configuration_leads_to_blames_the_configuration(self, place, capsys):
        (place / "bundle/checksums.json").unlink()
        (place / "bar.json").write_text("{}")
        assert run("gate", "--config", "none.toml", "--sarif", "f.sarif") == ExitCode.CONFIGURATION
        blamed = json.loads((place / "f.sarif").read_text())["runs"][0]["results"][0]["locations"][0]
        assert blamed["physicalLocation"]["artifactLocation"]["uri"].endswith("none.toml")
        capsys.readouterr()

    @pytest.mark.usefixtures("place")
    def test_a_terminal_is_asked_for_its_width(self, monkeypatch, capsys):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.delenv("NO_COLOR", raising=False)
        assert run("gate", "--config", "target.toml", "--sarif", "f.sarif") == ExitCode.PASS
        assert "\x1b[1;32mGATE: PASS" in capsys.readouterr().out


class TestVerifyAndBaseline:
    @pytest.fixture
    def report(self, place, capsys):
        assert run("audit", "--config", "target.toml", "--out", "out") == ExitCode.PASS
        capsys.readouterr()
        return next(place.glob("out/*/report.json"))

    def test_a_written_report_verifies(self, report, capsys):
        assert run("verify", report) == ExitCode.PASS
        out = capsys.readouterr().out
        assert "matches the contents" in out
        assert "report.md says the same" in out

    def test_without_its_markdown(self, report, capsys):
        report.with_name("report.md").unlink()
        assert run("verify", report) == ExitCode.PASS
        assert "no report.md" in capsys.readouterr().out

    def test_a_markdown_that_cannot_be_read(self, report):
        report.with_name("report.md").unlink()
        report.with_name("report.md").mkdir()
        assert run("verify", report) == ExitCode.CONFIGURATION

    def test_an_edited_markdown_is_refused(self, report):
        beside = report.with_name("report.md")
        beside.write_text(beside.read_text().replace("PASS", "FAIL"))
        assert run("verify", report) == ExitCode.INTEGRITY

    def test_every_edit_of_a_value_is_refused(self, report):
        document = json.loads(report.read_text())
        document["suites"][0]["score"] = 0.99
        report.write_text(json.dumps(document))
        assert run("verify", report) == run("baseline", "--from", report, "--out", "b.json") == ExitCode.INTEGRITY

    @pytest.mark.parametrize(
        "content", ["", "[]", "{}", '{"format": "plumbline-report", "format_version": 9}', "[" * 99999]
    )
    def test_what_is_no_report_is_exit_4(self, report, content):
        report.write_text(content)
        assert run("verify", report) == ExitCode.CONFIGURATION

    def test_a_bar_is_cut_and_held(self, place, report, capsys):
        assert run("baseline", "--from", report, "--out", "bars/b.json") == ExitCode.PASS
        assert "verdict PASS" in capsys.readouterr().out
        found = gate("--baseline", "bars/b.json", "--require-comparable-baseline", cwd=place)
        assert (found.returncode, "No verdict changed and no score moved" in found.stdout) == (0, True)
        plant(place, WRONG)
        found = gate("--baseline", "bars/b.json", "--require-comparable-baseline", "--result", "r.json", cwd=place)
        assert found.returncode == ExitCode.CONFIGURATION
        assert found.stdout.splitlines()[-1] == "GATE: REFUSED"
        result = json.loads((place / "r.json").read_text())
        assert (result["exit_code"], result["verdict"], result["label"]) == (4, "FAIL", "COMPARISON REFUSED")
        assert gate("--baseline", "bars/b.json", cwd=place).returncode == ExitCode.FAIL

    def test_a_bar_from_a_failed_run_says_so(self, place, capsys):
        plant(place, WRONG)
        assert run("audit", "--config", "target.toml", "--out", "failed") == ExitCode.FAIL
        capsys.readouterr()
        assert run("baseline", "--from", next(place.glob("failed/*/report.json")), "--out", "b.json") == ExitCode.PASS
        assert "cut from a run that failed" in capsys.readouterr().out

    def test_a_comparison_without_a_bar_cannot_be_required(self, place):
        found = gate("--require-comparable-baseline", cwd=place)
        assert (found.returncode, "none is configured" in found.stderr) == (4, True)

    def test_a_bar_replaces_nothing_but_a_bar(self, place, report, capsys):
        before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
        for out in ("bundle/responses.jsonl", "bundle/new.json", "target.toml", report):
            assert run("baseline", "--from", report, "--out", out) == ExitCode.CONFIGURATION, out
        assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
        for _ in range(2):
            assert run("baseline", "--from", report, "--out", "bar.json") == ExitCode.PASS
        capsys.readouterr()

    def test_no_output_lands_on_a_report_or_through_a_link_in_the_evidence(self, place, report):
        before = report.read_bytes(), report.with_name("report.md").read_bytes()
        for words in (
            ["--result", report],
            ["--sarif", report],
            ["--summary-file", report],
            ["--summary-file", report.with_name("report.md")],
        ):
            assert gate(*map(str, words), cwd=place).returncode == ExitCode.CONFIGURATION
        assert (report.read_bytes(), report.with_name("report.md").read_bytes()) == before
        (place / "linked").mkdir()
        (place / "linked" / report.parent.name).symlink_to("../bundle")
        assert gate("--out", "linked", cwd=place).returncode == ExitCode.CONFIGURATION
        assert not (place / "bundle/report.json").exists()

    def test_a_result_never_outlives_its_run(self, place):
        for words in (["--sarif", "bundle/x.sarif"], ["--sarif", "target.toml"], ["--summary-file", "bundle/s.md"]):
            assert gate("--result", "r.json", cwd=place).returncode == ExitCode.PASS
            assert gate("--result", "r.json", *words, cwd=place).returncode == ExitCode.CONFIGURATION
            assert json.loads((place / "r.json").read_text())["exit_code"] == 4

    def test_a_bar_that_cannot_be_written(self, place, report):
        (place / "file").write_text("")
        assert run("baseline", "--from", report, "--out", "file/b.json") == ExitCode.CONFIGURATION

    def test_a_report_that_cannot_be_read(self, place):
        assert run("verify", place / "none.json") == ExitCode.CONFIGURATION


class TestMain:
    @pytest.mark.parametrize(
        "words",
        [[], ["nosuch"], ["gate"], ["gate", "--config", "x", "--see", "3"], ["audit", "--config", "x", "--bogus"]],
    )
    def test_usage_errors_are_exit_2(self, words, capsys):
        with pytest.raises(SystemExit) as caught:
            cli.main(words)
        assert caught.value.code == ExitCode.USAGE
        capsys.readouterr()

    @pytest.mark.parametrize("seed", ["-1", "x", str(2**53)])
    def test_a_seed_out_of_range_is_a_usage_error(self, seed, capsys):
        with pytest.raises(SystemExit) as caught:
            cli.main(["audit", "--config", "x", f"--seed={seed}"])
        assert caught.value.code == ExitCode.USAGE
        capsys.readouterr()

    def test_version(self, capsys):
        with pytest.raises(SystemExit) as caught:
            cli.main(["--version"])
        assert (caught.value.code, capsys.readouterr().out) == (0, "plumbline 0.1.0\n")

    @pytest.mark.parametrize(
        ("fault", "code"),
        [
            (ZeroDivisionError("x"), ExitCode.INTERNAL),
            (KeyError("x"), ExitCode.INTERNAL),
            (RecursionError("x"), ExitCode.INTERNAL),
            (KeyboardInterrupt(), ExitCode.CONFIGURATION),
            (MemoryError(), ExitCode.CONFIGURATION),
            (PlumblineError("x", remedy="do y"), ExitCode.INTERNAL),
            (PermissionError(13, "Permission denied", "here"), ExitCode.CONFIGURATION),
            (ModuleNotFoundError("no", name="msgspec"), ExitCode.CONFIGURATION),
            (ModuleNotFoundError("no", name="plumbline.gone"), ExitCode.INTERNAL),
        ],
    )
    def test_no_crash_ends_with_1(self, monkeypatch, capsys, fault, code):
        def crash(_arguments):
            raise fault

        monkeypatch.setattr("plumbline.cli.seal.run", crash)
        assert cli.main(["seal", "x"]) == code
        assert capsys.readouterr().err

    def test_a_closed_pipe_is_no_verdict(self, place):
        with subprocess.Popen(
            [sys.executable, "-I", str(MAIN), "validate", "bundle"], cwd=place, stdout=subprocess.PIPE
        ) as process:
            process.stdout.close()
            assert process.wait() == ExitCode.CONFIGURATION

    @pytest.mark.parametrize("words", [["gate", "--config", "target.toml"], ["validate", "bundle"], ["--version"]])
    @pytest.mark.parametrize("redirect", [">/dev/full", ">/dev/full 2>/dev/full"])
    def test_a_verdict_that_cannot_be_told_is_none(self, place, words, redirect):
        line = " ".join([f'"{sys.executable}" -I "{MAIN}"', *words, redirect])
        assert subprocess.run(["bash", "-c", line], cwd=place, check=False).returncode == ExitCode.CONFIGURATION

    def test_a_refusal_that_cannot_be_told_keeps_its_code(self, place):
        (place / "bundle/extra.txt").write_text("x")
        line = f'"{sys.executable}" -I "{MAIN}" gate --config target.toml'
        for redirect in (">/dev/full", "2>/dev/full", ">&- 2>&-"):
            found = subprocess.run(["bash", "-c", f"{line} {redirect}"], cwd=place, check=False, capture_output=True)
            assert found.returncode == ExitCode.INTEGRITY, redirect

    def test_closed_streams_leave_the_verdict(self, place):
        line = f'"{sys.executable}" -I "{MAIN}" gate --config target.toml --result r.json >&- 2>&-'
        assert subprocess.run(["bash", "-c", line], cwd=place, check=False).returncode == ExitCode.PASS
        assert json.loads((place / "r.json").read_text())["verdict"] == "PASS"

    def test_the_result_says_what_the_exit_code_says(self, place):
        line = f'"{sys.executable}" -I "{MAIN}" gate --config target.toml --result r.json >/dev/full'
        assert subprocess.run(["bash", "-c", line], cwd=place, check=False).returncode == ExitCode.CONFIGURATION
        result = json.loads((place / "r.json").read_text())
        assert (result["exit_code"], result["verdict"]) == (4, None)

    @pytest.mark.parametrize(
        "words", [["--sarif="], ["--result", "/"], ["--baseline", "x" * 5000], ["--out", "x" * 5000], [b"--out=a\xff"]]
    )
    def test_words_that_name_no_file(self, place, words):
        line = [sys.executable, "-I", str(MAIN), "gate", "--config", "target.toml", *words]
        found = subprocess.run(line, cwd=place, check=False, capture_output=True)
        assert found.returncode in {ExitCode.USAGE, ExitCode.CONFIGURATION}, found.stderr

    def test_started_by_path_without_isolation(self, place):
        found = subprocess.run(
            [sys.executable, str(MAIN), "gate", "--config", "target.toml"], cwd=place, check=False, capture_output=True
        )
        assert found.returncode == ExitCode.PASS, found.stderr

    def test_a_message_cannot_forge_a_line(self, place, capsys):
        target(place, dataset="x\\nGATE: PASS")
        assert run("audit", "--config", "target.toml") == ExitCode.CONFIGURATION
        assert not any(line.startswith("GATE") for line in capsys.readouterr().err.splitlines())

    def test_refusals_are_harmless_lines(self, capsys):
        assert cli.refuse(PlumblineError("::error::x\n::add-mask::y", remedy="\x1b[31mz")) == ExitCode.INTERNAL
        for line in capsys.readouterr().err.splitlines():
            assert not line.lstrip().startswith("::")
            assert "\x1b" not in line

    @pytest.mark.parametrize(
        ("words", "more"),
        [
            (["--version"], ["numpy", "msgspec", "plumbline.evidence", "plumbline.report"]),
            (["validate", "bundle"], ["numpy", "rfc8785"]),
            (["seal", "bundle"], ["numpy", "rfc8785"]),
            (["gate", "--config", "target.toml", "--out", "out"], []),
        ],
    )
    def test_each_command_imports_only_what_it_uses(self, place, words, more):
        found = subprocess.run(
            [sys.executable, "-I", "-X", "importtime", str(MAIN), *words],
            cwd=place,
            # a measurement of coverage would import modules of its own
            env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")},
            capture_output=True,
            text=True,
            check=True,
        )
        imported = {line.split("|")[-1].strip() for line in found.stderr.splitlines()}
        never = {"rich", "sarif_om", "github", "requests", "ruamel", "socket", "subprocess", "plumbline.github"}
        assert imported.isdisjoint({*never, *more})


class TestBundleRoot:
    def test_relative_to_the_nearest_repository(self, tmp_path):
        (tmp_path / "sub/.git").mkdir(parents=True)
        (tmp_path / "sub/a/b").mkdir(parents=True)
        assert bundle_root(tmp_path / "sub/a/b", None) == "a/b"

    def test_relative_to_the_one_that_is_named(self, tmp_path):
        (tmp_path / "sub/.git").mkdir(parents=True)
        assert bundle_root(tmp_path / "sub", tmp_path) == "sub"

    def test_outside_any_repository_the_bare_name(self, tmp_path):
        (tmp_path / "x").mkdir()
        assert bundle_root(tmp_path / "x", None) == "x"

    def test_a_repository_that_does_not_hold_it_is_refused(self, tmp_path):
        with pytest.raises(ConfigurationError, match="does not hold"):
            bundle_root(tmp_path / "x", tmp_path / "y")


def test_gate_and_audit_declare_the_same_grading_arguments():
    parser = argparse.ArgumentParser()
    cli.build_parser("gate")
    from plumbline.cli import audit
    from plumbline.cli import gate as gate_command

    audit.add_arguments(parser)
    other = argparse.ArgumentParser()
    gate_command.add_arguments(other)
    assert {a.dest for a in other._actions} - {a.dest for a in parser._actions} == {"summary_file", "result"}
