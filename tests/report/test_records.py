from __future__ import annotations

import hashlib
import json

import msgspec
import pytest

from plumbline.cli.main import main
from plumbline.errors import ExitCode, IntegrityError
from plumbline.report import build as building
from plumbline.report import records
from plumbline.report.document import parse_report
from tests.bundles import files, item, refuse, target, write

SUITES = "[suites.accuracy]\nfloor = 0.1\n[suites.smoke]\nfloor = 0.1\n[suites.cross_language]\nfloor = 0.1\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A large run, for which three items are many."""
    monkeypatch.setattr(building, "INLINE", 3)
    items = [
        item("a", fact_id="f"),
        item("b", fact_id="f", lang="es"),
        item("c", load_bearing=True),
        item("d"),
        refuse("r"),
    ]
    said = {"a": "It costs 850 dollars.", "b": "850", "c": "It costs 900 dollars.", "d": "", "r": "I cannot help."}
    write(tmp_path / "bundle", files(items, said))
    config = target(tmp_path, suites=SUITES)
    assert main(["audit", "--config", str(config), "--out", str(tmp_path / "out")]) == ExitCode.FAIL
    (folder,) = (tmp_path / "out").iterdir()
    return folder


def test_a_large_report_lists_what_did_not_pass_and_links_the_rest(run):
    report = parse_report((run / "report.json").read_bytes(), file="report.json")
    data = (run / "records.jsonl").read_bytes()
    assert report.records.sha256 == hashlib.sha256(data).hexdigest()
    assert (report.records.records, report.records.bytes) == (len(data.splitlines()), len(data)) == (10, len(data))
    assert {entry.item for suite in report.suites for entry in suite.items} == {"c", "d"}
    lines = [json.loads(each) for each in data.splitlines()]
    assert [entry["suite"] for entry in lines] == ["accuracy"] * 4 + ["cross_language"] + ["smoke"] * 5
    assert next(entry for entry in lines if entry["suite"] == "cross_language")["members"] == ["a", "b"]
    assert report.records.sha256 in (run / "report.md").read_text()


def test_a_large_report_verifies_with_its_records(run, capsys):
    assert main(["verify", str(run)]) == ExitCode.PASS
    assert "records.jsonl holds the records behind the report" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda data: data.replace(b'"score":1.0', b'"score":0.9', 1), "not the ones that the report names"),
        (lambda data: data + b"\n", "not the ones that the report names"),
        (lambda _data: None, "is not here"),
    ],
)
def test_other_records_are_refused(run, edit, named, capsys):
    path = run / "records.jsonl"
    changed = edit(path.read_bytes())
    path.unlink() if changed is None else path.write_bytes(changed)
    assert main(["verify", str(run)]) == ExitCode.INTEGRITY
    assert named in capsys.readouterr().err


def test_no_bar_is_cut_from_a_report_without_its_records(run, tmp_path, capsys):
    command = ["baseline", "--from", str(run / "report.json"), "--out", str(tmp_path / "bar.json")]
    (run / "records.jsonl").rename(tmp_path / "kept")
    assert main(command) == ExitCode.INTEGRITY
    assert "is not here" in capsys.readouterr().err
    (tmp_path / "kept").rename(run / "records.jsonl")
    assert main(command) == ExitCode.PASS


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda lines: [{**lines[0], "score": 0.1}, *lines[1:]], "another score than its items"),
        (lambda lines: lines[1:], "counts other items than it lists"),
        (lambda lines: [{**lines[0], "suite": "refusal"}, *lines[1:]], "a record of 'refusal'"),
        (lambda lines: [line for line in lines if line["status"] == "PASS"], "other items of suite accuracy"),
        (lambda lines: [{**lines[0], "extra": 1}, *lines[1:]], "unknown key 'extra'"),
    ],
)
def test_records_sealed_anew_are_still_held_against_the_report(run, edit, named):
    report = parse_report((run / "report.json").read_bytes(), file="report.json")
    lines = [json.loads(each) for each in (run / "records.jsonl").read_bytes().splitlines()]
    data = b"".join(json.dumps(each).encode() + b"\n" for each in edit(lines))
    forged = records.msgspec.structs.replace(
        report, records=records.msgspec.structs.replace(report.records, sha256=hashlib.sha256(data).hexdigest())
    )
    with pytest.raises(records.IntegrityError) as refusal:
        records.check_records(forged, data, file="records.jsonl")
    assert named in refusal.value.message


@pytest.mark.parametrize("changes", [{"records": 9}, {"bytes": 1}])
def test_a_link_that_counts_otherwise_is_refused(run, changes):
    report = parse_report((run / "report.json").read_bytes(), file="report.json")
    counted = msgspec.structs.replace(report, records=msgspec.structs.replace(report.records, **changes))
    with pytest.raises(IntegrityError, match="counts other records"):
        records.check_records(counted, (run / "records.jsonl").read_bytes(), file="records.jsonl")


def test_a_report_without_a_link_has_no_records(run):
    report = parse_report((run / "report.json").read_bytes(), file="report.json")
    with pytest.raises(records.IntegrityError):
        records.check_records(records.msgspec.structs.replace(report, records=None), b"", file="records.jsonl")


def test_lines_go_out_in_chunks(monkeypatch):
    monkeypatch.setattr(records, "_CHUNK", 10)
    tally = records.Tally([b"abcdef\n"] * 5)
    assert [len(chunk) for chunk in tally] == [14, 14, 7]
    assert (tally.link().records, tally.link().bytes) == (5, 35)
    assert tally.link().sha256 == hashlib.sha256(b"abcdef\n" * 5).hexdigest()


def test_the_file_of_records_has_one_name(run):
    document = json.loads((run / "report.json").read_bytes())
    document["records"]["file"] = "`x`.jsonl"
    document["provenance"]["report_sha256"] = building_digest(document)
    with pytest.raises(records.IntegrityError, match="no report gives them"):
        parse_report(json.dumps(document).encode(), file="report.json")


def building_digest(document):
    from plumbline.report.document import seal_digest

    return seal_digest(document)


def test_lines_of_what_passed_are_those_of_the_same_run_inline(run, tmp_path, monkeypatch):
    monkeypatch.setattr(building, "INLINE", 1000)
    assert (
        main(["audit", "--config", str(tmp_path / "target.toml"), "--out", str(tmp_path / "inline")]) == ExitCode.FAIL
    )
    (inline,) = (tmp_path / "inline").iterdir()
    report = parse_report((inline / "report.json").read_bytes(), file="report.json")
    lines = [records.line(suite.suite, record) for suite in report.suites for record in suite.items]
    assert (run / "records.jsonl").read_bytes() == b"".join(lines)


@pytest.mark.parametrize(("inline", "linked"), [(9, True), (10, False)])
def test_as_many_records_as_fit_stand_in_the_report(tmp_path, monkeypatch, inline, linked):
    monkeypatch.setattr(building, "INLINE", inline)
    write(tmp_path / "bundle", files([item(f"i{n}") for n in range(10)], {"i0": "850"}))
    config = target(tmp_path, suites="[suites.smoke]\n")
    assert main(["audit", "--config", str(config), "--out", str(tmp_path / "out")]) == ExitCode.FAIL
    assert bool(list((tmp_path / "out").glob("*/records.jsonl"))) == linked
