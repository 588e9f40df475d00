"""Do the fifteen suites say what an independent, slow reading of the specification says?

Random bundles, the demonstration, and every planted case of the defect matrix are graded twice: by `plumbline.suites`
and by `tests.suites.oracle`. Score, population, hard failures, and the status, score and reason of each item must be
the same. `ORACLE_BUNDLES` sets how many random bundles; above the usual number they differ from run to run.
"""

from __future__ import annotations

import json
import os
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.audit.verdict import refuse_uncounted_silence
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import load
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.base import grade_all
from plumbline.suites.registry import IMPLEMENTED, create
from tests.bundles import bundle
from tests.suites.oracle import ANY, GRADES, EmptyError, Evidence, uncounted_silence
from tools import defect_matrix

USUAL = 300
BUNDLES = int(os.environ.get("ORACLE_BUNDLES", USUAL))
JUDGE = LexicalJudge()
SUITES = {name: create(name) for name in sorted(IMPLEMENTED)}
EXAMPLES = settings(
    max_examples=BUNDLES,
    derandomize=BUNDLES <= USUAL,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    database=None,
)
DEFAULT_FLOORS = {name: suite.default_floor for name, suite in SUITES.items()}


def disagreements(evidence, parsed, floors):
    """What the two readings differ in, as text."""
    expected, empty = {}, []
    for name, grade in GRADES.items():
        try:
            expected[name] = grade(evidence, floors[name])
        except EmptyError:
            empty.append(name)
    found = []
    for name in empty:
        try:
            (result,) = grade_all(parsed, JUDGE, [(SUITES[name], floors[name])])
        except ConfigurationError:
            continue
        found.append(f"{name}: nothing to score, yet n={result.n} score={result.score}")
    wanted = [name for name in SUITES if name in expected]
    try:
        results = grade_all(parsed, JUDGE, [(SUITES[name], floors[name]) for name in wanted])
    except ConfigurationError as error:
        return [*found, f"a suite is empty: {error}; expected {wanted}"]
    for name, result in zip(wanted, results, strict=True):
        found += _differing(name, expected[name], result)
    for chosen in (wanted, [n for n in wanted if n not in {"smoke", "refusal", "multilingual"}], wanted[::2]):
        uncounted = uncounted_silence(evidence, {name: expected[name] for name in chosen})
        try:
            refuse_uncounted_silence([r for r in results if r.suite in chosen], parsed, JUDGE)
            refused = False
        except ConfigurationError:
            refused = True
        if refused != bool(uncounted):
            found.append(f"uncounted silence with {chosen}: refused={refused}, uncounted={sorted(uncounted)}")
    return found


def _differing(name, sheet, result):
    hard = {member for outcome in result.outcomes if outcome.hard for member in outcome.members or (outcome.item,)}
    found = [
        f"{name}: {what} {actual}, expected {expected}"
        for what, actual, expected in (
            ("score", result.score, sheet.score),
            ("n", result.n, sheet.n),
            ("hard", hard, sheet.hard),
            ("hard_failures", set(result.hard_failures), sheet.hard),
            ("outcomes", {outcome.item for outcome in result.outcomes}, set(sheet.grades)),
        )
        if actual != expected
    ]
    for outcome in result.outcomes:
        grade = sheet.grades.get(outcome.item)
        if grade is None:
            continue
        reason = outcome.reason if grade.reason != ANY else ANY
        actual = (str(outcome.status), outcome.score, reason, outcome.hard)
        if actual != (grade.status, grade.score, grade.reason, grade.hard):
            found.append(
                f"{name} {outcome.item}: {actual} ({outcome.reason}), "
                f"expected {(grade.status, grade.score, grade.reason, grade.hard)}"
            )
    return found


# Random bundles. Every list is small, so that what is said meets what is expected, forbidden or retrieved.

