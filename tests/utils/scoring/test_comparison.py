from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lmms_eval_tasks.report.run_comparison import run_differences
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.data.card import DataSet, SetKind
from lmms_eval_tasks.utils.scoring.bootstrap import macro_interval
from lmms_eval_tasks.utils.scoring.compare import (
    ONLY_FIRST,
    ONLY_SECOND,
    OTHER_KEY,
    Comparison,
    GroupTest,
    compare_records,
    holm,
    mcnemar,
)
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY, SINGLE_ACCURACY, Metric, percent
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

Flags = tuple[bool | None, ...]

PAIRED = (PAIR_ACCURACY, SINGLE_ACCURACY)
ACCURACY = Metric("accuracy", "accuracy", lambda record: percent(record.correct))


def records(groups: dict[str, Flags], expected: str = "A") -> list[Record]:
    outcomes = {True: Outcome.CORRECT, False: Outcome.WRONG, None: Outcome.UNSCORED}
    return [
        Record(f"{name}_{index}", name, {}, expected, "A", outcomes[flag])
        for name, flags in groups.items()
        for index, flag in enumerate(flags)
    ]


def numbered(*groups: tuple[int, Flags]) -> list[Record]:
    flags = [flag for count, flag in groups for _ in range(count)]
    return records({f"{index:04}": flag for index, flag in enumerate(flags)})


BOTH, ONE, NONE = (True, True), (True, False), (False, False)


def group_test(found: Comparison) -> GroupTest:
    assert found.test is not None
    return found.test


def test_a_worked_example() -> None:
    # Of 10 pairs: 4 right in both runs, 1 only in the first, 3 only in the second, 2 in neither.
    first = numbered((4, BOTH), (1, BOTH), (3, ONE), (2, NONE))
    second = numbered((4, BOTH), (1, NONE), (3, BOTH), (2, ONE))
    found = compare_records({"task": first}, {"task": second}, metrics=PAIRED)
    test = group_test(found)
    assert (found.groups, found.items, found.left_out, found.without) == (10, 20, {}, ())
    assert (test.metric, test.groups, test.only_first, test.only_second) == (PAIR_ACCURACY, 10, 1, 3)
    assert test.discordant == pytest.approx(0.4)
    assert test.p_value == pytest.approx(0.625)  # 2 (C(4,0) + C(4,1)) / 2^4
    pair, single = found.differences
    assert (pair.metric.title, pair.first, pair.second) == ("pair accuracy", 50.0, 70.0)
    assert pair.change == pytest.approx(20.0)
    # Items right: 10 + 3 = 13 of 20, and 8 + 6 + 2 = 16 of 20.
    assert (single.metric.title, single.first, single.second) == ("single accuracy", 65.0, 80.0)
    assert pair.interval[0] < 20 < pair.interval[1]


def test_an_item_leaves_the_scores_that_need_it_and_no_others() -> None:
    first = records({"a": BOTH, "b": BOTH, "c": (True, None), "d": (True,), "e": BOTH, "f": BOTH})
    second = [
        *records({"a": NONE, "c": BOTH, "d": BOTH, "x": BOTH}),
        *records({"e": BOTH}, expected="B"),
        *records({"f": (True,)}),
    ]
    found = compare_records({"task": first}, {"task": second}, metrics=PAIRED)
    # a, c, the first of d and the first of f; b and the second of f, x and the second of d; both of e.
    assert (found.groups, found.items) == (4, 6)
    assert found.left_out == {ONLY_FIRST: 3, ONLY_SECOND: 3, OTHER_KEY: 2}
    pair, single = found.differences
    assert (pair.groups, pair.items, pair.first, pair.second) == (1, 2, 100.0, 0.0)
    # Right in the first run: all of a, the first of c, d and f; in the second all but a.
    assert (single.groups, single.items, single.first, single.second) == (4, 5, 100.0, 60.0)
    assert (group_test(found).metric, group_test(found).groups) == (PAIR_ACCURACY, 1)


def test_items_without_pairs_are_compared_by_the_scores_that_need_none() -> None:
    first = records({str(index): (index % 2 > 0,) for index in range(60)})
    second = records({str(index): (index % 3 > 0,) for index in range(60)})
    found = compare_records({"task": first}, {"task": second}, metrics=[SINGLE_ACCURACY, PAIR_ACCURACY])
    assert (found.groups, found.items, found.left_out, found.without) == (60, 60, {}, (PAIR_ACCURACY,))
    (single,) = found.differences
    assert (single.groups, single.first, single.second) == (60, 50.0, pytest.approx(200 / 3))
    # Of six in a row the first run alone is right on the fourth, the second alone on the third and the fifth.
    test = group_test(found)
    assert (test.metric, test.groups, test.only_first, test.only_second) == (SINGLE_ACCURACY, 60, 10, 20)


