"""`cast-bench still-answered`: what the paper's video-mask test rejects."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.api.commands import make_console, text_table


def still_answered(
    run: Annotated[Path, typer.Argument(help="Output folder of a run of cast_bench_masked: its latest run.")],
    out: Annotated[
        Path | None, typer.Option(help="File for the ids of the questions, one a line.", show_default=False)
    ] = None,
) -> None:
    """List the questions that a model still answers right with the evidence blacked out: reject these.

    Examples:
        lmms-eval-tasks cast-bench still-answered out/qwen-masked
        lmms-eval-tasks cast-bench still-answered out/qwen-masked --out rejected.txt
    """
    from lmms_eval_tasks.api import InputError
    from lmms_eval_tasks.api.release import write_file
    from lmms_eval_tasks.api.runs import read_run
    from lmms_eval_tasks.cast_bench.masked import MaskOutcome, read_outcomes

    finished = read_run(run)
    task = "cast_bench_masked"
    if task not in finished.records:
        raise InputError(
            f"{finished.path} holds no {task}: Expected a run of it, but got {', '.join(finished.records)}."
        )
    answers = read_outcomes(finished.records[task])
    counts = Counter(answer.outcome for answer in answers)
    masked = max(1, len(answers) - counts[MaskOutcome.NOT_MASKED])
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
