"""Is a gap between groups taken within clusters where it can be?"""

import math
from fractions import Fraction

import numpy as np
import pytest
import statsmodels.api
from hypothesis import given, settings
from hypothesis import strategies as st

from plumbline.statistics.beta import t_quantile
from plumbline.statistics.bounds import exact_lower
from plumbline.statistics.gap import gap, gap_bounds
from plumbline.statistics.power import would_notice_gap

S = 10**9
pairs = st.lists(st.tuples(st.integers(0, S), st.integers(0, S)), min_size=2, max_size=20)
group = st.lists(st.tuples(st.integers(0, S), st.integers(0, 5)), min_size=2, max_size=20).filter(
    lambda items: len({key for _, key in items}) > 1
)


def paired(rows):
    keys = list(range(len(rows)))
    return gap({"a": [one for one, _ in rows], "b": [other for _, other in rows]}, S, {"a": keys, "b": keys})


@given(pairs)
def test_pairs_give_the_variance_of_a_paired_t_test(rows):
    found = paired(rows).widest
    differences = [Fraction(one - other, S) for one, other in rows]
    n = len(rows)
    mean = sum(differences, Fraction(0)) / n
    assert found.size == abs(mean)
    assert found.variance == sum((d - mean) ** 2 for d in differences) / (n * (n - 1))
    assert found.freedom == n - 1


@settings(deadline=None)
@given(group, group)
def test_the_variance_is_that_of_a_cluster_robust_regression(one, other):
    # The same keys in both groups: the regression of score on group, with clusters over both.
    found = gap(
        {"a": [v for v, _ in one], "b": [v for v, _ in other]},
        S,
        {"a": [k for _, k in one], "b": [k for _, k in other]},
    )
    keys = np.array([key for _, key in [*one, *other]])
    design = np.column_stack([np.ones(len(keys)), [0] * len(one) + [1] * len(other)])
    scores = np.array([value / S for value, _ in [*one, *other]])
    theirs = statsmodels.api.OLS(scores, design).fit(
        cov_type="cluster", cov_kwds={"groups": keys, "use_correction": False}
    )
    shared = {key for _, key in one} & {key for _, key in other}
    if shared:
        clusters = len(set(keys.tolist()))
        expected = float(theirs.cov_params()[1, 1]) * clusters / (clusters - 1)
        assert float(found.widest.variance) == pytest.approx(expected, rel=1e-6, abs=1e-14)
        assert found.widest.freedom == min(len({key for _, key in part}) for part in (one, other)) - 1


@given(group, group)
def test_groups_without_a_common_cluster_add_their_variances(one, other):
    from plumbline.statistics.clusters import moments

    found = gap(
        {"a": [v for v, _ in one], "b": [v for v, _ in other]},
        S,
        {"a": [("a", k) for _, k in one], "b": [("b", k) for _, k in other]},
    )
    parts = [moments([v for v, _ in part], S, [k for _, k in part]) for part in (one, other)]
    assert found.widest.variance == parts[0].variance + parts[1].variance
    assert found.widest.item_variance == parts[0].item_variance + parts[1].item_variance
    smaller, larger = sorted(part.clusters - 1 for part in parts)
    assert smaller - 1e-9 <= found.widest.freedom <= smaller + larger + 1e-9
    assert not found.paired


@settings(deadline=None)
@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.integers(0, S), min_size=3, max_size=9), min_size=2))
def test_bounds_hold_the_score_and_stay_on_the_scale(groups):
    found = gap(groups, S)
    between = gap_bounds(found)
    means = [Fraction(sum(scores), len(scores) * S) for scores in groups.values()]
    score = float(1 - (max(means) - min(means)))
    assert 0 <= between.lower <= score + 1e-12
    assert score - 1e-12 <= between.upper <= 1
    assert float(1 - found.widest.size) == score


def test_pairing_is_worth_having():
    # Every fact is as hard in one language as in the other; over facts scores vary a lot.
    rows = [(S * (i % 2), S * (i % 2)) for i in range(40)]
    apart = gap({"a": [one for one, _ in rows], "b": [other for _, other in rows]}, S)
    assert gap_bounds(paired(rows)).lower > gap_bounds(apart).lower + 0.1
    assert paired(rows).paired
    assert paired(rows).design_effect == 0


def test_a_perfect_gap_is_exact_on_clusters():
    between = gap_bounds(paired([(S, S)] * 24))
    assert (between.lower, between.upper) == (exact_lower(24), 1)


def test_a_perfect_gap_over_other_facts_is_as_sure_as_its_smallest_group():
    between = gap_bounds(gap({"a": [S] * 24, "b": [S] * 12}, S))
    assert (between.lower, between.upper) == (exact_lower(12), 1)


def test_a_wider_gap_varies_more():
    # By hand: clusters that fail as a whole add their share, less what the larger mean takes away.
    found = paired([(S, S)] * 90 + [(S, 0)] * 10)
    drop = would_notice_gap(found).size
    more = drop + 0.1 - (drop + 0.1) ** 2 - (0.1 - 0.1**2)
    quantiles = t_quantile(0.975, 198) + t_quantile(0.8, 198)
    assert drop == pytest.approx(quantiles * math.sqrt(2 * found.widest.error**2 + more / 100), abs=1e-5)


