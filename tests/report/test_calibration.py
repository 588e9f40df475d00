from __future__ import annotations

import json
from fractions import Fraction

import pytest
from scipy import stats

from plumbline.canonical import canonical_sha256
from plumbline.errors import ConfigurationError
from plumbline.evidence.labels import read_labels, seal_labels
from plumbline.judge.lexical import LexicalJudge
from plumbline.report.calibration import calibrate, lines, to_json
from tests.bundles import bundle, item


def calibrated(right, wrong, *, others=0, threshold="0.5", split=None, labeller=None, target="t"):
    """A judge that agrees on `right` (pass, fail) items and not on `wrong` ones, with `others` that nobody labelled."""
    items, answers, labels = [], {}, []
    rows = [("pass", "pass")] * right[0] + [("fail", "fail")] * right[1]
    rows += [("pass", "fail")] * wrong[0] + [("fail", "pass")] * wrong[1] + [(None, "pass")] * others
    for number, (people, judge) in enumerate(rows):
        key = f"q{number}"
        items.append(item(key, expected="one two three"))
        answers[key] = "one two three" if judge == "pass" else "no"
        if people:
            labels.append({"id": key, "label": people, "labeller": labeller})
    data = bundle(items, answers)
    sealed = seal_labels("".join(json.dumps(row) + "\n" for row in labels).encode(), data, file="l")
    return calibrate(
        target, data, LexicalJudge(), read_labels(sealed, data, file="l"), threshold=Fraction(threshold), split=split
    )


def test_figures():
    found = calibrated((40, 18), (10, 2), others=100)
    assert (found.items, found.labelled) == (170, 70)
    assert (found.sensitivity.value, found.specificity.value) == (0.8, 0.9)
    for rate, counts in ((found.sensitivity, (40, 50)), (found.specificity, (18, 20)), (found.agreement, (58, 70))):
        theirs = stats.binomtest(*counts).proportion_ci(0.95, method="exact")
        assert (rate.lower, rate.upper) == pytest.approx((theirs.low, theirs.high), abs=2e-6)
    assert found.judge_pass_rate.value == found.judge_mean_score == round(142 / 170, 6)
    corrected = found.corrected
    assert corrected.rogan_gladen.value == 1
    assert corrected.rogan_gladen.clipped
    assert corrected.prediction_powered.value == pytest.approx(142 / 170 + 8 / 70, abs=1e-6)


def test_the_digest_is_of_the_document():
    document = json.loads(to_json(calibrated((40, 18), (10, 2))))
    told = document.pop("calibration_sha256")
    assert told == canonical_sha256(document)


def test_agreement_on_everything_has_no_interval_for_kappa():
    found = calibrated((30, 30), (0, 0))
    assert (found.kappa.value, found.kappa.lower, found.kappa.upper) == (1, None, None)
    assert any("no interval" in line for line in lines(found))
    assert found.corrected.rogan_gladen.lower < 0.5 < found.corrected.rogan_gladen.upper


@pytest.mark.parametrize(("right", "wrong"), [((9, 30), (0, 0)), ((30, 9), (0, 0)), ((30, 5), (0, 4))])
def test_too_few_of_a_class(right, wrong):
    with pytest.raises(ConfigurationError, match="fewer than 10"):
        calibrated(right, wrong)


def test_ten_of_a_class_are_enough():
    assert calibrated((10, 10), (0, 0)).labelled == 20


@pytest.mark.parametrize(("right", "wrong"), [((5, 5), (5, 5)), ((2, 8), (18, 2)), ((0, 0), (20, 20))])
def test_no_better_than_chance(right, wrong):
    with pytest.raises(ConfigurationError, match="no better than chance"):
        calibrated(right, wrong)


def test_the_threshold_decides_what_passes():
    assert calibrated((20, 20), (0, 0), threshold="1").threshold == 1
    assert "a score of at least 0.25 is a pass" in "\n".join(lines(calibrated((20, 20), (0, 0), threshold="0.25")))


def test_hostile_names_stay_on_their_line():
    found = calibrated((20, 20), (0, 0), labeller="x\n::error::y\x1b[2J", target="t\nGATE: PASS")
    for line in lines(found):
        assert "\n" not in line
        assert "\x1b" not in line
        assert not line.startswith(("::", "GATE"))
