"""`countervqa errors`: how a finished run reached its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api.commands import make_console, show_progress, text_table
from lmms_eval_tasks.api.release import summarize_names


def errors(
    run: Annotated[Path, typer.Argument(help="Output folder of a run of countervqa: its latest run.")],
    judge: Annotated[
        str, typer.Option(help="The judge: its model, or model=NAME,url=…,max_tokens=….", show_default=False)
    ],
    task: Annotated[str, typer.Option(help="Task of the run to look at.")] = "countervqa",
) -> None:
    """Have a judge say how each answer was reached and how readable its reasoning is; `report --html` shows it.

    Replies are kept as they come: a command that was cut short goes on where it was, and pays for none twice.

    Examples:
        lmms-eval-tasks countervqa errors out/qwen --judge gpt-4o
        lmms-eval-tasks countervqa errors out/qwen --judge model=NAME,url=http://localhost:8000/v1
    """
    from lmms_eval_tasks.api import InputError
    from lmms_eval_tasks.api.judge import open_named_judge
    from lmms_eval_tasks.api.release import load_table
    from lmms_eval_tasks.api.runs import read_run
    from lmms_eval_tasks.countervqa.card import CARD
    from lmms_eval_tasks.countervqa.errors import (
        KINDS,
        AnswerAnalysis,
        analyse,
        kind_counts,
        mean_readability,
        published_shares,
        write_analysis,
    )
    from lmms_eval_tasks.countervqa.prepare import SPLIT

    finished = read_run(run)
    if task not in finished.records or not task.startswith(CARD.name):
        raise InputError(f"Expected a task of {CARD.title} that the run holds, but got {task!r}.")
    rows = {row["item_id"]: row for row in load_table(CARD.name, SPLIT, require_clips=False)}
    asked = open_named_judge(AnswerAnalysis, judge)
    with show_progress() as progress:
        items = analyse(finished, task, rows, asked, progress)
    failed = [f"{item.item_id} ({item.reason})" for item in items if item.kind is None]
    if len(failed) == len(items):
        raise InputError(f"No answer could be judged, and nothing was written: {summarize_names(failed, 3)}.")
    path = write_analysis(finished.path, task, items)
    console = make_console()
    published = {} if finished.apart([task]) else published_shares()
    headings = ("kind", "answers", "%", "not right", "%", *(["paper, %"] if published else []))
    table = text_table(f"{task}: how answers were reached", *headings)
    all_counts, wrong_counts = kind_counts(items), kind_counts(items, wrong=True)
    for kind in KINDS:
        shares = []
        for counts in (all_counts, wrong_counts):
            total = sum(counts.values())
            shares += [str(counts[kind]), f"{100 * counts[kind] / total:.1f}" if total else "N/A"]
        table.add_row(kind.replace("_", " "), *shares, *([f"{published[kind]:.1f}"] if published else []))
    console.print(table)
    console.print(
        f"readability of the reasoning: {mean_readability(items):.2f} of 5 ({len(items) - len(failed)} answers)"
    )
    if published:
        console.print(
            "The paper's shares are of Qwen2.5-VL 7B's answers; how it told the kinds apart is not published."
        )
    if failed:
        console.print(f"warning: not judged: {len(failed)} ({summarize_names(failed, 3)})", style="yellow")
    typer.echo(f"{path.absolute()}")
