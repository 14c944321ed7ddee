"""The HTML page of runs, in one file that needs no network, and the figures of its sections as files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations, count
from pathlib import Path
from typing import Any

from markupsafe import Markup

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.report.card_tables import cost_panels
from lmms_eval_tasks.report.judge_readings import judge_panels
from lmms_eval_tasks.report.layout_panels import layout_panels
from lmms_eval_tasks.report.page_files import ASSETS, Clips, ClipShelf, render_page
from lmms_eval_tasks.report.page_items import as_json, task_block
from lmms_eval_tasks.report.people_tables import People, share_tasks, shared_panels
from lmms_eval_tasks.report.repeats import best_tables, find_several, sample_panels
from lmms_eval_tasks.report.run_comparison import comparison_panels
from lmms_eval_tasks.report.score_tables import Entry, Held, entries_of, run_warnings, score_table
from lmms_eval_tasks.report.series import series_panels
from lmms_eval_tasks.runs.costs import Price
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.run_card import applying_hazards, describe_hazard
from lmms_eval_tasks.runs.run_files import RESULTS
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import FittingTable, Number, text_table
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.data.card import Card
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.data.manifest import SetAttrition
from lmms_eval_tasks.utils.reporting.columns import RunRecords, other_units, score_number
from lmms_eval_tasks.utils.reporting.figure import Datum, Figure, heat_map
from lmms_eval_tasks.utils.reporting.palette import HUES
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES, Panel, apart_note, dot_plot, usual_panels
from lmms_eval_tasks.utils.reporting.references import ReferencedMetric, facts_of, reference_notes, without_published
from lmms_eval_tasks.utils.scoring.bootstrap import BY_STRATA, METHOD, Estimate
from lmms_eval_tasks.utils.scoring.metrics import PAIR_ACCURACY
from lmms_eval_tasks.utils.scoring.record import HOW_ASKED, Record

MOST_VALUES = 24
"""A stratum column with more values than this is left to the item browser."""
FULL_GRID = 0.6
"""Share of two columns' combinations that must have items for a heat map of both."""

GROUPS_NOTE = "The small number is the number of pairs, clips or questions behind a cell; a score of few is uncertain."


@dataclass(frozen=True)
class Section:
    name: str
    card: Card | None
    tasks: tuple[str, ...]
    table: FittingTable
    units: str
    signatures: tuple[tuple[str, str], ...]
    """Of each run, by its number, in the order of the table's rows."""
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]


def build_sections(runs: Sequence[Run], only: str = "") -> tuple[list[Run], list[Section]]:
    holding = {int(one.tag) for entry in entries_of(runs, only) for one in entry.held}
    shown = [run for number, run in enumerate(runs, start=1) if number in holding]
    return shown, list(map(build_section, entries_of(shown, only)))


def build_section(entry: Entry) -> Section:
    runs = entry.held
    references = entry.references(max(len(one.run.records) for one in runs))
    if all(run.apart for run in runs):
        references = tuple(map(without_published, references))
    task = registry().find_task(entry.task)
    if task and task.kind.panels:
        own = task.kind.panels(registry().find_parent(entry.name), runs)
    elif task:
        own = usual_panels(runs, task.kind.members if PAIR_ACCURACY in task.kind.metrics else "")
    else:
        own = usual_panels(runs, "members")
    card = task.benchmark.card if task else None
    figures = (
        *series_panels(runs, references),
        *_reference_panels(runs, references),
        *_stratum_panels(runs, card, references[0]),
        *layout_panels(entry),
        *own,
    )
    in_figures = {panel.note for panel in figures}
    return Section(
        name=entry.name,
        card=card,
        tasks=tuple(runs[0].tasks),
        table=score_table(entry),
        units=other_units(entry.columns),
        signatures=tuple((one.tag, _signature(entry.name, one)) for one in runs),
        panels=tuple(_with_runs(panel, runs) for panel in figures),
        notes=tuple(note for note in reference_notes(references) if note not in in_figures),
    )


