"""Columns of a report's tables, each a function of a run's records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.scoring import pairs, rates
from lmms_eval_tasks.utils.scoring.metrics import Kind, Metric, mean_of_all, mean_of_known
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import Records, estimate


@dataclass(frozen=True)
class Column:
    """One column.

    Attributes:
        heading: What it shows.
        cell: Its text for one run, from the records of each of the run's parts (the tasks of a group, or one task).
    """

    heading: str
    cell: Callable[[Sequence[Records]], str]


def interval_column(metric: Metric, stacked: bool = False) -> Column:
    """A score with its 95% bootstrap interval over groups (10,000 draws, seed 0), as ``12.3 [10.0, 15.0]``.

    Over several parts it is their unweighted mean, ``N/A`` where a part has none. For tables of many scores the
    interval is `stacked` below the score.
    """

    def cell(parts: Sequence[Records]) -> str:
        score = estimate(metric, parts)
        if score is None:
            return "N/A"
        return f"{score.value:.1f}{chr(10) if stacked else ' '}[{score.low:.1f}, {score.high:.1f}]"

    return Column(metric.title, cell)


def score_column(metric: Metric, heading: str = "") -> Column:
    """A score alone: over several parts their unweighted mean, or the sum of counts."""

    def cell(parts: Sequence[Records]) -> str:
        scores = [metric.score_records(part) for part in parts]
        if metric.kind is not Kind.MEAN:
            return f"{sum(score or 0 for score in scores):,}"
        return number_text(mean_of_all(scores))

    return Column(heading or metric.title, cell)


def share_column(metric: Metric) -> Column:
    """A rate of items; over several parts the unweighted mean of those that have one."""
    return Column(metric.title, lambda parts: number_text(mean_of_known(metric.score_records(part) for part in parts)))


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


OUTCOME_COLUMNS = (share_column(rates.UNPARSED_SHARE), share_column(rates.UNSCORED_RATE))
"""Percent of items that are unparsed, and unscored."""

PAIR_COLUMNS = (
    interval_column(pairs.PAIR_ACCURACY),
    interval_column(pairs.SINGLE_ACCURACY),
    score_column(pairs.PAIR_ACCURACY_OFFICIAL),
    *OUTCOME_COLUMNS,
    score_column(pairs.PAIRS_SCORED),
)
"""Of a benchmark whose items count in pairs: accuracies, pair accuracy by the official reading, shares, and counts."""
