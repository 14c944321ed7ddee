"""`cast-bench mask` and `cast-bench still-answered`: the paper's video-mask test, before and after a run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names


def mask(
    out: Annotated[Path, typer.Option(help="Folder for the set of masked clips.", show_default=False)],
) -> None:
    """Write the prepared questions with their evidence blacked out and "unable to determine" added, as a set to run."""
    from lmms_eval_tasks.cast_bench.masked_set import write_masked_set

    with show_progress() as progress:
        written = write_masked_set(out, progress)
    console = make_console()
    console.print(f"{out.absolute()}: {len(written.questions):,} questions")
    for ids, what in (
        (written.not_masked, "not masked, for their evidence has no box"),
        (written.missing, "without a clip, which is missing or cannot be decoded"),
    ):
        if ids:
            console.print(f"warning: {what}: {len(ids):,} ({summarize_names(ids, 3)})", style="yellow")


def still_answered(
    run: Annotated[Path, typer.Argument(help="Output folder of a run over masked clips: its latest run.")],
    task: Annotated[str, typer.Option(help="Task of the run to look at.")] = "cast_bench",
    out: Annotated[
        Path | None, typer.Option(help="File for the ids of the questions, one a line.", show_default=False)
    ] = None,
) -> None:
    """List the questions that a model still answers right with the evidence blacked out: reject these."""
    from lmms_eval_tasks.cast_bench.card import CARD
    from lmms_eval_tasks.cast_bench.masked import MaskOutcome, read_outcomes
    from lmms_eval_tasks.utils.core.files import write_file
    from lmms_eval_tasks.utils.core.problems import InputError
    from lmms_eval_tasks.utils.runs.run import read_run

    finished = read_run(run)
    if task not in finished.records or not task.startswith(CARD.name):
        raise InputError(f"Expected a task of {CARD.title} that the run holds, but got {task!r}.")
    answers = read_outcomes(finished.records[task])
    counts = Counter(answer.outcome for answer in answers)
    masked = len(answers) - counts[MaskOutcome.NOT_MASKED]
    if not masked:
        raise InputError(
            f"{finished.path} is no run over masked clips: none of its questions has the added option.\n"
            "Run:  lmms-eval-tasks cast-bench mask --out DIR"
        )
    rejected = [answer.item_id for answer in answers if answer.outcome is MaskOutcome.STILL_RIGHT]
    console = make_console()
    table = text_table(f"{finished.name}: questions with their evidence blacked out", "", "questions", "%")
    for outcome in MaskOutcome:
        share = "" if outcome is MaskOutcome.NOT_MASKED else f"{100 * counts[outcome] / masked:.1f}"
        table.add_row(outcome.value, str(counts[outcome]), share)
    console.print(table)
    if out is not None:
        write_file(out, "".join(f"{item_id}\n" for item_id in rejected))
        console.print(f"{out.absolute()}: {len(rejected):,} questions to reject")
    else:
        for item_id in rejected:
            console.print(item_id)