def _with_runs(panel: Panel, runs: Sequence[Held]) -> Panel:
    """A panel whose figures name the runs that they show by number, and say where scores are not of a whole release."""
    names = {run.tag: run.name for run in runs}
    facts = {run.tag: ", ".join(filter(None, (run.apart, run.sampled))) for run in runs}
    reasons = {tag: text for tag, text in facts.items() if text}
    alike = len(reasons) == len(runs) and len(set(reasons.values())) == 1
    warning = next(iter(reasons.values())) if alike else "; ".join(f"run {tag}: {why}" for tag, why in reasons.items())
    figures = [
        replace(
            figure,
            run_names={tag: names[tag] for tag in figure.unnamed if tag in names},
            warning=reasons.get(figure.tag, "") if figure.tag else warning,
        )
        for figure in panel.all_figures
    ]
    return replace(panel, figures=figures[0] if isinstance(panel.figures, Figure) else figures)


def _signature(name: str, held: Held) -> str:
    records = held.records
    parts = [
        f"version {held.run.versions.get(name, '?')}",
        held.apart,
        held.sampled,
        *(f"view {view}" for view in dict.fromkeys(record.view for record in records) if view),
        f"{len(records):,} items in {len({record.group_id for record in records}):,} groups",
    ]
    for field in HOW_ASKED:
        values = sorted({_text(record.fields[field]) for record in records if record.fields.get(field)})
        parts.append(f"{field.replace('_', ' ')} {summarize_names(values, 3)}" if values else "")
    return "; ".join([*filter(None, parts), BY_STRATA if held.sampled else METHOD])


def _text(value: Any) -> str:
    if isinstance(value, dict):
        return " ".join(str(part) for part in value.values() if part)
    return str(value)


def _reference_panels(runs: Sequence[RunRecords], references: Sequence[ReferencedMetric]) -> list[Panel]:
    def highest_first(mark: Datum) -> tuple[bool, float, bool, str]:
        return mark.score.value is None, -(mark.score.value or 0.0), mark.kind != "run", mark.label

    panels = []
    # References of a view are of that view.
    whole, part = [run for run in runs if not run.apart], apart_note(runs)
    for reference in references:
        unit = reference.metric.unit
        marks = [
            Datum(run.name, score_number(reference.estimate(run.parts), unit), tag=run.tag) for run in whole or runs
        ]
        facts = facts_of(reference)
        marks += [Datum(label, Number(value, unit=unit), kind) for kind, label, value in facts]
        beside = {"chance": "chance", "people": "people", "published": "published models"}
        kinds = [name for kind, name in beside.items() if any(kind == of for of, *_ in facts)]
        caption = f"{reference.metric.title} of the runs" + (f", with {', '.join(kinds)}" if kinds else "")
        caveats = "; ".join(human.caveat for human in reference.people)
        panels.append(
            Panel(
                f"{reference.heading}, {unit}" if unit else reference.heading,
                dot_plot(caption, sorted(marks, key=highest_first), reference),
                " ".join(filter(None, [f"{caveats}." if caveats else reference.note, part])),
            )
        )
    return panels


def _strata(records: Sequence[Record], card: Card | None) -> dict[str, list[str]]:
    """The values of each column that all records have and that divides them into some parts, but not into very many;
    in the order that the card states, and those that it does not state last."""
    keys = [key for split in card.splits.values() for key in split.strata] if card else []
    names = card.strata_columns if card else ()
    stated = {name: dict.fromkeys(key[at] for key in keys) for at, name in enumerate(names)}
    strata = {}
    for name in records[0].stratum:
        if all(name in record.stratum for record in records):
            present = {record.stratum[name] for record in records}
            known = [value for value in stated.get(name, ()) if value in present]
            strata[name] = known + sorted(present - set(known))
    return {name: values for name, values in strata.items() if 2 <= len(values) <= MOST_VALUES}


def _stratum_panels(runs: Sequence[RunRecords], card: Card | None, reference: ReferencedMetric) -> list[Panel]:
    if not any(reference.estimate(run.parts) for run in runs):
        return []
    records = [record for run in runs for record in run.records]
    strata = _strata(records, card)
    if not strata:
        return []
    shares = {
        (one, two): len({(record.stratum[one], record.stratum[two]) for record in records})
        / (len(strata[one]) * len(strata[two]))
        for one, two in combinations(strata, 2)
    }
    fullest = max(shares, key=shares.__getitem__, default=None)
    if fullest and shares[fullest] >= FULL_GRID:
        first = _grid_panel(runs, strata, reference, *fullest)
    else:
        first = _run_panel(runs, strata, reference)
    return [first, *(_dots_panel(runs, column, values, reference) for column, values in strata.items())]


