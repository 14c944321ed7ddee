"""The best of several runs: what choosing it is worth, against known distributions."""

from __future__ import annotations

import random
from collections.abc import Sequence
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.report.best_of import best_of, inflation
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY, PAIRS_SCORED, SINGLE_ACCURACY, Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

HIGHEST_OF = {2: 0.56419, 3: 0.84628, 6: 1.26721}
"""The expected highest of k standard normals (Tippett 1925; David & Nagaraja, Order Statistics, 2003, table 3.2)."""
METRICS = (SINGLE_ACCURACY, PAIR_ACCURACY)


def run_of(right: Sequence[bool | None], group: int = 1) -> list[Record]:
    """Items in groups of a size; None is unscored."""
    return [
        Record(str(item), str(item // group), {}, "A", "A", Outcome.CORRECT if flag else Outcome.WRONG)
        if flag is not None
        else Record(str(item), str(item // group), {}, "A", None, Outcome.UNSCORED, UnscoredReason.NO_CLIP)
        for item, flag in enumerate(right)
    ]


def guesses(rng: random.Random, items: int) -> list[bool]:
    return [rng.random() < 0.5 for _ in range(items)]


@pytest.mark.parametrize("runs", HIGHEST_OF)
def test_of_independent_runs_it_is_that_of_normals(runs: int) -> None:
    rng, items = random.Random(runs), 4000
    made = [run_of(guesses(rng, items)) for _ in range(runs)]
    assert inflation(SINGLE_ACCURACY, made) == pytest.approx(HIGHEST_OF[runs] * 100 * sqrt(0.25 / items), rel=0.06)


def test_runs_that_share_answers_gain_less() -> None:
    """Of normals that correlate by r it is the square root of 1 - r of it."""
    rng, items, shared = random.Random(1), 4000, 0.75
    base = guesses(rng, items)
    made = [
        run_of([flag if item < shared * items else rng.random() < 0.5 for item, flag in enumerate(base)])
        for _ in range(3)
    ]
    wanted = HIGHEST_OF[3] * 100 * sqrt(0.25 / items) * sqrt(1 - shared)
    assert inflation(SINGLE_ACCURACY, made) == pytest.approx(wanted, rel=0.06)


def test_items_of_a_group_are_drawn_together() -> None:
    rng = random.Random(2)
    made = [run_of([flag for flag in guesses(rng, 1000) for _ in range(4)], group=4) for _ in range(3)]
    assert inflation(SINGLE_ACCURACY, made) == pytest.approx(HIGHEST_OF[3] * 100 * sqrt(0.25 / 1000), rel=0.06)


ANSWERS = st.lists(st.lists(st.sampled_from((True, False, None)), min_size=8, max_size=8), min_size=1, max_size=4)


@settings(max_examples=30, deadline=None)
@given(ANSWERS, st.sampled_from(METRICS), st.randoms(use_true_random=False))
def test_the_order_of_runs_and_items_does_not_matter(
    answers: list[list[bool | None]], metric: Metric, rng: random.Random
) -> None:
    made = [run_of(right, group=2) for right in answers]
    other = [rng.sample(records, len(records)) for records in rng.sample(made, len(made))]
    one, two = inflation(metric, made, draws=200), inflation(metric, other, draws=200)
    assert one == pytest.approx(two, abs=1e-9, nan_ok=True)
    assert not one < -1e-9


@settings(max_examples=20, deadline=None)
@given(ANSWERS, st.integers(2, 6), st.sampled_from(METRICS))
def test_runs_that_are_equal_gain_nothing(answers: list[list[bool | None]], runs: int, metric: Metric) -> None:
    found = inflation(metric, [run_of(answers[0], group=2)] * runs, draws=200)
    assert found == pytest.approx(0, abs=1e-9, nan_ok=True)


def test_the_best_is_one_of_the_runs_with_its_own_interval() -> None:
    made = [run_of([item % 10 < right for item in range(40)]) for right in (4, 6, 6, 5)]
    found = best_of(SINGLE_ACCURACY, made)
    assert found is not None
    assert (found.place, found.runs, found.mean) == (1, 4, pytest.approx(52.5))
    assert found.best == estimate(SINGLE_ACCURACY, [made[1]])
    assert found.inflation == inflation(SINGLE_ACCURACY, made) > 0


def test_there_is_none_where_a_run_has_no_score() -> None:
    assert best_of(SINGLE_ACCURACY, [run_of([True, False]), run_of([None, None])]) is None
    with pytest.raises(ValueError, match="is a count"):
        inflation(PAIRS_SCORED, [run_of([True])])
