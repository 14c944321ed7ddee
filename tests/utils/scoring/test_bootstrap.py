"""Intervals: against scipy's, laws, and that nominal 95% ones hold the truth in 93-97% of 2,000 simulated runs."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmms_eval_tasks.utils.scoring.bootstrap import (
    Counts,
    Method,
    Strata,
    _adjusted_tails,
    breakdowns,
    intervals,
    macro_interval,
    macro_mean,
    ratios,
)


def proportion(right: int, groups: int) -> list[Counts]:
    right_one, wrong_one = (100.0, 1.0), (0.0, 1.0)
    return [*[right_one] * right, *[wrong_one] * (groups - right)]


def test_bca_is_scipys_bca() -> None:
    rng = np.random.default_rng(5)
    for parts, tolerance in (
        # The ends of a proportion of 50 lie on multiples of 2 points, and draws decide between neighbours.
        ([np.array([100.0] * 10 + [0.0] * 40)], 2.01), ([np.array([100.0] * 47 + [0.0] * 3)], 2.01),
        ([rng.gamma(0.7, size=size) for size in (25, 40)], 0.012),
    ):  # fmt: skip
        theirs = stats.bootstrap(
            parts, lambda *drawn, axis=-1: sum(one.mean(axis) for one in drawn) / len(drawn), n_resamples=20_000,
            method="BCa", rng=np.random.default_rng(1),
        ).confidence_interval  # fmt: skip
        ours = intervals(Strata.of([[(value, 1.0) for value in part] for part in parts]), macro_mean, draws=20_000)
        assert ours == pytest.approx([theirs.low, theirs.high], abs=tolerance)


def lowest(groups: int) -> float:
    """The lower end of Wilson's interval where all groups are right, in percent."""
    return 100 * float(stats.binomtest(groups, groups).proportion_ci(method="wilson").low)


@pytest.mark.slow
def test_a_plain_proportion_gets_wilsons_interval_and_a_mean_of_parts_is_surer_than_one() -> None:
    for groups in (1, 7, 50, 793):
        for right in range(groups + 1):
            wilson = stats.binomtest(right, groups).proportion_ci(method="wilson")
            assert macro_interval([proportion(right, groups)]) == (100 * wilson.low, 100 * wilson.high)
    part = proportion(50, 100)
    one, four = macro_interval([part]), macro_interval([part] * 4)
    assert (four[1] - four[0]) == pytest.approx((one[1] - one[0]) / 2, rel=0.1)
    # The same seed gives the same interval in any order.
    part = [(100.0, 2.0), (0.0, 1.0), (200.0, 2.0)] * 10
    assert macro_interval([part], seed=3) == macro_interval([part[::-1]], seed=3) != macro_interval([part], seed=4)
    with pytest.raises(ValueError, match=r"Expected contributions of one length, but got lengths \[1, 2\]"):
        Strata.of([[(1.0,)], [(1.0, 2.0)]])


@pytest.mark.parametrize("method", get_args(Method))
def test_none_or_all_right_is_not_certain(method: Method) -> None:
    for value in (0.0, 100.0):
        for groups in (1, 5, 793):
            found = intervals(Strata.of([[(value, 1.0)] * groups]), macro_mean, method=method, draws=100)
            expected = stats.binomtest(groups if value else 0, groups).proportion_ci(method="wilson")
            assert found == pytest.approx([100 * expected.low, 100 * expected.high])
    found = intervals(Strata.of([[(100.0, 1.0)] * 6 + [(300.0, 3.0)] * 4]), macro_mean)
    assert found == pytest.approx([lowest(10), 100.0]), "groups of several sizes"
    # Without bounds what does not vary has no width.
    assert intervals(Strata.of([[(100.0, 1.0)] * 5]), macro_mean, bounds=None).tolist() == [100.0, 100.0]


def test_what_one_part_does_not_show_counts_with_its_share_of_the_mean() -> None:
    # The first part is all right, the second 50 of 100: their distances to the lower end add in quadrature.
    (low, high), alone = (
        macro_interval([proportion(10, 10), proportion(50, 100)], draws=20_000),
        intervals(Strata.of([proportion(50, 100)]), macro_mean, draws=20_000),
    )
    unseen = 100 - lowest(10)
    assert low == pytest.approx(75 - np.hypot((50 - alone[0]) / 2, unseen / 2), abs=0.3)
    assert high == pytest.approx(75 + (alone[1] - 50) / 2, abs=0.3)


