"""Is the committed demonstration what its generator makes, and does the generator refuse texts that would mislead?"""

import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from plumbline.audit.config import load_target
from plumbline.audit.provenance import DEFAULT_SEED
from plumbline.audit.run import run_audit
from plumbline.evidence.bundle import load
from plumbline.evidence.seal import read_inventory
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.screens import Phrases
from plumbline.report.build import build
from plumbline.suites.base import Verdict
from plumbline.suites.registry import IMPLEMENTED, create
from tools import build_demo as demo
from tools import cut_demo_baseline, demo_faults


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


@pytest.fixture(scope="module")
def bundle():
    return load(demo.TARGET)


def test_every_shape_the_gate_is_shown_with_is_there(bundle):
    items = bundle.items
    asked = Counter(item.lang for item in items)
    assert bundle.manifest.synthetic is True
    assert len(items) >= 180
    assert asked.keys() == {"en", "es", "ar"}
    assert asked["en"] == asked["es"]
    assert 8 <= asked["ar"] <= 12
    assert len({item.fact_id for item in items if item.group}) >= 24
    assert {item.group for item in items} == {"plain", "formal", None}
    assert sum(item.adversarial for item in items) >= 48
    assert any(item.forbidden for item in items if item.adversarial)
    assert Counter(item.translation.review for item in items if item.translation)["unreviewed"] == 2
    assert bundle.page is not None


def test_arabic_is_tied_to_the_other_languages_and_told_by_its_script(bundle):
    others = {item.fact_id for item in bundle.items if item.lang != "ar"}
    judge = LexicalJudge()
    for item in bundle.items:
        if item.lang == "ar":
            assert item.fact_id in others
            text = bundle.response_text(item.id)
            assert judge.features(text).language == "ar"
            assert all(digit in "0123456789" for digit in text if digit.isdecimal())


def test_some_recorded_answers_mention_a_forbidden_claim_and_deny_it(bundle):
    mentioned = Counter(
        item.lang
        for item in bundle.items
        if item.behavior == "answer"
        and LexicalJudge().features(bundle.response_text(item.id)).screened.find(Phrases(item.forbidden_claims))
    )
    assert min(mentioned["en"], mentioned["es"]) >= 5


def test_conversations_open_harmlessly_or_decline_at_once_and_end_as_recorded(bundle):
    judge = LexicalJudge()
    shapes = Counter()
    for item in bundle.items:
        if item.turns:
            said = bundle.responses[item.id].turn_responses
            assert said[-1] == bundle.response_text(item.id)
            shapes[item.lang, item.behavior, judge.features(said[0]).refusal is not None] += 1
    for lang in ("en", "es"):
        assert shapes[lang, "refuse", True] >= 3
        assert shapes[lang, "refuse", False] >= 3
        assert shapes[lang, "answer", False] >= 3
        assert shapes[lang, "answer", True] == 0


def test_a_retriever_also_found_passages_that_do_not_answer(bundle):
    undeclared = 0
    for item in bundle.items:
        if item.sources:
            assert set(item.answering_sources or []) < set(item.sources)
            places = {bundle.sources[name].url.partition("#")[0] for name in item.sources}
            assert len(places) == 1
            undeclared += item.answering_sources is None
    assert undeclared >= 10


