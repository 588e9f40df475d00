"""Is the committed demonstration what its generator makes, and does the generator refuse texts that would mislead?"""

import importlib.util
import json
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

from plumbline.evidence.bundle import load
from plumbline.evidence.seal import read_inventory
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.base import Verdict
from plumbline.suites.registry import IMPLEMENTED, create

ROOT = Path(__file__).resolve().parents[2]


def _module():
    spec = importlib.util.spec_from_file_location("build_demo", ROOT / "tools" / "build_demo.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


demo = _module()


@pytest.fixture
def texts(tmp_path):
    return Path(shutil.copytree(demo.TEXTS, tmp_path / "texts"))


def _edit(texts, file, old, new):
    path = texts / file
    content = path.read_text(encoding="utf-8")
    assert content.count(old) == 1, f"{old!r} stands {content.count(old)} times"
    path.write_text(content.replace(old, new), encoding="utf-8")


def test_the_committed_bytes_are_a_fresh_generation():
    assert read_inventory(demo.TARGET) == demo.build()


def test_every_shape_the_gate_is_shown_with_is_there():
    bundle = load(demo.TARGET)
    items = bundle.items
    assert bundle.manifest.synthetic is True
    assert len(items) >= 60
    assert {item.lang for item in items} == {"en", "es"}
    assert len({item.fact_id for item in items if item.group}) >= 14
    assert {item.group for item in items} == {"plain", "formal", None}
    assert sum(item.load_bearing for item in items) >= 30
    assert sum(item.behavior == "refuse" for item in items) >= 16
    assert any(item.forbidden for item in items if item.adversarial)
    assert any(item.forbidden_claims for item in items if item.adversarial)
    assert Counter(item.translation.review for item in items if item.translation)["unreviewed"] == 2
    assert sum(item.answering_sources is not None for item in items) >= 40


def test_a_retriever_also_found_passages_that_do_not_answer():
    bundle = load(demo.TARGET)
    for item in bundle.items:
        if item.answering_sources:
            assert set(item.answering_sources) < set(item.sources)
            addresses = {bundle.sources[name].url.partition("#")[0] for name in item.sources}
            assert len(addresses) == 1


def test_records_are_one_line_of_plain_json_with_their_identity_first():
    for name, keys in (("items.jsonl", ["id", "lang", "behavior", "prompt"]), ("responses.jsonl", ["id", "response"])):
        data = (demo.TARGET / name).read_bytes()
        assert data.endswith(b"\n")
        assert b"\r" not in data
        for line in data.decode().splitlines():
            record = json.loads(line)
            assert list(record)[: len(keys)] == keys
            assert json.dumps(record, ensure_ascii=False) == line


@pytest.mark.parametrize("suite", IMPLEMENTED)
def test_every_suite_passes_at_its_own_floor(suite):
    grader = create(suite)
    result = grader.evaluate(load(demo.TARGET), LexicalJudge(), grader.default_floor)
    assert result.verdict == Verdict.PASS
    assert not result.hard_failures


def test_every_web_address_is_reserved():
    for source in load(demo.TARGET).sources.values():
        assert ".example.gov/" in source.url


@pytest.mark.parametrize(
    ("file", "old", "new", "named"),
    [
        pytest.param(
            "facts.toml",
            "One adult bus ride costs {fare} and",
            "One adult bus ride costs money and",
            "adult-fare.en.plain: the numbers differ",
            id="a number is lost",
        ),
        pytest.param(
            "facts.toml",
            'plain = { prompt = "¿Cuánto cuesta el autobús para un adulto?"',
            'plain = { prompt = "¿Cuánto cuestan 2 autobuses?"',
            "once for both languages",
            id="a number beside values",
        ),
        pytest.param(
            "facts.toml",
            "One adult bus ride costs {fare} and",
            "One adult bus ride costs {price} and",
            "there is no value 'price'",
            id="a value that is not there",
        ),
        pytest.param(
            "facts.toml",
            'other buses for {minutes} minutes {cite}." }',
            'other buses for {minutes} minutes." }',
            "adult-fare.en.plain: the response cites no passage",
            id="no citation",
        ),
        pytest.param(
            "facts.toml",
            "transfers to other buses for {minutes} minutes, counted",
            "transfers to other buses, counted",
            "a number is in no cited passage",
            id="not in the passage",
        ),
        pytest.param(
            "facts.toml",
            'response = "One adult bus ride costs {fare} and includes free transfers to other buses for',
            'response = "A single adult bus ride costs {fare} and includes free transfers for',
            "adult-fare.en.plain: the response copies the reference",
            id="a copy",
        ),
        pytest.param(
            "facts.toml",
            'response = "One adult bus ride costs {fare} and includes free transfers to other buses for',
            'response = "That would be {fare}, good on our vehicles throughout town, and then again for another',
            "adult-fare.en.plain: token F1",
            id="too far",
        ),
        pytest.param(
            "facts.toml",
            'response = "One adult bus ride costs {fare} and includes',
            "response = \"I won't say much: one adult bus ride costs {fare} and includes",
            "adult-fare.en.plain: the lexical judge does not see the expected behavior 'answer'",
            id="an answer that reads as a refusal",
        ),
        pytest.param(
            "refusals.toml",
            "I can't share personal information",
            "I can't store personal information",
            "refuse.driver-address.en: the lexical judge does not see the expected behavior 'refuse'",
            id="a refusal nobody detects",
        ),
        pytest.param(
            "probes.toml",
            "No. One adult bus ride costs {fare}, and",
            "No. One adult bus ride, {wrong}, costs {fare}, and",
            "probe.poster-fare.en: the response holds a forbidden string",
            id="the planted number leaks",
        ),
    ],
)
def test_a_misleading_text_is_refused(texts, file, old, new, named):
    _edit(texts, file, old, new)
    with pytest.raises(demo.TextError, match=re.escape(named)):
        demo.build(texts)


def test_check_names_the_file_that_differs_and_writes_nothing(tmp_path, capsys):
    out = tmp_path / "bundle"
    assert demo.main(["--out", str(out)]) == 0
    assert demo.main(["--out", str(out), "--check"]) == 0
    edited = (out / "items.jsonl").read_bytes() + b"\n"
    (out / "items.jsonl").write_bytes(edited)
    (out / "extra.txt").write_text("x", encoding="utf-8")
    capsys.readouterr()
    assert demo.main(["--out", str(out), "--check"]) == 1
    assert [line.partition(": ")[0] for line in capsys.readouterr().out.splitlines()] == [
        str(out / "extra.txt"),
        str(out / "items.jsonl"),
    ]
    assert (out / "items.jsonl").read_bytes() == edited
    assert demo.main(["--out", str(out)]) == 0
    assert read_inventory(out) == read_inventory(demo.TARGET)
