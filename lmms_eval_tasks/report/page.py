"""Building the page: sections, items and clips in one file that needs no network."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from markupsafe import Markup

import lmms_eval_tasks
from lmms_eval_tasks.report.best_of import best_notes, find_several
from lmms_eval_tasks.report.clips import Clips, ClipShelf
from lmms_eval_tasks.report.items import as_json, task_block
from lmms_eval_tasks.report.runs import entries_of
from lmms_eval_tasks.report.sections import build_section
from lmms_eval_tasks.report.tables import apart_warnings
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.wording import escape_surrogates
from lmms_eval_tasks.utils.reporting.figures import run_badge, template_environment
from lmms_eval_tasks.utils.reporting.page_script import script_digest
from lmms_eval_tasks.utils.reporting.palette import HUES, hue_styles
from lmms_eval_tasks.utils.reporting.panels import OUTCOMES
from lmms_eval_tasks.utils.runs.hazards import describe
from lmms_eval_tasks.utils.runs.results_file import RESULTS
from lmms_eval_tasks.utils.runs.run import Run
from lmms_eval_tasks.utils.runs.run_card import applying_hazards

ASSETS = Path(__file__).parent / "assets"
TEMPLATE = "page.html"
STYLES = ("page.css", "browser.css")
SCRIPTS = ("store.js", "address.js", "clips.js", "detail.js", "browser.js")


def write_page(runs: Sequence[Run], path: Path, only: str = "", clips: Clips = Clips.auto) -> None:
    """Write the report of runs as one HTML page; the same runs and data give the same bytes.

    Raises:
        InputError: where no run holds `only`, the one task or group to show; all of them if it is empty.
        OSError: where the file cannot be written.
    """
    write_file(path, escape_surrogates(build_page(runs, only, clips)))


def build_page(runs: Sequence[Run], only: str = "", clips: Clips = Clips.auto) -> str:
    """The page's text; arguments and errors as for `write_page`."""
    entries = entries_of(runs, only)
    holding = {id(run) for holders in entries.values() for run, _ in holders}
    runs = [run for run in runs if id(run) in holding]
    numbers = {id(run): number for number, run in enumerate(runs, start=1)}
    shelf = ClipShelf()
    sections = [
        build_section(name, [(numbers[id(run)], run, tasks) for run, tasks in holders])
        for name, holders in entries.items()
    ]
    several = list(find_several(runs, only))
    sections = [replace(one, notes=(*one.notes, *best_notes(several, one.tasks))) for one in sections]
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
    return (
        template_environment(ASSETS)
        .get_template(TEMPLATE)
        .render(
            version=lmms_eval_tasks.__version__,
            runs=[
                {
                    "tag": str(number),
                    "name": run.title,
                    "file": run.path.name.removesuffix(RESULTS),
                    "apart": run.apart(run.records),
                    "incomplete": run.incomplete,
                    "items": sum(map(len, run.records.values())),
                    "card": run.card,
                }
                for number, run in enumerate(runs, start=1)
            ],
            hazards=[
                ([str(place + 1) for place in held_by], name, describe(name))
                for name, held_by in applying_hazards([run.card for run in runs]).items()
            ],
            apart=apart_warnings(runs, only),
            sections=sections,
            style=Markup("\n".join([*map(_read, STYLES), hue_styles()])),
            badge=run_badge,
            hues=len(HUES),
            script=Markup(script),
            script_digest=script_digest(script),
            about=Markup(as_json(about)),
            blocks={task: Markup(as_json(block)) for task, block in blocks.items()},
            listing=Markup(as_json(shelf.listing(embed))),
            encoded=list(shelf.encoded()) if embed else [],
        )
    )


def _read(name: str) -> str:
    return (ASSETS / name).read_text(encoding="utf-8").strip()
