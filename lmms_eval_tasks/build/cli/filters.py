"""`lmms-eval-tasks filter …`: pairs that are solved without the motion or without the clip."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.build.curation.shortcuts import (
    FRAME_SHARE,
    MODEL_SHARE,
    MODELS,
    UNSCORED,
    FilteredGroup,
    blind_filter,
    check_share,
    single_frame_filter,
    view_records,
)
from lmms_eval_tasks.cli.help import BUILD
from lmms_eval_tasks.cli.runs import ALLOW_INCOMPLETE, open_runs
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.benchmark.views import BLIND, SINGLE_FRAME
from lmms_eval_tasks.utils.core.console import make_console, text_table
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.json_rows import as_lines

if TYPE_CHECKING:
    from rich.console import Console

    from lmms_eval_tasks.utils.core.tables import FittingTable
    from lmms_eval_tasks.utils.reporting.references import Control
    from lmms_eval_tasks.utils.runs.run import Run

filter_app = typer.Typer(
    no_args_is_help=True, help="List pairs that models solve by a shortcut.", rich_help_panel=BUILD
)

OUT = "Where to write what became of each pair, and why, as JSON lines."


@filter_app.command("single-frame")
def single_frame(
    runs: Annotated[list[Path], typer.Argument(help="Runs of single-frame views, several models and frames.")],
    out: Annotated[Path, typer.Option(help=OUT, show_default=False)],
    models: Annotated[int, typer.Option(min=1, help="How many models there have to be.")] = MODELS,
    model_share: Annotated[
        float, typer.Option(help="A frame is solvable where this share of models is right.")
    ] = MODEL_SHARE,
    frame_share: Annotated[
        float, typer.Option(help="A pair goes where this share of the frames of both clips is solvable.")
    ] = FRAME_SHARE,
    allow_incomplete: Annotated[bool, typer.Option("--allow-incomplete", help=ALLOW_INCOMPLETE)] = False,
) -> None:
    """List the pairs that single frames solve, as MVP removed them: by runs of views such as single_frame_random1.

    Examples:
        lmms-eval-tasks filter single-frame out/qwen out/llava --models 2 --out frames.jsonl
        lmms-eval-tasks filter single-frame out/a out/b --models 2 --frame-share 0.5 --out frames.jsonl
    """
    from lmms_eval_tasks.utils.reporting.references import Control

    check_share("--model-share", model_share)
    check_share("--frame-share", frame_share)
    console = make_console()
    opened = open_runs(console, runs, allow_incomplete)
    answers = view_records(opened, SINGLE_FRAME, models)
    groups = single_frame_filter(answers, model_share, frame_share)
    _print_source(console, opened, list(answers))
    console.print(_table(groups))
    console.print(
        f"A frame is solvable where at least {100 * model_share:g}% of {len(answers)} models are right; a pair goes "
        f"where at least {100 * frame_share:g}% of the frames of each of its clips are."
    )
    _print_published(console, opened, groups, (Control.MINIMAL_PAIRS, Control.SINGLE_FRAME))
    _write(console, out, groups)


@filter_app.command("blind")
def blind(
    runs: Annotated[list[Path], typer.Argument(help="Runs of blind views, one or more models.")],
    out: Annotated[Path, typer.Option(help=OUT, show_default=False)],
    models: Annotated[int, typer.Option(min=1, help="How many models have to be right on both items of a pair.")] = 1,
    allow_incomplete: Annotated[bool, typer.Option("--allow-incomplete", help=ALLOW_INCOMPLETE)] = False,
) -> None:
    """List the pairs of which a model gets both items right without the clip, as CausalVQA removed them.

    Examples:
        lmms-eval-tasks filter blind out/qwen-blind out/llava-blind --out blind.jsonl
        lmms-eval-tasks filter blind out/qwen-blind out/llava-blind --models 2 --out blind.jsonl
    """
    from lmms_eval_tasks.utils.reporting.references import Control

    console = make_console()
    opened = open_runs(console, runs, allow_incomplete)
    answers = view_records(opened, BLIND, models)
    groups = blind_filter(answers, models)
    _print_source(console, opened, list(answers))
    console.print(_table(groups))
    console.print(f"A pair goes where at least {models} of {len(answers)} models are right on both items, blind.")
    _print_published(console, opened, groups, (Control.BLIND,))
    _write(console, out, groups)


def _print_source(console: Console, runs: Sequence[Run], models: Sequence[str]) -> None:
    console.print(f"models: {', '.join(models)}", soft_wrap=True)
    for why in _apart(runs):
        console.print(f"NOT THE WHOLE RELEASE: {why}", style="bold red")


def _apart(runs: Sequence[Run]) -> list[str]:
    return sorted({run.apart(run.records) for run in runs} - {""})


def _table(groups: Sequence[FilteredGroup]) -> FittingTable:
    from lmms_eval_tasks.utils.stats.bootstrap import macro_interval

    table = text_table(None, "task", "pairs", "removed", "percent", "kept", "unscored")
    tasks = list(dict.fromkeys(group.task for group in groups))
    for name in [*tasks, *(["all"] if len(tasks) > 1 else [])]:
        part = [group for group in groups if name in ("all", group.task)]
        unscored = sum(group.why == UNSCORED for group in part)
        decided = [(100.0 * group.removed, 1.0) for group in part if group.why != UNSCORED]
        removed = sum(group.removed for group in part)
        percent = "N/A"
        if decided:
            low, high = macro_interval([decided])
            percent = f"{100 * removed / len(decided):.1f} [{low:.1f}, {high:.1f}]"
        table.add_row(name, f"{len(part):,}", f"{removed:,}", percent, f"{len(part) - removed:,}", f"{unscored:,}")
    return table


def _print_published(
    console: Console, runs: Sequence[Run], groups: Sequence[FilteredGroup], controls: Sequence[Control]
) -> None:
    """What papers print of the filter, for the tasks that were filtered; nothing where not all of the release was."""
    from lmms_eval_tasks.utils.reporting.references import published_controls

    find = registry().find_task
    for task in () if _apart(runs) else dict.fromkeys(group.task for group in groups):
        known = find(task)
        for published in published_controls(known.benchmark.folder, task) if known else ():
            if published.control in controls:
                console.print(f"published, {task}: {published.value:.1f}, {published.what}; {published.source}")


def _write(console: Console, out: Path, groups: Sequence[FilteredGroup]) -> None:
    write_file(out, as_lines(group.to_json() for group in groups))
    removed = sum(group.removed for group in groups)
    console.print(f"Pairs: {removed:,} removed, {len(groups) - removed:,} kept: {out}", soft_wrap=True)
