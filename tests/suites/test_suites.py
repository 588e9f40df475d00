from __future__ import annotations

from fractions import Fraction

import pytest

from plumbline.audit.locate import Locator
from plumbline.errors import ConfigurationError, EmptyPopulationError
from plumbline.judge.lexical import LexicalJudge
from plumbline.suites.accuracy import Accuracy
from plumbline.suites.base import REASONS, Status, Verdict, exact_mean
from plumbline.suites.refusal import Refusal
from plumbline.suites.registry import IMPLEMENTED, create
from plumbline.suites.smoke import Smoke
from tests.bundles import bundle, item, refuse


def run(suite, items, responses, floor=None):
    return suite.evaluate(
        bundle(items, responses), LexicalJudge(), suite.default_floor if floor is None else Fraction(floor)
    )


def only(result):
    (outcome,) = result.outcomes
    return outcome


class TestSmoke:
    def test_a_readable_response_passes(self):
        result = run(Smoke(), [item("a")], {"a": "Yes."})
        assert (result.score, result.verdict, result.n) == (1, Verdict.PASS, 1)

    @pytest.mark.parametrize(
        ("response", "reason"), [("", "silent"), (None, "silent"), ("...", "unreadable"), ("[src-a]", "unreadable")]
    )
    def test_silence_fails_and_says_how(self, response, reason):
        result = run(Smoke(), [item("a"), item("b")], {"a": response, "b": "Yes."})
        assert (result.score, result.verdict) == (Fraction(1, 2), Verdict.FAIL)
        assert (result.outcomes[0].status, result.outcomes[0].reason) == (Status.FAIL, reason)
        assert result.outcomes[0].causes == ("silence",)

    def test_a_missing_record_is_silence_and_points_at_the_item(self):
        outcome = only(run(Smoke(), [item("a")], {}))
        assert (outcome.reason, outcome.spans[0].role) == ("silent", "items")

    def test_a_null_response_points_at_its_record(self):
        assert only(run(Smoke(), [item("a")], {"a": None})).spans[0].path == ("id",)


