"""Building the page: sections, items and clips in one file that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

import lmms_eval_tasks
from lmms_eval_tasks.report.attrition import attrition_panels
from lmms_eval_tasks.report.best_of import best_notes, find_several
from lmms_eval_tasks.report.clips import Clips, ClipShelf
from lmms_eval_tasks.report.comparison import comparison_panels
from lmms_eval_tasks.report.figures import figures_of
from lmms_eval_tasks.report.items import as_json, task_block
from lmms_eval_tasks.report.people import People, share_tasks, shared_panels
from lmms_eval_tasks.report.sections import build_sections
from lmms_eval_tasks.report.tables import run_warnings
from lmms_eval_tasks.utils.core.cells import cell_text
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.wording import escape_surrogates
from lmms_eval_tasks.utils.reporting.figures.files import page_figures
from lmms_eval_tasks.utils.reporting.palette import HUES, ink_styles
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES
from lmms_eval_tasks.utils.reporting.templates import run_badge, script_digest, template_environment
from lmms_eval_tasks.utils.runs.results_file import RESULTS
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import applying_hazards, describe_hazard

ASSETS = Path(__file__).parent / "assets"
TEMPLATE = "page.html"
STYLES = ("page.css", "browser.css", "drawn.css")
SCRIPTS = ("store.js", "figures.js", "address.js", "clips.js", "graph.js", "curves.js", "detail.js", "browser.js")


def write_page(
    runs: Sequence[Run], path: Path, only: str = "", clips: Clips = Clips.auto, people: People | None = None
) -> None:
    """Write the report of runs as one HTML page; the same runs and data give the same bytes."""
    write_file(path, escape_surrogates(build_page(runs, only, clips, people)))


def build_page(runs: Sequence[Run], only: str = "", clips: Clips = Clips.auto, people: People | None = None) -> str:
    """The page's text; arguments and errors as for `write_page`."""
    runs, sections = build_sections(runs, only)
    numbered = dict(enumerate(runs, start=1))
    shared = share_tasks(people.responses, people.asked, numbered, only) if people else []
    shelf = ClipShelf()
    figures = figures_of(sections)
    drawn = dict(zip(map(id, figures.values()), zip(figures, page_figures(figures.values()), strict=True), strict=True))
    several = list(find_several(runs, only))
    sections = [
        replace(
            one,
            panels=(
                *comparison_panels(one.name, numbered),
                *one.panels,
                *(panel for found in shared if found.name == one.name for panel in shared_panels(found)),
                *attrition_panels(one.tasks, runs),
            ),
            notes=(*one.notes, *best_notes(several, one.tasks)),
        )
        for one in sections
    ]
    blocks = {
        task: task_block(task, [(place, run) for place, run in enumerate(runs) if task in run.records], shelf)
        for task in dict.fromkeys(task for section in sections for task in section.tasks)
    }
    embed = shelf.embeds(clips)
    script = "\n".join(_read(name) for name in SCRIPTS)
    about = {
        "runs": [[str(number), run.title] for number, run in enumerate(runs, start=1)],
        "outcomes": list(OUTCOMES),
        "sections": [[section.name, list(section.tasks)] for section in sections],
    }
    cards = [run.card for run in runs]
    environment = template_environment(ASSETS)
    environment.filters["cell_text"] = cell_text
    return environment.get_template(TEMPLATE).render(
        version=lmms_eval_tasks.__version__,
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
        style=Markup("\n".join([ink_styles(), *map(_read, STYLES)])),
        badge=run_badge,
        drawn=lambda figure: drawn[id(figure)],
        hues=len(HUES),
        script=Markup(script),
        script_digest=script_digest(script),
        about=Markup(as_json(about)),
        blocks={task: Markup(as_json(block)) for task, block in blocks.items()},
        listing=Markup(as_json(shelf.listing(embed))),
        encoded=list(shelf.encoded()) if embed else [],
    )


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8").strip()