def _estimate(reference: ReferencedMetric, run: RunRecords, stratum: Mapping[str, str]) -> Estimate | None:
    """A score of a run on the items of a stratum."""
    parts = [[record for record in part if stratum.items() <= record.stratum.items()] for part in run.parts]
    return reference.estimate(parts)


def _grid_panel(
    runs: Sequence[RunRecords], strata: Mapping[str, Sequence[str]], reference: ReferencedMetric, one: str, two: str
) -> Panel:
    metric, rows, columns = reference.metric, strata[one], strata[two]
    names = list(map(_plain, rows)), list(map(_plain, columns))
    maps = []
    for run in runs:
        cells = {
            (_plain(row), _plain(column)): _estimate(reference, run, {one: row, two: column})
            for row in rows
            for column in columns
        }
        caption = f"{metric.title} of {run.name} by {one} and {two}"
        maps.append(heat_map(caption, *names, cells, metric.bounds, run, unit=metric.unit))
    return Panel(f"{reference.heading} by {one} and {two}", maps, GROUPS_NOTE)


def _run_panel(runs: Sequence[RunRecords], strata: Mapping[str, Sequence[str]], reference: ReferencedMetric) -> Panel:
    metric, (column, values) = reference.metric, max(strata.items(), key=lambda one: len(one[1]))
    cells = {(_plain(value), run.tag): _estimate(reference, run, {column: value}) for value in values for run in runs}
    tags = {run.tag: run.tag for run in runs}
    caption, rows = f"{metric.title} by {column} and run", list(map(_plain, values))
    figure = heat_map(caption, rows, list(tags), cells, metric.bounds, tags=tags, unit=metric.unit)
    return Panel(f"{reference.heading} by {column} and run", figure, GROUPS_NOTE)


def _dots_panel(runs: Sequence[RunRecords], column: str, values: Sequence[str], reference: ReferencedMetric) -> Panel:
    marks = [
        Datum(
            _plain(value), score_number(_estimate(reference, run, {column: value}), reference.metric.unit), tag=run.tag
        )
        for value in values
        for run in runs
    ]
    beside = [value for kind, _, value in facts_of(reference) if kind != "chance"]
    plot = dot_plot(f"{reference.metric.title} by {column}", marks, reference, beside, grouped=True)
    return Panel(f"{reference.heading} by {column}", plot)


def _plain(value: str) -> str:
    return value.replace("_", " ")


def attrition_panels(tasks: Sequence[str], runs: Sequence[Run]) -> list[Panel]:
    """The attrition of the sets that runs were asked, those that `build` made and that are prepared here."""
    found: list[SetAttrition] = []
    for name in tasks:
        task = registry().find_task(name)
        if task is None:
            continue
        try:
            split = read_manifest(task.benchmark.card).splits.get(task.split)
        except InputError:
            continue  # Another place of the page says that nothing is prepared.
        attrition = split.attrition if split else None
        asked = [run.set_of(name) for run in runs if name in run.records]
        if split and attrition and attrition not in found and all(one.may_share(split.data_set) for one in asked):
            found.append(attrition)
    return [_panel(one) for one in found]


def _panel(attrition: SetAttrition) -> Panel:
    table = text_table(None, "step", "rows", "of what came to it", numbers=True)
    table.add_row(attrition.start, attrition.rows, "")
    for step in attrition.steps:
        kept = f"{100 * step.left / step.came:.0f}%" if step.came >= step.left and step.came else f"from {step.came:,}"
        table.add_row(step.step, step.left, kept)
        for reason, number in step.removed.items():
            table.add_row(f"– {reason}", -number, "")
    return Panel(
        "What the build left at each step", note="Below each step: why rows were removed, and how many.", table=table
    )


LONGEST_NAME = 200
"""Bytes of a file's name without its ending: most file systems take 255."""


