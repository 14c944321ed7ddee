"""`lmms-eval-tasks annotate …`: asking people about a prepared benchmark."""

from __future__ import annotations

from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.annotate.plan import ATTENTION, MINUTES, RESPONSES, annotators_needed, as_csv, make_plan
from lmms_eval_tasks.annotate.questions import only_split, read_questions
from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.files import write_file

if TYPE_CHECKING:
    from lmms_eval_tasks.annotate.plan import Plan
    from lmms_eval_tasks.utils.core.tables import FittingTable

annotate_app = typer.Typer(no_args_is_help=True, help="Ask people about a prepared benchmark.")


@annotate_app.callback()
def annotate() -> None:
    """Ask people about a prepared benchmark."""


@annotate_app.command()
def plan(
    benchmark: Annotated[str, typer.Argument(help="A prepared benchmark.")],
    out: Annotated[Path, typer.Option(help="Where to write the plan: CSV.", show_default=False)],
    split: Annotated[str, typer.Option(help="Its split; needed where several are prepared.")] = "",
    responses: Annotated[int, typer.Option(min=1, help="Responses to each version of a question.")] = RESPONSES,
    annotators: Annotated[
        int | None, typer.Option(min=1, help="How many people; by default as many as --minutes asks for.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(min=0.1, help="Minutes of clips an annotator sees, on average, at most.")
    ] = MINUTES,
    attention: Annotated[int, typer.Option(min=0, help="Items that check attention, an annotator.")] = ATTENTION,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
) -> None:
    """Plan who is asked what: equal seconds of clips, and nobody sees two versions of a question."""
    chosen = only_split(benchmark, split)
    with show_progress() as progress:
        questions = read_questions(benchmark, chosen, progress)
    number = annotators or annotators_needed(questions, responses, minutes)
    made = make_plan(benchmark, chosen, questions, number, responses, attention, seed)
    write_file(out, as_csv(made))
    console = make_console()
    console.print(f"{benchmark}, {chosen}: {len(questions):,} versions, {responses} responses to each, seed {seed}")
    console.print(_summary(made, number))
    console.print(f"Written: {out}", soft_wrap=True)
    console.print(f"Next:  lmms-eval-tasks annotate page {out} --out pages", soft_wrap=True)


def _summary(made: Plan, annotators: int) -> FittingTable:
    own = made.by_annotator
    idle = [0] * (annotators - len(own))
    items = [sum(not row.attention for row in rows) for rows in own.values()] + idle
    seconds = [sum(row.milliseconds for row in rows) / 1000 for rows in own.values()] + idle
    table = text_table(None, "of an annotator", "min", "mean", "max")
    table.add_row("items", *(f"{value:,.1f}" for value in (min(items), fmean(items), max(items))))
    table.add_row("seconds of clips", *(f"{value:,.1f}" for value in (min(seconds), fmean(seconds), max(seconds))))
    table.add_row("annotators", "", f"{annotators:,}", "")
    return table
