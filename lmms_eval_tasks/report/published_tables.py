"""Runs beside published scores: in the layout of the papers' tables, and the difference, with why it may be there."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, NamedTuple

from lmms_eval_tasks.registry import find_benchmark, registry
from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.run_card import TASK, applying_hazards, read_object
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Cell, FittingTable, Number, points
from lmms_eval_tasks.utils.core.text import describe, summarize_names
from lmms_eval_tasks.utils.people.baseline import human_scores, question_strata, summarise
from lmms_eval_tasks.utils.people.responses import AskedQuestion, Key, Response
from lmms_eval_tasks.utils.reporting.columns import Layout, LayoutPlace, score_number
from lmms_eval_tasks.utils.reporting.references import fits, published_entries
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD, estimate
from lmms_eval_tasks.utils.scoring.record import Outcome, Record


class TableColumn(NamedTuple):
    """A column of a table, or a row: of a published model, of a run, or of people."""

    name: str
    score: str
    group: str
    cells: Sequence[Cell]
    counts: Sequence[int | None]
    """How many groups of items are behind each place."""


class AskedPeople(NamedTuple):
    """People's answers to a prepared split, under the name that their column has."""

    name: str
    benchmark: str
    split: str
    responses: Sequence[Response]
    asked: Mapping[Key, AskedQuestion]


def layout_tables(runs: Sequence[Run], only: str = "", people: AskedPeople | None = None) -> list[FittingTable]:
    """The tables of papers in which a run has a place. If a run is of the whole official release, only such runs do."""
    tables, answered = [], False
    for name in registry().benchmarks:
        benchmark = find_benchmark(name)
        for layout in benchmark.layouts:
            held = [
                _Held(run, view, tasks)
                for run in runs
                for view in layout.views
                if not only or any(_named(place, view) == only for place in layout.places)
                if (tasks := [task for place in layout.places for task in _tasks(run, place, view)])
            ]
            taken_as = layout.take([one.run for one in held])
            without = [one.run.title for one, suffix in zip(held, taken_as, strict=True) if suffix is None]
            held = [
                one._replace(suffix=suffix) for one, suffix in zip(held, taken_as, strict=True) if suffix is not None
            ]
            whole = [one for one in held if not one.apart]
            entries = published_entries(benchmark.folder, layout.sources) if whole else []
            shown = published_in(layout, entries)
            taken = whole if whole and not layout.stages else held
            of_runs = [(each, one) for each in taken if (one := _of_run(layout, each))]
            shown += _by_stage(layout, of_runs) if layout.stages else [one for _, one in of_runs]
            if not shown:
                continue
            notes = [layout.note] if whole and layout.note else []
            if people and (of_people := _of_people(layout, people)):
                answered = True
                shown.append(of_people)
                notes.append(f"{people.name}: each question counts once; an interval is for one response to each.")
            table = _table(f"{benchmark.card.title}, {layout.title}", layout, shown)
            versions = sorted(
                {f"{task}, version {one.run.versions.get(task, '?')}" for one in held for task in one.tasks}
            )
            apart = sorted({one.apart for one in taken if one.apart})
            table.signature = "; ".join([*versions, *apart, METHOD])
            others = [(one.run.title, one.apart) for one in held if whole and one.apart]
            notes += dict.fromkeys(str(entry["source"]) for entry in entries)
            left_out = "" if layout.stages else ", and not shown"
            notes += [f"{title}: not of the whole official release{left_out} ({why})." for title, why in others]
            notes += [f"{title}: {layout.left_out}" for title in without if layout.left_out]
            table.caption = "\n".join(notes)
            tables.append(table)
    if not tables:
        raise InputError("Expected a run with scores for a table of its benchmark's paper, but there is none.")
    if people and not answered:
        raise InputError(
            f"Expected --items of a split that a table of the runs shows with people's answers, but got "
            f"{people.benchmark}:{people.split}."
        )
    return tables