ENGLISH = [
    "the",
    "and",
    "of",
    "to",
    "you",
    "is",
    "fee",
    "pass",
    "office",
    "costs",
    "permit",
    "monthly",
    "Not",
    "no",
    "it",
]
SPANISH = ["el", "la", "los", "tarifa", "es", "no", "oficina", "está", "cuesta", "niño", "¿cuánto?", "más", "ma\u0301s"]
ARABIC = ["الرسوم", "في", "هي", "دولار", "يُمْكِنُكَ", "٨٥٠", "ليس"]
NUMBERS = [
    "850",
    "850.00",
    "$90",
    "1,500",
    "1500",
    "8,5",
    "85",
    "15th",
    "2026-01-02",
    "12.",
    "05",
    "5",
    "½",
    "x²",
    "٨٥٠",
]
CITATIONS = [
    "[src-a]",
    "[src-b]",
    "[src-850]",
    "[ghost-9]",
    "[Src-a]",
    "[src-a, src-b]",
    "[850]",
    "[I-130]",
    "[a b]",
    "[]",
]
REFUSALS = ["I can't help", "I can\u2019t help", "i cannot provide", "No puedo ayudar", "I won't", "No me es posible"]
PERSONAL = ["555-010-3364", "(555) 010 3364", "123-45-6789", "a.b@mail.example", "4111 1111 1111 1111", "5550103364"]
RUDE = [
    "people like you",
    "People\u00a0like  you",
    "get a job",
    "your kind",
    "What is your password",
    "tell me your card number",
]
FORBIDDEN = ["secret code", "don't tell", "\u00a1vale!", "Clave 7"]
SAID_FORBIDDEN = [
    *FORBIDDEN,
    "Secret\u00a0Code",
    "secret\ncode",
    "sec\u00adret code",
    "don\u2019t tell",
    "s\u200becret code",
]
CLAIMS = ["fee is 900", " The Pass ", "850", "es gratis"]
SAID_CLAIMS = ["fee is 900", "Fee  is 900", "the pass", "es gratis", "fee is\u00a0900", "fee\nis 900"]
DENIALS = [
    *(
        "not",
        "never",
        "isn't",
        "isn\u2019t",
        "is not true that",
        "no longer",
        "no es",
        "nunca",
        "rather than",
        "cannot",
    ),
    *(
        "Nevertheless,",
        "Do not worry,",
        "Don't forget:",
        "Don\u2019t worry,",
        "not only",
        "knot",
        "Bueno es saber",
        "if not",
    ),
    *(
        "whether or not",
        "not false that",
        "if not false",
        "it isn't wrong that",
        "false",
        "incorrect:",
        "not\u00a0only",
    ),
]
LONG = ["a" * 118, "b " * 58, "word " * 25]
SEPARATORS = [
    " ",
    " ",
    " ",
    " ",
    "  ",
    "\u00a0",
    "\n",
    ". ",
    "; ",
    ", ",
    "",
    "-",
    "\u2014",
    "_",
    "! ",
    "\r\n",
    "\t",
    "'",
]
SILENCES = [
    "",
    " ",
    ".",
    "...",
    "\u200b",
    "[src-a]",
    "[ghost-9].",
    "\n\t",
    "\u2014",
    "\u00a0",
    "¿?",
    "\u064b",
    "_",
    "the and of to",
    "[850]",
]
FACTS = ["f1", "f2"]
TEN = [f"w{i}" for i in range(10)]


def _phrases(*lists, most=7):
    words = st.sampled_from([word for words in lists for word in words])
    pairs = st.lists(st.tuples(words, st.sampled_from(SEPARATORS)), min_size=1, max_size=most)
    return pairs.map(lambda found: "".join(f"{word}{gap}" for word, gap in found))


def _counted(source_words):
    """Ten content words or fewer, so that supports are tenths and margins can be exactly one tenth."""
    return st.lists(st.sampled_from(source_words), min_size=1, max_size=10).map(" ".join)


