"""Series of runs, as `--series` names them: scores against a quantity, or mean and spread over seeds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob
from math import inf
from pathlib import Path
from statistics import mean, stdev

from lmms_eval_tasks.report.score_tables import Held, entries_of
from lmms_eval_tasks.runs.folder import NUMBER, SEED, Run, SeriesValue, read_values
from lmms_eval_tasks.runs.run_files import RESULTS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import FittingTable, Mark, Number, points
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.reporting.columns import RunRecords, difference_numbers, score_number
from lmms_eval_tasks.utils.reporting.figure import Datum, Line, line_plot
from lmms_eval_tasks.utils.reporting.panels import Panel, dot_plot
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric
from lmms_eval_tasks.utils.scoring.bootstrap import Records
from lmms_eval_tasks.utils.scoring.compare import compare_records
from lmms_eval_tasks.utils.scoring.metrics import score_tasks


def seed_tables(runs: Sequence[Run], only: str = "") -> Iterator[FittingTable]:
    """A table per task or group that runs of several seeds hold: each score's mean and spread."""
    seeds = [run for run in runs if run.series and run.series.name == SEED]
    if len({re.sub(NUMBER, "#", run.name) for run in seeds}) > 1:
        names = summarize_names(sorted({run.name for run in seeds}))
        raise InputError(f"Expected runs of one model in --series seed, but got {names}. Report each by itself.")
    for entry in entries_of(seeds, only) if seeds else ():
        headings = ("score", "mean", "std. deviation", "lowest", "highest", "seeds")
        method = "; standard deviation of one run (n - 1)"
        table = entry.table(f": over {len(entry.held)} seeds{entry.from_samples}", headings, method)
        for metric in (column.metric for column in entry.columns if column.metric and column.metric.kind == "mean"):
            known = (score_tasks(metric, map(metric.units, one.parts)) for one in entry.held)
            if scores := [score for score in known if score is not None]:
                average, low, high = (Number(of(scores), unit=metric.unit) for of in (mean, min, max))
                deviation = Number(stdev(scores) if len(scores) > 1 else None, unit=points(metric.unit), digits=2)
                table.add_row(metric.title, average, deviation, low, high, len(scores))
        yield table


BEST, NOT_WORSE, WORSE = "best", "not worse", "worse"


@dataclass(frozen=True)
class Along:
    """A score of a run of a series, with its difference to the best run's on the same items, and what that says."""

    value: SeriesValue
    score: Number
    to_best: Number | None = None
    verdict: str = ""


def compare_to_best(
    members: Sequence[tuple[SeriesValue, Sequence[Records]]], reference: ReferencedMetric
) -> list[Along]:
    """Compare a score of the runs of a series with the best of them; of equal scores that of the smallest value."""
    metric = reference.metric
    scored = {value: (parts, score) for value, parts in members if (score := reference.estimate(parts))}
    found = {value: Along(value, score_number(score, metric.unit)) for value, (_, score) in scored.items()}
    if metric.higher_is_better is None or len(scored) < 2:
        return list(found.values())
    sign, worse = (1, Mark.BELOW) if metric.higher_is_better else (-1, Mark.ABOVE)
    best = max(scored, key=lambda value: (sign * scored[value][1].value, -value.number))
    found[best] = replace(found[best], verdict=BEST)
    parts_of = {value: {str(place): part for place, part in enumerate(parts)} for value, (parts, _) in scored.items()}
    for value in scored.keys() - {best}:
        for difference in compare_records(parts_of[best], parts_of[value], [metric]).differences:
            change = difference_numbers(difference)[2]
            verdict = WORSE if change.side_of(0.0) is worse else NOT_WORSE
            found[value] = replace(found[value], to_best=change, verdict=verdict)
    return list(found.values())


def describe_smallest(found: Sequence[Along]) -> str:
    """Name the best value, and the smallest one that is not worse; empty where no run was compared with another."""
    best = next((one.value.title for one in found if one.verdict == BEST), "")
    alike = [one.value for one in found if one.verdict in (BEST, NOT_WORSE)]
    smallest = min(alike, key=lambda value: value.number).title if alike else ""
    return f"best at {best}; the smallest that is not worse is {smallest}" if best else ""


