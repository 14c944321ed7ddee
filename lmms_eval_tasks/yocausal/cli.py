"""`lmms-eval-tasks yocausal …`: commands of YoCausal alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.api import InputError
from lmms_eval_tasks.api.commands import make_console, show_progress, text_table
from lmms_eval_tasks.api.judge import open_named_judge
from lmms_eval_tasks.api.page import compare_records
from lmms_eval_tasks.api.release import as_lines, load_table, summarize_names, write_file
from lmms_eval_tasks.api.runs import read_run
from lmms_eval_tasks.yocausal import card, ranking
from lmms_eval_tasks.yocausal.labelling import agreement, label_clips, labelling_prompt
from lmms_eval_tasks.yocausal.pair_table import SPLIT
from lmms_eval_tasks.yocausal.ranking import PREPARED, Correlation, Judges, Ranking
from lmms_eval_tasks.yocausal.report import TASK

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(no_args_is_help=True, help="Commands of YoCausal alone.")


@app.command()
def rank(
    runs: Annotated[
        list[Path] | None, typer.Argument(help="Output folders of runs of yocausal; of each its latest run.")
    ] = None,
    labels: Annotated[
        list[Path] | None,
        typer.Option(help="Rank by these labels, too; may be repeated.", show_default=False),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(help="CSV of other scores, release dates or parameters by model.", show_default=False),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Rank them among the paper's thirteen models.")
    ] = False,
) -> None:
    """Order runs of yocausal with the forward prompt by RSI rank plus CCI rank, ties by RSI.

    With --labels, also by the labels of other judges, with the agreement of the rankings. With --against, how the order
    goes together with other scores. Runs of one model with both prompts are compared.

    Examples:
        lmms-eval-tasks yocausal rank out/wan out/a14b
        lmms-eval-tasks yocausal rank out/wan out/a14b --labels yocausal_labels.jsonl
        lmms-eval-tasks yocausal rank out/wan --published
    """
    finished = [read_run(run) for run in runs or []]
    ranked = ranking.without_null_prompt(finished)
    models = ranking.published_scores() if published else {}
    judges = ranking.rank_by_labels(ranked, labels or []) if ranked or not models else Judges({}, (), ())
    prepared = ranking.rank_runs(ranked, models)
    if models and prepared.apart:
        models, prepared = {}, judges.rankings[PREPARED]
    console = make_console()
    for note in dict.fromkeys(note for run in finished for note in run.notes):
        console.print(f"note: {note}.", style="yellow", soft_wrap=True)
    for name, one in {**judges.rankings, PREPARED: prepared}.items():
        for why in one.apart:
            console.print(f"NOT THE WHOLE RELEASE: {why}", style="bold red")
        _print_ranking(console, one, f"labels: {name}" if labels else None)
    left_out = ["Published models are left out: they are of the whole release."] if published and not models else []
    for warning in (*prepared.warnings, *judges.warnings, *left_out):
        console.print(f"warning: {warning}", style="yellow")
    console.print(
        "Ranked by the sum of RSI rank and CCI rank, ties by RSI rank. RSI in percent, CCI in percentage points."
    )
    if len(ranked) < len(finished):
        console.print("Runs with prompt=null are not ranked; where there is one with the caption, see below.")
    if judges.agreement:
        _print_correlations(console, "agreement of the rankings", judges.agreement)
    if against:
        _print_correlations(console, "rank against other values", ranking.correlate_scores(prepared, against))
        console.print("A positive value: the better rank goes with the greater value or the later date.")
    if prompts := ranking.runs_by_prompt(finished):
        table = text_table(
            "forward and null prompt", "model", "score", "forward", "null", "change [95%]", "pairs", names=2
        )
        for model, both in prompts.items():
            forward, null = ({TASK: run.records[TASK]} for run in both)
            for score in compare_records(forward, null, [card.RSI, card.CCI]).differences:
                low, high = score.interval
                change = f"{score.change:+.2f} [{low:+.2f}, {high:+.2f}]"
                cells = (score.metric.title, f"{score.first:.2f}", f"{score.second:.2f}", change, str(score.groups))
                table.add_row(model, *cells)
        console.print(table)


def _print_ranking(console: Console, printed: Ranking, title: str | None) -> None:
    table = text_table(title, "model", "place", "sum", "RSI (rank)", "CCI (rank)", "pairs", "unscored")
    for run in printed.runs:
        ranks = f"{run.rsi:.2f} ({run.rsi_rank})", f"{run.cci:.2f} ({run.cci_rank})"
        counts = "printed" if run.pairs is None else run.pairs, "" if run.unscored is None else run.unscored
        table.add_row(run.model, *map(str, (run.rank, run.total, *ranks, *counts)))
    console.print(table)


def _print_correlations(console: Console, title: str, correlations: Sequence[Correlation]) -> None:
    table = text_table(title, "", "", "models", "Kendall tau", "p", "Pearson r", "p", names=2)
    for one in correlations:
        values = (one.tau, one.tau_p, one.pearson, one.pearson_p)
        table.add_row(*one.names, str(one.models), *("N/A" if value is None else f"{value:.4f}" for value in values))
    console.print(table)


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
    """Label the prepared clips as causal or not by a judge, and compare with the labels that they have.

    Examples:
        lmms-eval-tasks yocausal label --judge gpt-4o
        lmms-eval-tasks yocausal label --judge model=NAME,url=http://localhost:8000/v1 --limit 20
    """
    template, reply = labelling_prompt(prompt)
    rows = [dict(row) for row in load_table("yocausal", SPLIT)][:limit]
    asked = open_named_judge(reply, judge)
    with show_progress() as progress:
        labels = label_clips(rows, asked, template, frames, progress)
    unlabelled = [f"{label.id} ({label.reason})" for label in labels if label.vlm_causality is None]
    if len(unlabelled) == len(labels):
        raise InputError(f"No clip could be labelled, and {out} was not written: {summarize_names(unlabelled, 3)}.")
    write_file(out, as_lines(asdict(label) for label in labels))
    console = make_console()
    causal = [label.vlm_causality for label in labels]
    console.print(
        f"{len(labels)} clips: {causal.count(True)} causal, {causal.count(False)} not, {causal.count(None)} unlabelled"
    )
    if unlabelled:
        console.print(f"warning: unlabelled: {summarize_names(unlabelled, 3)}", style="yellow")
    table = text_table(None, "agreement", "")
    for line in agreement(rows, labels).items():
        table.add_row(*line)
    console.print(table)
    console.print(f"Written to {out}; use it:  lmms-eval-tasks prepare yocausal --labels {out}", soft_wrap=True)
