"""Runs compared: differences, tests, detectable effects and ranks, against cases worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from lmms_eval_tasks.utils.data.sampling import Drawn
from lmms_eval_tasks.utils.scoring.compare import (
    ONLY_FIRST,
    ONLY_SECOND,
    OTHER_KEY,
    Comparison,
    GroupTest,
    Scored,
    Standing,
    _drawn_alike,
    compare_records,
    effect_above_chance,
    holm,
    interval_p_value,
    mcnemar,
    paired_effect,
    rank_scores,
    unpaired_effect,
)
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY, SINGLE_ACCURACY, Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, percent

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


@pytest.mark.parametrize("turned", [False, True])
def test_a_sample_is_that_of_the_groups_that_both_runs_have(turned: bool) -> None:
    drawn = Drawn(stratum="x", asked=2, groups=10)
    whole, sample = records({"1": (True,), "2": (True,)}), records({"2": (True,), "3": (True,)})
    sample = [replace(record, drawn=drawn) for record in sample]
    runs = ({"t": sample}, {"t": whole}) if turned else ({"t": whole}, {"t": sample})
    alike = _drawn_alike(*runs)
    known = [{record.group_id: record.drawn for record in run["t"]} for run in alike]
    shared = Drawn(stratum="x", asked=1, groups=10)
    assert known[turned] == {"1": None, "2": shared} and known[not turned] == {"2": shared, "3": None}
    assert _drawn_alike({"t": whole}, {"t": whole}) == ({"t": whole}, {"t": whole})


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
    assert (single.groups, single.first, single.second) == pytest.approx((60, 50, 200 / 3))
    # Of six in a row the first run alone is right on the fourth, the second alone on the third and the fifth.
    test = group_test(found)
    assert (test.metric, test.groups, test.only_first, test.only_second) == (SINGLE_ACCURACY, 60, 10, 20)
    # Where there are pairs too, the test is of these alone.
    pairs, more = (numbered((12, flags)) for flags in (BOTH, ONE))
    alone = records({f"s{index}": (True,) for index in range(6)})
    found = compare_records({"t": pairs + alone}, {"t": more + alone}, metrics=[SINGLE_ACCURACY, PAIR_ACCURACY])
    assert [(one.groups, one.items, one.second) for one in found.differences] == [(18, 30, 60.0), (12, 24, 0.0)]
    assert (group_test(found).metric, group_test(found).groups, group_test(found).only_first) == (PAIR_ACCURACY, 12, 12)


def test_tasks_of_a_group_count_equally_and_other_tasks_are_refused() -> None:
    small, large = numbered((2, BOTH)), numbered((5, BOTH), (95, NONE))
    found = compare_records({"a": small, "b": large}, {"a": small, "b": numbered((100, NONE))}, metrics=PAIRED)
    pair = found.differences[0]
    assert (pair.first, pair.second) == pytest.approx((52.5, 50.0))
    assert (found.groups, group_test(found).only_first) == (102, 5)
    # A task without shared groups has no difference.
    found = compare_records({"a": small, "b": small}, {"a": small, "b": []}, metrics=PAIRED)
    assert (found.differences, found.groups, found.left_out, found.test) == ((), 2, {ONLY_FIRST: 4}, None)
    assert found.without == PAIRED
    with pytest.raises(ValueError, match=r"Expected the same tasks, but got \['a'\] and \['b'\]"):
        compare_records({"a": []}, {"b": []}, metrics=PAIRED)
    # Equal runs may differ by what was not seen.
    run = numbered((60, BOTH), (40, NONE))
    found = compare_records({"t": run}, {"t": run}, metrics=PAIRED)
    unseen = 100 * (1 - stats.binomtest(100, 100).proportion_ci(method="wilson").low)
    assert group_test(found).p_value == 1.0
    assert found.differences[0].interval == pytest.approx((-unseen, unseen))


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_mcnemar_is_the_exact_sign_test_and_holm_is_as_by_hand(values: list[float]) -> None:
    for first, second in ((0, 0), (1, 3), (10, 2), (30, 30), (0, 6)):
        tail = 2 * stats.binom.cdf(min(first, second), first + second, 0.5)
        assert mcnemar(first, second) == pytest.approx(min(1.0, tail))
    # Holm 1979: smallest times 4, next times 3, …, never below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0] and holm([]) == []
    adjusted = holm(values)
    assert all(value <= found <= min(1.0, len(values) * value) for value, found in zip(values, adjusted, strict=True))


def test_by_hand() -> None:
    # (1.959964 + 0.841621) sqrt(2 * 0.25 / 793), and the same with a fifth of the pairs discordant.
    assert unpaired_effect(793, 0.5) == pytest.approx(0.070348, abs=1e-5)
    assert paired_effect(793, 0.2) == pytest.approx(0.044492, abs=1e-5)
    # Two independent runs at p differ on 2 p (1 - p) of the groups, so that pairing saves nothing.
    assert paired_effect(793, 2 * 0.3 * 0.7) == pytest.approx(unpaired_effect(793, 0.3))
    # CausalVQA's appendix D: 793 questions; a guesser gets 0.2 of single items and 0.04 of pairs.
    assert [round(100 * unpaired_effect(793, chance), 1) for chance in (0.2, 0.04)] == [5.6, 2.8]
    # (1.96 sqrt(0.04 * 0.96) + 0.8416 sqrt(0.0608 * 0.9392)) / sqrt(793) = 0.0208, and so for single items.
    assert effect_above_chance(793, 0.2) == pytest.approx(0.0410, abs=0.0005)
    assert effect_above_chance(793, 0.04) == pytest.approx(0.0208, abs=0.0001)
    assert effect_above_chance(1, 0.5) == 0.5


@pytest.mark.parametrize(("units", "chance"), [(793, 0.2), (793, 0.04), (9208, 0.25), (100, 0.5)])
def test_the_effect_above_chance_is_found_four_times_in_five(units: int, chance: float) -> None:
    # The power of the test of normal approximation, exactly.
    score = chance + effect_above_chance(units, chance)
    needed = units * chance + 1.959964 * (units * chance * (1 - chance)) ** 0.5
    assert stats.binom.sf(np.ceil(needed) - 1, units, score) == pytest.approx(0.8, abs=0.04)


def around(value: float, reach: float) -> Scored:
    return Scored(value, value - reach, value + reach)


def test_a_difference_as_long_as_both_distances_in_quadrature_has_p_of_five_percent() -> None:
    # The distances that face each other are 3 and 4, in quadrature 5; the ends on the far sides do not count.
    assert interval_p_value(Scored(55, 52, 90), Scored(50, 10, 54)) == pytest.approx(0.05)
    # At twice that length the difference is 2 · 1.96 standard errors.
    assert interval_p_value(Scored(50, 10, 54), Scored(60, 57, 90)) == pytest.approx(8.86e-5, rel=1e-3)
    # Equal scores are no difference, and certain ones that differ are.
    for value, reach, p in ((50, 3, 1.0), (50, 0, 1.0), (51, 0, 0.0)):
        assert interval_p_value(around(50, reach), around(value, reach)) == p


def test_runs_that_cannot_be_told_apart_tie_and_ranks_count_the_better_ones() -> None:
    # The first is better than the last alone; the run between them ties with both.
    standings = rank_scores([around(60, 4), around(55, 4), around(50, 4)])
    assert standings == [Standing(1, (1,)), Standing(1, (0, 2)), Standing(2, (1,))]
    # Two tie above a third; and the lower score is the better one.
    assert [one.rank for one in rank_scores([around(20, 3), around(61, 3), around(60, 3)])] == [3, 1, 1]
    assert [one.rank for one in rank_scores([around(20, 3), around(61, 3)], higher_is_better=False)] == [1, 2]
    # Holm's method asks for more where there are more pairs.
    two = [around(54.5, 3), around(50, 3)]  # p = 0.038
    assert [one.rank for one in rank_scores(two)] == [1, 2]
    assert [one.rank for one in rank_scores([*two, around(52, 3)])] == [1, 1, 1]