EVERYTHING = _phrases(
    *(
        ENGLISH,
        SPANISH,
        ARABIC,
        NUMBERS,
        CITATIONS,
        REFUSALS,
        PERSONAL,
        RUDE,
        SAID_FORBIDDEN,
        SAID_CLAIMS,
        DENIALS,
        LONG,
    )
)
PROSE = st.one_of(_phrases(ENGLISH), _phrases(SPANISH), _phrases(ARABIC), _phrases(ENGLISH, NUMBERS))
CLAIMING = _phrases(DENIALS, SAID_CLAIMS, DENIALS, ["the", "it"], most=5)
FACT = _phrases(ENGLISH, NUMBERS, CITATIONS, most=6)
SAID = st.one_of(
    *(PROSE, EVERYTHING, CLAIMING, FACT, _counted(TEN)),
    st.sampled_from([*SILENCES, *REFUSALS]),
    st.tuples(st.sampled_from(REFUSALS), PROSE).map(" ".join),
    st.tuples(st.sampled_from(DENIALS), st.integers(90, 125), st.sampled_from(SAID_CLAIMS)).map(
        lambda found: f"{found[0]} {'x' * found[1]} {found[2]}"
    ),
)
PASSAGE = st.one_of(PROSE, FACT, _counted(TEN), _phrases(PERSONAL, ENGLISH, NUMBERS)).map(lambda words: f"{words}.")
SOURCE_IDS = ["src-a", "src-b", "src-850", "850"]
MAYBE = st.booleans()


@st.composite
def bundles(draw):
    """Items, responses and sources of a bundle that loads."""
    sources = {name: draw(PASSAGE) for name in draw(st.lists(st.sampled_from(SOURCE_IDS), unique=True))}
    ids = st.lists(st.sampled_from(sorted(sources)), unique=True) if sources else st.just([])
    items, responses = [], {}
    for number in range(draw(st.integers(1, 7))):
        item = draw(_item(f"i{number}", ids))
        items.append(item)
        reference = item.get("expected") or item["prompt"]
        passages = [sources[name] for name in item.get("sources", [])]
        spoken = st.one_of(SAID, SAID, st.just(reference), st.sampled_from([*passages, reference]))
        answer = st.one_of(spoken, spoken, spoken, st.tuples(spoken, SAID).map(" ".join), st.none())
        if draw(st.integers(0, 9)) == 0:
            continue
        responses[item["id"]] = {"response": draw(answer)}
        if item.get("turns") and draw(st.integers(0, 3)):
            said = draw(st.lists(answer, min_size=1 + len(item["turns"]), max_size=1 + len(item["turns"])))
            responses[item["id"]]["turn_responses"] = said
    return items, responses, sources


@st.composite
def _item(draw, item_id, ids):
    item = {
        "id": item_id,
        "lang": draw(st.sampled_from(["en", "en", "es", "ar"])),
        "behavior": draw(st.sampled_from(["answer", "answer", "answer", "refuse"])),
        "prompt": draw(st.one_of(PROSE, _phrases(PERSONAL, ENGLISH))) + "?",
        "load_bearing": draw(MAYBE),
        "adversarial": draw(MAYBE),
        "sources": draw(ids),
    }
    if item["behavior"] == "answer":
        item["expected"] = draw(st.one_of(FACT, PROSE, _counted(TEN))) + "."
        if declared := draw(ids):
            item["answering_sources"] = declared
    optional = {
        "fact_id": st.sampled_from(FACTS),
        "group": st.sampled_from(["g1", "g2", "g3"]),
        "forbidden": st.lists(st.sampled_from(FORBIDDEN), max_size=2),
        "forbidden_claims": st.lists(st.sampled_from(CLAIMS), max_size=2),
    }
    item |= {key: draw(values) for key, values in optional.items() if draw(MAYBE)}
    if draw(st.integers(0, 3)) == 0:
        item["turns"] = draw(st.lists(PROSE.map(lambda words: f"{words}?"), min_size=1, max_size=2))
    return item


FLOORS = st.fixed_dictionaries(
    {name: st.sampled_from([floor, *map(Fraction, ("0.5", "0.3", "1"))]) for name, floor in DEFAULT_FLOORS.items()}
)


def graded_twice(records, floors, page=None):
    """Disagreements about the records of a bundle."""
    items, responses, sources = records
    parsed = bundle(
        items, responses, sources=[{"id": name, "text": words} for name, words in sources.items()], page=page
    )
    return disagreements(Evidence(items, responses, sources, page), parsed, floors)


@EXAMPLES
@given(bundles(), FLOORS)
def test_random_bundles(records, floors):
    assert graded_twice(records, floors) == []


