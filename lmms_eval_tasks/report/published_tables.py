"""Runs beside published scores: in the layout of the papers' tables, and the difference, with why it may be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.run_card import TASK, applying_hazards, read_object
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Number, points
from lmms_eval_tasks.utils.core.text import describe, summarize_names
from lmms_eval_tasks.utils.reporting.columns import Layout, LayoutPlace, score_number
from lmms_eval_tasks.utils.reporting.references import fits, published_entries
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD, estimate
from lmms_eval_tasks.utils.scoring.record import CUT_OFF


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
                (run, view, tasks)
                for run in runs
                for view in layout.views
                if not only or any(_named(place, view) == only for place in layout.places)
                if (tasks := [task for place in layout.places for task in _tasks(run, place, view)])
            ]
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
        cells.append(score_number(score, metric.unit, layout.digits))
    if not any(cells):
        return None
    title = next(place.metric.title for place in layout.places if place.metric)
    return _Shown(f"{run.title}, {view.replace('_', ' ')}" if view else run.title, title, cells)


def _table(title: str, layout: Layout, shown: Sequence[_Shown]) -> FittingTable:
    """Models as columns or as rows, with the name of a score over each column; what nobody has is left out."""
    columns = zip(layout.places, zip(*(one.cells for one in shown), strict=True), strict=True)
    filled = [(place, cells) for place, cells in columns if any(cell != "" for cell in cells)]
    names = [f"{one.name}\n{one.score}" if layout.across else one.name for one in shown]
    headings = []
    for place, _ in filled:
        score = place.metric.title if place.metric and not layout.across else ""
        headings.append(place.heading if score.lower() in ("", place.heading.lower()) else f"{place.heading}\n{score}")
    cells = [cells for _, cells in filled]
    if layout.across:
        names, headings = headings, names
    else:
        cells = list(zip(*cells, strict=True))
    table = FittingTable(title, ["", *headings])
    for name, row in zip(names, cells, strict=True):
        table.add_row(name, *row)
    return table


def _frames(run: Run, task: str) -> str:
    asked = {name: value for name, value in run.card.get("frames", {}).items() if value not in (None, "not set")}
    return ", ".join(f"{name} {value}" for name, value in asked.items())


def _prompt(run: Run, task: str) -> str:
    official = run.card.get(f"{TASK}{task}", {}).get("official prompt")
    return {"yes": "the official one", "no": "ours"}.get(str(official), "")


def _sampling(run: Run, task: str) -> str:
    generation = read_object(run.card.get(f"{TASK}{task}", {}).get("generation")) or {}
    known = [f"{name} {generation[name]}" for name in ("temperature", "max_new_tokens") if name in generation]
    cut = sum(record.detail == CUT_OFF for record in run.records[task])
    return ", ".join([*known, *([f"{cut:,} answers cut off"] if cut else [])])


class Reason(NamedTuple):
    title: str
    text: str
    of_run: Callable[[Run, str], str] = lambda run, task: ""


REASONS = (
    Reason(
        "Another set.",
        "The first lines of `report` say if the data is a part, a sample or a set of one's own.",
        lambda run, task: ", ".join(filter(None, (run.set_of(task).text, run.limited))),
    ),
    Reason(
        "Frames.",
        "Their number, rate and size move scores by points. The [run card](runs.md#the-run-card) has them under "
        "`frames`; `check --model … --task …` shows them before a run.",
        _frames,
    ),
    Reason(
        "How the clip reaches the model.",
        "Separate images are no video, decord and PyAV give other frames of some clips, and transformers 5.3 and later "
        "place text elsewhere after a long clip. `report` names the [known hazards](runs.md#known-hazards) that apply.",
        lambda run, task: ", ".join(applying_hazards([run.card])),
    ),
    Reason(
        "The prompt.",
        "Where a card says `ours`, [import the official one](checkpoint.md#a-prompt).",
        _prompt,
    ),
    Reason(
        "Sampling and thinking.",
        "Temperature, a budget of tokens that cuts answers off, a thinking mode that was on or off.",
        _sampling,
    ),
    Reason(
        "How answers are read.",
        "Every record has our reading and the official one; `official` scores are in `_scores.json` ([official and "
        "ours](official.md)).",
        lambda run, task: str(run.card.get(f"{TASK}{task}", {}).get("extractor") or ""),
    ),
    Reason(
        "Chance.",
        "A pair accuracy over 9,208 pairs is known to one point; an accuracy over 80 questions to eleven.",
        lambda run, task: f"{len({record.group_id for record in run.records[task]}):,} groups",
    ),
)
"""In the order in which it usually is the reason; docs/reproduce.md has the same."""  # fmt: skip


def reasons_of(run: Run, task: str) -> Iterator[str]:
    yield f"Why does {run.title} differ? In the order in which it usually is the reason:"
    for number, reason in enumerate(REASONS, start=1):
        text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", reason.text).replace("`", "")
        found = reason.of_run(run, task)
        yield f"  {number}. {reason.title} {text}{f' Here: {found}.' if found else ''}"
    yield "More: docs/reproduce.md."


def published_tables(runs: Sequence[Run], model: str, only: str = "") -> list[FittingTable]:
    """A table per task or group of a whole official release: its scores beside those of published models."""
    tables = []
    names: dict[str, None] = {}
    for entry in entries_of(runs, only):
        headings = ("score", "run", "value", "published", "difference", "")
        table = FittingTable(f"{entry.name}: compared with {model}", headings, names=2, blank_repeats=True)
        sources: dict[str, None] = {}
        for held in entry.held:
            if held.apart:
                continue
            for reference in entry.references(len(held.records)):
                names |= dict.fromkeys(one.model for one in reference.published)
                score, unit = held.estimate(reference.metric), reference.metric.unit
                for one in reference.published if score else ():
                    if _plain(model) in _plain(one.model) and score:
                        less = Number(score.value - one.value, unit=points(unit), signed=True)
                        value = score_number(score, unit)
                        published = Number(one.value, unit=unit, of=one.model)
                        side = value.side_of(one.value)
                        table.add_row(
                            reference.metric.title, held.name, value, published, less, side.value if side else ""
                        )
                        sources[f"{one.model}, {reference.metric.title}: {one.source}"] = None
        if table.rows:
            table.caption = "\n".join(sources)
            tables.append(table)
    if names and not tables:
        raise InputError(
            f"Expected --published to name any of {summarize_names(names, 20)}, but got {describe(model)}."
        )
    return tables


def _plain(name: str) -> str:
    return re.sub(r"\W+", "", name).lower()
