"""Dealing work: everything once, what belongs together to one hand, and hands even."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.core.work import deal, join

THINGS = st.lists(st.lists(st.integers(0, 9), max_size=3), max_size=30)


@given(THINGS)
def test_what_has_a_thing_in_common_is_one_unit_and_nothing_else_is(things: list[list[int]]) -> None:
    units = join(things)
    assert sorted(place for unit in units for place in unit) == list(range(len(things)))
    assert all(unit == sorted(unit) for unit in units) and [unit[0] for unit in units] == sorted(u[0] for u in units)
    having = [{thing for place in unit for thing in things[place]} for unit in units]
    assert sum(map(len, having)) == len(set().union(*having)), "no thing is in two units"
    for unit in units:
        reached = {unit[0]}
        for _ in unit:
            found = {thing for place in reached for thing in things[place]}
            reached |= {place for place in unit if found & set(things[place])}
        assert reached == set(unit), "through others, too"


@given(st.lists(st.floats(0, 600)), st.integers(1, 9))
def test_no_hand_has_more_than_the_mean_and_the_most_expensive_unit(costs: list[float], hands: int) -> None:
    dealt = deal(costs, [1] * len(costs), hands)
    loads = [sum(cost for cost, its in zip(costs, dealt, strict=True) if its == hand) for hand in range(hands)]
    assert len(dealt) == len(costs) and set(dealt) <= set(range(hands))
    assert max(loads) <= sum(costs) / hands + max(costs, default=0) + 1e-6
    assert max(loads) - min(loads) <= max(costs, default=0) + 1e-6
    # Of equal costs, hands get equal numbers.
    assert deal([0.0] * 5, [3, 1, 1, 1, 1], 2) == [0, 1, 1, 1, 0]
    assert deal([2.0, 1.0, 1.0], [1, 1, 1], 2) == [0, 1, 1]
