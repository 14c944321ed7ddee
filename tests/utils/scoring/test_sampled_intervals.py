"""Scores of a whole set from a sample of its groups: the estimate, its interval, and how often that holds the truth."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from scipy import stats

from lmms_eval_tasks.utils.data.sampling import Drawn, SampleChoice, draw
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate, estimate
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, right

PAIRS = Metric("pairs", "pairs", right, together=2)
SINGLE = Metric("single", "single", right)
MACRO = Metric("macro", "macro", right, stratum=lambda record: record.stratum["part"])
PARTS = ((25, 0.05), (50, 0.9), (100, 0.5), (150, 0.1), (175, 0.8))
"""Groups of each part, and how many members of a pair are right: strong strata of unequal size."""


SAMPLES = 100
"""The share that holds of so many is 95% ± 2.2; `benchmarks/sample_coverage.py` draws 1,000."""


def made(parts: Sequence[tuple[int, float]] = PARTS, seed: int = 0) -> list[Record]:
    rng = random.Random(seed)
    return [
        Record(f"{part}_{group}_{member}", f"{part}_{group}", {"part": str(part)}, "A", "A", outcome)
        for part, (size, share) in enumerate(parts)
        for group in range(size)
        for member in range(2)
        for outcome in (Outcome.CORRECT if rng.random() < share else Outcome.WRONG,)
    ]


def sampled(records: Sequence[Record], number: int, seed: int = 0) -> list[Record]:
    values = {record.group_id: (record.stratum["part"],) for record in records}
    drawn = draw("task", {"task": values}, SampleChoice(number, seed))
    assert drawn
    return [replace(one, drawn=drawn["task"][one.group_id]) for one in records if one.group_id in drawn["task"]]


def scored(metric: Metric, records: Sequence[Record]) -> Estimate:
    found = estimate(metric, [records])
    assert found
    return found


def test_a_group_counts_as_often_as_it_stands_for() -> None:
    assert scored(SINGLE, of_strata([(8, "CC"), (2, "CW")])).value == pytest.approx(100 * (8 + 1) / 10)
    assert scored(PAIRS, sampled(made(), 450)).value == pytest.approx(scored(PAIRS, made()).value, abs=2)


def of_strata(strata: Sequence[tuple[int, str]]) -> list[Record]:
    """Of each stratum, how many groups it has and which of those that were asked are right."""
    return [
        Record(f"{stratum}-{place}", f"{stratum}-{place}", {}, "A", "A", outcome, drawn=drawn)
        for stratum, (groups, outcomes) in enumerate(strata)
        for drawn in (Drawn(stratum=str(stratum), asked=len(outcomes), groups=groups),)
        for place, outcome in enumerate({"C": Outcome.CORRECT, "W": Outcome.WRONG}[one] for one in outcomes)
    ]


def wilson(share: float, variance: float, freedom: int) -> tuple[float, float]:
    """Wilson's interval, in percent, of the roots of its equation: whose distance to the share is t standard errors."""
    squared, number = stats.t.ppf(0.975, freedom) ** 2, share * (1 - share) / variance
    least, middle = 1 + squared / number, 2 * share + squared / number
    root = (middle**2 - 4 * least * share**2) ** 0.5
    return 50 * (middle - root) / least, 50 * (middle + root) / least


@pytest.mark.parametrize(
    ("strata", "share", "variance", "freedom"),
    [
        ([(100, "C" * 8 + "W" * 12)], 0.4, 0.8 * 0.4 * 0.6 / 19, 19),
        ([(60, "CCCW"), (40, "CWWW")], 0.55, 0.6**2 * (1 - 4 / 60) * 0.0625 + 0.4**2 * 0.9 * 0.0625, 6),
        # A stratum that was asked whole is known.
        ([(60, "CCCW"), (4, "CWWW")], 46 / 64, (60 / 64) ** 2 * (1 - 4 / 60) * 0.0625, 3),
        # Those of which one group was asked vary by their distance from the mean of all.
        ([(50, "C"), (30, "W"), (20, "CW")], 0.6, 0.98 * 0.04 + 0.09 * 0.36 * 29 / 30 + 0.04 * 0.25 * 0.9, 2),
    ],
)
def test_the_interval_is_wilsons_for_an_effective_number_of_groups(
    strata: Sequence[tuple[int, str]], share: float, variance: float, freedom: int
) -> None:
    found = scored(SINGLE, of_strata(strata))
    assert found.value == pytest.approx(100 * share)
    assert (found.low, found.high) == pytest.approx(wilson(share, variance, freedom))


