"""Does every kind of score get the interval, the effect and the keys it should?"""

import json
import math
import subprocess
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from plumbline.statistics import describe as describe_module
from plumbline.statistics.bounds import bounds
from plumbline.statistics.clusters import moments
from plumbline.statistics.describe import describe
from plumbline.statistics.gap import gap, gap_bounds
from plumbline.statistics.intervals import bootstrap_gap, bootstrap_mean, wilson
from plumbline.statistics.power import mde_from_se, mde_proportion
from plumbline.statistics.rng import suite_seed
from plumbline.statistics.scale import SCALE, scaled

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


FACTS = ["a", "a", "a", "b", "b", "c", "d", "d"]
MIXED = [ONE, ONE, ZERO, ONE, ONE, ONE, ZERO, ZERO]


def test_clusters_of_a_proportion():
    found = run("proportion", MIXED, clusters=FACTS)
    exact = moments(scaled(MIXED), SCALE, FACTS)
    between = bounds(exact)
    # Rounded so that nothing printed is narrower than what was found.
    assert 0 <= between.lower - found.ci.lower < 1e-4
    assert 0 <= found.ci.upper - between.upper < 1e-4
    assert "cluster-robust" in found.ci.method
    assert found.mde == round(mde_from_se(math.sqrt(exact.variance), 8), 4)
    assert found.stats == {
        "score_kind": "proportion",
        "n": 8,
        "successes": 5,
        "power": 0.8,
        "resamples": None,
        "clusters": 4,
        "design_effect": round(float(exact.design_effect), 4),
        "mde_method": found.stats["mde_method"],
    }
    assert "cluster-robust" in found.stats["mde_method"]


