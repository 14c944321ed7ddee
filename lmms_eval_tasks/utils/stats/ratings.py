"""What people rated on scales: means with intervals, and how far raters agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

from lmms_eval_tasks.utils.benchmark.inquiries import Scale
from lmms_eval_tasks.utils.core.csv_rows import read_csv
from lmms_eval_tasks.utils.core.problems import InputError, Problems
from lmms_eval_tasks.utils.core.wording import quote
from lmms_eval_tasks.utils.stats.bootstrap import macro_interval

RATING_COLUMNS = ("item_id", "annotator")


@dataclass(frozen=True)
class Rating:
    """What one annotator chose for one item, by the name of the scale."""

    item_id: str
    annotator: str
    values: Mapping[str, str]


@dataclass(frozen=True)
class ScaleScore:
    """What was rated on a scale."""

    items: int
    value: float
    interval: tuple[float, float]
    alpha: float | None


def read_ratings(source: Path, scales: Sequence[Scale], known: Container[str]) -> list[Rating]:
    """A table of ratings, as `annotate collect` writes it."""
    problems = Problems()
    ratings: dict[tuple[str, str], Rating] = {}
    for where, row in read_csv(source, (*RATING_COLUMNS, *(scale.name for scale in scales))):
        key = row["item_id"].strip(), row["annotator"].strip()
        if not all(key):
            problems.add(where, "Expected a value for item_id and annotator, but got none.")
            continue
        if key[0] not in known:
            problems.add(where, f"Expected an item of the table, but got {quote(key[0])}.")
        if key in ratings:
            problems.add(where, f"Expected one row of {key[1]} for {key[0]}, but got another.")
        for scale in scales:
            if row[scale.name] not in scale.choices:
                expected = f"Expected {scale.name} to be one of {', '.join(scale.choices)}"
                problems.add(where, f"{expected}, but got {quote(row[scale.name])}.")
        ratings.setdefault(key, Rating(*key, {scale.name: row[scale.name] for scale in scales}))
    problems.raise_if_any(f"{source.name} cannot be used")
    if not ratings:
        raise InputError(f"{source.name} holds no ratings.")
    return list(ratings.values())


def score_scale(scale: Scale, ratings: Sequence[Rating]) -> ScaleScore:
    """The ratings on a scale; of at least one item."""
    by_item: defaultdict[str, list[float]] = defaultdict(list)
    worth = _worth(scale)
    for rating in ratings:
        by_item[rating.item_id].append(worth[rating.values[scale.name]])
    means = [sum(values) / len(values) for values in by_item.values()]
    interval = macro_interval([[(mean, 1.0) for mean in means]], (min(worth.values()), max(worth.values())))
    return ScaleScore(len(by_item), sum(means) / len(means), interval, alpha_of(list(by_item.values())))


def _worth(scale: Scale) -> dict[str, float]:
    """What each choice counts; percent of the first of two, so that by name and by interval alpha is the same."""
    if scale.is_numeric:
        return {value: float(value) for value in scale.choices}
    first = next(iter(scale.choices))
    return {value: 100.0 * (value == first) for value in scale.choices}


def alpha_of(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's alpha by interval: 1 for ratings that agree, 0 for what chance would do."""
    rated = [unit for unit in units if len(unit) > 1]
    values = [value for unit in rated for value in unit]
    # Sums of squared differences over ordered pairs, by way of sums and sums of squares.
    spread = 2 * (len(values) * sum(value * value for value in values) - sum(values) ** 2)
    if not rated or spread <= 1e-9:
        return None
    within = sum(sum((one - other) ** 2 for one, other in permutations(unit, 2)) / (len(unit) - 1) for unit in rated)
    return 1 - (len(values) - 1) * within / spread
