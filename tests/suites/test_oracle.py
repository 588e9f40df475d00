"""Do the fifteen suites say what an independent, slow reading of the specification says?

Random bundles, the demonstration, and every planted case of the defect matrix are graded twice: by `plumbline.suites`
and by `tests.suites.oracle`. Score, population, hard failures, and the status, score and reason of each item must be
the same. `ORACLE_BUNDLES` and `ORACLE_FIRST` set how many random bundles, and the seed of the first.
"""

from __future__ import annotations

import json
import os
import random
import re
from fractions import Fraction

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from plumbline.audit.verdict import refuse_uncounted_silence
from plumbline.errors import ConfigurationError
from plumbline.evidence.bundle import load
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.lexicon import DENIAL_WINDOW
from plumbline.suites.base import grade_all
from plumbline.suites.registry import IMPLEMENTED, create
from tests.bundles import bundle
from tests.suites.oracle import ANY, GRADES, EmptyError, Evidence, uncounted_silence
from tools import defect_matrix

BUNDLES = int(os.environ.get("ORACLE_BUNDLES", "800"))
FIRST = int(os.environ.get("ORACLE_FIRST", "0"))
JUDGE = LexicalJudge()
SUITES = {name: create(name) for name in sorted(IMPLEMENTED)}
EXAMPLES = settings(
    max_examples=150,
    derandomize=True,
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
    for chosen in (
        wanted,
        ["smoke"],
        [n for n in wanted if n not in {"smoke", "refusal", "multilingual"}],
        wanted[::2],
    ):
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
    "[ghost-850]",
    "[src-a, src-850]",
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
    "What is  your\u00a0password",
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
CLAUSES = ["\r", "\n", "¡", "¿", "; ", ": ", ". ", "3.5 ", "yes, "]
TEN = [f"w{i}" for i in range(10)]
SOURCE_IDS = ["src-a", "src-b", "src-850", "850"]


class Chance(random.Random):
    """What a bundle is made of, all of it from one seed."""

    def maybe(self, share=0.5):
        return self.random() < share

    def phrase(self, *lists, most=6):
        words = [word for words in lists for word in words]
        return "".join(f"{self.choice(words)}{self.choice(SEPARATORS)}" for _ in range(self.randint(1, most)))

    def prose(self):
        return self.phrase(*self.choice([(ENGLISH,), (SPANISH,), (ARABIC,), (ENGLISH, NUMBERS), (ENGLISH, ARABIC)]))

    def tenths(self):
        """Ten content words or fewer, so that supports are tenths and margins can be exactly one tenth."""
        return " ".join(self.sample(TEN, self.choice([10, 10, 5, 4, 3])))

    def passage(self):
        some = self.sample(TEN, self.randint(1, 9))
        return self.choice([self.fact(), " ".join(some), " ".join(some), self.phrase(PERSONAL, ENGLISH, NUMBERS)]) + "."

    def fact(self):
        return self.phrase(ENGLISH, NUMBERS, CITATIONS)

    def claiming(self, item):
        forbidden = {" ".join(claim.lower().split()) for claim in item["forbidden_claims"]}
        claims = [said for said in SAID_CLAIMS if self.maybe(0.1) or " ".join(said.lower().split()) in forbidden]
        denial = self.choice(DENIALS)
        at_the_edge = "x" * (DENIAL_WINDOW - len(denial) - 2 + self.choice([-1, 0, 0, 0, 1, 1, 1, 2, 4, 6, 9, 12]))
        gap = self.choice([at_the_edge, at_the_edge, *SEPARATORS, *CLAUSES, self.phrase(ENGLISH)])
        filler = self.choice(["", "b " * 10, "kn", "The ", "¡"])
        between = self.choice([f" {gap} ", f" {gap} ", f" {gap} ", gap, ""])
        return f"{filler}{denial}{between}{self.choice(claims or SAID_CLAIMS)}{self.choice(['', '!', 'x'])}"

    def spoken(self, item, sources):
        """A response that has to do with its item."""
        passages = [sources[name] for name in [*item["sources"], *item.get("answering_sources", [])]] or ["none"]
        reference = item.get("expected") or item["prompt"]
        cited = " ".join(self.sample(CITATIONS, self.randint(1, 3)))
        made = {
            "prose": self.prose,
            "tenths": self.tenths,
            "fact": self.fact,
            "claim": lambda: self.claiming(item),
            "claims": lambda: f"{self.claiming(item)}{self.choice(SEPARATORS)}{self.claiming(item)}",
            "forbidden": lambda: self.phrase(SAID_FORBIDDEN, ENGLISH, most=3),
            "personal": lambda: self.phrase(PERSONAL, RUDE, ENGLISH, most=3),
            "rude": lambda: self.phrase(RUDE, ENGLISH, most=2),
            "echo": lambda: item["prompt"],
            "silence": lambda: self.choice(SILENCES),
            "markers": lambda: cited,
            "refusal": lambda: f"{self.choice(REFUSALS)} {self.prose()}",
            "reference": lambda: reference,
            "numbers lost": lambda: re.sub(r"[0-9]+", lambda found: self.choice(["7", found.group()]), reference),
            "numbers only cited": lambda: re.sub(r"([0-9]+)", r"7 [form-\1]", reference),
            "passage": lambda: self.choice(passages),
            "cited": lambda: f"{self.choice(passages)} {cited}",
            "cited tenths": lambda: f"{self.tenths()} {cited}",
        }
        if self.maybe(0.05):
            return self.choice(SILENCES)
        return made[self.choice(list(made))]()

    def item(self, name, sources):
        def ids():
            return self.sample(sorted(sources), self.randint(0, len(sources)))

        item = {
            "id": name,
            "lang": self.choice(["en", "en", "es", "ar"]),
            "behavior": self.choice(["answer", "answer", "answer", "refuse"]),
            "prompt": self.choice([self.prose(), self.phrase(PERSONAL, ENGLISH, most=3)]) + "?",
            "load_bearing": self.maybe(),
            "adversarial": self.maybe(),
            "sources": ids(),
            "forbidden": self.sample(FORBIDDEN, self.randint(0, 2)),
            "forbidden_claims": self.sample(CLAIMS, self.randint(0, 2)),
        }
        if item["behavior"] == "answer":
            item["expected"] = self.choice([self.fact, self.prose, self.tenths])() + "."
            if self.maybe(0.8) and (declared := ids()):
                item["answering_sources"] = declared
        if self.maybe():
            item["fact_id"] = self.choice(FACTS)
        if self.maybe(0.7):
            item["group"] = self.choice(["g1", "g2", "g3"])
        if self.maybe(0.2):
            item["turns"] = [f"{self.prose()}?" for _ in range(self.randint(1, 2))]
        return item

    def bundle(self):
        """Items, responses by item id, and texts of sources by id."""
        sources = {name: self.passage() for name in SOURCE_IDS if self.maybe(0.8)}
        items = [self.item(f"i{number}", sources) for number in range(self.randint(1, 8))]
        self.shuffle(items)
        responses = {}
        for item in items:
            if self.maybe(0.95):
                record = {"response": self.spoken(item, sources) if self.maybe(0.97) else None}
                if item.get("turns") and self.maybe(0.8):
                    record["turn_responses"] = [self.spoken(item, sources) for _ in range(1 + len(item["turns"]))]
                responses[item["id"]] = record
        return items, responses, sources

    def floors(self):
        """A floor for every suite."""
        return {
            name: self.choice([floor, *map(Fraction, ("0.5", "0.3", "1"))]) for name, floor in DEFAULT_FLOORS.items()
        }


def graded_twice(records, floors, page=None):
    """Disagreements about the records of a bundle."""
    items, responses, sources = records
    parsed = bundle(
        items, responses, sources=[{"id": name, "text": words} for name, words in sources.items()], page=page
    )
    return disagreements(Evidence(items, responses, sources, page), parsed, floors)


@pytest.mark.parametrize("chunk", range(10))
def test_random_bundles(chunk):
    for seed in range(FIRST + chunk, FIRST + BUNDLES, 10):
        chance = Chance(seed)
        assert graded_twice(chance.bundle(), chance.floors()) == [], f"seed {seed}"


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
