"""`lmms-eval-tasks rank` and `label yocausal`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names

label_app = typer.Typer(no_args_is_help=True, help="Label a prepared benchmark by a judge.")


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
        cells = (
            place.rank,
            f"{run.rsi:.2f}",
            place.rsi_rank,
            f"{run.cci:.2f}",
            place.cci_rank,
            run.pairs,
            run.unscored,
        )
        table.add_row(place.model, *map(str, cells))
    console.print(table)
    for warning in ranking.warnings:
        console.print(f"warning: {warning}", markup=False, style="yellow")
    console.print("Ranked by RSI rank + CCI rank, ties by RSI rank. RSI in percent, CCI in percentage points.")


@label_app.command("yocausal")
def label_yocausal(
    judge: Annotated[
        str, typer.Option(help="The judge: its model, or model=NAME,url=…,max_tokens=….", show_default=False)
    ],
    out: Annotated[Path, typer.Option(help="Labels file to write.")] = Path("yocausal_labels.jsonl"),
    frames: Annotated[int, typer.Option(help="Frames of each clip that it sees.", min=2, max=64)] = 8,
    limit: Annotated[int | None, typer.Option(help="Only the first clips.", min=1, show_default=False)] = None,
    prompt: Annotated[
        str, typer.Option(help="What it is asked with: ours, or official once that is imported.")
    ] = "yocausal_causality",
) -> None:
    """Label clips as causal or not, and say how the labels agree with those there are."""
    from lmms_eval_tasks.host.judge import open_judge, read_settings
    from lmms_eval_tasks.utils.core.problems import InputError
    from lmms_eval_tasks.utils.data.home import load_table
    from lmms_eval_tasks.yocausal.labelling import agreement, label_clips, labelling_prompt, write_labels
    from lmms_eval_tasks.yocausal.table import SPLIT

    settings = read_settings(judge)
    if settings is None:
        raise InputError("Expected --judge to name a model, but got none.")
    asked, reply = labelling_prompt(prompt)
    rows = [dict(row) for row in load_table("yocausal", SPLIT)][:limit]
    with show_progress() as progress:
        labels = label_clips(rows, open_judge(reply, settings), frames, progress, asked)
    write_labels(labels, out)
    found = agreement(rows, labels)
    console = make_console()
    causal = [label.causal for label in labels]
    console.print(
        f"{len(labels)} clips: {causal.count(True)} causal, {causal.count(False)} not, {causal.count(None)} unlabelled"
    )
    if lost := [label for label in labels if label.causal is None]:
        names = summarize_names((f"{label.item_id} ({label.reason})" for label in lost), 3)
        console.print(f"warning: unlabelled: {names}", markup=False, style="yellow")
    table = text_table(None, "agreement", "")
    shown = {
        "clips with both labels": str(found.pairs),
        "F1 of causal (percent)": _number(found.f1, 1),
        "Kendall tau-b": _number(found.kendall_tau, 3),
        "Cohen's d of optical flow, these labels": _number(found.cohens_d, 2),
        "Cohen's d of optical flow, labels there were": _number(found.cohens_d_before, 2),
    }
    for name, value in shown.items():
        table.add_row(name, value)
    console.print(table)
    console.print(f"Written to {out}; use it:  lmms-eval-tasks prepare yocausal --labels {out}", soft_wrap=True)


def _number(value: float | None, digits: int) -> str:
    return "N/A" if value is None else f"{value:.{digits}f}"
