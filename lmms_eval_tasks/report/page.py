"""The HTML page of runs, in one file that needs no network, and the figures of its sections as files."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from pathlib import Path

from markupsafe import Markup

from lmms_eval_tasks.report.card_tables import cost_panels
from lmms_eval_tasks.report.page_files import ASSETS, Clips, ClipShelf, render_page
from lmms_eval_tasks.report.page_items import as_json, task_block
from lmms_eval_tasks.report.people_tables import People, share_tasks, shared_panels
from lmms_eval_tasks.report.repeats import best_tables, find_several, sample_panels
from lmms_eval_tasks.report.run_comparison import comparison_panels
from lmms_eval_tasks.report.score_tables import run_warnings
from lmms_eval_tasks.report.sections import Section, attrition_panels, build_sections
from lmms_eval_tasks.runs.costs import Price
from lmms_eval_tasks.runs.folder import Run
from lmms_eval_tasks.runs.run_card import applying_hazards, describe_hazard
from lmms_eval_tasks.runs.run_files import RESULTS
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.table import FittingTable
from lmms_eval_tasks.utils.core.work import Progress, no_progress
from lmms_eval_tasks.utils.reporting.figure import Figure
from lmms_eval_tasks.utils.reporting.palette import HUES
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES, Panel

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
        warnings=run_warnings(runs, only),
        sections=sections,
        drawn=lambda figure: drawn[id(figure)],
        hues=len(HUES),
        about=Markup(as_json(about)),
        blocks={task: Markup(as_json(block)) for task, block in blocks.items()},
        listing=Markup(as_json(shelf.listing(embed))),
        encoded=list(shelf.encoded()) if embed else [],
    )
