"""Ranks from intervals, against cases worked out by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.scoring.compare import Scored, Standing, interval_p_value, rank_scores


def around(value: float, reach: float) -> Scored:
    return Scored(value, value - reach, value + reach)


def test_a_difference_as_long_as_both_distances_in_quadrature_has_p_of_five_percent() -> None:
    # The distances that face each other are 3 and 4, in quadrature 5; the ends on the far sides do not count.
    assert interval_p_value(Scored(55, 52, 90), Scored(50, 10, 54)) == pytest.approx(0.05)
    # At twice that length the difference is 2 · 1.96 standard errors.
    assert interval_p_value(Scored(50, 10, 54), Scored(60, 57, 90)) == pytest.approx(8.86e-5, rel=1e-3)


def test_equal_scores_are_no_difference_and_certain_ones_that_differ_are() -> None:
    assert interval_p_value(around(50, 3), around(50, 3)) == 1.0
    assert interval_p_value(around(50, 0), around(50, 0)) == 1.0
    assert interval_p_value(around(50, 0), around(51, 0)) == 0.0


def test_runs_that_cannot_be_told_apart_tie_and_ranks_count_the_better_ones() -> None:
    # The first is told apart from the last alone; the run between them ties with both.
    assert rank_scores([around(60, 4), around(55, 4), around(50, 4)]) == [
        Standing(1, (1,)),
        Standing(1, (0, 2)),
        Standing(2, (1,)),
    ]
    # Two tie above a third.
    assert [one.rank for one in rank_scores([around(20, 3), around(61, 3), around(60, 3)])] == [3, 1, 1]
    # The lower score is the better one.
    assert [one.rank for one in rank_scores([around(20, 3), around(61, 3)], higher_is_better=False)] == [1, 2]


def test_holms_method_asks_for_more_where_there_are_more_pairs() -> None:
    two = [around(54.5, 3), around(50, 3)]  # p = 0.038
    assert [one.rank for one in rank_scores(two)] == [1, 2]
    assert [one.rank for one in rank_scores([*two, around(52, 3)])] == [1, 1, 1]


SCORED = st.builds(
    lambda value, down, up: Scored(value, value - down, value + up),
    st.floats(0, 100),
    st.floats(0, 20),
    st.floats(0, 20),
)


@given(st.lists(SCORED, max_size=7))
def test_runs_of_one_rank_are_never_told_apart(scores: list[Scored]) -> None:
    standings = rank_scores(scores)
    assert len(standings) == len(scores)
    for place, one in enumerate(standings):
        assert all(place in standings[other].alike for other in one.alike)
        same = {other for other, standing in enumerate(standings) if standing.rank == one.rank} - {place}
        assert same <= set(one.alike)
