"""Columns of a report's tables, layouts of a paper's tables, and the records of a run from which they are filled."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.output import NO_INTERVAL, Cell, Mark, Number, cell_text, points
from lmms_eval_tasks.utils.scoring import metrics as metrics_module
from lmms_eval_tasks.utils.scoring.bootstrap import Estimate, Records, estimate, refuse_counts
from lmms_eval_tasks.utils.scoring.compare import ScoreDifference
from lmms_eval_tasks.utils.scoring.metrics import Metric, score_tasks
from lmms_eval_tasks.utils.scoring.record import Record


@dataclass(frozen=True)
class Column:
    """One column: a score of a run, or how many items it has.

    Attributes:
        metric: The score: over several parts of a run their unweighted mean, or the sum of counts; None for how many
            items there are.
        title: Its heading, where that is not the score's title.
        interval: Whether it has its 95% bootstrap interval over groups (10,000 draws, seed 0).
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
        if self.metric and (self.interval or self.against is not None):
            refuse_counts(self.metric)

    @property
    def heading(self) -> str:
        """Heading of the column."""
        return self.title or (self.metric.title if self.metric else "items")

    def value(self, parts: Sequence[Records]) -> Cell:
        """Its cell for one run, from the records of each of the run's parts (the tasks of a group, or one task)."""
        if self.text is not None:
            return self.text([record for part in parts for record in part])
        if self.metric is None:
            return sum(map(len, parts))
        if self.interval or self.against is not None:
            score = score_number(estimate(self.metric, parts), self.metric.unit)
            if self.against is None:
                return score
            side = score.side_of(self.against)
            return side.value if side else "N/A"
        number = score_tasks(self.metric, map(self.metric.units, parts))
        return Number(number, unit=self.metric.unit) if self.metric.kind == "mean" else int(number or 0)

    def cell(self, parts: Sequence[Records]) -> str:
        """The same as a text: ``12.3``, with its interval ``12.3 [10.0, 15.0]``, and ``N/A`` without a score."""
        return cell_text(self.value(parts))


def score_number(score: Estimate | None, unit: str, digits: int = 1) -> Number:
    """A score with its interval and how many groups it stands on, for a table; `score` is None where it has none."""
    if score is None:
        return Number(None, unit=unit, digits=digits)
    if score.low == score.high:  # It has no bounds, and its groups do not differ, so that draws of them say nothing.
        return Number(score.value, n=score.groups, unit=unit, digits=digits, after=NO_INTERVAL)
    return Number(score.value, score.low, score.high, score.groups, unit, digits)


def difference_numbers(difference: ScoreDifference, mark: Mark | None = None) -> tuple[Number, Number, Number]:
    """The first run's score, the second's, and the second less the first with the paired interval."""
    unit, groups = difference.metric.unit, difference.groups
    first, second = (Number(value, n=groups, unit=unit) for value in (difference.first, difference.second))
    change = Number(difference.change, *difference.interval, groups, points(unit), signed=True, mark=mark)
    return first, second, change


LEVEL = 0.05
"""Two runs differ where the exact test's p-value is below this."""


def decision(change: Number, p_value: float, named: str) -> str:
    """Which of the interval of a difference and the exact test decides; empty where they agree. The test does: it
    holds for any number of groups, and the interval, a bootstrap's, for many."""
    excludes, rejects = change.side_of(0.0) is not Mark.OPEN, p_value < LEVEL
    if excludes == rejects:
        return ""
    interval, test = ("excludes", "does not reject") if excludes else ("contains", "rejects")
    return (
        f"the interval {interval} 0 and the exact test {test} ({named} {p_number(p_value).text}): the test decides, "
        f"{'a' if rejects else 'no'} difference is shown"
    )


def p_number(value: float) -> Number:
    return Number(value, digits=3, least=0.001)


def usual_columns(metrics: Sequence[Metric], leading: Sequence[Metric]) -> tuple[Column, ...]:
    """The columns of a task that declares none.

    They are the leading scores with their intervals; the first of them by the official reading, where there is that
    score; all other scores that are no breakdown, whose names begin with another's; the shares of unparsed and unscored
    items; and counts.
    """
    beginnings = tuple(f"{metric.name}_" for metric in metrics)
    official = [metric for metric in metrics if metric.name == f"{leading[0].name}_official"]
    listed = {metric.name for metric in (*leading, *metrics_module.COMMON_METRICS)}
    others = [one for one in metrics if one.name not in listed and not one.name.startswith(beginnings)]
    return (
        *(Column(metric, interval=True) for metric in leading),
        *map(Column, official),
        *(Column(metric) for metric in others if metric.kind == "mean"),
        Column(metrics_module.UNPARSED_RATE),
        Column(metrics_module.UNSCORED_RATE),
        *(Column(metric) for metric in others if metric.kind != "mean"),
    )


