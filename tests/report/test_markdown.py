"""report.md: the whole record, in an order that serves its reader, and checkable by hand."""

import re
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.evidence.seal import CHECKSUMS
from plumbline.report.document import DatasetInfo, TargetInfo, to_json
from plumbline.report.markdown import SHOWN_FINDINGS, report_markdown
from tests import bundles
from tests.report.oracle import check_harmless, read
from tests.report.reports import (
    EVERY,
    HOSTILE,
    comparable,
    flipped,
    held_out,
    make_report,
    many,
    one_wrong_number,
    place,
    refused,
    rounding,
    smoke,
    suite,
    unverifiable,
    wrong_number,
)


@pytest.mark.parametrize("name", EVERY)
def test_the_verdict_is_the_first_line(name):
    report = EVERY[name]()
    assert report_markdown(report).startswith(f"# Audit verdict: {report.verdict}\n")


@pytest.mark.parametrize("name", EVERY)
def test_nothing_in_it_leads_anywhere(name):
    reading = check_harmless(report_markdown(EVERY[name]()), our_links="none")
    assert reading.links == []


@pytest.mark.parametrize("name", EVERY)
def test_the_same_report_gives_the_same_text(name):
    assert report_markdown(EVERY[name]()) == report_markdown(EVERY[name]())


def test_failing_items_come_before_figures():
    text = report_markdown(one_wrong_number())
    assert text.index("## 1 failing item") < text.index("## Suites")
    assert "costs&#32;<strong>8</strong>&#32;dollars" in text
    assert "costs&#32;<strong>5</strong>&#32;dollars" in text
    assert "`responses.jsonl:17:58`" in text
    assert "`items.jsonl:17:120`" in text


def test_a_score_that_rounds_to_its_floor():
    assert "just below the floor before rounding" in report_markdown(rounding())


def test_provenance_is_whole():
    report = flipped()
    text = report_markdown(report)
    made = report.provenance
    for digest in (made.report_sha256, made.dataset_sha256, made.judge_config_sha256, made.harness_source_sha256):
        assert f"`{digest}`" in text
    assert report.baseline is not None
    assert f"`{report.baseline.against.baseline_sha256}`" in text
    assert f"`{made.run_id}`" in text


def test_without_a_baseline_it_says_so():
    assert "No baseline was given" in report_markdown(make_report())


def test_many_findings_are_counted_where_they_are_not_shown():
    text = report_markdown(many())
    assert f"{20_000 - SHOWN_FINDINGS:,} more stand in report.json" in text
    assert "and 450 more, in report.json" in text
    assert len(text) < 1_000_000


def test_unverifiable_items_are_named():
    text = report_markdown(unverifiable())
    assert "`quiet-0`, `quiet-1`" in text
    assert "Never counted as a pass" in text


def fences(text: str) -> list[str]:
    return re.findall(r"^```sh\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_the_recipe_for_the_seal_works(tmp_path):
    report = flipped()
    (tmp_path / "report.json").write_bytes(to_json(report))
    recipe = fences(report_markdown(report))[0].replace("python3", sys.executable)
    done = subprocess.run(["sh", "-c", recipe], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n") == ["seal True", "run id True", ""]
    (tmp_path / "report.json").write_bytes(to_json(report).replace(b"0.9312", b"0.9999"))
    done = subprocess.run(["sh", "-c", recipe], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.startswith("seal False\n")


def test_the_recipe_for_the_dataset_works(tmp_path):
    content = bundles.files([bundles.ANSWER], {"fare": "850"})
    extra = {name: data for name, data in content.items() if name != CHECKSUMS}
    extra |= {"deep/er/a b.txt": b"x", "Zeta": b"y", "\u00e9": b"z", "deep/checksums.json": b"{}"}
    content = bundles.resealed(extra)
    for name, data in content.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    recipe = fences(report_markdown(make_report()))[1]
    done = subprocess.run(["sh", "-c", recipe], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.split()[0].encode() in content[CHECKSUMS]


def around(text: str) -> str:
    item = wrong_number(
        text, note=text, said=text, said_at=[1, 2], wanted=text, wanted_at=[], where=[place(note=text, file=text)]
    )
    report = make_report(
        [suite(items=[item, held_out(text, note=text)]), smoke()],
        target=TargetInfo(name=text),
        dataset=DatasetInfo(
            name=text, version=text, synthetic=True, items=1, responses=1, languages={text: 1}, recording={text: text}
        ),
        warnings=[text],
        limits=[text],
        notes={"seal": text},
    )
    return report_markdown(report)


PLAIN = read(around("plain words"))


@settings(deadline=None)
@given(st.one_of(st.text(min_size=1, max_size=60), st.lists(st.sampled_from(HOSTILE)).map("".join)).filter(bool))
def test_no_text_changes_the_structure(text):
    reading = check_harmless(around(text), our_links="none")
    assert reading.blocks == PLAIN.blocks
    # A text of one character has no second one to emphasise.
    if len(text) > 2:
        assert reading.inlines == PLAIN.inlines


def test_columns_about_a_change_stand_only_where_something_was_compared():
    assert "| Suite | Was | Now | Change | Could be noise? | Floor | Verdict |" in report_markdown(comparable())
    assert "| Suite | Was | Now | Floor | Verdict |" in report_markdown(refused())
    assert "95% interval 0.9056 to 0.9533" in report_markdown(refused()).replace("\\", "")
