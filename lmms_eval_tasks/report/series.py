"""Series of runs, as `--series` names them: scores against a quantity, or mean and spread over seeds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from statistics import mean, stdev

from lmms_eval_tasks.report.score_tables import columns_of, entries_of, versions_of
from lmms_eval_tasks.runs.folder import NUMBER, SEED, Run, SeriesValue, read_values
from lmms_eval_tasks.runs.run_files import RESULTS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import FittingTable, Number, points
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.reporting.columns import RunRecords
from lmms_eval_tasks.utils.reporting.figure import Dot, DotPlot, Line, LinePlot, Place, fit_axis
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring.bootstrap import Records
from lmms_eval_tasks.utils.scoring.metrics import Metric, score_tasks


@dataclass(frozen=True)
class Spread:
    """Spread of the scores of runs that differ only in their seed."""

    mean: float
    deviation: float | None
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, scores: Sequence[float]) -> Spread:
        """The spread of one score or more."""
        deviation = stdev(scores) if len(scores) > 1 else None
        return cls(mean(scores), deviation, min(scores), max(scores), len(scores))

    @property
    def text(self) -> str:
        """The deviation, with two decimals."""
        return "N/A" if self.deviation is None else f"{self.deviation:.2f}"


def seed_tables(runs: Sequence[Run], only: str = "") -> list[FittingTable]:
    """One table per task or group that runs of several seeds hold: each score's mean over the seeds, and its spread."""
    seeds = [run for run in runs if run.series and run.series.name == SEED]
    if len({re.sub(NUMBER, "#", run.name) for run in seeds}) > 1:
        names = summarize_names(sorted({run.name for run in seeds}))
        raise InputError(f"Expected runs of one model in --series seed, but got {names}. Report each by itself.")
    tables = []
    for name, entries in entries_of(seeds, only).items() if seeds else ():
        headings = ("score", "mean", "std. deviation", "lowest", "highest", "seeds")
        table = FittingTable(f"{name}: over {len(entries)} seeds", headings)
        table.signature = f"{name}, version {versions_of(name, entries)}; standard deviation of one run (n - 1)"
        for metric in (column.metric for column in columns_of(entries[0][1][0]) if column.metric):
            if metric.kind == "mean" and (scores := _scores(metric, entries)):
                spread = Spread.of(scores)
                average, low, high = (
                    Number(value, unit=metric.unit) for value in (spread.mean, spread.low, spread.high)
                )
                deviation = Number(spread.deviation, unit=points(metric.unit), digits=2)
                table.add_row(metric.title, average, deviation, low, high, spread.runs)
        tables.append(table)
    return tables


def _scores(metric: Metric, entries: Sequence[tuple[Run, Sequence[str]]]) -> list[float]:
    parts: Iterator[list[Records]] = ([run.records[task] for task in tasks] for run, tasks in entries)
    scores = (score_tasks(metric, map(metric.units, of_run)) for of_run in parts)
    return [score for score in scores if score is not None]


def series_panels(
    members: Sequence[tuple[SeriesValue, RunRecords]], references: Sequence[ReferencedMetric]
) -> list[Panel]:
    """Each score of a series' runs: against the quantity, or over seeds with the mean; nothing without a series."""
    if not members:
        return []
    panel = _seeds_panel if members[0][0].name == SEED else _line_panel
    return [panel(members, reference) for reference in references]


def _line_panel(members: Sequence[tuple[SeriesValue, RunRecords]], reference: ReferencedMetric) -> Panel:
    along = members[0][0].name
    scored = [(value, run, score) for value, run in members if (score := reference.estimate(run.parts))]
    places = [Place(value.title, value.number, score, run.tag) for value, run, score in scored]
    ends = [end for place in places for end in (place.score.low, place.score.high)]
    figure = LinePlot(
        f"{reference.metric.title} against {along}, with 95% intervals",
        [Line("", places)],
        along,
        (reference.axis_title, fit_axis(reference.metric.bounds, ends)),
        reference.chance,
        reference.metric.unit,
    )
    return Panel(f"{reference.heading} against {along}", figure, "Bars are 95% intervals of each run alone.")


def _seeds_panel(members: Sequence[tuple[SeriesValue, RunRecords]], reference: ReferencedMetric) -> Panel:
    scored = [(value, run, reference.estimate(run.parts)) for value, run in members]
    dots = [Dot.of(value.title, score, run.tag) for value, run, score in scored]
    known = [score.value for _, _, score in scored if score]
    note = "No seed has the score."
    if known:
        spread = Spread.of(known)
        dots.append(Dot(f"mean of {spread.runs} seeds", spread.mean, spread.low, spread.high, kind="mean"))
        note = f"The mean's bar reaches from the lowest seed to the highest; standard deviation {spread.text}."
    ends = [end for dot in dots for end in (dot.low, dot.high) if end is not None]
    plot = DotPlot(
        f"{reference.metric.title} over seeds",
        dots,
        fit_axis(reference.metric.bounds, ends),
        reference.axis_title,
        reference.chance,
        reference.metric.unit,
    )
    return Panel(f"{reference.heading} over seeds", plot, note)


SERIES = (
    "Runs of one model along a quantity, or over seeds: step='out/ckpt-*', or step with the runs as arguments. Values "
    "are read from the folders' names."
)


def gather_series(options: Sequence[str], runs: Sequence[Path]) -> tuple[list[Path], dict[Path, SeriesValue]]:
    """All runs that a command was given, those of the series last and by value; and where these stand in it."""
    names = list(dict.fromkeys(option.partition("=")[0] for option in options))
    if not names:
        return list(runs), {}
    if len(names) > 1 or not names[0]:
        raise InputError(f"Expected --series of one name, as step='out/ckpt-*', but got {', '.join(options)}.")
    (name,) = names
    patterns = [option.partition("=")[2] for option in options if "=" in option]
    patterns += [str(run).removeprefix(f"{name}=") for run in runs if _is_of_series(run, name)]
    others = [run for run in runs if not _is_of_series(run, name)]
    folders = list(dict.fromkeys(folder for pattern in patterns for folder in _expand(pattern)))
    if not patterns:
        folders, others = others, []
    if not folders:
        raise InputError(f"Expected the runs of --series {name} as {name}='out/ckpt-*' or as arguments, but got none.")
    values = dict(zip(folders, read_values(name, folders), strict=True))
    return [*others, *sorted(folders, key=lambda folder: values[folder].number)], values


def _is_of_series(run: Path, name: str) -> bool:
    return str(run).startswith(f"{name}=") and not run.exists()


def _expand(pattern: str) -> list[Path]:
    """The folders and results files that fit a pattern."""
    path = Path(pattern).expanduser()
    found = [Path(match) for match in sorted(glob(str(path)))] or [path]  # noqa: PTH207  (it takes absolute patterns)
    fitting = [path for path in found if path.is_dir() or path.name.endswith(RESULTS)]
    if not fitting:
        raise InputError(f"Expected folders of runs as {pattern}, but there is none.")
    return fitting