def test_pairs_and_groups_of_other_sizes_together() -> None:
    mixed = [records({"a": (True,), "b": (True, True, last)}) for last in (False, True)]
    found = compare_records({"task": mixed[0]}, {"task": mixed[1]}, metrics=[ACCURACY])
    assert (found.items, found.groups, group_test(found).only_second, found.differences[0].first) == (4, 2, 1, 75.0)
    first = records({**{f"p{index}": BOTH for index in range(12)}, **{f"s{index}": (True,) for index in range(6)}})
    second = records({**{f"p{index}": ONE for index in range(12)}, **{f"s{index}": (True,) for index in range(6)}})
    found = compare_records({"task": first}, {"task": second}, metrics=[SINGLE_ACCURACY, PAIR_ACCURACY])
    assert (found.groups, found.items) == (18, 30)
    assert [(one.groups, one.items, one.second) for one in found.differences] == [(18, 30, 60.0), (12, 24, 0.0)]
    assert (group_test(found).metric, group_test(found).groups, group_test(found).only_first) == (PAIR_ACCURACY, 12, 12)


def test_tasks_of_a_group_count_equally() -> None:
    small, large = numbered((2, BOTH)), numbered((5, BOTH), (95, NONE))
    found = compare_records({"a": small, "b": large}, {"a": small, "b": numbered((100, NONE))}, metrics=PAIRED)
    pair = found.differences[0]
    assert (pair.first, pair.second) == pytest.approx((52.5, 50.0))
    assert (found.groups, group_test(found).only_first) == (102, 5)


def test_a_task_without_shared_groups_has_no_difference_and_other_tasks_are_refused() -> None:
    part = numbered((3, BOTH))
    found = compare_records({"a": part, "b": part}, {"a": part, "b": []}, metrics=PAIRED)
    assert (found.differences, found.groups, found.left_out, found.test) == ((), 3, {ONLY_FIRST: 6}, None)
    assert found.without == PAIRED
    with pytest.raises(ValueError, match=r"Expected the same tasks, but got \['a'\] and \['b'\]"):
        compare_records({"a": []}, {"b": []}, metrics=PAIRED)


@settings(max_examples=25)
@given(st.lists(st.tuples(*[st.booleans()] * 4), min_size=1, max_size=15))
def test_swapping_the_runs_turns_the_difference_round(flags: list[tuple[bool, bool, bool, bool]]) -> None:
    first = records({str(index): row[:2] for index, row in enumerate(flags)})
    second = records({str(index): row[2:] for index, row in enumerate(flags)})
    shuffled = random.Random(0).sample(second, len(second))
    one = compare_records({"t": first}, {"t": shuffled}, metrics=PAIRED)
    other = compare_records({"t": second}, {"t": first}, metrics=PAIRED)
    assert group_test(one).p_value == group_test(other).p_value
    assert [found.change for found in one.differences] == [-found.change for found in other.differences]
    for found in one.differences:
        assert -100 <= found.interval[0] <= found.interval[1] <= 100


def test_equal_runs_may_differ_by_what_was_not_seen() -> None:
    run = numbered((60, BOTH), (40, NONE))
    found = compare_records({"t": run}, {"t": run}, metrics=PAIRED)
    unseen = 100 * (1 - stats.binomtest(100, 100).proportion_ci(method="wilson").low)
    assert group_test(found).p_value == 1.0
    assert found.differences[0].interval == pytest.approx((-unseen, unseen))


@pytest.mark.slow
def test_paired_intervals_keep_their_level() -> None:
    # 200 pairs; the first run alone is right on 8% of them, the second on 16%: a difference of 8 points.
    simulated = np.random.default_rng(0).multinomial(200, [0.08, 0.16, 0.76], size=1_000)
    held = []
    for index, (one, other, same) in enumerate(simulated.tolist()):
        part = [(-100.0, 1.0)] * one + [(100.0, 1.0)] * other + [(0.0, 1.0)] * same
        low, high = macro_interval([part], (-100.0, 100.0), index, 1_000)
        held.append(low - 1e-9 <= 8.0 <= high + 1e-9)
    assert 93 <= 100 * np.mean(held) <= 97


def test_mcnemar_is_the_exact_sign_test_and_holm_is_as_by_hand() -> None:
    for first, second in ((0, 0), (1, 3), (10, 2), (30, 30), (0, 6)):
        tail = 2 * stats.binom.cdf(min(first, second), first + second, 0.5)
        assert mcnemar(first, second) == pytest.approx(min(1.0, tail))
    # Holm 1979: smallest times 4, next times 3, …, never below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_lies_between_nothing_and_bonferroni(values: list[float]) -> None:
    adjusted = holm(values)
    assert all(value <= found <= min(1.0, len(values) * value) for value, found in zip(values, adjusted, strict=True))
    assert [adjusted[index] for index in np.argsort(values, kind="stable")] == sorted(adjusted)


def test_differences_of_runs() -> None:
    one, two = tuple(numbered((1, BOTH))), tuple(numbered((1, NONE)))
    run = Run(Path("x"), "m", {"a": one, "b": two}, {"both": ("b", "a")}, {"a": "1-A", "both": "1-A"})
    other = Run(Path("y"), "n", {"a": one}, {}, {"a": "2-A"}, {"a": DataSet(kind=SetKind.SAMPLE)})
    assert run_differences(run, run, "a") == []
    assert run_differences(run, other, "a") == [
        "task version 1-A against 2-A",
        "one is of data that is not known to be the official release, the other of sample data",
    ]
    assert run_differences(run, other, "both")[0] == "task version 1-A against unknown"
