"""A score's definition: values, groups that count together, strata, counts, and what becomes of missing values."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.scoring.metrics import (
    PAIR_ACCURACY,
    PAIRS_SCORED,
    SINGLE_ACCURACY,
    UNPARSED_RATE,
    UNSCORED_RATE,
    Metric,
    aggregate_tasks,
    count_groups,
    count_items,
    mean_of_all,
    mean_of_known,
    percent,
    score_tasks,
    sum_groups,
)
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

FLAGS = st.sampled_from([True, False, None])
OUTCOMES = {True: Outcome.CORRECT, False: Outcome.WRONG, None: Outcome.UNSCORED}
STRATA_MEAN = replace(PAIR_ACCURACY, name="strata_mean", stratum=lambda record: record.stratum["part"])
RIGHT = Metric("right", "right", lambda record: percent(record.correct))
CONTRAST = replace(RIGHT, name="contrast", contrast=lambda record: record.stratum["part"] == "yes", bounds=(-100, 100))


def record(flag: bool | None, group: str = "g", member: int = 0, part: str = "") -> Record:
    reason = UnscoredReason.NO_KEY if flag is None else None
    return Record(f"{group}_{member}", group, {"part": part}, "A", "A", OUTCOMES[flag], reason)


def pairs(*flags: tuple[bool | None, bool | None], part: str = "") -> list[Record]:
    return [
        record(flag, f"{part}{index}", member, part)
        for index, pair in enumerate(flags)
        for member, flag in enumerate(pair)
    ]


record_lists = st.lists(st.tuples(FLAGS, FLAGS), max_size=30).map(lambda flags: pairs(*flags))


def summed(metric: Metric, records: list[Record]) -> tuple[float, float]:
    """Numerator and denominator of a score that is no mean over strata."""
    (counts,) = sum_groups(metric.units(records)).values() or [[]]
    return sum(part for part, _ in counts), sum(count for _, count in counts)


def test_counts_by_hand() -> None:
    records = pairs((True, True), (True, False), (False, False), (True, None))
    assert summed(PAIR_ACCURACY, records) == (100, 3)
    assert summed(SINGLE_ACCURACY, records) == (400, 7)
    assert UNSCORED_RATE.score_records(records) == pytest.approx(100 / 8)
    assert PAIR_ACCURACY.score_records(records) == pytest.approx(100 / 3)
    assert SINGLE_ACCURACY.score_records(records) == pytest.approx(100 * 4 / 7)


def test_a_group_adds_one_sum_however_many_of_its_items_count() -> None:
    records = pairs((True, False), (True, True))
    assert sum_groups(SINGLE_ACCURACY.units(records)) == {(True, ""): [(100.0, 2.0), (200.0, 2.0)]}


def test_a_pair_cut_in_two_leaves_the_pairs_and_stays_in_the_items() -> None:
    records = [*pairs((True, True)), record(False, "cut")]
    assert PAIR_ACCURACY.score_records(records) == 100
    assert SINGLE_ACCURACY.score_records(records) == pytest.approx(200 / 3)


def test_a_group_of_three_is_no_pair() -> None:
    # The official CausalVQA code gives three right answers to one question 0 and two of three a full pair.
    records = [record(True, "q", member) for member in range(3)]
    assert PAIR_ACCURACY.score_records(records) is None
    assert SINGLE_ACCURACY.score_records(records) == 100


@pytest.mark.parametrize("metric", [PAIR_ACCURACY, SINGLE_ACCURACY, STRATA_MEAN, CONTRAST, UNPARSED_RATE])
def test_nothing_scored_is_no_score(metric: Metric) -> None:
    assert metric.score([]) is None


def test_nothing_counts_as_none() -> None:
    assert PAIRS_SCORED.score([]) == 0
    assert replace(RIGHT, kind="total").score([]) == 0


def test_nothing_but_unscored_items_is_no_score() -> None:
    records = pairs((None, None), (None, None))
    assert PAIR_ACCURACY.score_records(records) is None
    assert SINGLE_ACCURACY.score_records(records) is None


def test_strata_weigh_alike_whatever_their_size() -> None:
    big = pairs((True, True), (False, True), (False, True), (True, True), part="big")
    small = pairs((True, True), part="small")
    assert STRATA_MEAN.score_records(big + small) == pytest.approx((50 + 100) / 2)
    assert PAIR_ACCURACY.score_records(big + small) == pytest.approx(60)
    # A stratum without a score leaves the mean.
    assert STRATA_MEAN.score_records([*big, *pairs((True, None), part="small")]) == 50


def test_a_contrast_is_the_difference_of_its_sides_and_needs_both() -> None:
    right, wrong = pairs((True, True), (True, False), part="yes"), pairs((False, True), part="no")
    assert CONTRAST.score_records(right + wrong) == pytest.approx(75 - 50)
    assert CONTRAST.score_records(right) is None
    assert CONTRAST.score_records([*right, *pairs((None, None), part="no")]) is None


def test_a_score_of_some_records_only() -> None:
    part = RIGHT.within("small_part", lambda record: record.stratum["part"] == "small")
    assert (part.name, part.title) == ("right_small_part", "small part")
    records = [*pairs((True, True), part="small"), *pairs((False, False), part="big")]
    assert part.score_records(records) == 100
    assert part.score_records(records[2:]) is None


def test_rate_leaves_out_what_was_not_asked() -> None:
    assert UNPARSED_RATE.score([100.0, 0.0, None, 0.0, 0.0]) == 25


def test_a_group_of_tasks_needs_every_task() -> None:
    assert aggregate_tasks(PAIR_ACCURACY, [10.0, 20.0], [1, 1000], weight_by_size=False) == 15
    assert aggregate_tasks(PAIR_ACCURACY, [10.0, None]) is None
    assert aggregate_tasks(PAIR_ACCURACY, []) is None
    assert (mean_of_all([10.0, None]), mean_of_known([10.0, None]), mean_of_known([])) == (None, 10.0, None)


def test_scored_pairs_are_counted() -> None:
    assert PAIRS_SCORED.score_records(pairs((True, True), (True, None), (False, True))) == 2
    assert aggregate_tasks(PAIRS_SCORED, [2, 3]) == 5
    assert aggregate_tasks(PAIRS_SCORED, [2, None]) is None


def test_what_counts_in_a_score_says_on_how_much_it_stands() -> None:
    records = [
        *pairs((True, True), (True, None)),
        record(False, "alone"),
        *(record(True, "three", n) for n in range(3)),
    ]
    pair, single = PAIR_ACCURACY.units(records), SINGLE_ACCURACY.units(records)
    assert (count_groups(pair), count_items(pair)) == (1, 2)
    assert (count_groups(single), count_items(single)) == (4, 7)
    assert PAIR_ACCURACY.combine(pair) == 100 and SINGLE_ACCURACY.combine(single) == pytest.approx(600 / 7)


def test_a_group_in_several_strata_counts_once() -> None:
    balanced = replace(RIGHT, stratum=lambda record: record.item_id[-1])
    units = balanced.units(pairs((True, False), (True, True)))
    assert {name: len(counted) for (_, name), counted in units.items()} == {"0": 2, "1": 2}
    assert (count_groups(units), count_items(units)) == (2, 4)


def test_a_task_to_which_a_score_does_not_apply_leaves_the_mean_over_tasks() -> None:
    # lmms-eval has no such score of a task without an item that counts in it; one that scores none of them has None.
    part = RIGHT.within("big", lambda record: record.stratum["part"] == "big")
    big, small = pairs((True, False), part="big"), pairs((True, True), part="small")
    unscored = pairs((None, None), part="big")
    assert score_tasks(part, map(part.units, [big, small])) == 50
    assert score_tasks(part, map(part.units, [big, unscored])) is None
    assert score_tasks(PAIRS_SCORED, map(PAIRS_SCORED.units, [big, small])) == 2


def test_a_part_of_a_part() -> None:
    both = RIGHT.within("big", lambda record: record.stratum["part"] == "big").within(
        "first", lambda r: r.item_id[-1] == "0"
    )
    records = [*pairs((True, False), part="big"), *pairs((False, False), part="small")]
    assert both.name == "right_big_first" and both.score_records(records) == 100


def test_plain_errors_suit_values_that_count_alone() -> None:
    for more in ({"together": 2}, {"stratum": lambda record: "a"}, {"contrast": lambda record: True}):
        with pytest.raises(ValueError, match="Expected other errors of right than plain ones"):
            replace(RIGHT, errors="plain", **more)


def test_a_kind_or_errors_that_there_are_not_are_refused() -> None:
    for more in ({"kind": "median"}, {"errors": "wide"}):
        with pytest.raises(ValueError, match="of right, one of"):
            replace(RIGHT, **more)  # type: ignore[arg-type]


def test_what_is_gathered_of_a_record() -> None:
    right = record(True, "q1", part="yes")
    assert PAIR_ACCURACY.item(right) == {"group_id": "q1", "value": 100.0}
    # lmms-eval takes the values of clustered standard errors from the key score.
    assert SINGLE_ACCURACY.item(right) == {"group_id": "q1", "value": 100.0, "score": 100.0}
    assert "score" not in SINGLE_ACCURACY.item(record(None))
    assert STRATA_MEAN.item(right) == {"group_id": "q1", "value": 100.0, "stratum": "yes"}
    assert CONTRAST.item(right) == {"group_id": "q1", "value": 100.0, "contrast": True}
    assert replace(RIGHT, errors="plain").item(right) == 100.0


@given(record_lists)
def test_bounds(records: list[Record]) -> None:
    pair, single = PAIR_ACCURACY.score_records(records), SINGLE_ACCURACY.score_records(records)
    assert pair is None or 0 <= pair <= 100
    assert single is None or 0 <= single <= 100
    if single is not None and not any(record.correct is None for record in records):
        assert pair is not None and pair <= single + 1e-9 and single <= (100 + pair) / 2 + 1e-9


@given(record_lists, st.randoms(use_true_random=False))
def test_order_does_not_matter(records: list[Record], shuffle: random.Random) -> None:
    shuffled = list(records)
    shuffle.shuffle(shuffled)
    for metric in (PAIR_ACCURACY, SINGLE_ACCURACY, PAIRS_SCORED):
        assert metric.score_records(shuffled) == metric.score_records(records)
        assert summed(metric, shuffled) == summed(metric, records)


@given(record_lists, record_lists)
def test_shards_of_whole_groups_merge(left: list[Record], right: list[Record]) -> None:
    apart = [replace(record, group_id=f"other {record.group_id}") for record in right]
    for metric in (PAIR_ACCURACY, SINGLE_ACCURACY):
        counts = [sum(part) for part in zip(summed(metric, left), summed(metric, apart), strict=True)]
        assert counts == list(summed(metric, left + apart))


@given(st.integers(min_value=1, max_value=50))
def test_always_the_same_letter_gets_no_minimal_pair(number: int) -> None:
    # Members of a minimal pair have different keys, so a constant answer is right on exactly one of them.
    records = pairs(*[(True, False)] * number)
    assert (PAIR_ACCURACY.score_records(records), SINGLE_ACCURACY.score_records(records)) == (0, 50)