def other_units(columns: Iterable[Column]) -> str:
    """Return a phrase naming the scores of some columns that are not in percent, and those that are means over named
    strata, to follow a sentence that scores are in percent; else empty."""
    units: dict[str, list[str]] = {}
    for column in columns:
        if column.metric and column.metric.unit != "%":
            headings = units.setdefault(f"in {column.metric.unit}" if column.metric.unit else "plain numbers", [])
            headings += [column.heading] if column.heading not in headings else []
        if column.metric and column.metric.over and column.metric.kind == "mean":
            headings = units.setdefault(f"unweighted mean over {column.metric.over}", [])
            headings += [column.heading] if column.heading not in headings else []
    return "".join(f"; {', '.join(headings)}: {unit}" for unit, headings in units.items())


def by_group(records: Records) -> list[list[Record]]:
    """The records of each group, groups in the order of their first member."""
    members: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        members[record.group_id].append(record)
    return list(members.values())


@dataclass(frozen=True)
class LayoutPlace:
    """Row or column of such a table that shows one value of each model: a score, or a score of some items.

    Attributes:
        heading: Its name in the table.
        task: The task or group of which it is a score.
        metric: The score of runs; None where a run has none of the kind.
        where: Fields of the entries of ``published.json`` that have it, with their values; a tuple is any of these.
        applies: Which records of a run count; by default all.
        field: The field of such an entry that has the number.
        block: The block of places to which it belongs, where there are several.
    """

    heading: str
    task: str
    metric: Metric | None
    where: Mapping[str, object]
    applies: Callable[[Record], bool] | None = None
    field: str = "value"
    block: str = ""


def _model(entry: Mapping[str, Any]) -> str:
    return str(entry["model"])


def _no_group(entry: Mapping[str, Any]) -> str:
    return ""


def _no_group_of_run(records: Records) -> str:
    return ""


def _all_runs(runs: Sequence[Any]) -> Sequence[str | None]:
    return [""] * len(runs)


@dataclass(frozen=True)
class Layout:
    """A table of a benchmark's paper.

    Attributes:
        title: Its number and what it shows.
        sources: How the sources of its entries in ``published.json`` begin; none of a table without published figures.
        places: What it shows of each model, in the paper's order.
        across: Whether models are columns, and places rows.
        views: The views whose runs stand in it; an empty name stands for whole items.
        called: An entry's metric to what it is called, for tables that are `across`: there each column has the name of
            its score, which need not be the same of models and people.
        name: What a row or column of published figures is called, by their entry; by default the model.
        group: The group of a published figure, such as its set or the kind of its model, by its entry. Groups stand
            together, in the order of the entries, and are named.
        group_of_run: The group of a run, by its records; of a run that is not of the whole release there is none.
        group_of_people: The group of a study's people.
        take: Of each of the finished runs (`api.runs.Run`) that have records for it, what follows the run's name; None
            where it has no place here.
        left_out: Why a run has no place.
        count: How many groups of items are behind a published figure, by its entry, for tables that are `across`. They
            have a column of these numbers, N, unless it is None.
        figures: Blocks of places that the page draws, with the runs among published models and people, to their titles.
        people: The score by which people's answers to the items stand in it; None where they have no place.
        stages: Where it compares sets that are made one of another, what these are called, in that order; runs of all
            of them stand in it, then their mean, and what it changed.
        stage: Which of these some records are of, and whether a filter left some of the run out.
        digits: How many decimals the paper prints.
        note: What has to be known about it.
    """

    title: str
    sources: tuple[str, ...]
    places: Sequence[LayoutPlace]
    across: bool = False
    views: tuple[str, ...] = ("",)
    called: Mapping[str, str] = field(default_factory=dict)
    name: Callable[[Mapping[str, Any]], str] = _model
    group: Callable[[Mapping[str, Any]], str] = _no_group
    group_of_run: Callable[[Records], str] = _no_group_of_run
    group_of_people: str = ""
    take: Callable[[Sequence[Any]], Sequence[str | None]] = _all_runs
    left_out: str = ""
    count: Callable[[Mapping[str, Any]], int | None] | None = None
    figures: Mapping[str, str] = field(default_factory=dict)
    people: Metric | None = None
    stages: tuple[str, ...] = ()
    stage: Callable[[Sequence[Record], bool], str] | None = None
    digits: int = 1
    note: str = ""


@dataclass(frozen=True)
class RunRecords:
    """The records of one run, as panels show them.

    Attributes:
        tag: Its number on the page, which also gives its hue.
        name: What reports call it: its model, or what tells it apart from another run of that.
        parts: The records of each of its parts (the tasks of a group, or one task).
        apart: Why it is compared with no published score, as options that left items out; empty of the whole release.
        results: Its results file; None where it comes from none. What a command keeps of a run lies beside it.
    """

    tag: str
    name: str
    parts: Sequence[Records]
    apart: str = ""
    results: Path | None = None

    @property
    def records(self) -> list[Record]:
        """The records of all its parts."""
        return [record for part in self.parts for record in part]

    @property
    def view(self) -> str:
        """Name of the view that was shown; empty for whole items."""
        return next((record.view for part in self.parts for record in part), "")

    def estimate(self, metric: Metric) -> Estimate | None:
        """A score of it with its interval, the unweighted mean over its parts; None where a part has no score.

        Raises:
            ValueError: where the score is a count, which has no interval.
        """
        return estimate(metric, self.parts)
