"""Does every kind of score get the interval, the effect and the keys it should?"""

import json
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.statistics import describe as describe_module
from plumbline.statistics.describe import SCALE, describe
from plumbline.statistics.intervals import bootstrap_gap, bootstrap_mean, wilson
from plumbline.statistics.power import mde_from_se, mde_proportion
from plumbline.statistics.rng import suite_seed

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
fractions = st.fractions(0, 1, max_denominator=50)


def run(kind, scores=(), **more):
    return describe(kind, list(scores), run_seed=7, suite_id="suite", floor=Fraction(3, 4), **more)


def test_proportion_between():
    found = run("proportion", [ONE, ONE, ONE, ZERO])
    exact = wilson(3, 4)
    assert (found.ci.lower, found.ci.upper) == (round(exact.lower, 4), round(exact.upper, 4))
    assert found.ci.confidence == 0.95
    assert "Wilson" in found.ci.method
    assert found.mde == round(mde_proportion(3, 4), 4)
    assert list(found.stats) == ["score_kind", "n", "successes", "power", "mde_method", "resamples"]
    assert "normal approximation" in found.stats["mde_method"]
    assert {**found.stats, "mde_method": ""} == {
        "score_kind": "proportion",
        "n": 4,
        "successes": 3,
        "power": 0.8,
        "mde_method": "",
        "resamples": None,
    }


@pytest.mark.parametrize(("score", "successes"), [(ZERO, 0), (ONE, 12)])
def test_proportion_at_an_end(score, successes):
    found = run("proportion", [score] * 12)
    assert found.mde == 0.25
    assert found.ci.upper - found.ci.lower == pytest.approx(0.2425, abs=1e-4)
    assert list(found.stats) == ["score_kind", "n", "successes", "power", "mde_method", "resamples"]
    assert "rule of three" in found.stats["mde_method"]
    assert found.stats["successes"] == successes


@pytest.mark.parametrize("scores", [[], [HALF]])
@pytest.mark.parametrize("kind", ["mean"])
def test_mean_of_too_few(kind, scores):
    found = run(kind, scores)
    assert found.ci is None
    assert found.mde is None
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "reason"]
    assert found.stats["n"] == len(scores)


@pytest.mark.parametrize("score", [ZERO, ONE])
def test_mean_of_equal_scores_at_an_end(score):
    found = run("mean", [score] * 30)
    exact = wilson(int(score) * 30, 30)
    assert (found.ci.lower, found.ci.upper) == (round(exact.lower, 4), round(exact.upper, 4))
    assert "Wilson" in found.ci.method
    assert found.ci.method != exact.method
    assert found.mde == 0.1
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "mde_method"]
    assert found.stats["resamples"] is None


def test_mean_of_equal_scores_elsewhere():
    found = run("mean", [HALF] * 30)
    assert found.ci is None
    assert found.mde == 0.1
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "mde_method", "reason"]


@settings(max_examples=10, deadline=None)
@given(st.lists(fractions, min_size=2, max_size=20).filter(lambda scores: len(set(scores)) > 1))
def test_mean_of_anything_else(scores):
    found = run("mean", scores)
    exact = bootstrap_mean([round(score * SCALE) for score in scores], SCALE, suite_seed(7, "suite"))
    assert (found.ci.lower, found.ci.upper) == (round(exact.lower, 4), round(exact.upper, 4))
    assert found.mde == round(mde_from_se(exact.se, len(scores)), 4)
    assert "bootstrap" in found.ci.method
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "mde_method"]
    assert (found.stats["n"], found.stats["resamples"]) == (len(scores), 2000)
    assert "bootstrap" in found.stats["mde_method"]


def test_gap_with_a_lonely_item():
    found = run("gap", groups={"a": [ONE, ZERO], "b": [ONE]})
    assert found.ci is None
    assert found.mde is None
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "reason"]
    assert found.stats["n"] == 3


