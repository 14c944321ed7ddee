"""`lmms-eval-tasks report`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import (
    AllowIncompleteOption,
    FormatOption,
    ItemsOption,
    NamesOption,
    PeopleOption,
    PriceOption,
    RunsArgument,
    SeriesOption,
    TaskOption,
    WithoutOption,
    open_runs,
)
from lmms_eval_tasks.report import score_tables
from lmms_eval_tasks.report.card_tables import cost_tables, print_cards, print_differences
from lmms_eval_tasks.report.judge_readings import judge_tables
from lmms_eval_tasks.report.published_tables import AskedPeople, layout_tables
from lmms_eval_tasks.report.random_pairs import pairing_tables
from lmms_eval_tasks.report.repeats import best_tables, find_several, sample_tables
from lmms_eval_tasks.report.series import curve_tables, gather_series, seed_tables
from lmms_eval_tasks.runs.costs import READING, read_price
from lmms_eval_tasks.runs.folder import NOT_SCORED, Run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.output import FittingTable, Output, open_output
from lmms_eval_tasks.utils.data.manifest import RemovedGroups, read_filter
from lmms_eval_tasks.utils.reporting.columns import other_units


class Tables(str, Enum):
    paper = "paper"


class Pairing(str, Enum):
    random = "random"


def report(
    runs: RunsArgument = None,
    names: NamesOption = None,
    series: SeriesOption = None,
    by: Annotated[
        str, typer.Option(help="Break scores down by these columns, such as type,difficulty; of one run.")
    ] = "",
    layout: Annotated[
        Tables | None, typer.Option(help="Show the tables of the benchmarks' papers instead, as these print them.")
    ] = None,
    task: TaskOption = "",
    card: Annotated[bool, typer.Option("--card", help="Print full run cards (model, data, settings).")] = False,
    html: Annotated[
        Path | None,
        typer.Option(dir_okay=False, help="Also write one HTML page, with every item; `page` has more options."),
    ] = None,
    people: PeopleOption = None,
    items: ItemsOption = "",
    pairing: Annotated[
        Pairing | None,
        typer.Option(help="Also compute pair accuracy over randomly re-paired clips of the same question."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the draws for --pairing.")] = 0,
    without: WithoutOption = None,
    allow_incomplete: AllowIncompleteOption = False,
    price: PriceOption = "",
    form: FormatOption = None,
) -> None:
    """Show what runs scored, with 95% intervals and how many are behind each score.

    Examples:
        lmms-eval-tasks report out/qwen out/internvl
        lmms-eval-tasks report out/qwen --html report.html
        lmms-eval-tasks report out/qwen out/internvl --layout paper
    """
    if by and layout:
        raise InputError("Expected --by or --layout, but got both.")
    if people and not layout:
        raise InputError("Expected --people with --layout; `page` and `humans` with --run show what they share.")
    if bool(people) is not bool(items):
        raise InputError("Expected --people and --items together, but got one of them.")
    money = read_price(price)
    chosen = ChosenRuns(runs or [], names or (), series or (), task, without, allow_incomplete)
    in_layout = _people_of(people, items) if people else None
    with open_output("report", form) as output:
        read = chosen.read(output)
        if not read:
            if html:
                raise InputError(f"Expected a run with scores for {html}, but got answers alone. Nothing was written.")
            return
        _show_tables(output, read, by, task, seed if pairing else None, layout, in_layout)
        if costs := [] if by or layout else [*cost_tables(read, task, money)]:
            for table in costs:
                output.table(table)
            output.note(READING)
        tasks = [name for run in read for name in run.tasks_of(task)] if task else None
        shown = tasks or [name for run in read for name in run.records]
        units = other_units(column for name in shown for column in score_tables.columns_of(name))
        output.note(
            f"Scores in percent{units}. Intervals are "
            "95%, over groups of items, such as pairs, or over clips where items are not grouped. above/below: the 95% "
            "interval, as printed, excludes the reference; open: it contains it."
        )
        print_cards(output, read, whole=card)
        print_differences(output, read, tasks, explain=False)
        if html:
            from lmms_eval_tasks.report.page import build_page

            write_file(html, build_page(read, task, price=money))
            output.note(f"Page: {html.absolute()}")


def _people_of(file: Path, items: str) -> AskedPeople:
    from lmms_eval_tasks.report.people_tables import AskedItems
    from lmms_eval_tasks.utils.people.responses import read_human_responses

    of_people = AskedItems(items)
    if of_people.benchmark is None:
        raise InputError(f"Expected --items BENCHMARK:SPLIT with --layout, but got {items}.")
    asked = of_people.of_runs
    responses = read_human_responses(file, asked, whole_pairs=of_people.whole_pairs)
    benchmark, _, split = items.partition(":")
    return AskedPeople(file.name, benchmark, split, responses, asked)


@dataclass(frozen=True)
class ChosenRuns:
    """Runs as the options of a command choose and name them; InputError where that makes no sense."""

    runs: Sequence[Path]
    names: Sequence[str]
    series: Sequence[str]
    task: str
    without: Path | None
    allow_incomplete: bool

    def __post_init__(self) -> None:
        if self.names and self.series:
            raise InputError("Expected --name without --series, whose runs are named by their values.")
        if not (self.runs or self.series):
            raise InputError("Expected the output folder of a run, or --series, but got neither.")

    def read(self, output: Output) -> list[Run]:
        """Read those that have scores, and what was only predicted is noted."""
        sources, places = gather_series(self.series, self.runs)
        opened = open_runs(
            output, sources, self.allow_incomplete, allow_predictions=True, names=self.names, task=self.task
        )
        opened = [
            replace(run, series=at, label=at.title) if (at := places.get(source)) else run
            for run, source in zip(opened, sources, strict=True)
        ]
        for run in opened:
            if run.only_predicted:
                answered = ", ".join(f"{len(records):,} items of {name}" for name, records in run.records.items())
                note = f"{run.title}: answers to {answered}. {NOT_SCORED.format(run=run.path)}"
                output.warn(note, style="none", whole=True)
        read = [run for run in opened if not run.only_predicted]
        return _also_filtered(read, read_filter(self.without)) if self.without and read else read


def _also_filtered(runs: Sequence[Run], removed: RemovedGroups) -> list[Run]:
    """Each run, then the same without the groups that a filter removed, of which a set of random pairs has none."""
    filtered = [run.without(removed) for run in runs]
    if not any(filtered):
        raise InputError(f"{removed.name} cannot be used: {runs[0].title} has none of its groups.")
    return [shown for pair in zip(runs, filtered, strict=True) for shown in pair if shown]


def _show_tables(
    output: Output,
    runs: Sequence[Run],
    by: str,
    task: str,
    pairing_seed: int | None,
    layout: Tables | None,
    people: AskedPeople | None,
) -> None:
    shown: list[FittingTable | str]
    if layout:
        shown = [*layout_tables(runs, task, people)]
    elif by:
        shown = [table for run in runs for table in score_tables.stratum_tables(run, by.split(","), task)]
    else:
        shown = [
            *score_tables.score_tables(runs, task),
            *sample_tables(runs, task),
            *judge_tables(runs, task),
            *best_tables(find_several(runs, task)),
            *seed_tables(runs, task),
            *curve_tables(runs, task),
            *score_tables.view_tables(runs, task),
            *score_tables.reference_tables(runs, task),
        ]
    if pairing_seed is not None:
        shown += pairing_tables(runs, task, pairing_seed)
    for warning in score_tables.run_warnings(runs, task):
        output.warn(warning)
    for one in shown:
        if isinstance(one, str):
            output.note(one)
        else:
            output.table(one)