class TestAccuracy:
    @pytest.mark.parametrize(
        "said",
        [
            *("900 [src-850]", "900 [^src-850]", "900 (src-850)", "900 src-850.", "900 [src-850", "900 [1](src-850)"),
            *("900 [Fare table 850]", "900 \u3010src-850\u2020L1\u3011", "900 src-850/src-850"),
        ],
    )
    def test_no_spelling_of_a_source_id_states_its_number(self, said):
        evidence = bundle(
            [item("a", expected="It is 850.", load_bearing=True)],
            {"a": said},
            sources=[{"id": "src-850", "text": "Words."}, {"id": "Fare table 850", "text": "Words."}],
        )
        assert only(Accuracy().evaluate(evidence, LexicalJudge(), Fraction(1, 10))).reason == "missing_number"

    @pytest.mark.parametrize("said", ["It is 850 [src-850].", "src-850 says 850", "See src-850: it is 850"])
    def test_the_number_beside_a_source_id_counts(self, said):
        evidence = bundle(
            [item("a", expected="It is 850.", load_bearing=True)],
            {"a": said},
            sources=[{"id": "src-850", "text": "Words."}],
        )
        assert only(Accuracy().evaluate(evidence, LexicalJudge(), Fraction(1, 10))).status == Status.PASS

    @pytest.mark.parametrize("marker", ["[src-850]", "[^src-850]", "\u3010src-850\u3011"])
    def test_an_id_that_the_reference_only_cites_states_no_number_when_it_stands_bare(self, marker):
        evidence = bundle(
            [item("a", expected=f"It is 850 {marker}.", load_bearing=True)],
            {"a": "It is 900, see src-850."},
            sources=[{"id": "src-850", "text": "Words."}],
        )
        assert only(Accuracy().evaluate(evidence, LexicalJudge(), Fraction(1, 10))).reason == "missing_number"

    def test_an_id_that_the_reference_names_is_part_of_the_answer(self):
        evidence = bundle(
            [item("a", expected="File form I-130.", load_bearing=True)],
            {"a": "File form I-130."},
            sources=[{"id": "I-130", "text": "Words."}],
        )
        assert only(Accuracy().evaluate(evidence, LexicalJudge(), Fraction(1, 10))).status == Status.PASS

    def test_the_score_is_the_exact_mean(self):
        items = [item("a", expected="one two three"), item("b", expected="one two three")]
        result = run(Accuracy(), items, {"a": "one two three", "b": "one two four"})
        assert result.score == Fraction(5, 6)

    def test_a_score_that_equals_its_floor_passes(self):
        items = [item("a", expected="1 2 3 4 5 6 7 8 9 10")] + [item(f"b{n}", expected="x y z") for n in range(2)]
        responses = {"a": "1 2 3 4 5 6 7 x y z", "b0": "x y q", "b1": "x y z"}
        result = run(Accuracy(), items, responses, floor=Fraction(7, 10) / 3 + Fraction(2, 9) + Fraction(1, 3))
        assert (result.score == result.floor, result.verdict) == (True, Verdict.PASS)

    def test_three_tenths_thrice_meet_a_floor_of_three_tenths(self):
        # In binary floating point 0.7 + 0.7 + 0.7 over 3 falls short of 0.7.
        items = [item(key, expected="1 2 3 4 5 6 7 8 9 10") for key in "abc"]
        result = run(Accuracy(), items, dict.fromkeys("abc", "1 2 3 4 5 6 7 x y z"), floor="7/10")
        assert (result.score, result.verdict) == (Fraction(7, 10), Verdict.PASS)

    def test_one_wrong_load_bearing_number_fails_whatever_the_mean(self):
        items = [item("a", load_bearing=True)] + [item(f"n{n}") for n in range(50)]
        responses = {"a": "It costs 900 dollars.", **{f"n{n}": "It costs 850 dollars." for n in range(50)}}
        result = run(Accuracy(), items, responses)
        assert result.score > Fraction(9, 10)
        assert (result.verdict, result.hard_failures) == (Verdict.FAIL, ("a",))
        outcome = result.outcomes[0]
        assert (outcome.reason, outcome.facts["missing_numbers"]) == ("missing_number", ["850"])
        said, wanted = outcome.spans
        assert ("It costs 900 dollars."[said.start : said.end], said.role) == ("900", "responses")
        assert ("It costs 850 dollars."[wanted.start : wanted.end], wanted.role) == ("850", "items")

    def test_a_number_in_a_citation_is_no_answer(self):
        result = run(Accuracy(), [item("a", load_bearing=True)], {"a": "It costs 900 dollars [src-850]."})
        assert result.hard_failures == ("a",)

    @pytest.mark.parametrize(
        ("source", "response"),
        [
            ("850", "The limit is in [850]."),
            ("src-850", "The limit is 900 [src-1, src-850]."),
            ("fares/850", "The limit is 900 [fares/850]."),
            ("s", "The limit is 900 [s; 850]."),
            ("s", "The limit is 900 [s|src-850]."),
            ("s", "The limit is 900 [s/850]."),
            ("s", "The limit is 900 [s, [x] 850]."),
            ("s", "The limit is 900 [850 [s] x]."),
            ("s", "The limit is 900 [s][s, 850]."),
            ("s", "The limit is 900 [" + "s, " * 500 + "850]."),
            ("850", "The limit is 900 [850.]."),
            ("850", 'The limit is 900 ["850"].'),
            ("850", "The limit is 900 [#850]."),
        ],
    )
    def test_a_passage_named_in_brackets_is_no_answer_however_it_is_named(self, source, response):
        evidence = bundle(
            [item("a", load_bearing=True)], {"a": response}, sources=[{"id": source, "text": "A passage."}]
        )
        assert Accuracy().evaluate(evidence, LexicalJudge(), Fraction(1, 100)).hard_failures == ("a",)

    def test_the_passage_that_states_the_number_is_named(self):
        text = "Since 2020 the limit is 850 dollars."
        sources = [{"id": "s", "text": text}, {"id": "t", "text": "In 850 days."}]
        items = [item("a", load_bearing=True, sources=["t", "s"], answering_sources=["s"])]
        evidence = bundle(items, {"a": "It costs 900 dollars."}, sources=sources)
        (outcome,) = Accuracy().evaluate(evidence, LexicalJudge(), Fraction(3, 4)).outcomes
        (span,) = (span for span in outcome.spans if span.role == "sources")
        assert (span.record, text[span.start : span.end]) == ("s", "850")
        place = Locator(evidence).place(span)
        assert (place.file, place.line) == ("sources.jsonl", 1)

    def test_brackets_of_a_reference_keep_their_number(self):
        items = [item("a", load_bearing=True, expected="You need form [I-130] today.")]
        assert run(Accuracy(), items, {"a": "You need form I-99 today."}).hard_failures == ("a",)
        assert run(Accuracy(), items, {"a": "You need form I-130 today."}).hard_failures == ()

    def test_an_answer_that_repeats_its_reference_never_fails_for_a_number(self):
        items = [item("a", load_bearing=True, expected="Use form [A850] now.")]
        assert run(Accuracy(), items, {"a": "Use form [A850] now."}).hard_failures == ()

    @pytest.mark.parametrize(("answer", "hard"), [("900", ("a",)), ("850", ())])
    def test_a_marker_of_the_reference_states_no_number_of_its_prose(self, answer, hard):
        items = [item("a", load_bearing=True, expected="It costs 850 dollars, see form [I-850].")]
        said = f"It costs {answer} dollars, see form [I-850]."
        assert run(Accuracy(), items, {"a": said}).hard_failures == hard

    def test_numbers_are_shown_as_they_are_written(self):
        items = [item("a", load_bearing=True, expected="It costs $1,080.00.")]
        outcome = only(run(Accuracy(), items, {"a": "It costs 2,50 dollars."}))
        assert outcome.note == "the reference answer states 1,080.00; the response states 2,50 instead"

    def test_the_number_of_an_item_that_is_not_load_bearing_fails_nothing_hard(self):
        assert run(Accuracy(), [item("a")], {"a": "It costs 900 dollars."}).hard_failures == ()

    def test_a_load_bearing_answer_without_any_number_points_at_the_whole_answer(self):
        outcome = only(run(Accuracy(), [item("a", load_bearing=True)], {"a": "It costs some dollars."}))
        assert (outcome.hard, outcome.spans[0].start) == (True, None)

    @pytest.mark.parametrize(("response", "reason"), [("", "silent"), ("…", "unreadable")])
    def test_silence_scores_zero_and_is_hard_on_a_load_bearing_item(self, response, reason):
        outcome = only(run(Accuracy(), [item("a", load_bearing=True)], {"a": response}))
        assert (outcome.score, outcome.reason, outcome.hard) == (0, reason, True)

    def test_silence_on_any_other_item_is_not_hard(self):
        assert not only(run(Accuracy(), [item("a")], {"a": ""})).hard

    def test_an_answer_without_a_shared_word_fails(self):
        outcome = only(run(Accuracy(), [item("a")], {"a": "Ask elsewhere!"}))
        assert (outcome.status, outcome.reason) == (Status.FAIL, "no_overlap")

    def test_a_failing_mean_names_the_items_that_pull_it_down(self):
        items = [item("good", expected="x y"), item("poor", expected="p q r s")]
        result = run(Accuracy(), items, {"good": "x y", "poor": "p z z z"}, floor="9/10")
        assert [(o.item, o.status, o.reason) for o in result.outcomes] == [
            ("good", Status.PASS, None),
            ("poor", Status.FAIL, "below_floor"),
        ]

    def test_a_passing_mean_names_nobody(self):
        items = [item("good", expected="x y"), item("poor", expected="p q r s")]
        result = run(Accuracy(), items, {"good": "x y", "poor": "p z z z"}, floor="1/2")
        assert {o.status for o in result.outcomes} == {Status.PASS}

    def test_refuse_items_are_outside_the_population(self):
        result = run(Accuracy(), [item("a"), refuse("r")], {"a": "It costs 850 dollars.", "r": "I can't help."})
        assert [outcome.item for outcome in result.outcomes] == ["a"]

    def test_only_refuse_items_are_an_empty_population(self):
        with pytest.raises(EmptyPopulationError, match="accuracy"):
            run(Accuracy(), [refuse("r")], {"r": "I can't help."})


