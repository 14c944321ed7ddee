"""`lmms-eval-tasks filter …`: pairs that are solved without the motion or without the clip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.help import BUILD
from lmms_eval_tasks.cli.options import AllowIncompleteOption, FormatOption, open_runs
from lmms_eval_tasks.construct.curation import shortcut_filters
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.benchmark.views import Blind, SingleFrame, find_view
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.output import Number, Output, open_output, text_table
from lmms_eval_tasks.utils.scoring.bootstrap import METHOD

if TYPE_CHECKING:
    from lmms_eval_tasks.runs.folder import Run
    from lmms_eval_tasks.utils.core.output import FittingTable


filter_app = typer.Typer(no_args_is_help=True, help="List pairs solvable without the video.", rich_help_panel=BUILD)

OUT = "Where to write what became of each pair, and why, as JSON lines."


@filter_app.command("single-frame")
def single_frame(
    runs: Annotated[list[Path], typer.Argument(help="Runs of single-frame views, several models and frames.")],
    out: Annotated[Path, typer.Option(help=OUT, show_default=False)],
    models: Annotated[int, typer.Option(min=1, help="How many models there have to be.")] = shortcut_filters.MODELS,
    model_share: Annotated[
        float, typer.Option(help="A frame is solvable where this share of models is right.")
    ] = shortcut_filters.MODEL_SHARE,
    frame_share: Annotated[
        float, typer.Option(help="A pair goes where this share of the frames of both clips is solvable.")
    ] = shortcut_filters.FRAME_SHARE,
    allow_incomplete: AllowIncompleteOption = False,
    form: FormatOption = None,
) -> None:
    """List the pairs that single frames solve, as MVP removed them: by runs of views such as single_frame_random1.

    Examples:
        lmms-eval-tasks filter single-frame out/qwen out/llava --models 2 --out frames.jsonl
        lmms-eval-tasks filter single-frame out/a out/b --models 2 --frame-share 0.5 --out frames.jsonl
    """
    shortcut_filters.check_share("--model-share", model_share)
    shortcut_filters.check_share("--frame-share", frame_share)
    with open_output("filter single-frame", form) as output:
        opened = open_runs(output, runs, allow_incomplete)
        answers = shortcut_filters.view_records(opened, SingleFrame.ending, models)
        groups = shortcut_filters.single_frame_filter(answers, model_share, frame_share)
        for task in _asked_in_words(opened):
            output.warn(
                f"{task} was asked in the task's own words; views such as single_frame_random1 ask for a guess, as the "
                "paper's filter does."
            )
        rule = (
            f"A frame is solvable where at least {100 * model_share:g}% of {len(answers)} models are right; a pair "
            f"goes where at least {100 * frame_share:g}% of the frames of each of its clips are."
        )
        _report(output, opened, list(answers), groups, rule, ("minimal pairs", "single-frame filter"), out)


@filter_app.command("blind")
def blind(
    runs: Annotated[list[Path], typer.Argument(help="Runs of blind views, one or more models.")],
    out: Annotated[Path, typer.Option(help=OUT, show_default=False)],
    models: Annotated[int, typer.Option(min=1, help="How many models have to be right on both items of a pair.")] = 1,
    allow_incomplete: AllowIncompleteOption = False,
    form: FormatOption = None,
) -> None:
    """List the pairs whose two items a model gets right without the clip, as CausalVQA removed them.

    Examples:
        lmms-eval-tasks filter blind out/qwen-blind out/llava-blind --out blind.jsonl
        lmms-eval-tasks filter blind out/qwen-blind out/llava-blind --models 2 --out blind.jsonl
    """
    with open_output("filter blind", form) as output:
        opened = open_runs(output, runs, allow_incomplete)
        answers = shortcut_filters.view_records(opened, Blind.ending, models)
        groups = shortcut_filters.blind_filter(answers, models)
        rule = f"A pair goes where at least {models} of {len(answers)} models are right on both items, blind."
        _report(output, opened, list(answers), groups, rule, ("blind filter",), out)


def _asked_in_words(runs: Sequence[Run]) -> list[str]:
    """The views of frames that were not drawn at random, where their benchmark has a prompt for those that are."""
    names = dict.fromkeys(name for run in runs for name, records in run.records.items() if records)
    tasks = [(name, registry().find_task(name)) for name in names]
    views = [(name, task.kind, find_view(task.view)) for name, task in tasks if task and task.kind.guess_prompt]
    return [
        name for name, kind, view in views if isinstance(view, SingleFrame) and not view.own_prompt(kind, chosen=False)
    ]


def _report(
    output: Output,
    runs: Sequence[Run],
    models: Sequence[str],
    groups: Sequence[shortcut_filters.FilteredGroup],
    rule: str,
    controls: Sequence[str],
    out: Path,
) -> None:
    """Print what was removed, beside what was published for whole releases, and write each pair's outcome."""
    from lmms_eval_tasks.utils.reporting.references import published_controls

    output.note(f"models: {', '.join(models)}", whole=True)
    apart = sorted({run.apart(run.records) for run in runs} - {""})
    for why in apart:
        output.warn(f"NOT THE WHOLE RELEASE: {why}")
    table = _table(groups)
    versions = {task: version for run in runs for task, version in run.versions.items() if task in run.records}
    named = ", ".join(f"{task} version {version}" for task, version in versions.items())
    table.caption, table.signature = rule, f"{named}; models {', '.join(models)}; {METHOD}"
    output.table(table)
    for task in () if apart else dict.fromkeys(group.task for group in groups):
        known = registry().find_task(task)
        for published in published_controls(known.benchmark.folder, task, controls) if known else ():
            output.note(f"published, {task}: {published.value:.1f}, {published.model}; {published.source}")
    write_file(out, as_lines(map(asdict, groups)))
    removed = sum(group.removed for group in groups)
    output.note(f"Pairs: {removed:,} removed, {len(groups) - removed:,} kept: {out}", whole=True)


def _table(groups: Sequence[shortcut_filters.FilteredGroup]) -> FittingTable:
    from lmms_eval_tasks.utils.scoring.bootstrap import macro_interval

    headings = ("task", "pairs", "removed", "percent", "kept", "unscored")
    table = text_table("pairs that a shortcut solves", *headings, numbers=True)
    tasks = list(dict.fromkeys(group.task for group in groups))
    for name in [*tasks, *(["all"] if len(tasks) > 1 else [])]:
        part = [group for group in groups if name in ("all", group.task)]
        unscored = sum(group.why == shortcut_filters.UNSCORED for group in part)
        decided = [(100.0 * group.removed, 1.0) for group in part if group.why != shortcut_filters.UNSCORED]
        removed = sum(group.removed for group in part)
        percent = Number(None, unit="%")
        if decided:
            low, high = map(float, macro_interval([decided]))
            percent = Number(100 * removed / len(decided), low, high, len(decided), "%")
        table.add_row(name, len(part), removed, percent, len(part) - removed, unscored)
    return table
