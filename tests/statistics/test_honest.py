"""Does every score get the bound, the effect and the reason that are its own?"""

from fractions import Fraction

import pytest

from plumbline.statistics.bounds import bounds, exact_lower
from plumbline.statistics.clusters import moments
from plumbline.statistics.gap import gap, gap_bounds
from plumbline.statistics.honest import of_gap, of_mean, rounded_down, rounded_up
from plumbline.statistics.power import would_notice, would_notice_gap

FLOOR = Fraction(3, 4)


def mean_of(scores, clusters=None):
    found = moments(scores, 2, clusters)
    return found, of_mean(found, FLOOR)


@pytest.mark.parametrize(
    ("scores", "method"),
    [
        ([0] * 8, "every item scored 0"),
        ([2] * 8, "Clopper-Pearson interval on clusters"),
        ([1] * 8, "largest variance"),
        ([2] * 7 + [0], "Jeffreys interval on the effective sample size"),
    ],
)
def test_the_bound_says_by_which_method(scores, method):
    found, honest = mean_of(scores)
    assert method in honest.lower_bound_method
    assert honest.lower_bound == rounded_down(bounds(found).lower)
    assert honest.could_be_failing == float(1 - honest.lower_bound)
    assert honest.clusters == 8


def test_a_score_of_0_has_nothing_left_to_fall():
    _, honest = mean_of([0] * 8)
    assert (honest.would_notice, honest.would_notice_method) == (None, None)
    assert honest.missing["would_notice"].code == "score_is_0"
    assert "cannot fall" in honest.missing["would_notice"].sentence


@pytest.mark.parametrize("scores", [[2, 0], [2, 2]])
def test_a_sample_that_notices_nothing_says_so(scores):
    found, honest = mean_of(scores)
    assert would_notice(found) is None
    assert honest.missing["would_notice"].code == "beyond_the_scale"
    assert "fall to 0" in honest.missing["would_notice"].sentence


def test_a_fall_that_would_be_noticed_is_rounded_up_and_its_method_named():
    found, honest = mean_of([2] * 36 + [0] * 4)
    drop = would_notice(found)
    assert drop.size <= honest.would_notice < drop.size + 1e-4
    assert honest.would_notice_method == drop.method
    assert honest.missing == {}


def test_the_design_effect_is_that_of_the_sample():
    found, honest = mean_of([2, 2, 2, 2, 2, 0, 0], ["a", "a", "b", "b", "c", "d", "d"])
    assert (honest.clusters, honest.design_effect) == (4, round(float(found.design_effect), 4))
    assert honest.design_effect != round(honest.design_effect)
    _, without_spread = mean_of([1] * 8)
    assert without_spread.design_effect is None
    assert without_spread.missing["design_effect"].code == "no_spread"
    assert "differs" in without_spread.missing["design_effect"].sentence


def test_one_cluster_shows_nothing():
    _, honest = mean_of([2, 0], ["a", "a"])
    assert (honest.clusters, honest.lower_bound, honest.floor_resolved) == (1, None, None)
    assert {reason.code for reason in honest.missing.values()} == {"one_cluster"}
    assert all("one cluster" in reason.sentence for reason in honest.missing.values())


@pytest.mark.parametrize(
    ("pairs", "method"), [([(2, 2)] * 30, "Clopper-Pearson"), ([(2, 2)] * 27 + [(2, 0)] * 2 + [(0, 2)], "t interval")]
)
def test_a_gap_says_by_which_method(pairs, method):
    keys = list(range(len(pairs)))
    found = gap({"a": [one for one, _ in pairs], "b": [two for _, two in pairs]}, 2, {"a": keys, "b": keys})
    honest = of_gap(found, FLOOR)
    assert method in honest.lower_bound_method
    assert honest.lower_bound == rounded_down(gap_bounds(found).lower)
    assert honest.clusters == found.clusters == 30
    drop = would_notice_gap(found)
    assert honest.would_notice == float(rounded_up(drop.size))
    assert honest.would_notice_method == drop.method
    effect = found.design_effect
    assert honest.design_effect == (None if effect is None else round(float(effect), 4))


def test_a_gap_that_notices_nothing_says_so():
    found = gap({"a": [2, 0], "b": [0, 2]}, 2)
    assert would_notice_gap(found) is None
    reason = of_gap(found, FLOOR).missing["would_notice"]
    assert reason.code == "beyond_the_scale"
    assert "fall to 0" in reason.sentence


def test_a_bound_that_equals_the_floor_resolves_it():
    found = moments([2] * 20, 2)
    bound = rounded_down(exact_lower(20))
    assert of_mean(found, bound).floor_resolved
    assert not of_mean(found, bound + Fraction(1, 10_000)).floor_resolved


@pytest.mark.parametrize(
    ("value", "down", "up"),
    [(0.5, 5000, 5000), (0.50001, 5000, 5001), (-0.25, 0, 0), (1.25, 10_000, 10_000), (0.99999, 9999, 10_000)],
)
def test_rounding_is_against_the_target_and_stays_in_range(value, down, up):
    assert (rounded_down(value), rounded_up(value)) == (Fraction(down, 10_000), Fraction(up, 10_000))
