"""Do the fifteen suites say what an independent, slow reading of the specification says?

Random bundles, the demonstration, and every planted case of the defect matrix are graded twice: by `plumbline.suites`
and by `tests.suites.oracle`. Score, population, hard failures, and the status, score and reason of each item must be
the same. `ORACLE_BUNDLES` and `ORACLE_FIRST` set how many random bundles, and the seed of the first.
"""

from __future__ import annotations

import json
import os

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
from tests.suites.oracle_bundles import Chance
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
        assert graded_twice(chance.bundle(), chance.floors(DEFAULT_FLOORS)) == [], f"seed {seed}"


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

LANG = ["", ' lang=""', ' lang=" "', ' lang="en"', ' lang="es-MX"', ' lang="."', ' lang="en_GB"']
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
    *('<input type="checkbox"{name}>', '<a href="/"{name}></a>', '<a href="/"{name}>Home</a>', "<a{name}></a>"),
    *('<div contenteditable="true"{name}>Written</div>', '<div contenteditable="false"{name}></div>'),
    *("<button{name}>Send</button>", "<button{name}></button>", "<button{name}> </button>"),
]
LIVE = [
    *("", '<div aria-live="polite"></div>', '<div aria-live="assertive"></div>', '<div aria-live="off"></div>'),
    *('<script aria-live="polite"></script>', '<br role="status">', '<style role="log"></style>'),
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
