"""Figures of papers on the report's page: blocks of their tables, with the runs among published models and people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.published_tables import TableColumn, published_in
from lmms_eval_tasks.report.score_tables import Entry
from lmms_eval_tasks.utils.core.output import Number
from lmms_eval_tasks.utils.reporting.columns import Layout, RunRecords, score_number
from lmms_eval_tasks.utils.reporting.figure import Datum, DotPlot
from lmms_eval_tasks.utils.reporting.panels import Panel, apart_note, dot_plot
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, published_entries


def layout_panels(entry: Entry) -> list[Panel]:
    """The figures that a paper has of a task, of runs of the whole official release."""
    task = registry().find_task(entry.task)
    whole = [one for one in entry.held if not one.apart]
    if task is None or not whole:
        return []
    panels = []
    for layout in task.benchmark.layouts:
        if layout.figures and {place.task for place in layout.places} == {entry.name}:
            published = published_in(layout, published_entries(task.benchmark.folder, layout.sources))
            for block, title in layout.figures.items():
                plots = [
                    _plot(layout, at, published, whole)
                    for at, place in enumerate(layout.places)
                    if place.block == block
                ]
                note = " ".join(filter(None, [layout.note, apart_note(entry.held)]))
                panels.append(Panel(title, plots, note, wide=True))
    return panels


def _plot(layout: Layout, at: int, published: Sequence[TableColumn], runs: Sequence[RunRecords]) -> DotPlot:
    """One place of a table, highest first."""
    place = layout.places[at]
    assert place.metric is not None
    metric = place.metric.within("part", place.applies) if place.applies else place.metric
    marks = [
        Datum(one.name, cell, "people" if one.group == layout.group_of_people else "published")
        for one in published
        if isinstance(cell := one.cells[at], Number)
    ]
    for run in runs:
        marks.append(Datum(run.name, score_number(run.estimate(metric), metric.unit, layout.digits), tag=run.tag))
    marks.sort(key=lambda mark: -(mark.score.value or 0.0))
    plot = dot_plot(f"{place.metric.title}, {place.heading}", marks, ReferencedMetric(place.metric))
    return replace(plot, name=place.heading)
