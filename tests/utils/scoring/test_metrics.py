"""A score's definition: values, groups that count together, strata, counts, and what becomes of missing values."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
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
    mean_of_known,
    score_tasks,
    sum_groups,
)
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason, percent

FLAGS = st.sampled_from([True, False, None])
OUTCOMES = {True: Outcome.CORRECT, False: Outcome.WRONG, None: Outcome.UNSCORED}
STRATA_MEAN = replace(PAIR_ACCURACY, name="strata_mean", stratum=lambda record: record.stratum["part"])
RIGHT = Metric("right", "right", lambda record: percent(record.correct))
CONTRAST = replace(RIGHT, name="contrast", contrast=lambda record: record.stratum["part"] == "yes", bounds=(-100, 100))
BIG = RIGHT.within("big", lambda record: record.stratum["part"] == "big")


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
    assert PAIRS_SCORED.score_records(records) == 3
    unread = replace(records[0], answered=None, outcome=Outcome.UNPARSED)
    silent = replace(unread, outcome=Outcome.UNSCORED, unscored_reason=UnscoredReason.NO_CLIP)
    rated = UNPARSED_RATE.score_records([unread, *records[1:4], silent])
    assert rated == 25, "what was not asked leaves the rate"
    # A group adds one sum, however many of its items count.
    two = pairs((True, False), (True, True))
    assert sum_groups(SINGLE_ACCURACY.units(two)) == {(True, ""): [(100.0, 2.0), (200.0, 2.0)]}


def test_what_is_no_pair_leaves_the_pairs_and_stays_in_the_items() -> None:
    # The official CausalVQA code gives three right answers to one question 0 and two of three a full pair.
    three = [record(True, "three", member) for member in range(3)]
    assert (PAIR_ACCURACY.score_records(three), SINGLE_ACCURACY.score_records(three)) == (None, 100)
    # What counts in a score says on how much it stands.
    records = [*pairs((True, True), (True, None)), record(False, "alone"), *three]
    pair, single = PAIR_ACCURACY.units(records), SINGLE_ACCURACY.units(records)
    assert (count_groups(pair), count_items(pair), PAIR_ACCURACY.combine(pair)) == (1, 2, 100)
    assert (count_groups(single), count_items(single)) == (4, 7)
    assert SINGLE_ACCURACY.combine(single) == pytest.approx(600 / 7)
    # Nothing scored is no score, and counts as none.
    for metric in (PAIR_ACCURACY, SINGLE_ACCURACY, STRATA_MEAN, CONTRAST, UNPARSED_RATE):
        assert metric.score_records([]) is None
    assert PAIRS_SCORED.score_records([]) == replace(RIGHT, kind="total").score_records([]) == 0
    unscored = pairs((None, None), (None, None))
    assert PAIR_ACCURACY.score_records(unscored) is SINGLE_ACCURACY.score_records(unscored) is None


def test_strata_weigh_alike_whatever_their_size() -> None:
    big = pairs((True, True), (False, True), (False, True), (True, True), part="big")
    small = pairs((True, True), part="small")
    assert STRATA_MEAN.score_records(big + small) == pytest.approx((50 + 100) / 2)
    assert PAIR_ACCURACY.score_records(big + small) == pytest.approx(60)
    # A stratum without a score leaves the mean.
    assert STRATA_MEAN.score_records([*big, *pairs((True, None), part="small")]) == 50
    # A group in several strata counts once.
    units = replace(RIGHT, stratum=lambda record: record.item_id[-1]).units(pairs((True, False), (True, True)))
    assert {name: len(counted) for (_, name), counted in units.items()} == {"0": 2, "1": 2}
    assert (count_groups(units), count_items(units)) == (2, 4)


def test_a_weighted_mean_counts_each_item_by_its_weight() -> None:
    """As steps of orders count: of 4 and 2 of them, 25 and 100 percent right are 3 of 6."""
    weighted = replace(
        RIGHT, name="steps", value=lambda one: one.fields["share"], weight=lambda one: one.fields["size"]
    )
    four, two = (
        record(True, group).with_fields(share=share, size=size)
        for group, share, size in (("a", 25.0, 4), ("b", 100.0, 2))
    )
    assert weighted.score_records([four, two]) == pytest.approx(100 * 3 / 6)
    assert sum_groups(weighted.units([four, two])) == {(True, ""): [(100.0, 4.0), (200.0, 2.0)]}
    unscored = replace(four, item_id="c", group_id="c").with_fields(share=None, size=9)
    assert weighted.score_records([four, two, unscored]) == weighted.score_records([four, two])
    # Strata weigh alike, and items within them by their weights; so do the samples of an item.
    part = replace(weighted, stratum=lambda one: one.stratum["part"])
    other = replace(two, item_id="d", group_id="d", stratum={"part": "other"})
    assert part.score_records([four, two, other]) == pytest.approx((50 + 100) / 2)
    twice = replace(four, sample=1, samples=(replace(four, sample=2).with_fields(share=75.0, size=4),))
    assert weighted.score_records([twice, two]) == pytest.approx(100 * 4 / 6)
    for misfit in ({"together": 2}, {"kind": "total"}, {"errors": "clustered"}):
        with pytest.raises(
            ValueError, match="Expected weights of a mean of items without errors, but steps is another"
        ):
            replace(weighted, **misfit)


def test_breakdowns_by_a_column_are_named_without_spaces() -> None:
    (metric,) = RIGHT.by("part", ["Make Pancakes"])
    assert (metric.name, metric.title) == ("right_Make_Pancakes", "Make Pancakes")
    assert metric.score_records([record(True, part="Make Pancakes"), record(False, part="other")]) == 100


def test_a_contrast_is_the_difference_of_its_sides_and_needs_both() -> None:
    right, wrong = pairs((True, True), (True, False), part="yes"), pairs((False, True), part="no")
    assert CONTRAST.score_records(right + wrong) == pytest.approx(75 - 50)
    assert CONTRAST.score_records(right) is None
    assert CONTRAST.score_records([*right, *pairs((None, None), part="no")]) is None
    # A score of some records only.
    records = [*pairs((True, False), part="big"), *pairs((False, False), part="small")]
    assert (BIG.name, BIG.title, BIG.score_records(records), BIG.score_records(records[2:])) == (
        "right_big", "big", 50, None,
    )  # fmt: skip
    both = BIG.within("first", lambda record: record.item_id[-1] == "0")
    assert both.name == "right_big_first" and both.score_records(records) == 100


def test_a_group_of_tasks_needs_every_task_to_which_the_score_applies() -> None:
    assert aggregate_tasks(PAIR_ACCURACY, [10.0, 20.0], [1, 1000], weight_by_size=False) == 15
    assert aggregate_tasks(PAIR_ACCURACY, [10.0, None]) is aggregate_tasks(PAIR_ACCURACY, []) is None
    assert (mean_of_known([10.0, None]), mean_of_known([])) == (10.0, None)
    assert (aggregate_tasks(PAIRS_SCORED, [2, 3]), aggregate_tasks(PAIRS_SCORED, [2, None])) == (5, None)
    # lmms-eval has no such score of a task without an item that counts in it; one that scores none of them has None.
    big, small = pairs((True, False), part="big"), pairs((True, True), part="small")
    unscored = pairs((None, None), part="big")
    assert score_tasks(BIG, map(BIG.units, [big, small])) == 50
    assert score_tasks(BIG, map(BIG.units, [big, unscored])) is None
    assert score_tasks(PAIRS_SCORED, map(PAIRS_SCORED.units, [big, small])) == 2


def test_kinds_and_errors_are_checked() -> None:
    for more in ({"together": 2}, {"stratum": lambda record: "a"}, {"contrast": lambda record: True}):
        with pytest.raises(ValueError, match="Expected other errors of right than plain ones"):
            replace(RIGHT, errors="plain", **more)
    for wrong in ({"kind": "median"}, {"errors": "wide"}):
        with pytest.raises(ValueError, match="of right, one of"):
            replace(RIGHT, **wrong)  # type: ignore[arg-type]


@settings(max_examples=50)
@given(record_lists, record_lists, st.randoms(use_true_random=False))
def test_laws_of_scores(left: list[Record], right: list[Record], shuffle: random.Random) -> None:
    shuffled = shuffle.sample(left, len(left))
    apart = [replace(record, group_id=f"other {record.group_id}") for record in right]
    for metric in (PAIR_ACCURACY, SINGLE_ACCURACY):
        score = metric.score_records(left)
        assert score is None or 0 <= score <= 100
        # Neither order matters nor how whole groups are dealt to shards.
        assert (metric.score_records(shuffled), summed(metric, shuffled)) == (score, summed(metric, left))
        counts = [sum(part) for part in zip(summed(metric, left), summed(metric, apart), strict=True)]
        assert counts == list(summed(metric, left + apart))
    pair, single = PAIR_ACCURACY.score_records(left), SINGLE_ACCURACY.score_records(left)
    if single is not None and not any(record.correct is None for record in left):
        assert pair is not None and pair <= single + 1e-9 and single <= (100 + pair) / 2 + 1e-9