def test_an_empty_stratum_takes_its_own_score_only() -> None:
    found = intervals(Strata.of([proportion(5, 10), []]), breakdowns([[0], [1], [0, 1]]))
    assert np.isnan(found[1]).all()
    assert not np.isnan(found[[0, 2]]).any()
    assert found[0] == pytest.approx(found[2])


def test_a_ratio_of_sums_is_no_mean_of_ratios_and_weights_are_chances_of_one_group() -> None:
    strata = Strata.of([[(100.0, 1.0), (0.0, 3.0)]])
    draws = ratios(strata.draw(np.random.default_rng(0), 1000))[:, 0]
    assert set(draws.tolist()) == {100.0, 25.0, 0.0}
    # Two groups, each right with chance 3 in 4: half a group's weight is drawn as rarely as that.
    strata = Strata.weighted([{(100.0, 1.0): 1.5, (0.0, 1.0): 0.5}])
    drawn = strata.draw(np.random.default_rng(0), 20_000)[:, 0, 0]
    assert [np.mean(drawn == value) for value in (0, 100, 200)] == pytest.approx([1 / 16, 6 / 16, 9 / 16], abs=0.015)


PART = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), min_size=1, max_size=12)


@given(st.lists(PART, min_size=1, max_size=4), st.sampled_from(get_args(Method)))
@settings(max_examples=40)
def test_every_interval_holds_its_score_and_stays_within_the_bounds(
    parts: list[list[tuple[int, int]]], method: Method
) -> None:
    strata = Strata.of([[(100.0 * min(right, all_), float(all_)) for right, all_ in part] for part in parts])
    score = float(macro_mean(strata.sums()))
    low, high = intervals(strata, macro_mean, method=method, draws=200)
    assert -1e-9 <= low <= high <= 100 + 1e-9
    if method == "percentile":
        assert low - 25 <= score <= high + 25


RUNS = 2_000
# The quantiles of 1,500 draws are as often too far out as too far in.
DRAWS = 1_500


@pytest.mark.parametrize("pairs", [50, 793])
def test_coverage_of_pair_accuracy(pairs: int) -> None:
    # A different truth in each run: how far one truth lies from a multiple of 1/N moves the coverage by up to 3 points
    # at N = 50, whatever the interval, for only 51 outcomes are possible.
    truths = np.random.default_rng(5).uniform(0.05, 0.95, size=RUNS)
    simulated = np.random.default_rng(11).binomial(pairs, truths).tolist()
    found = {n: macro_interval([[(100.0, 1.0)] * n + [(0.0, 1.0)] * (pairs - n)]) for n in set(simulated)}
    ends = np.array([found[right] for right in simulated])
    assert 93 <= 100.0 * np.mean((ends[:, 0] <= 100.0 * truths) & (ends[:, 1] >= 100.0 * truths)) <= 97


@pytest.mark.slow
def test_coverage_of_a_macro_mean_of_four_unequal_subsets_of_which_one_is_often_all_right() -> None:
    sizes, chances = (500, 30, 400, 200), (0.6, 0.98, 0.7, 0.5)
    held = []
    for index, run in enumerate(np.random.default_rng(7).binomial(sizes, chances, size=(RUNS, 4)).tolist()):
        counts = ({(100.0, 1.0): right, (0.0, 1.0): size - right} for right, size in zip(run, sizes, strict=True))
        strata = Strata.weighted({key: count for key, count in one.items() if count} for one in counts)
        low, high = intervals(strata, macro_mean, draws=DRAWS, seed=index)
        held.append(low <= 100 * np.mean(chances) <= high)
    assert 93 <= 100 * np.mean(held) <= 97


@pytest.mark.parametrize("draws", [10, 1000])
def test_where_all_draws_lie_on_one_side_of_a_score_the_tails_are_shares_and_mirror_each_other(
    draws: int,
) -> None:
    tails, flat = np.array([0.025, 0.975]), np.zeros(1)
    below, above = (
        _adjusted_tails(np.array([0.5]), np.full((draws, 1), value), flat, tails)[0] for value in (0.0, 1.0)
    )
    assert ((below >= 0) & (below <= 1)).all() and below[0] > 0.5 > above[1]
    assert below == pytest.approx(1 - above[::-1])
    # Half of the draws on each side change nothing.
    even = np.concatenate([np.zeros((draws, 1)), np.ones((draws, 1))])
    assert _adjusted_tails(np.array([0.5]), even, flat, tails)[0] == pytest.approx(tails)