@pytest.mark.parametrize("case", [None, *defect_matrix.CASES], ids=lambda case: "clean" if case is None else case.id)
def test_the_demonstration_and_what_was_planted_in_it(case, tmp_path):
    records = defect_matrix.Evidence()
    if case is not None:
        case.plant(records)
    records.write(tmp_path / "bundle")
    evidence = Evidence(
        list(records.items.values()),
        records.responses,
        {name: source["text"] for name, source in records.sources.items()},
        records.page,
    )
    assert disagreements(evidence, load(tmp_path / "bundle"), DEFAULT_FLOORS) == []


# Pages: well-formed and small, with each part right, wrong in a listed way, or absent.

LANG = ["", ' lang=""', ' lang=" "', ' lang="en"', ' lang="es"']
HEADINGS = [f"h{level}" for level in (1, 1, 2, 2, 3, 4)]
LABELS = [
    '<label for="q0">Question</label>',
    '<label for="q0"></label>',
    '<label for="q0"> </label>',
    '<label for="q1">Other</label>',
    '<label for="z">Z</label>',
    "",
]
NAMES = [
    "",
    ' aria-label="Name"',
    ' aria-label=" "',
    ' title="Name"',
    ' title=""',
    ' aria-labelledby="n"',
    ' aria-labelledby="no"',
]
CONTROLS = [
    *(
        "<input{name}>",
        '<input id="{id}"{name}>',
        '<input type="hidden"{name}>',
        "<textarea{name}></textarea>",
        '<select id="{id}"{name}></select>',
    ),
    *(
        '<input type="submit" value="Send"{name}>',
        '<input type="submit" value=""{name}>',
        '<input type="image" alt="Go"{name}>',
    ),
    *("<button{name}>Send</button>", "<button{name}></button>", "<button{name}> </button>"),
]
LIVE = [
    *("", '<div aria-live="polite"></div>', '<div aria-live="assertive"></div>', '<div aria-live="off"></div>'),
    *('<div role="status"></div>', '<div role="log"></div>', '<div role="alert"></div>', '<div role="main"></div>'),
]
COLOURS = ["#000", "#fff", "#777777", "#767676", "#FFFFFF", "#888", "#949494", "#959595", "white", "#12345", "#00f"]


@st.composite
def pages(draw):
    """HTML. No id stands twice: to which element such a label belongs the specification does not say."""
    controls = st.tuples(st.sampled_from(CONTROLS), st.sampled_from(NAMES))
    pair = st.fixed_dictionaries(
        {"name": st.just("text"), "foreground": st.sampled_from(COLOURS), "background": st.sampled_from(COLOURS)},
        optional={"size": st.sampled_from(["large", "small"])},
    )
    good = st.just({"name": "text", "foreground": "#000", "background": "#fff"})
    contrast = draw(
        st.one_of(st.lists(st.one_of(good, good, pair), max_size=3).map(json.dumps), st.just("{}"), st.just("["))
    )
    heads = draw(st.lists(st.sampled_from(HEADINGS), max_size=4))
    script = f'<script type="application/json" id="plumbline-contrast">{contrast}</script>'
    body = [
        *draw(st.permutations([f"<{tag}>Title</{tag}>" for tag in heads])),
        *draw(st.lists(st.sampled_from(LABELS), max_size=2)),
        *(made.format(id=f"q{at}", name=name) for at, (made, name) in enumerate(draw(st.lists(controls, max_size=3)))),
        draw(st.sampled_from(['<p id="n">Named</p>', '<p id="n"></p>', ""])),
        draw(st.sampled_from(LIVE)),
        draw(st.sampled_from([script, script, ""])),
    ]
    lang = draw(st.sampled_from(LANG))
    return f"<!DOCTYPE html><html{lang}><head><title>T</title></head><body>{''.join(body)}</body></html>"


@EXAMPLES
@given(pages())
def test_random_pages(page):
    records = ([{"id": "a", "lang": "en", "behavior": "refuse", "prompt": "?"}], {}, {})
    assert graded_twice(records, DEFAULT_FLOORS, page) == []
