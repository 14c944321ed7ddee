"""Runs in the layout of the papers' tables, with published figures and people in their places."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.table import Cell, FittingTable, Number
from lmms_eval_tasks.utils.reporting.columns import Layout, LayoutPlace, score_number
from lmms_eval_tasks.utils.reporting.references import fits, published_entries
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD, estimate


class _Shown(NamedTuple):
    name: str
    score: str
    cells: Sequence[Cell]


def layout_tables(runs: Sequence[Run], only: str = "") -> list[FittingTable]:
    """The tables of papers in which a run has a place. If a run is of the whole official release, only such runs do."""
    tables = []
    for name in registry().benchmarks:
        benchmark = find_benchmark(name)
        for layout in benchmark.layouts:
            held = [
                (run, view, [task for place in layout.places for task in _tasks(run, place, view)])
                for run in runs
                for view in layout.views
                if not only or any(_named(place, view) == only for place in layout.places)
            ]
            held = [(run, view, tasks) for run, view, tasks in held if tasks]
            whole = [(run, view, tasks) for run, view, tasks in held if not run.apart(tasks)]
            entries = published_entries(benchmark.folder, layout.sources) if whole else []
            shown = _published(layout, entries)
            taken = whole if whole and not layout.of_sets else held
            shown += [one for run, view, _ in taken if (one := _of_run(layout, run, view))]
            if not shown:
                continue
            table = _table(f"{benchmark.card.title}, {layout.title}", layout, shown)
            versions = sorted({f"{task}, version {run.versions.get(task, '?')}" for run, _, of in held for task in of})
            apart = sorted({why for run, _, tasks in taken if (why := run.apart(tasks))})
            table.signature = "; ".join([*versions, *apart, METHOD])
            others = [(run.title, run.apart(tasks)) for run, _, tasks in held if whole and run.apart(tasks)]
            notes = [layout.note] if whole and layout.note else []
            notes += dict.fromkeys(str(entry["source"]) for entry in entries)
            left_out = "" if layout.of_sets else ", and not shown"
            notes += [f"{title}: not of the whole official release{left_out} ({why})." for title, why in others]
            table.caption = "\n".join(notes)
            tables.append(table)
    if not tables:
        raise InputError("Expected a run with scores for a table of its benchmark's paper, but there is none.")
    return tables


def _named(place: LayoutPlace, view: str) -> str:
    return f"{place.task}_{view}" if view else place.task


def _tasks(run: Run, place: LayoutPlace, view: str) -> Sequence[str]:
    name = _named(place, view)
    return [task for task in run.tasks_of(name) if task in run.records]


def _published(layout: Layout, entries: Sequence[Mapping[str, Any]]) -> list[_Shown]:
    of_model: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        if any(fits(entry, place.where) for place in layout.places):
            score = str(entry["metric"]) if layout.across else ""
            of_model.setdefault((layout.name(entry), layout.called.get(score, score)), []).append(entry)
    shown = []
    for (name, score), found in of_model.items():
        cells: list[Cell] = []
        for place in layout.places:
            number = next((float(entry[place.field]) for entry in found if fits(entry, place.where)), None)
            unit = place.metric.unit if place.metric else ""
            cells.append("" if number is None else Number(number, unit=unit, digits=layout.digits))
        shown.append(_Shown(name, score, cells))
    return shown


def _of_run(layout: Layout, run: Run, view: str) -> _Shown | None:
    cells: list[Cell] = []
    for place in layout.places:
        tasks = _tasks(run, place, view)
        if not tasks or place.metric is None:
            cells.append("")
            continue
        metric = place.metric.within("part", place.applies) if place.applies else place.metric
        score = estimate(metric, [run.records[task] for task in tasks])
        cells.append(replace(score_number(metric, score), digits=layout.digits))
    if not any(cells):
        return None
    title = next(place.metric.title for place in layout.places if place.metric)
    return _Shown(f"{run.title}, {view.replace('_', ' ')}" if view else run.title, title, cells)


def _table(title: str, layout: Layout, shown: Sequence[_Shown]) -> FittingTable:
    """Models as columns or as rows, with the name of a score over each column; what nobody has is left out."""
    columns = zip(layout.places, zip(*(one.cells for one in shown), strict=True), strict=True)
    filled = [(place, cells) for place, cells in columns if any(cell != "" for cell in cells)]
    if layout.across:
        table = FittingTable(title, ["", *(f"{one.name}\n{one.score}" for one in shown)])
        for place, cells in filled:
            table.add_row(place.heading, *cells)
        return table
    headings = []
    for place, _ in filled:
        score = place.metric.title if place.metric else ""
        same = score.lower() in ("", place.heading.lower())
        headings.append(place.heading if same else f"{place.heading}\n{score}")
    table = FittingTable(title, ["", *headings])
    for one, cells in zip(shown, zip(*(cells for _, cells in filled), strict=True), strict=True):
        table.add_row(one.name, *cells)
    return table
