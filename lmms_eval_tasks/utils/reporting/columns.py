"""Columns of a report's tables, each a function of a run's records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.scoring import pair_scores, rates
from lmms_eval_tasks.utils.scoring.metrics import Metric, score_tasks
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import Records, estimate, refuse_counts


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        heading: What it shows.
        cell: Its text for one run, from the records of each of the run's parts (the tasks of a group, or one task).
        metric: The score that it shows; None of other columns.
    """

    heading: str
    cell: Callable[[Sequence[Records]], str]
    metric: Metric | None = None


def interval_column(metric: Metric, stacked: bool = False) -> Column:
    """A score with its 95% bootstrap interval over groups (10,000 draws, seed 0), as ``12.3 [10.0, 15.0]``.

    Over several parts it is their unweighted mean, ``N/A`` where a part has none. For tables of many scores the
    interval is `stacked` below the score.

    Raises:
        ValueError: where the score is a count, which has no interval.
    """
    refuse_counts(metric)

    def cell(parts: Sequence[Records]) -> str:
        score = estimate(metric, parts)
        if score is None:
            return "N/A"
        return f"{score.value:.1f}{chr(10) if stacked else ' '}[{score.low:.1f}, {score.high:.1f}]"

    return Column(metric.title, cell, metric)


def score_column(metric: Metric, heading: str = "") -> Column:
    """A score alone: over several parts their unweighted mean, or the sum of counts."""

    def cell(parts: Sequence[Records]) -> str:
        score = score_tasks(metric, map(metric.units, parts))
        return number_text(score) if metric.kind == "mean" else f"{score or 0:,}"

    return Column(heading or metric.title, cell, metric)


def other_units(columns: Iterable[Column]) -> str:
    """Which scores of some columns are not in percent, to follow a sentence that says that scores are; else empty."""
    units: dict[str, list[str]] = {}
    for column in columns:
        if column.metric and column.metric.unit != "%":
            headings = units.setdefault(f"in {column.metric.unit}" if column.metric.unit else "plain numbers", [])
            headings += [column.heading] if column.heading not in headings else []
    return "".join(f"; {', '.join(headings)}: {unit}" for unit, headings in units.items())


def number_text(score: float | None) -> str:
    """A score with one decimal; ``N/A`` where there is none."""
    return "N/A" if score is None else f"{score:.1f}"


def items_column(heading: str) -> Column:
    """How many items there are, over all parts."""
    return Column(heading, lambda parts: f"{sum(map(len, parts)):,}")


def by_group(records: Records) -> list[list[Record]]:
    """The records of each group, groups in the order of their first member."""
    members: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        members[record.group_id].append(record)
    return list(members.values())


OUTCOME_COLUMNS = (score_column(rates.UNPARSED_RATE), score_column(rates.UNSCORED_RATE))
"""Percent of the items asked that are unparsed, and of all items that are unscored."""

PAIR_COLUMNS = (
    interval_column(pair_scores.PAIR_ACCURACY),
    interval_column(pair_scores.SINGLE_ACCURACY),
    score_column(pair_scores.PAIR_ACCURACY_OFFICIAL),
    *OUTCOME_COLUMNS,
    score_column(pair_scores.PAIRS_SCORED),
)
"""Of a benchmark whose items count in pairs: accuracies, pair accuracy by the official reading, shares, and counts."""