def test_clusters_of_a_mean():
    scores = [Fraction(i % 7, 6) for i in range(60)]
    found = run("mean", scores, clusters=[i // 3 for i in range(60)])
    assert list(found.stats) == ["score_kind", "n", "power", "resamples", "clusters", "design_effect", "mde_method"]
    assert (found.stats["clusters"], found.stats["resamples"]) == (20, None)
    variance = moments(scaled(scores), SCALE, [i // 3 for i in range(60)]).variance
    assert found.mde == round(mde_from_se(math.sqrt(variance), 60), 4)


@pytest.mark.parametrize("kind", ["proportion", "mean"])
def test_perfect_clusters_are_exact(kind):
    found = run(kind, [ONE] * 48, clusters=[i // 2 for i in range(48)])
    assert (found.ci.lower, found.ci.upper) == (0.8575, 1)
    assert "Clopper-Pearson" in found.ci.method
    assert found.mde == 0.125
    assert "on clusters" in found.stats["mde_method"]
    assert found.stats["design_effect"] is None
    honest = found.honest
    assert (honest.clusters, honest.lower_bound, honest.could_be_failing) == (24, Fraction(8575, 10000), 0.1425)
    assert honest.missing["design_effect"].code == "no_spread"
    assert found.floor_resolved is True
    # Five of 24 clusters must fail, which four times in five happens at this rate.
    assert found.would_notice == 0.2643
    assert stats.binom.sf(4, 24, 0.2643) == pytest.approx(0.8, abs=1e-3)


def test_failed_clusters():
    found = run("proportion", [ZERO] * 6, clusters=[1, 1, 2, 2, 3, 3])
    assert (found.ci.lower, found.ci.upper) == (0, 0.7076)
    assert (found.could_be_failing, found.floor_resolved, found.would_notice) == (1, False, None)
    assert found.honest.missing["would_notice"].code == "score_is_0"


def test_one_cluster_shows_nothing():
    found = run("mean", [ONE, HALF], clusters=["a", "a"])
    assert found.ci is None
    assert found.mde is None
    assert found.stats["reason"]
    for name in ("lower_bound", "floor_resolved", "could_be_failing", "would_notice", "design_effect"):
        assert getattr(found.honest, name) is None
        assert found.honest.missing[name].code == "one_cluster"
    assert found.honest.clusters == 1


def test_equal_clusters_elsewhere():
    found = run("mean", [HALF] * 30, clusters=[i // 2 for i in range(30)])
    assert found.ci is None
    assert found.mde == 0.2
    assert found.stats["reason"]
    # Without any spread the largest possible is assumed: 15 passes or failures.
    theirs = proportion_confint(7.5, 15, 0.05, method="jeffreys")[0]
    assert float(found.lower_bound) <= theirs
    assert "largest variance" in found.honest.lower_bound_method


def test_distinct_keys_are_no_clusters():
    scores = [Fraction(i, 23) for i in range(24)]
    assert run("mean", scores, clusters=list(range(24))) == run("mean", scores)
    assert run("proportion", [ONE, ZERO, ONE], clusters="abc") == run("proportion", [ONE, ZERO, ONE])


def test_order_of_items_is_irrelevant_in_closed_form():
    one = run("mean", [ONE, HALF, ZERO, ONE], clusters=["a", "a", "b", "c"])
    assert run("mean", [ONE, ZERO, HALF, ONE], clusters=["c", "b", "a", "a"]) == one


def test_a_gap_is_paired_within_facts():
    groups = {"en": [ONE, ONE, ZERO, HALF] * 6, "es": [ONE, HALF, ZERO, HALF] * 6}
    keys = dict.fromkeys(groups, range(24))
    found = run("gap", groups=groups, group_clusters=keys)
    assert "paired" in found.ci.method
    assert found.stats["paired"] is True
    assert found.stats["clusters"] == 24
    exact = gap_bounds(gap({name: scaled(group) for name, group in groups.items()}, SCALE, keys))
    assert 0 <= exact.lower - found.ci.lower < 1e-4
    assert found.lower_bound == Fraction(str(found.ci.lower))
    # The items of a language share facts among themselves, not with the other language.
    apart = run("gap", groups=groups, group_clusters={"en": [("e", i // 2) for i in range(24)], "es": range(24)})
    assert "paired" not in apart.ci.method
    assert apart.stats["paired"] is False


def test_a_perfect_gap():
    found = run("gap", groups=dict.fromkeys("ab", [ONE] * 24), group_clusters=dict.fromkeys("ab", range(24)))
    assert (found.ci.lower, found.ci.upper, found.mde) == (0.8575, 1, 0.125)
    assert "Clopper-Pearson" in found.ci.method
    assert found.stats["design_effect"] is None


def test_a_gap_over_too_few_clusters():
    found = run("gap", groups={"a": [ONE, ZERO], "b": [ONE, ONE]}, group_clusters={"a": [1, 1], "b": [1, 2]})
    assert found.ci is None
    assert found.honest.missing["lower_bound"].code == "too_few_clusters_in_group"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(fractions, st.integers(0, 5)), min_size=1, max_size=20), fractions)
def test_the_honest_figures_agree_with_each_other(items, floor):
    scores, keys = [score for score, _ in items], [key for _, key in items]
    found = describe("mean", scores, run_seed=1, suite_id="s", floor=floor, clusters=keys)
    honest = found.honest
    for name in ("lower_bound", "floor_resolved", "could_be_failing", "would_notice", "design_effect"):
        assert (getattr(honest, name) is None) == (name in honest.missing)
    if honest.lower_bound is not None:
        assert (honest.lower_bound * 10_000).denominator == 1
        assert honest.floor_resolved == (honest.lower_bound >= floor)
        assert honest.could_be_failing == float(1 - honest.lower_bound)
        assert honest.lower_bound <= sum(scores) / len(scores) + Fraction(1, SCALE)
    if honest.would_notice is not None:
        assert 0 < honest.would_notice <= 1
    if found.ci is not None and len(set(keys)) < len(keys):
        assert found.ci.lower == float(honest.lower_bound)


def test_the_closed_form_takes_over_where_resampling_agrees():
    scores = [Fraction(i % 10, 9) for i in range(describe_module.RESAMPLED)]
    resampled, closed = run("mean", scores), run("mean", [*scores, ONE])
    assert (resampled.stats["resamples"], closed.stats["resamples"]) == (2000, None)
    assert "bootstrap" not in closed.ci.method + closed.stats["mde_method"]
    assert closed.ci.lower == pytest.approx(resampled.ci.lower, abs=5e-4)
    assert closed.ci.upper == pytest.approx(resampled.ci.upper, abs=5e-4)
    assert closed.mde == pytest.approx(resampled.mde, rel=0.05)
    half = len(scores) // 2 + 1
    resampled = run("gap", groups={"a": scores[: half - 1], "b": scores[::-1][: half - 1]})
    closed = run("gap", groups={"a": scores[:half], "b": scores[::-1][:half]})
    assert (resampled.stats["resamples"], closed.stats["resamples"]) == (2000, None)
    assert "bootstrap" not in closed.ci.method + closed.stats["mde_method"]
    assert "clusters" not in closed.stats
    assert closed.mde == pytest.approx(resampled.mde, rel=0.75)


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
    assert scaled([half_unit, 3 * half_unit, Fraction(1, 3)]) == [0, 2, 333333333]


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
        ("mean", [ONE, ONE], {"clusters": ["a"]}),
        ("mean", [ONE], {"group_clusters": {"a": ["a"]}}),
    ],
)
def test_what_cannot_be_is_refused(kind, scores, more):
    with pytest.raises(ValueError, match=r"score|item|group|reason"):
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