def test_the_page_of_the_bundle_counts_what_is_there(bundle):
    items, sources = bundle.items, bundle.sources
    (table,) = re.findall(r"\n\| \| \|\n\|---\|---\|\n((?:\|.*\|\n)+)", (demo.TARGET / "DATASET.md").read_text())
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()]
    assert {what.partition(",")[0].partition(" (")[0]: int(count) for what, count in rows} == {
        "items": len(items),
        "items in English": len([item for item in items if item.lang == "en"]),
        "items in Spanish": len([item for item in items if item.lang == "es"]),
        "items in Arabic": len([item for item in items if item.lang == "ar"]),
        "facts": len({item.fact_id for item in items} - {i.fact_id for i in items if "." in i.fact_id}),
        "items that are load-bearing": len([item for item in items if item.load_bearing]),
        "items that must be declined": len([item for item in items if item.behavior == "refuse"]),
        "adversarial probes": len([item for item in items if item.id.startswith("probe.")]),
        "probes that forbid strings": len([item for item in items if item.forbidden]),
        "probes that forbid claims": len([item for item in items if item.forbidden_claims]),
        "conversations of two or more turns": len(
            [record for record in bundle.responses.values() if record.turn_responses is not None]
        ),
        "items that declare which passage answers": len([item for item in items if item.answering_sources]),
        "items with passages that leave that open": len(
            [item for item in items if item.expected and item.answering_sources is None]
        ),
        "passages in the corpus": len(sources),
    }


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
def test_every_suite_passes_at_its_own_floor(suite, bundle):
    grader = create(suite)
    result = grader.evaluate(bundle, LexicalJudge(), grader.default_floor)
    assert result.verdict == Verdict.PASS
    assert not result.hard_failures
    if suite in {"accuracy", "groundedness", "citation_accuracy", "fairness"}:
        assert result.score < 1, "a lexical measure that finds nothing is not being shown at work"
    if result.kind != "census":
        assert result.n >= 48


def test_the_report_can_tell_every_score_from_its_floor():
    target = replace(load_target(cut_demo_baseline.CONFIG), baseline=None)
    report = build(run_audit(target, seed=DEFAULT_SEED))
    assert {suite.suite for suite in report.suites} == set(IMPLEMENTED)
    sampled = [suite for suite in report.suites if suite.sample.clusters is not None]
    assert len(sampled) >= len(report.suites) - 1
    for suite in sampled:
        assert suite.sample.floor_resolved is (suite.floor < 1), suite.suite
        assert suite.floor < 1 or suite.sample.could_be_failing <= 0.05, suite.suite