def test_gap():
    groups = {"b": [ONE, HALF, ZERO], "a": [ONE, ONE, HALF]}
    found = run("gap", groups=groups)
    scaled = {name: [int(score * SCALE) for score in group] for name, group in groups.items()}
    exact = bootstrap_gap(scaled, SCALE, suite_seed(7, "suite"))
    assert (found.ci.lower, found.ci.upper) == (round(exact.lower, 4), round(exact.upper, 4))
    assert found.mde == round(mde_from_se(exact.se, 6), 4)
    assert found.stats["n"] == 6
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "mde_method"]
    assert "bootstrap" in found.stats["mde_method"]


def test_gap_without_spread():
    found = run("gap", groups={"a": [ONE] * 6, "b": [ONE] * 6})
    assert found.mde == 0.25
    assert "rule of three" in found.stats["mde_method"]


def test_census():
    found = run("census", [ONE] * 5, census_reason="five checks are all there are")
    assert found.ci is None
    assert found.mde is None
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "reason"]
    assert found.stats["reason"] == "five checks are all there are"
    assert found.stats["n"] == 5


def test_figures_that_must_never_move():
    # From the plain-Python reference in splitmix.py; a change of any digit changes every report ever sealed.
    scores = [Fraction(i, 23) for i in range(24)]
    found = run("mean", scores)
    assert (found.ci.lower, found.ci.upper, found.mde) == (0.3786, 0.6214, 0.2437)
    found = run("gap", groups={"en": scores[8:], "es": scores[:16]})
    assert (found.ci.lower, found.ci.upper, found.mde) == (0.519, 0.7908, 0.2776)


def test_suites_and_runs_resample_apart():
    scores = [Fraction(i, 40) for i in range(41)]
    found = {
        describe("mean", scores, run_seed=seed, suite_id=suite, floor=HALF).ci
        for seed in (1, 2)
        for suite in ("a", "b")
    }
    assert len(found) == 4


@settings(max_examples=10, deadline=None)
@given(st.lists(fractions, min_size=2, max_size=8), st.integers(0, 2**63))
def test_the_same_again(scores, seed):
    one, other = (describe("mean", scores, run_seed=seed, suite_id="s", floor=HALF) for _ in range(2))
    assert one == other


def test_scores_closer_than_the_scale_are_equal():
    tiny = Fraction(1, 10 * SCALE)
    found = run("mean", [ONE, ONE - tiny])
    assert found.ci is not None
    assert "Wilson" in found.ci.method


def test_ties_of_the_scale_go_to_the_even_one():
    half_unit = Fraction(1, 2 * SCALE)
    assert describe_module.scaled([half_unit, 3 * half_unit, Fraction(1, 3)]) == [0, 2, 333333333]


@pytest.mark.parametrize(
    ("kind", "scores", "more"),
    [
        ("proportion", [], {}),
        ("proportion", [HALF], {}),
        ("mean", [Fraction(3, 2)], {}),
        ("mean", [Fraction(-1, 2)], {}),
        ("census", [Fraction(2)], {"census_reason": "all"}),
        ("gap", [], {}),
        ("gap", [], {"groups": {}}),
        ("gap", [], {"groups": {"a": [ONE, ONE]}}),
        ("gap", [], {"groups": {"a": [ONE, ONE], "b": [Fraction(2), ONE]}}),
        ("mean", [ONE], {"groups": {"a": [ONE]}}),
        ("census", [ONE], {}),
        ("census", [ONE], {"census_reason": ""}),
        ("mean", [ONE], {"census_reason": "all"}),
    ],
)
def test_what_cannot_be_is_refused(kind, scores, more):
    with pytest.raises(ValueError, match=r"score|item|groups|reason"):
        run(kind, scores, **more)


def test_stats_are_plain_json():
    for found in (
        run("mean", [ONE, ZERO]),
        run("proportion", [ONE]),
        run("census", [ONE], census_reason="all"),
        run("gap", groups={"a": [ONE, ZERO], "b": [ONE, HALF]}),
    ):
        assert json.loads(json.dumps(found.stats)) == found.stats


def test_a_run_without_resampling_loads_no_numpy():
    script = (
        "import sys\n"
        "from fractions import Fraction\n"
        "from plumbline.statistics.describe import describe\n"
        "for kind in ('proportion', 'mean'):\n"
        "    describe(kind, [Fraction(1)] * 3, run_seed=1, suite_id='s', floor=Fraction(1, 2))\n"
        "print('numpy' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"
