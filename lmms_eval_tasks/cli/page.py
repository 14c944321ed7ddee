"""`lmms-eval-tasks page`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import (
    AllowIncompleteOption,
    ItemsOption,
    NamesOption,
    PeopleOption,
    PriceOption,
    RunsArgument,
    SeriesOption,
    TaskOption,
    WithoutOption,
)
from lmms_eval_tasks.cli.report import ChosenRuns
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.runs.costs import read_price
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import open_output, show_progress


def page(
    runs: RunsArgument = None,
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="The page, one HTML file with every item.", show_default=False)
    ] = None,
    figures: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="Write every figure of the page, for papers, as files in this folder."),
    ] = None,
    names: NamesOption = None,
    series: SeriesOption = None,
    task: TaskOption = "",
    clips: Annotated[
        Clips, typer.Option(help="Clips: in the page (embed), linked as files (link), or in it up to 30 MB (auto).")
    ] = Clips.auto,
    people: PeopleOption = None,
    items: ItemsOption = "",
    without: WithoutOption = None,
    allow_incomplete: AllowIncompleteOption = False,
    price: PriceOption = "",
) -> None:
    """Write runs as one HTML page that needs no network, and its figures as files for papers.

    Examples:
        lmms-eval-tasks page out/qwen out/internvl --out report.html
        lmms-eval-tasks page out/qwen out/internvl --task mvp_mini --figures figures
    """
    if not (out or figures):
        raise InputError("Expected --out or --figures, but got neither.")
    if bool(people) is not bool(items):
        raise InputError("Expected --people and --items together, but got one of them.")
    money = read_price(price)
    chosen = ChosenRuns(runs or [], names or (), series or (), task, without, allow_incomplete)
    beside = None
    if people:
        from lmms_eval_tasks.report.people_tables import AskedItems, People
        from lmms_eval_tasks.utils.people.responses import read_human_responses

        of_people = AskedItems(items)
        asked = of_people.of_runs
        beside = People(read_human_responses(people, asked, whole_pairs=of_people.whole_pairs), asked)
    with open_output("page", None) as output:
        read = chosen.read(output)
        if not read:
            raise InputError(
                f"Expected a run with scores for {out or figures}, but got answers alone. Nothing was written."
            )
        from lmms_eval_tasks.report.page import build_page, write_figures

        if out:
            write_file(out, build_page(read, task, clips, beside, money))
            output.note(f"Page: {out.absolute()}")
        if figures:
            with show_progress() as progress:
                written = write_figures(read, figures, task, progress)
            output.note(f"Figures: {written:,}, as PDF, SVG, PNG and CSV, in {figures.absolute()}")