class _Held(NamedTuple):
    """A run with records for a table, what it was shown, and what follows its name there."""

    run: Run
    view: str
    tasks: Sequence[str]
    suffix: str = ""

    @property
    def records(self) -> list[Record]:
        return [record for task in dict.fromkeys(self.tasks) for record in self.run.records[task]]

    @property
    def apart(self) -> str:
        return self.run.apart(self.tasks)

    @property
    def name(self) -> str:
        return ", ".join(filter(None, (self.run.title, self.view.replace("_", " "), self.suffix)))


def _named(place: LayoutPlace, view: str) -> str:
    return f"{place.task}_{view}" if view else place.task


def _tasks(run: Run, place: LayoutPlace, view: str) -> Sequence[str]:
    name = _named(place, view)
    return [task for task in run.tasks_of(name) if task in run.records]


def published_in(layout: Layout, entries: Sequence[Mapping[str, Any]]) -> list[TableColumn]:
    """The published figures of a table, by model."""
    of_model: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
    for entry in entries:
        if any(fits(entry, place.where) for place in layout.places):
            score = str(entry["metric"]) if layout.across else ""
            key = (layout.name(entry), layout.called.get(score, score), layout.group(entry))
            of_model.setdefault(key, []).append(entry)
    shown = []
    for (name, score, group), found in of_model.items():
        cells: list[Cell] = []
        counts: list[int | None] = []
        for place in layout.places:
            printed = next((one for one in found if fits(one, place.where)), None)
            unit = place.metric.unit if place.metric else ""
            number = None if printed is None else float(printed[place.field])
            cells.append("" if number is None else Number(number, unit=unit, digits=layout.digits))
            counts.append(layout.count(printed) if printed and layout.count else None)
        shown.append(TableColumn(name, score, group, cells, counts))
    return shown


def _of_run(layout: Layout, held: _Held) -> TableColumn | None:
    cells: list[Cell] = []
    counts: list[int | None] = []
    for place in layout.places:
        tasks = _tasks(held.run, place, held.view)
        if not tasks or place.metric is None:
            cells.append("")
            counts.append(None)
            continue
        metric = place.metric.within("part", place.applies) if place.applies else place.metric
        score = estimate(metric, [held.run.records[task] for task in tasks])
        cells.append(score_number(score, metric.unit, layout.digits))
        counts.append(score.groups if score else None)
    if not any(cells):
        return None
    title = next(place.metric.title for place in layout.places if place.metric)
    group = "" if held.apart else layout.group_of_run(held.records)
    return TableColumn(held.name, title, group, cells, counts)


def _by_stage(layout: Layout, of_runs: Sequence[tuple[_Held, TableColumn]]) -> Iterator[TableColumn]:
    """Runs by stage; after those of one their mean, and its change from the stage before, of the models in both."""
    assert layout.stage is not None
    held: dict[str, list[tuple[str, TableColumn]]] = {stage: [] for stage in layout.stages}
    for each, one in of_runs:
        stage = layout.stage(each.records, each.run.is_filtered)
        name = one.name if each.run.is_filtered else f"{one.name}, {stage}"
        held[stage].append((each.run.name, one._replace(name=name)))
    before: list[tuple[str, TableColumn]] = []
    for stage, here in held.items():
        yield from (one for _, one in here)
        if len(here) > 1:
            means = [_mean([one.cells[place] for _, one in here], layout) for place in range(len(layout.places))]
            yield here[0][1]._replace(name=f"mean of {len(here)} runs, {stage}", cells=means)
        both = {name for name, _ in here} & {name for name, _ in before}
        if both:
            after, earlier = ([one.cells for name, one in part if name in both] for part in (here, before))
            yield here[0][1]._replace(name=f"{stage}, change", cells=_changes(after, earlier, layout))
        before = here or before


def _mean(cells: Sequence[Cell], layout: Layout) -> Cell:
    values = [cell.value for cell in cells if isinstance(cell, Number) and cell.value is not None]
    unit = next((cell.unit for cell in cells if isinstance(cell, Number)), "")
    return Number(fmean(values), unit=unit, digits=layout.digits) if len(values) == len(cells) else ""