def test_no_difference_seen_is_not_none():
    # Bonett and Price by hand: two made-up clusters, sum of squares 2, over 22 * 21.
    found = paired([(S, S)] * 19 + [(0, 0)])
    expected = t_quantile(0.975, 19) * math.sqrt(2 / (22 * 21))
    assert gap_bounds(found).lower == pytest.approx(1 - expected, rel=1e-12)
    assert gap_bounds(found).upper == 1


def test_the_bounds_are_those_of_t_intervals():
    one, other = [S] * 60, [S, 0, 0] * 20
    keys = list(range(60))
    found = gap({"a": one, "b": other}, S, {"a": keys, "b": keys})
    size, error = float(found.widest.size), found.widest.error
    reach = t_quantile(0.975, 59) * error
    assert gap_bounds(found).lower == pytest.approx(1 - size - reach, rel=1e-12)
    assert gap_bounds(found).upper == pytest.approx(1 - size + reach, rel=1e-12)
    # Of three groups there are six ordered pairs that could seem to differ where none does.
    found = gap({"a": one, "b": other, "c": one}, S, dict.fromkeys("abc", keys))
    assert gap_bounds(found).lower == pytest.approx(1 - size - reach, rel=1e-12)
    assert gap_bounds(found).upper == pytest.approx(1 - size + t_quantile(1 - 0.05 / 6, 59) * error, rel=1e-12)


def test_more_groups_widen_upwards_only():
    # A third group in the middle changes neither best nor worst.
    one, other = [S, S, 0, S] * 6, [S, 0, 0, S] * 6
    keys = list(range(24))
    two = gap_bounds(gap({"a": one, "c": other}, S, {"a": keys, "c": keys}))
    middle = [S, S, 0, S] * 3 + [S, 0, 0, S] * 3
    three = gap_bounds(gap({"a": one, "b": middle, "c": other}, S, dict.fromkeys("abc", keys)))
    assert three.lower == two.lower
    assert three.upper > two.upper


@settings(deadline=None)
@given(pairs)
def test_the_widening_is_noticed_as_often_as_said(rows):
    found = paired(rows)
    drop = would_notice_gap(found)
    assert drop is None or 0 < drop.size <= 1 - found.widest.size
    if drop is not None:
        # Larger than what a two-sided test could even call a difference.
        assert drop.size > t_quantile(0.975, 2 * found.widest.freedom) * math.sqrt(2) * found.widest.error * 0.999


def test_more_groups_notice_less():
    one = [S, S, S, 0] * 12
    keys = list(range(48))
    two = would_notice_gap(gap({"a": one, "b": one[::-1]}, S, dict.fromkeys("ab", keys)))
    three = would_notice_gap(gap({"a": one, "b": one[::-1], "c": one}, S, dict.fromkeys("abc", keys)))
    assert three.size > two.size
    assert "Bonferroni" in three.method


def test_few_clusters():
    assert gap({"a": [S, 0], "b": [S, S]}, S, {"a": [1, 1], "b": [1, 2]}) is None
    assert would_notice_gap(paired([(S, 0), (0, S)])) is None


@pytest.mark.parametrize(
    ("groups", "keys"),
    [({"a": [1]}, None), ({}, None), ({"a": [1], "b": []}, None), ({"a": [1], "b": [1]}, {"a": [1], "c": [1]})],
)
def test_what_cannot_be_is_refused(groups, keys):
    with pytest.raises(ValueError, match="groups"):
        gap(groups, S, keys)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({0: [1], 1: [1, 0], 2: [1], 3: [0, 0], 4: [1]}, {3: [1], 4: [0], 5: [1, 1], 6: [0]}),
        ({key: [1] for key in range(9)} | {9: [0]}, {key: [0] for key in range(9)} | {9: [1]}),
        ({key: [key % 2] for key in range(12)}, {key: [key % 3 // 2] for key in range(12)}),
    ],
)
def test_the_error_of_a_difference_by_its_formula(one, other):
    groups = {"a": one, "b": other}
    scores = {name: [score for part in group.values() for score in part] for name, group in groups.items()}
    keys = {name: [key for key, part in group.items() for _ in part] for name, group in groups.items()}
    found = gap(scores, 1, keys).widest
    moved = {}
    for sign, (name, group) in zip((1, -1), groups.items(), strict=True):
        n = len(scores[name])
        mean = Fraction(sum(scores[name]), n)
        for key, part in group.items():
            moved[key] = moved.get(key, 0) + sign * (sum(part) - mean * len(part)) / n
    clusters, second = len(moved), sum(part**2 for part in moved.values())
    fourth = sum(part**4 for part in moved.values())
    assert found.variance == Fraction(clusters, clusters - 1) * second
    share = 4 / (4 + float(second**2 / fourth) ** 3)
    reach = (1 - share) * min(1.0, float(clusters**2 * fourth / second)) + share
    spread = float(clusters**2 * second) + 2 * reach
    expected = max(float(found.variance), spread / ((clusters + 2) * (clusters + 1)))
    assert found.error == pytest.approx(math.sqrt(expected), rel=1e-12)
