"""Scores of a whole set from a sample of its groups: the estimate, its interval, and how often that holds the truth."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from lmms_eval_tasks.utils.data.sampling import Drawn, SampleChoice, draw
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate, estimate
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import Metric, right
from lmms_eval_tasks.utils.scoring.record import Outcome, Record

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
    records = [
        Record(f"{stratum}{place}", f"{stratum}{place}", {}, "A", "A", outcome, drawn=drawn)
        for stratum, groups, outcomes in (("a", 8, "CC"), ("b", 2, "CW"))
        for drawn in (Drawn(stratum=stratum, asked=2, groups=groups),)
        for place, outcome in enumerate({"C": Outcome.CORRECT, "W": Outcome.WRONG}[one] for one in outcomes)
    ]  # fmt: skip
    assert scored(SINGLE, records).value == pytest.approx(100 * (8 + 1) / 10)
    assert scored(PAIRS, sampled(made(), 450)).value == pytest.approx(scored(PAIRS, made()).value, abs=2)


@pytest.mark.parametrize("metric", [PAIRS, SINGLE, MACRO], ids=lambda metric: metric.name)
def test_the_interval_narrows_to_nothing_as_the_sample_grows_to_the_whole(metric: Metric) -> None:
    records = made()
    widths = []
    for number in (50, 200, 450, 499):
        found = scored(metric, sampled(records, number))
        assert found.low <= found.value <= found.high and found.groups == number
        widths.append(found.high - found.low)
    assert widths == sorted(widths, reverse=True) and widths[-1] < 1
    infinite = [replace(one, drawn=None) for one in sampled(records, 450)]
    assert widths[2] < (scored(metric, infinite).high - scored(metric, infinite).low) / 2


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
