"""Columns of a report's tables, each a function of a run's records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from lmms_eval_tasks.utils.core.cells import Cell, Number, cell_text
from lmms_eval_tasks.utils.reporting.references import compare_to_reference
from lmms_eval_tasks.utils.scoring import rates
from lmms_eval_tasks.utils.scoring.metrics import Metric, score_tasks
from lmms_eval_tasks.utils.scoring.records import Record
from lmms_eval_tasks.utils.stats.estimates import Estimate, Records, estimate, refuse_counts


@dataclass(frozen=True)
class Column:
    """One column: a score of a run, or how many items it has.

    Attributes:
        metric: The score: over several parts of a run their unweighted mean, or the sum of counts; None for how many
            items there are.
        title: Its heading, where that is not the score's title.
        interval: Whether its 95% bootstrap interval over groups (10,000 draws, seed 0) stands beside it.
        against: A figure in the score's unit; the column then says on which side of it the interval lies, and not the
            score.
        text: What it says of all records, in place of a number.

    Raises:
        ValueError: where an interval is asked of a count, which has none.
    """

    metric: Metric | None = None
    title: str = ""
    interval: bool = False
    against: float | None = None
    text: Callable[[Records], str] | None = None

    def __post_init__(self) -> None:
        """Refuse a count where an interval is asked for.

        Raises:
            ValueError: where the score is one, which has no interval.
        """
        if self.metric and (self.interval or self.against is not None):
            refuse_counts(self.metric)

    @property
    def heading(self) -> str:
        """What it is called."""
        return self.title or (self.metric.title if self.metric else "items")

    def value(self, parts: Sequence[Records]) -> Cell:
        """Its cell for one run, from the records of each of the run's parts (the tasks of a group, or one task)."""
        if self.text is not None:
            return self.text([record for part in parts for record in part])
        if self.metric is None:
            return sum(map(len, parts))
        if self.interval or self.against is not None:
            score = estimate(self.metric, parts)
            if self.against is None:
                return score_number(self.metric, score)
            return compare_to_reference(score, self.against).value if score else "N/A"
        number = score_tasks(self.metric, map(self.metric.units, parts))
        return Number(number, unit=self.metric.unit) if self.metric.kind == "mean" else int(number or 0)

    def cell(self, parts: Sequence[Records]) -> str:
        """The same as a text: ``12.3``, with its interval ``12.3 [10.0, 15.0]``, and ``N/A`` without a score."""
        return cell_text(self.value(parts))


def score_number(metric: Metric, score: Estimate | None) -> Number:
    """A score with its interval and how many groups it stands on, for a table; `score` is None where it has none."""
    if score is None:
        return Number(None, unit=metric.unit)
    if score.low == score.high:  # It has no bounds, and its groups do not differ, so that draws of them say nothing.
        return Number(score.value, n=score.groups, unit=metric.unit, after=" (no interval)")
    return Number(score.value, score.low, score.high, score.groups, metric.unit)


def usual_columns(metrics: Sequence[Metric], leading: Sequence[Metric]) -> tuple[Column, ...]:
    """The columns of a task that declares none.

    They are the leading scores with their intervals; the first of them by the official reading, where there is that
    score; all other scores that are no breakdown, whose names begin with another's; the shares of unparsed and unscored
    items; and counts.
    """
    beginnings = tuple(f"{metric.name}_" for metric in metrics)
    official = [metric for metric in metrics if metric.name == f"{leading[0].name}_official"]
    listed = {metric.name for metric in (*leading, *rates.COMMON_METRICS)}
    others = [one for one in metrics if one.name not in listed and not one.name.startswith(beginnings)]
    return (
        *(Column(metric, interval=True) for metric in leading),
        *map(Column, official),
        *(Column(metric) for metric in others if metric.kind == "mean"),
        Column(rates.UNPARSED_RATE),
        Column(rates.UNSCORED_RATE),
        *(Column(metric) for metric in others if metric.kind != "mean"),
    )


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


def by_group(records: Records) -> list[list[Record]]:
    """The records of each group, groups in the order of their first member."""
    members: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        members[record.group_id].append(record)
    return list(members.values())
