"""Difficulty of items for people and for runs, and the items that only one side gets right."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from beside_people import make_item
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from lmms_eval_tasks.utils.people.agreement import SharedItem, correlate_difficulty, find_opposed, spearman


def items_of(answers: list[tuple[list[bool], list[bool]]]) -> list[SharedItem]:
    """Items with who of the people and which of the runs are right."""
    said = [[["A" if right else "B" for right in side] for side in item] for item in answers]
    return [make_item(number, "A", people, runs) for number, (people, runs) in enumerate(said)]


ANSWERS = st.lists(
    st.tuples(st.lists(st.booleans(), min_size=1, max_size=4), st.lists(st.booleans(), min_size=3, max_size=3)),
    min_size=2,
    max_size=25,
)


@settings(max_examples=25)
@given(ANSWERS)
def test_it_is_spearmans_rho_with_ties(answers: list[tuple[list[bool], list[bool]]]) -> None:
    items = items_of(answers)
    for runs in ([0], [0, 1, 2]):
        people = [np.mean(one) for one, _ in answers]
        models = [np.mean([right[run] for run in runs]) for _, right in answers]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant input, which scipy has no number for either
            expected = float(spearmanr(people, models).statistic)
        found = correlate_difficulty(items, runs)
        assert found is not None and found.items == len(answers)
        if np.isnan(expected):
            assert found.rho is None and found.interval is None
        else:
            assert found.rho == pytest.approx(expected)


def test_tables_of_counts_may_be_many() -> None:
    tables = np.array([[[2.0, 0.0], [0.0, 3.0]], [[0.0, 2.0], [3.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]])
    one, other, none = spearman(tables)
    assert (one, other) == pytest.approx((1.0, -1.0)) and np.isnan(none)


def test_its_interval_holds_what_a_large_world_has() -> None:
    rng = np.random.default_rng(5)

    def world(number: int) -> list[SharedItem]:
        hard = rng.normal(size=number)
        chance = 1 / (1 + np.exp(-0.5 - hard))
        people = rng.random((number, 5)) < chance[:, None]
        run = rng.random(number) < chance
        return items_of([(list(one), [bool(right)]) for one, right in zip(people, run, strict=True)])

    truth = correlate_difficulty(world(3_000), [0])
    assert truth is not None and truth.rho is not None
    inside = 0
    for _ in range(20):
        found = correlate_difficulty(world(100), [0])
        assert found is not None and found.interval is not None
        inside += found.interval[0] <= truth.rho <= found.interval[1]
    assert inside >= 17


def test_items_that_only_one_side_gets_right() -> None:
    answers = [
        ([True, True], [False, False]),
        ([True, True], [False, True]),
        ([True, False], [False, False]),
        ([False], [True, True]),
        ([False, False], [True, True]),
        ([True], [True, True]),
    ]
    items = items_of(answers)
    people, runs = find_opposed(items, runs_right=False), find_opposed(items, runs_right=True)
    assert people is not None and runs is not None
    assert (people.ids, people.items, people.percent) == (("0",), 6, pytest.approx(100 / 6))
    assert (runs.ids, runs.percent) == (("3", "4"), pytest.approx(100 / 3))
    assert people.interval[0] < people.percent < people.interval[1]
    # Of an item that one run was not scored on, nobody knows.
    unscored = [SharedItem(one.task, one.question, one.people, (one.records[0], None)) for one in items[:1]]
    again = find_opposed([*unscored, *items[1:]], runs_right=False)
    assert again is not None and (again.ids, again.items) == ((), 5)
    assert find_opposed([], runs_right=True) is None and correlate_difficulty([], [0]) is None
