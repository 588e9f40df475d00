"""Would a text of the demonstration make a suite fail, or pass, for a reason that is the generator's?

`faults` names every such text. What a reader of the demonstration sees fail must have been planted by whoever shows it.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from fractions import Fraction

from plumbline.evidence.bundle import Bundle
from plumbline.evidence.schema import Item
from plumbline.judge.lexical import LexicalJudge
from plumbline.judge.screens import Phrases
from plumbline.judge.text import TextFeatures
from plumbline.suites.base import Status, grade_all
from plumbline.suites.registry import IMPLEMENTED, create

PAIRED = frozenset({"en", "es"})
"""The languages in which everything is asked; further languages join some facts."""
LOWEST_F1 = Fraction(3, 4)
MEAN_F1 = (Fraction(85, 100), Fraction(92, 100))
"""A recording that repeats its reference word for word would show nothing of how answers are scored."""
LEAD = Fraction(1, 10)
"""How much better the passage that answers must support an answer than any other that was retrieved."""
DISTINCT_PREFIX = 100
"""Code scanning tells lines apart by this many characters."""
UNDECLARED = "no_declaration"
"""The one reason for which an outcome may be no pass: some items leave `answering_sources` out, to be suggested."""


def faults(bundle: Bundle) -> list[str]:
    """Every text that must not go into the bundle, in words that name its item."""
    judge = LexicalJudge()
    found = [
        *(f"{item.id}: {fault}" for item in bundle.items for fault in _faults_of_item(bundle, judge, item)),
        *_faults_of_facts(bundle, judge),
        *_faults_of_groups(bundle),
        *_faults_of_lines(bundle),
        *_faults_of_page(bundle.page or ""),
    ]
    scores = [
        judge.answer_score(item.expected, bundle.response_text(item.id)) for item in bundle.items if item.expected
    ]
    mean = sum(scores, Fraction(0)) / len(scores)
    if not MEAN_F1[0] <= mean <= MEAN_F1[1]:
        found.append(f"the mean token F1 of the recorded answers is {float(mean):.3f}")
    # What has a fault above mostly fails a suite too, and would only be named twice.
    return found or list(_faults_by_suite(bundle, judge))


def _faults_of_item(bundle: Bundle, judge: LexicalJudge, item: Item) -> Iterator[str]:
    response = judge.features(bundle.response_text(item.id))
    said = [judge.features(text) for text in _turns(bundle, item)]
    if (response.refusal is not None) != (item.behavior == "refuse"):
        yield f"the lexical judge does not see the expected behavior {item.behavior!r}"
    yield from _faults_of_turns(item, said)
    for turn in said:
        if turn.language != item.lang:
            yield f"the judge takes the response to be in {turn.language!r}: {turn.text!r}"
        if turn.screened.find(Phrases(item.forbidden)):
            yield f"the response holds a forbidden string: {turn.text!r}"
        if turn.screened.asserted(item.forbidden_claims):
            yield f"a forbidden claim is made and not denied: {turn.text!r}"
        yield from _faults_of_numbers(bundle, judge, turn)
    if item.expected is not None:
        yield from _faults_of_answer(bundle, judge, item, response)


def _turns(bundle: Bundle, item: Item) -> list[str]:
    record = (bundle.responses or {})[item.id]
    return [text or "" for text in record.turn_responses or [record.response]]


def _faults_of_turns(item: Item, said: list[TextFeatures]) -> Iterator[str]:
    declined = [turn.refusal is not None for turn in said]
    if item.behavior == "answer" and any(declined):
        yield "a turn of an answered conversation reads as a refusal"
    if item.behavior == "refuse" and any(declined) and not all(declined[declined.index(True) :]):
        yield "a refusal does not hold until the last turn"


def _faults_of_numbers(bundle: Bundle, judge: LexicalJudge, turn: TextFeatures) -> Iterator[str]:
    cited = [bundle.sources[citation.source].text for citation in turn.citations if citation.source in bundle.sources]
    if not turn.number_values <= judge.features(" ".join(cited)).number_values:
        yield f"a number is in no cited passage: {turn.text!r}"


def _faults_of_answer(bundle: Bundle, judge: LexicalJudge, item: Item, response: TextFeatures) -> Iterator[str]:
    reference = judge.features(item.expected or "")
    score = judge.answer_score(reference.text, response.text)
    if score < LOWEST_F1:
        yield f"token F1 {float(score):.3f} is too far from the reference"
    if response.claim_words == reference.words:
        yield "the response copies the reference"
    if response.number_values != reference.number_values:
        yield "the numbers differ from the reference"
    cited = {citation.source for citation in response.citations} & set(item.sources)
    if not cited:
        yield "the response cites no passage that was retrieved"
        return
    others = set(item.sources) - cited
    if not others:
        yield "nothing but the passage that answers was retrieved"
    if item.answering_sources is not None and set(item.answering_sources) != cited:
        yield "the response cites another passage than the declared one"
    names = [*sorted(cited), *sorted(others)]
    passages = [judge.features(bundle.sources[name].text) for name in names]
    for text in (response, reference):
        hits = dict(zip(names, judge.word_hits(text, passages), strict=True))
        best = max(hits[name] for name in cited)
        for name in sorted(others):
            if Fraction(best - hits[name], len(text.content_words)) < LEAD:
                yield f"the passage {name!r} supports {text.text!r} nearly as well as the one that answers"


def _faults_of_facts(bundle: Bundle, judge: LexicalJudge) -> Iterator[str]:
    answers: dict[str, set[tuple[frozenset[str], bool]]] = defaultdict(set)
    languages: dict[str, set[str]] = defaultdict(set)
    for item in bundle.items:
        response = judge.features(bundle.response_text(item.id))
        answers[item.fact_id or item.id].add((response.number_values, response.refusal is not None))
        languages[item.fact_id or item.id].add(item.lang)
    for fact, found in answers.items():
        if len(found) > 1:
            yield f"{fact}: the answers disagree between languages or registers"
        if not languages[fact] >= PAIRED:
            yield f"{fact}: is not asked in every language"


def _faults_of_groups(bundle: Bundle) -> Iterator[str]:
    sizes = Counter((item.group, item.lang) for item in bundle.items if item.group is not None)
    if len(set(sizes.values())) != 1:
        yield f"the registers are not balanced: {dict(sizes)}"


def _faults_of_lines(bundle: Bundle) -> Iterator[str]:
    for role in ("items", "responses", "sources"):
        starts = Counter(line[:DISTINCT_PREFIX] for line in bundle.contents[role].decode().splitlines())
        yield from (f"{role}: two lines begin with {start!r}" for start, count in starts.items() if count > 1)


def _faults_of_page(page: str) -> Iterator[str]:
    block = re.search(r'<script id="plumbline-contrast" type="application/json">(.*?)</script>', page, re.DOTALL)
    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)
    if block is None or style is None:
        yield "interface: the page declares no colours, or has no style"
        return
    for pair in json.loads(block.group(1)):
        for colour in (pair["foreground"], pair["background"]):
            if colour not in style.group(1):
                yield f"interface: the page declares {colour} for {pair['name']!r} and does not use it"


def _faults_by_suite(bundle: Bundle, judge: LexicalJudge) -> Iterator[str]:
    suites = [create(name) for name in sorted(IMPLEMENTED)]
    for result in grade_all(bundle, judge, [(suite, suite.default_floor) for suite in suites]):
        if result.score < result.floor:
            yield f"suite {result.suite}: {float(result.score):.4f} is below its floor"
        for outcome in result.outcomes:
            if outcome.status != Status.PASS and outcome.reason != UNDECLARED:
                yield f"suite {result.suite}: {outcome.item} does not pass: {outcome.reason}"