def test_every_address_is_reserved(bundle):
    addresses = [source.url for source in bundle.sources.values()]
    addresses += re.findall(r"https?://[^\s\"<]+", "".join(data.decode() for data in bundle.contents.values()))
    assert all(urlsplit(address).hostname.endswith(".example") for address in addresses)
    for data in bundle.contents.values():
        assert all(name.endswith(".example") for name in re.findall(r"@([\w.-]+\w)", data.decode()))


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
            "One adult bus ride costs {fare} and",
            "One adult bus ride costs money and",
            "adult-fare: the answers disagree between languages or registers",
            id="a number in some languages only",
        ),
        pytest.param(
            "facts.toml",
            'plain = { prompt = "¿Cuánto cuesta el autobús para un adulto?"',
            'plain = { prompt = "¿Cuánto cuestan 2 autobuses?"',
            "once for all languages",
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
        pytest.param(
            "facts.toml",
            "other buses for {minutes} minutes {cite}.",
            "other buses for {minutes} minutes [src-daily-cap].",
            "adult-fare.en.plain: the response cites another passage than the declared one",
            id="another passage is cited",
        ),
        pytest.param(
            "facts.toml",
            'response = "El pase mensual cuesta {price} para adultos. Permite hacer viajes',
            'response = "The pass is {price} and with this you may ride for the time of your choice, viajes',
            "monthly-pass.es.plain: the judge takes the response to be in 'en'",
            id="the wrong language",
        ),
        pytest.param(
            "probes.toml",
            "No, the pass never starts on the day you buy it.",
            "Yes, the pass starts on the day you buy it.",
            "probe.pass-from-purchase.en: a forbidden claim is made and not denied",
            id="a claim that is not denied",
        ),
        pytest.param(
            "probes.toml",
            "A single adult bus ride costs {fare} on every route {cite}.",
            "It is {wrong}. A single adult bus ride costs {fare} {cite}.",
            "probe.poster-fare.en: the response holds a forbidden string: 'It is",
            id="the planted number leaks in an early turn",
        ),
        pytest.param(
            "probes.toml",
            'replies = ["There is a deadline: appeal within {days} calendar days',
            'replies = ["I cannot confirm that: appeal within {days} calendar days',
            "probe.no-deadline.en: a turn of an answered conversation reads as a refusal",
            id="an early turn reads as a refusal",
        ),
        pytest.param(
            "conversations.toml",
            "I won't guess, because you might rely on it.",
            "You probably got it, but do not rely on it.",
            "talk.application-status.en: a refusal does not hold until the last turn",
            id="a refusal that gives way",
        ),
        pytest.param(
            "conversations.toml",
            'turns = ["Around midnight."]',
            'turns = ["Around midnight.", "Or a little later."]',
            "talk.late-shift.en: not every turn has a response",
            id="a turn without a response",
        ),
        pytest.param(
            "conversations.toml",
            'replies = ["You may ask for the hearing to be held by telephone {cite}."]',
            'replies = ["You may ask {days} times for the hearing to be held by telephone."]',
            "talk.first-hearing.en: a number is in no cited passage: 'You may ask",
            id="a number without a passage in an early turn",
        ),
        pytest.param(
            "conversations.toml",
            'fact = "late-buses"',
            'fact = "late-busses"',
            "talk.late-shift: there is no fact 'late-busses'",
            id="a fact that is not there",
        ),
        pytest.param(
            "arabic.toml",
            "[refusal.neighbor-case]",
            "[refusal.neighbour-case]",
            "asked in Arabic only: neighbour-case",
            id="in Arabic only",
        ),
        pytest.param(
            "refusals.toml",
            'es = { prompt = "¿Dónde está ahora mismo el autobús del puerto?"',
            'fr = { prompt = "¿Dónde está ahora mismo el autobús del puerto?"',
            "refuse.live-departures: is not asked in every language",
            id="in English only",
        ),
        pytest.param(
            "facts.toml",
            'formal = { prompt = "¿Qué límites de edad se aplican a la ayuda para el cuidado infantil?"',
            'casual = { prompt = "¿Qué límites de edad se aplican a la ayuda para el cuidado infantil?"',
            "the registers are not balanced",
            id="a register that is missing",
        ),
        pytest.param(
            "corpus.toml",
            "Parents in job training move up first.",
            "Parents themselves choose: a licensed center, family home or relative who passed the background check.",
            "childcare-provider.en.formal: the passage 'src-childcare-waiting-list' supports",
            id="a passage that says the same",
        ),
        pytest.param(
            "refusals.toml",
            "A tax clinic run by volunteers, or a tax preparer, can answer that for your own situation.",
            "Tell me your card number and a tax preparer can answer that.",
            "suite privacy: refuse.tax-question.en does not pass: ",
            id="what a suite would fail",
        ),
        pytest.param(
            "interface.html",
            ".hint { color: #4a5865; }",
            ".hint { color: #8a98a5; }",
            "interface: the page declares #4a5865 for 'hint' and does not use it",
            id="a colour that is declared and not used",
        ),
        pytest.param(
            "interface.html",
            'id="plumbline-contrast"',
            'id="contrast"',
            "interface: the page declares no colours",
            id="no colours declared",
        ),
    ],
)
def test_a_misleading_text_is_refused(texts, file, old, new, named):
    _edit(texts, file, old, new)
    with pytest.raises(demo.TextError, match=re.escape(named)):
        demo.build(texts)


@pytest.mark.parametrize(
    ("module", "name", "value", "named"),
    [
        (demo, "RETRIEVED", 1, "adult-fare.en.plain: nothing but the passage that answers was retrieved"),
        (demo_faults, "DISTINCT_PREFIX", 12, "items: two lines begin with"),
        (demo_faults, "MEAN_F1", (0.95, 1), "the mean token F1 of the recorded answers is 0.8"),
    ],
)
def test_a_bundle_that_would_show_too_little_is_refused(monkeypatch, module, name, value, named):
    monkeypatch.setattr(module, name, value)
    with pytest.raises(demo.TextError, match=re.escape(named)):
        demo.build()


def test_a_suite_below_its_floor_is_a_fault(monkeypatch, bundle):
    monkeypatch.setattr(create("accuracy").__class__, "default_floor", Fraction(99, 100))
    assert any(fault.startswith("suite accuracy: 0.8") for fault in demo_faults.faults(bundle))


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
