"""`lmms-eval-tasks yocausal …`: commands of YoCausal alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names

app = typer.Typer(no_args_is_help=True, help="Commands of YoCausal alone.")


@app.command()
def rank(
    runs: Annotated[list[Path], typer.Argument(help="Output folders of runs of yocausal; of each its latest run.")],
) -> None:
    """Order runs of yocausal by RSI rank plus CCI rank, ties by RSI."""
    from lmms_eval_tasks.utils.runs.run import read_run
    from lmms_eval_tasks.yocausal.ranking import rank_runs

    ranking = rank_runs([read_run(run) for run in runs])
    console = make_console()
    if ranking.sample:
        console.print("SAMPLE DATA, not the benchmark", style="bold red")
    table = text_table(None, "model", "rank", "RSI", "rank", "CCI", "rank", "pairs", "unscored")
    for run in ranking.runs:
        place = run.place
        rsi, cci = f"{run.rsi:.2f}", f"{run.cci:.2f}"
        cells = (place.rank, rsi, place.rsi_rank, cci, place.cci_rank, run.pairs, run.unscored)
        table.add_row(place.model, *map(str, cells))
    console.print(table)
    for warning in ranking.warnings:
        console.print(f"warning: {warning}", markup=False, style="yellow")
    console.print("Ranked by RSI rank + CCI rank, ties by RSI rank. RSI in percent, CCI in percentage points.")


@app.command()
def label(
    judge: Annotated[
        str, typer.Option(help="The judge: its model, or model=NAME,url=…,max_tokens=….", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Labels file to write.")] = Path("yocausal_labels.jsonl"),
    frames: Annotated[int, typer.Option(help="Frames of each clip that the judge sees.", min=2, max=64)] = 8,
    limit: Annotated[int | None, typer.Option(help="Only the first clips.", min=1, show_default=False)] = None,
    prompt: Annotated[
        str, typer.Option(help="The judge's prompt: ours, or official once that is imported.")
    ] = "yocausal_causality",
) -> None:
    """Label the prepared clips as causal or not by a judge, and compare with the labels that they have."""
    from lmms_eval_tasks.host.judge import open_judge, read_settings
    from lmms_eval_tasks.utils.core.files import write_file
    from lmms_eval_tasks.utils.core.json_rows import as_lines
    from lmms_eval_tasks.utils.core.problems import InputError
    from lmms_eval_tasks.utils.data.home import load_table
    from lmms_eval_tasks.yocausal.labelling import agreement, label_clips, labelling_prompt
    from lmms_eval_tasks.yocausal.table import SPLIT

    settings = read_settings(judge)
    if settings is None:
        raise InputError("Expected --judge to name a model, but got none.")
    template, reply = labelling_prompt(prompt)
    rows = [dict(row) for row in load_table("yocausal", SPLIT)][:limit]
    with show_progress() as progress:
        labels = label_clips(rows, open_judge(reply, settings), template, frames, progress)
    write_file(out, as_lines(asdict(label) for label in labels))
    console = make_console()
    causal = [label.vlm_causality for label in labels]
    console.print(
        f"{len(labels)} clips: {causal.count(True)} causal, {causal.count(False)} not, {causal.count(None)} unlabelled"
    )
    if unlabelled := [f"{label.id} ({label.reason})" for label in labels if label.vlm_causality is None]:
        console.print(f"warning: unlabelled: {summarize_names(unlabelled, 3)}", markup=False, style="yellow")
    table = text_table(None, "agreement", "")
    for line in agreement(rows, labels).items():
        table.add_row(*line)
    console.print(table)
    console.print(f"Written to {out}; use it:  lmms-eval-tasks prepare yocausal --labels {out}", soft_wrap=True)
