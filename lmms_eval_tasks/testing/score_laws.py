"""Laws of the scores of a kind of task, checked on records drawn from graded examples."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import isclose
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.errors import Problems, blame
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.scoring.bootstrap import estimate
from lmms_eval_tasks.utils.scoring.metrics import Metric
from lmms_eval_tasks.utils.scoring.record import Record

DRAWS, INTERVALS = 10, 3
"""How often records are drawn for a law of a score, and for one that needs intervals."""
NEAR = 1e-9
Law = Callable[[Metric, Sequence[Record], random.Random], str]
"""What is wrong with a score on drawn records, as a sentence; empty where nothing is."""


def check_scores(metrics: Sequence[Metric], records: Sequence[Record], folder: Path) -> Problems:
    """Check scores for values that cannot be read or lie outside their bounds, and for laws that do not hold."""
    problems = Problems()
    for metric in metrics:
        where = f"metrics, {metric.name}"
        with attempting(problems, where, "a score of any records", folder):
            if fault := _value_fault(metric, records, folder) or _law_fault(metric, records):
                problems.add(where, fault)
    return problems


@contextmanager
def attempting(problems: Problems, where: str, wanted: str, folder: Path) -> Iterator[None]:
    """Note the fault where a benchmark's own function, called in the `with` block, raises anything."""
    try:
        yield
    except Exception as error:  # whatever a benchmark's own functions raise
        problems.add(where, f"Expected {wanted}, but got this: {blame(error, folder)}")


def _value_fault(metric: Metric, records: Sequence[Record], folder: Path) -> str:
    """Return the first fault in the single values of a score, or an empty string if there is none."""
    for record in records:
        try:
            if not metric.applies(record):
                continue
            value: Any = metric.value(record)
        except Exception as error:  # whatever a benchmark's own functions raise
            offered = ", ".join(["expected", "answered", "outcome", *record.fields]) + (
                f" and the strata {', '.join(record.stratum)}" if record.stratum else ""
            )
            return f"Expected a number or None of a record, which has {offered}, but got this: {blame(error, folder)}"
        if value is None:
            continue
        if not isinstance(value, (int, float)):
            return f"Expected a number or None of a record, but got {describe(value)}."
        low, high = metric.value_bounds or (float("-inf"), float("inf"))
        if not low <= value <= high:
            return f"Expected values from {low:g} to {high:g}, its value_bounds, but got {value:g}."
    return ""


def unreached(metrics: Sequence[Metric], records: Sequence[Record]) -> list[str]:
    """The scores in which no record has a value, so that nothing is known of them."""
    return [metric.name for metric in metrics if not any(True for _ in _known(metric, records))]


def _law_fault(metric: Metric, records: Sequence[Record]) -> str:
    """The first law that a score breaks; always on the same drawn records."""
    rng = random.Random(metric.name)
    if (nothing := metric.score_records([])) != (None if metric.kind == "mean" else 0):
        return f"Expected no score without items, or 0 of a count, but got {nothing}."
    laws: list[tuple[Law, int]] = [(_order, DRAWS), (_bounds, DRAWS), (_best, DRAWS), (_unscored, DRAWS)]
    laws.append((_interval, INTERVALS))
    for law, draws in laws:
        for _ in range(draws):
            if fault := law(metric, draw_records(rng, records), rng):
                return fault
    return ""


def draw_records(rng: random.Random, records: Sequence[Record]) -> list[Record]:
    """Up to twelve groups of one to three records, most of them pairs."""
    drawn = []
    for group, size in enumerate(rng.choices([2, 2, 2, 1, 3], k=rng.randint(0, 12))):
        for member, record in enumerate(rng.choices(records, k=size)):
            drawn.append(replace(record, item_id=f"{group}_{member}", group_id=f"{group}"))
    return drawn


def _near(one: float | None, other: float | None) -> bool:
    return one is other if one is None or other is None else isclose(one, other, rel_tol=1e-6, abs_tol=NEAR)


def _known(metric: Metric, records: Sequence[Record]) -> Iterator[Record]:
    return (record for record in records if metric.applies(record) and metric.value(record) is not None)


def _order(metric: Metric, records: Sequence[Record], rng: random.Random) -> str:
    """Neither the order of items matters nor, since ranks bring theirs in turn, how they are dealt to ranks."""
    written = [Record.from_json(json.loads(json.dumps(record.to_json()))) for record in records]
    score, logged = metric.score_records(records), metric.score_records(written)
    if logged != score:
        return f"Expected one score of records and of those in the sample log, but got {score} and {logged}."
    other = metric.score_records(rng.sample(written, len(written)))
    return "" if _near(score, other) else f"Expected the order of items not to matter, but got {score} and {other}."


def _bounds(metric: Metric, records: Sequence[Record], rng: random.Random) -> str:
    score = metric.score_records(records)
    if score is None:
        return "" if metric.kind == "mean" else "Expected a count, but got None."
    if metric.kind != "mean":
        whole = isinstance(score, int) and 0 <= score <= len(records)
        return "" if whole else f"Expected a count of {len(records)} items, but got {score}."
    low, high = metric.bounds
    if metric.value_bounds and not metric.contrast and not low - NEAR <= score <= high + NEAR:
        return f"Expected a score from {low:g} to {high:g}, its bounds, but got {score:g}."
    return ""


def _best(metric: Metric, records: Sequence[Record], rng: random.Random) -> str:
    """Items that all have the best value have the best score."""
    if metric.kind != "mean" or metric.contrast or not metric.value_bounds or metric.higher_is_better is None:
        return ""
    best, bound = metric.value_bounds[metric.higher_is_better], metric.bounds[metric.higher_is_better]
    if not (perfect := [record for record in _known(metric, records) if metric.value(record) == best]):
        return ""
    record, size = rng.choice(perfect), metric.together or rng.randint(1, 3)
    score = metric.score_records(replace(record, item_id=f"{member}", group_id="group") for member in range(size))
    return "" if _near(score, bound) else f"Expected {bound:g} where all values are {best:g}, but got {score}."


def _interval(metric: Metric, records: Sequence[Record], rng: random.Random) -> str:
    if metric.kind != "mean":
        return ""
    found, score = estimate(metric, [records]), metric.score_records(records)
    if found is None or score is None:
        alike = found is None and score is None
        return "" if alike else f"Expected an interval where there is a score, {score}, but got {found}."
    if found.value != score or not found.low - NEAR <= score <= found.high + NEAR:
        return f"Expected an interval that holds the score {score:g}, but got {found.low:g} to {found.high:g}."
    if not 0 < found.groups <= len(records):
        return f"Expected it to have 1 to {len(records)} groups, but got {found.groups}."
    return ""


def _unscored(metric: Metric, records: Sequence[Record], rng: random.Random) -> str:
    """An item without a value leaves a mean as it is."""
    without = [record for record in records if metric.applies(record) and metric.value(record) is None]
    if metric.together or metric.kind != "mean" or not without:
        return ""
    score = metric.score_records(records)
    other = metric.score_records([*records, replace(rng.choice(without), item_id="more", group_id="more")])
    return "" if _near(score, other) else f"Expected an item without a value to change nothing, but got {other}."