def figures_of(sections: Iterable[Section]) -> dict[str, Figure]:
    """The figures of a page's sections, by the names of their files without an ending: task, panel, and run."""
    named: dict[str, Figure] = {}
    for section in sections:
        for panel in section.panels:
            for figure in panel.all_figures:
                slugs = (re.sub(r"[\W_]+", "-", text.lower()).strip("-") for text in (panel.title, figure.name))
                name = ".".join(filter(None, (re.sub(r"[^\w.-]+", "-", section.name), *slugs)))
                short = name.encode()[:LONGEST_NAME].decode(errors="ignore")
                # Runs may differ in signs alone.
                numbered = (f"{short}-{number}" for number in count(2))
                named[next(one for one in chain([short], numbered) if one not in named)] = figure
    return named


def write_figures(runs: Sequence[Run], folder: Path, only: str = "", progress: Progress = no_progress) -> int:
    """Write every figure of the runs' page as PDF, SVG, PNG and CSV; the same runs and data give the same bytes."""
    from lmms_eval_tasks.utils.reporting.drawing import figure_files

    figures = figures_of(build_sections(runs, only)[1])
    for done, (stem, figure) in enumerate(figures.items()):
        progress("drawing figures", done, len(figures))
        for form, content in figure_files(figure).items():
            write_file(folder / f"{stem}.{form.value}", content)
    progress("drawing figures", len(figures), len(figures))
    return len(figures)


STYLES = ("page.css", "browser.css", "drawn.css")
SCRIPTS = ("store.js", "figures.js", "address.js", "clips.js", "graph.js", "curves.js", "detail.js", "browser.js")


def build_page(
    runs: Sequence[Run],
    only: str = "",
    clips: Clips = Clips.auto,
    people: People | None = None,
    price: Price | None = None,
) -> str:
    """The report of runs as one HTML page; the same runs and data give the same bytes."""
    from lmms_eval_tasks.utils.reporting.drawing import page_figures

    runs, sections = build_sections(runs, only)
    numbered = dict(enumerate(runs, start=1))
    shared = share_tasks(people.responses, people.asked, runs, only) if people else []
    shelf = ClipShelf()
    figures = figures_of(sections)
    drawn = dict(zip(map(id, figures.values()), zip(figures, page_figures(figures.values()), strict=True), strict=True))
    several = list(find_several(runs, only))
    for place, one in enumerate(sections):
        best = best_tables(found for found in several if not found.tasks.isdisjoint(one.tasks))
        panels = (
            *comparison_panels(one.name, numbered),
            *sample_panels(one.name, runs),
            *judge_panels(one.name, runs),
            *(Panel(table.title, table=table) for table in best if isinstance(table, FittingTable)),
            *one.panels,
            *(panel for found in shared if found.name == one.name for panel in shared_panels(found)),
            *cost_panels(one.name, runs, price or {}),
            *attrition_panels(one.tasks, runs),
        )
        notes = (*one.notes, *(text for text in best if isinstance(text, str)))
        sections[place] = replace(one, panels=panels, notes=notes)
    blocks = {
        task: task_block(task, [(place, run) for place, run in enumerate(runs) if task in run.records], shelf)
        for task in dict.fromkeys(task for section in sections for task in section.tasks)
    }
    embed = shelf.embeds(clips)
    about = {
        "runs": [[str(number), run.title] for number, run in enumerate(runs, start=1)],
        "outcomes": list(OUTCOMES),
        "sections": [[section.name, list(section.tasks)] for section in sections],
    }
    cards = [run.card for run in runs]
    return render_page(
        ASSETS / "page.html",
        (ASSETS / name for name in STYLES),
        (ASSETS / name for name in SCRIPTS),
        runs=[
            {
                "tag": str(number),
                "name": run.title,
                "file": run.path.name.removesuffix(RESULTS),
                "incomplete": run.incomplete,
                "items": sum(map(len, run.records.values())),
                "card": run.card,
            }
            for number, run in enumerate(runs, start=1)
        ],
        hazards=[
            ([str(place + 1) for place in held_by], name, describe_hazard(name, cards))
            for name, held_by in applying_hazards(cards).items()
        ],
        warnings=run_warnings(runs, only, "Items, below, shows"),
        sections=sections,
        drawn=lambda figure: drawn[id(figure)],
        hues=HUES,
        about=Markup(as_json(about)),
        blocks={task: Markup(as_json(block)) for task, block in blocks.items()},
        listing=Markup(as_json(shelf.listing(embed))),
        encoded=list(shelf.encoded()) if embed else [],
    )