def _changes(after: Sequence[Sequence[Cell]], before: Sequence[Sequence[Cell]], layout: Layout) -> list[Cell]:
    """For each place, the mean of some rows less that of others; both rows are of the same models."""
    changes: list[Cell] = []
    for here, there in zip(zip(*after, strict=True), zip(*before, strict=True), strict=True):
        one, other = _mean(here, layout), _mean(there, layout)
        change: Cell = ""
        if isinstance(one, Number) and isinstance(other, Number) and one.value is not None and other.value is not None:
            change = Number(one.value - other.value, unit=points(one.unit), digits=layout.digits, signed=True)
        changes.append(change)
    return changes


def _of_people(layout: Layout, people: AskedPeople) -> TableColumn | None:
    """What people's answers give at each place of a table of the same split; None where they have no place in it."""
    tasks = {task.name: task for task in registry().tasks_of(people.benchmark).values()}
    if layout.people is None or any(
        place.task not in tasks or tasks[place.task].split != people.split for place in layout.places
    ):
        return None
    parts = {
        place.heading: {
            item
            for (item, version), one in people.asked.items()
            if place.applies(Record(version, item, one.strata, one.answer, None, Outcome.UNPARSED))
        }
        for place in layout.places
        if place.applies
    }
    summaries = summarise(people.responses)
    card = find_benchmark(people.benchmark).card
    strata = question_strata(summaries, people.asked, card.strata_columns)
    scores = {score.name: score for score in human_scores(people.responses, strata, parts)}
    found = [scores.get(place.heading) if place.applies else None for place in layout.places]
    if not any(found):
        return None
    cells = [one.number(layout.people.unit, layout.digits) if one else "" for one in found]
    counts = [one.questions if one else None for one in found]
    return TableColumn(people.name, layout.people.title, layout.group_of_people, cells, counts)


def _has_value(cell: Cell) -> bool:
    return isinstance(cell, Number) and cell.value is not None


def _grouped(shown: Sequence[TableColumn]) -> list[TableColumn]:
    """The same in groups, which stand in the order of the first member of each."""
    order = list(dict.fromkeys(one.group for one in shown))
    return sorted(shown, key=lambda one: order.index(one.group))


def _table(title: str, layout: Layout, shown: Sequence[TableColumn]) -> FittingTable:
    """Models as columns or as rows, with the name of a score over each column; what nobody has is left out."""
    shown = _grouped(shown)
    columns = list(zip(*(one.cells for one in shown), strict=True))
    filled = [at for at, cells in enumerate(columns) if any(map(_has_value, cells))]
    # Where answers are withheld, and nothing is published, all cells say so.
    filled = filled or [at for at, cells in enumerate(columns) if any(cells)]
    places = [layout.places[at] for at in filled]
    if layout.across:
        return _across(title, layout, shown, filled)
    headings = []
    for place in places:
        score = place.metric.title if place.metric else ""
        headings.append(place.heading if score.lower() in ("", place.heading.lower()) else f"{place.heading}\n{score}")
    grouped = any(one.group for one in shown)
    table = FittingTable(title, [*[""] * (1 + grouped), *headings], names=1 + grouped, blank_repeats=grouped)
    for one in shown:
        table.add_row(*[one.group] * grouped, one.name, *(one.cells[at] for at in filled))
    return table


def _across(title: str, layout: Layout, shown: Sequence[TableColumn], filled: Sequence[int]) -> FittingTable:
    """Models as columns, and places as rows, in their blocks, each with how many groups are behind it."""
    places = [layout.places[at] for at in filled]
    blocks = any(place.block for place in places)
    names = ["", *[""] * blocks]
    headings = ["\n".join(filter(None, (one.group, one.name, one.score))) for one in shown]
    counted = ["N"] if layout.count else []
    table = FittingTable(title, [*names, *counted, *headings], names=len(names), blank_repeats=blocks)
    for at, place in zip(filled, places, strict=True):
        numbers = sorted({one.counts[at] or 0 for one in shown if one.counts[at] is not None})
        count: list[Cell] = [numbers[0] if len(numbers) == 1 else ", ".join(f"{number:,}" for number in numbers)]
        table.add_row(*[place.block] * blocks, place.heading, *count[: len(counted)], *(one.cells[at] for one in shown))
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
    cut = sum(record.ran_out for record in run.records[task])
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