class TestRefusal:
    ITEMS = (item("a"), refuse("r"))

    def test_both_directions_right(self):
        result = run(Refusal(), self.ITEMS, {"a": "It costs 850.", "r": "I can\u2019t advise on that."})
        assert (result.score, result.verdict) == (1, Verdict.PASS)

    def test_both_directions_wrong(self):
        result = run(Refusal(), self.ITEMS, {"a": "I can't help with that.", "r": "You will win."})
        assert [(o.item, o.reason) for o in result.outcomes] == [("a", "over_refusal"), ("r", "under_refusal")]
        assert (result.details["over_refusal_rate"], result.details["under_refusal_rate"]) == (1.0, 1.0)
        span = result.outcomes[0].spans[0]
        assert "I can't help with that."[span.start : span.end] == "I can't help"

    def test_silence_is_neither(self):
        result = run(Refusal(), self.ITEMS, {"a": "", "r": "?"})
        assert result.score == 0
        assert result.details["silent"] == ["a", "r"]
        assert result.details["over_refusals"] == result.details["under_refusals"] == []

    def test_a_direction_without_items_has_no_rate(self):
        result = run(Refusal(), [item("a")], {"a": "It costs 850."})
        assert result.details["under_refusal_rate"] is None


def test_the_exact_mean_equals_the_plain_one():
    scores = [Fraction(n % 7, n % 11 + 7) for n in range(200)]
    assert exact_mean(scores) == sum(scores, Fraction(0)) / 200


@pytest.mark.parametrize("suite_id", sorted(IMPLEMENTED))
def test_every_implemented_suite_can_be_made(suite_id):
    assert create(suite_id).id == suite_id


def test_an_unknown_suite_names_the_nearest():
    with pytest.raises(ConfigurationError, match="did you mean 'accuracy'"):
        create("acuracy")


def test_there_are_fifteen_suites_in_all():
    assert len(IMPLEMENTED) == 15
    assert all(create(suite_id).id == suite_id for suite_id in IMPLEMENTED)


def test_reasons_explain_themselves():
    assert all(reason.title and len(reason.help) > 40 for reason in REASONS.values())