def curve_tables(runs: Sequence[Run], only: str = "") -> Iterator[FittingTable]:
    along = [run for run in runs if run.series and run.series.name != SEED]
    for entry in entries_of(along, only) if along else ():
        members = [(one.run.series, one.parts) for one in entry.held if one.run.series]
        if len(members) < 2:
            continue
        quantity = members[0][0].name
        headings = ("score", quantity, "value", "less the best", "")
        method = f"; paired, {entry.method}"
        table = entry.table(f": against {quantity}{entry.from_samples}", headings, method, names=2, blank_repeats=True)
        lines = []
        for reference in entry.references(max(len(one.records) for one in entry.held)):
            found = compare_to_best(members, reference)
            for one in found:
                number = one.value.title.removeprefix(quantity).strip()
                table.add_row(reference.metric.title, number, one.score, one.to_best or "", one.verdict)
            if text := describe_smallest(found):
                lines.append(f"{reference.metric.title}: {text}")
        table.caption = "\n".join([*lines, NOT_WORSE_MEANS]) if lines else ""
        yield table


NOT_WORSE_MEANS = "not worse: the 95% interval of the paired difference to the best contains 0."


def series_panels(held: Sequence[Held], references: Sequence[ReferencedMetric]) -> list[Panel]:
    members = [(one.run.series, one) for one in held if one.run.series]
    if not members:
        return []
    panel = _seeds_panel if members[0][0].name == SEED else _line_panel
    return [panel(members, reference) for reference in references]


def _line_panel(members: Sequence[tuple[SeriesValue, RunRecords]], reference: ReferencedMetric) -> Panel:
    along, unit = members[0][0].name, reference.metric.unit
    tags = {value: run.tag for value, run in members}
    found = compare_to_best([(value, run.parts) for value, run in members], reference)

    def line(numbers: Iterable[tuple[SeriesValue, Number]]) -> list[Line]:
        marks = [Datum(value.title, number, tag=tags[value], x=value.number) for value, number in numbers]
        return [Line("", sorted(marks, key=lambda mark: mark.x))]

    scores = line((one.value, one.score) for one in found)
    axis = (reference.axis_title, reference.metric.bounds)
    figures = [
        line_plot(
            f"{reference.metric.title} against {along}, with 95% intervals", scores, along, axis, reference.chance
        )
    ]
    if any(one.to_best for one in found):
        itself = Number(0.0, unit=points(unit), signed=True)
        changes = line((one.value, one.to_best or itself) for one in found if one.verdict)
        caption = f"{reference.metric.title} less the best run's, with paired 95% intervals"
        axis = (f"less the best, {points(unit)}", (-inf, inf))
        figures.append(line_plot(caption, changes, along, axis, 0.0, name="less the best"))
    note = "Bars are 95% intervals: above of each run alone, below of its paired difference to the best."
    if text := describe_smallest(found):
        note = f"{text[0].upper()}{text[1:]}: the 95% interval of its paired difference to the best contains 0. {note}"
    return Panel(f"{reference.heading} against {along}", figures, note)


def _seeds_panel(members: Sequence[tuple[SeriesValue, RunRecords]], reference: ReferencedMetric) -> Panel:
    scored, unit = [(value, run, reference.estimate(run.parts)) for value, run in members], reference.metric.unit
    marks = [Datum(value.title, score_number(score, unit), tag=run.tag) for value, run, score in scored]
    known = [score.value for _, _, score in scored if score]
    note = "No seed has the score."
    if known:
        spread = Number(mean(known), min(known), max(known), unit=unit)
        marks.append(Datum(f"mean of {len(known)} seeds", spread, "mean"))
        deviation = f"{stdev(known):.2f}" if len(known) > 1 else "N/A"
        note = f"The mean's bar reaches from the lowest seed to the highest; standard deviation {deviation}."
    plot = dot_plot(f"{reference.metric.title} over seeds", marks, reference)
    return Panel(f"{reference.heading} over seeds", plot, note)


SERIES = (
    "Runs of one model along a quantity, or over seeds: step='out/ckpt-*', or step with the runs as arguments. Values "
    "are read from the folders' names."
)


def gather_series(options: Sequence[str], runs: Sequence[Path]) -> tuple[list[Path], dict[Path, SeriesValue]]:
    """All runs that a command was given, those of the series last and by value, and their places in it."""
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
    path = Path(pattern).expanduser()
    found = [Path(match) for match in sorted(glob(str(path)))] or [path]  # noqa: PTH207  (it takes absolute patterns)
    fitting = [path for path in found if path.is_dir() or path.name.endswith(RESULTS)]
    if not fitting:
        raise InputError(f"Expected folders of runs as {pattern}, but there is none.")
    return fitting
