"""Commands on causal graphs: `graph-quality` and `check-questions`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.console import make_console, text_table
from lmms_eval_tasks.utils.core.wording import summarize_names


def graph_quality(
    predicted: Annotated[Path, typer.Argument(help="Predicted links by take, or a graphs.jsonl.")],
    gold: Annotated[Path, typer.Argument(help="The reference, in either form; only a graphs.jsonl gives accuracy.")],
    takes: Annotated[int, typer.Option(help="Takes to list, the worst F1 first.", min=0)] = 20,
) -> None:
    """Compare predicted causal links with a reference: precision, recall, F1 and accuracy."""
    from lmms_eval_tasks.countervqa.construction.graph_quality import MEASURES, compare_graphs
    from lmms_eval_tasks.utils.scoring.metrics import mean_of_known

    quality = compare_graphs(predicted, gold)
    console = make_console()
    table = text_table(None, "take", *MEASURES, "links found", "predicted", "reference")

    def add(name: str, values: list[float | None], *counts: int) -> None:
        shown = ["N/A" if value is None else f"{value:.4f}" for value in values]
        table.add_row(name, *shown, *map(str, counts))

    total = quality.total
    add(
        "all links",
        [getattr(total, name) for name in MEASURES],
        total.hits, total.hits + total.extra, total.hits + total.missed,
    )  # fmt: skip
    every = quality.takes.values()
    add("mean of the takes", [mean_of_known(getattr(one, name) for one in every) for name in MEASURES])
    worst = sorted(quality.takes.items(), key=lambda item: (item[1].f1 is None, item[1].f1 or 0.0, item[0]))
    for name, one in worst[:takes]:
        add(
            name,
            [getattr(one, measure) for measure in MEASURES],
            one.hits, one.hits + one.extra, one.hits + one.missed,
        )  # fmt: skip
    console.print(table)
    if len(worst) > takes:
        console.print(f"{len(worst) - takes} more takes; --takes shows more.")
    for what, names in (
        ("Takes without a prediction", quality.missing),
        ("Takes not in the reference", quality.unknown),
    ):
        if names:
            console.print(f"warning: {what}: {len(names)} ({summarize_names(names)}).", style="yellow")


def check_questions(
    folder: Annotated[Path, typer.Argument(help="A set: a folder with questions.jsonl and graphs.jsonl.")],
) -> None:
    """Derive the verdict of every question of a set from its causal graph once more."""
    from lmms_eval_tasks.countervqa.construction.rederive import check_set

    counts = check_set(folder)
    table = text_table(None, "rule", "questions")
    for rule, number in sorted(counts.items()):
        table.add_row(rule, str(number))
    console = make_console()
    console.print(table)
    console.print(f"{sum(counts.values()):,} questions; none disagrees with its graph.")