def test_one_group_of_a_stratum_varies_by_its_distance_from_the_mean_of_its_part_or_where_it_is_alone_of_all() -> None:
    def of_parts(strata: Sequence[tuple[int, str]], parts: str) -> Estimate:
        records = [replace(one, stratum={"part": parts[int(one.group_id[0])]}) for one in of_strata(strata)]
        return scored(MACRO, records)

    # Each part is half of the score; of all 110 groups 95 would be right.
    alone, distance = of_parts([(50, "C"), (60, "CCCW")], "ab"), 0.5 * (1 - 95 / 110)
    variance = 49 / 50 * distance**2 + 0.5**2 * (1 - 4 / 60) * 0.0625
    assert alone.value == pytest.approx(87.5)
    assert (alone.low, alone.high) == pytest.approx(wilson(0.875, variance, 3))
    # In its part of 110 groups 50 would be right.
    two, share = of_parts([(50, "C"), (60, "W"), (40, "CCCW")], "aab"), 50 / 110
    distances = (share * (1 - share) / 2, (1 - share) * share / 2)
    variance = 49 / 50 * distances[0] ** 2 + 59 / 60 * distances[1] ** 2 + 0.5**2 * (1 - 4 / 40) * 0.0625
    assert two.value == pytest.approx(50 * (share + 0.75))
    assert (two.low, two.high) == pytest.approx(wilson((share + 0.75) / 2, variance, 4))


def test_both_sides_of_a_difference_widen_its_interval_alike() -> None:
    one = Metric("gap", "gap", right, contrast=lambda record: record.stratum["part"] == "0")
    other = Metric("gap", "gap", right, contrast=lambda record: record.stratum["part"] == "1")
    records = sampled(made([(40, 0.3), (60, 0.8)]), 30)
    found, turned = scored(one, records), scored(other, records)
    assert (found.value, found.low, found.high) == pytest.approx((-turned.value, -turned.high, -turned.low))
    # Either side adds to the spread: as that of independent samples.
    half = [
        (each.high - each.low) / 2
        for each in (
            found,
            *(scored(SINGLE, [record for record in records if record.stratum["part"] == part]) for part in "01"),
        )
    ]
    assert half[0] == pytest.approx((half[1] ** 2 + half[2] ** 2) ** 0.5, rel=0.2)


def test_groups_that_do_not_vary_are_as_many_as_would_know_as_much() -> None:
    found = scored(SINGLE, of_strata([(60, "C" * 6), (40, "C" * 4)]))
    squared = stats.t.ppf(0.975, 8) ** 2
    assert (found.low, found.high) == pytest.approx((100 / (1 + squared * 0.9 / 10), 100))


@pytest.mark.parametrize("metric", [PAIRS, SINGLE, MACRO], ids=lambda metric: metric.name)
def test_the_interval_narrows_to_nothing_as_the_sample_grows_to_the_whole(metric: Metric) -> None:
    records = made()
    widths = []
    for number in (50, 200, 450, 499):
        found = scored(metric, sampled(records, number))
        assert found.low <= found.value <= found.high and found.groups == number
        assert scored(metric, sampled(records[::-1], number)) == found, "to the last bit"
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True) and widths[-1] < 1
    infinite = [replace(one, drawn=None) for one in sampled(records, 450)]
    assert widths[2] < (scored(metric, infinite).high - scored(metric, infinite).low) / 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "number"),
    [(PAIRS, 20), (PAIRS, 60), (SINGLE, 60), (MACRO, 200)],
    ids=lambda value: getattr(value, "name", value),
)
def test_intervals_hold_the_score_of_the_whole(metric: Metric, number: int) -> None:
    records = made()
    whole = metric.score_records(records)
    assert whole is not None
    found = [scored(metric, sampled(records, number, seed)) for seed in range(SAMPLES)]
    held = 100 * sum(one.low <= whole <= one.high for one in found) / SAMPLES
    assert 89 <= held < 100, held
    assert sum(one.value for one in found) / len(found) == pytest.approx(whole, abs=1.5)


@pytest.mark.slow
def test_a_sample_and_a_whole_run_are_compared_on_their_common_groups() -> None:
    first, second = made(), made(seed=1)
    whole = compare_records({"task": first}, {"task": second}, [SINGLE]).differences[0]
    part, other = sampled(first, 200), sampled(second, 200)
    for runs in ((part, second), (first, other), (part, other), (part, sampled(second, 300))):
        (found,) = compare_records({"task": runs[0]}, {"task": runs[1]}, [SINGLE]).differences
        assert found.groups == 200 and found.interval[0] <= whole.change <= found.interval[1]
        assert found.interval[1] - found.interval[0] < whole.interval[1] - whole.interval[0] + 5
        estimates = [scored(SINGLE, records).value for records in (part, other)]
        assert [found.first, found.second] == pytest.approx(estimates), "weighted by the strata, in both runs"
