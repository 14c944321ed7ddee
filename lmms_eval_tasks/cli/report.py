"""`lmms-eval-tasks report`."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.cards import print_cards, print_differences
from lmms_eval_tasks.cli.runs import ALLOW_INCOMPLETE, NAMES, open_runs
from lmms_eval_tasks.cli.series import SERIES, gather_series
from lmms_eval_tasks.installed.runs import NOT_SCORED
from lmms_eval_tasks.report.clips import Clips
from lmms_eval_tasks.report.runs import columns_of
from lmms_eval_tasks.utils.core.console import make_console
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.reporting.columns import other_units


class Pairing(str, Enum):
    """Which partners items get."""

    random = "random"


def report(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Output folders of runs; of each its latest run.", show_default=False)
    ] = None,
    names: Annotated[list[str] | None, typer.Option("--name", help=NAMES)] = None,
    series: Annotated[list[str] | None, typer.Option(help=SERIES)] = None,
    by: Annotated[str, typer.Option(help="Stratum columns, such as type,difficulty: one run, broken down.")] = "",
    task: Annotated[str, typer.Option(help="Only this task or group.")] = "",
    card: Annotated[
        bool, typer.Option("--card", help="Print the runs' cards whole: what they were made with.")
    ] = False,
    html: Annotated[
        Path | None, typer.Option(help="Also write one HTML page, with every item, that needs no network.")
    ] = None,
    clips: Annotated[
        Clips, typer.Option(help="Clips of the page: in it, linked as files, or in it up to 30 MB of them.")
    ] = Clips.auto,
    pairing: Annotated[
        Pairing | None, typer.Option(help="Also pair accuracy with the partners of other pairs of the same question.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws for --pairing.")] = 0,
    allow_incomplete: Annotated[bool, typer.Option("--allow-incomplete", help=ALLOW_INCOMPLETE)] = False,
) -> None:
    """Show what runs scored, with 95% intervals and how many are behind each score.

    Examples:
        lmms-eval-tasks report out/qwen out/internvl
        lmms-eval-tasks report out/qwen --html report.html
    """
    from lmms_eval_tasks.report.best_of import best_tables
    from lmms_eval_tasks.report.pairing import pairing_tables
    from lmms_eval_tasks.report.series import seed_tables
    from lmms_eval_tasks.report.tables import apart_warnings, reference_tables, score_tables, stratum_tables
    from lmms_eval_tasks.report.view_tables import view_tables

    console = make_console()
    sources, places = gather_series(series or [], runs or [])
    if not sources:
        raise InputError("Expected the output folder of a run, or --series, but got neither.")
    opened = open_runs(console, sources, allow_incomplete, allow_predictions=True, names=names or ())
    opened = [
        replace(run, series=place, label=run.label if names else place.title) if (place := places.get(source)) else run
        for run, source in zip(opened, sources, strict=True)
    ]
    for run in opened:
        if run.only_predicted:
            items = ", ".join(f"{len(records):,} items of {name}" for name, records in run.records.items())
            console.print(f"{run.title}: answers to {items}. {NOT_SCORED.format(run=run.path)}", soft_wrap=True)
    read = [run for run in opened if not run.only_predicted]
    if not read:
        if html:
            raise InputError(f"Expected a run with scores for {html}, but got answers alone. Nothing was written.")
        return
    for warning in apart_warnings(read, task):
        console.print(warning, style="bold red")
    for run in read:
        for table in stratum_tables(run, by.split(","), task) if by else ():
            console.print(table)
    for shown in (
        ()
        if by
        else (
            *score_tables(read, task),
            *best_tables(read, task),
            *seed_tables(read, task),
            *view_tables(read, task),
            *reference_tables(read, task),
        )
    ):
        console.print(shown)
    for table in pairing_tables(read, task, seed) if pairing else ():
        console.print(table)
    tasks = [name for run in read for name in run.groups.get(task, [task])] if task else None
    names = tasks or [name for run in read for name in run.records]
    console.print(
        f"Scores in percent{other_units(column for name in names for column in columns_of(name))}. Intervals are 95%, "
        "over groups of items, such as pairs, or over clips where items stand alone. above/below: the 95% interval "
        "excludes the reference; open: it contains it."
    )
    print_cards(console, read, whole=card)
    print_differences(console, read, tasks, explain=False)
    if html:
        from lmms_eval_tasks.report.page import write_page

        write_page(read, html, task, clips)
        console.print(f"Page: {html.absolute()}")
