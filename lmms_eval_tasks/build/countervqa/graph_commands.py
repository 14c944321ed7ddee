"""Commands on causal graphs: `graph-quality` and `check-questions`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.output import make_console, text_table
from lmms_eval_tasks.utils.core.text import summarize_names


def graph_quality(
    predicted: Annotated[Path, typer.Argument(help="Predicted links by take, or a graphs.jsonl.")],
    gold: Annotated[Path, typer.Argument(help="The reference, in either form; only a graphs.jsonl gives accuracy.")],
    takes: Annotated[int, typer.Option(help="Takes to list, the worst F1 first.", min=0)] = 20,
) -> None:
    """Compare predicted causal links with a reference: precision, recall, F1 and accuracy."""
    from lmms_eval_tasks.build.countervqa.graph_quality import MEASURES, compare_graphs
    from lmms_eval_tasks.utils.people.baseline import LinkCounts
    from lmms_eval_tasks.utils.scoring.metrics import mean_of_known

    quality = compare_graphs(predicted, gold)
    console = make_console()
    table = text_table(None, "take", *MEASURES, "links found", "predicted", "reference")

    def add(name: str, values: list[float | None], links: LinkCounts | None) -> None:
        shown = ["N/A" if value is None else f"{value:.4f}" for value in values]
        # A mean of takes has no links of its own.
        numbers = (links.hits, links.hits + links.extra, links.hits + links.missed) if links else ("", "", "")
        table.add_row(name, *shown, *map(str, numbers))

    def measures(links: LinkCounts) -> list[float | None]:
        return [getattr(links, name) for name in MEASURES]

    add("all links", measures(quality.total), quality.total)
    add(
        "mean of the takes",
        [mean_of_known(column) for column in zip(*map(measures, quality.takes.values()), strict=True)],
        None,
    )
    worst = sorted(quality.takes.items(), key=lambda item: (item[1].f1 is None, item[1].f1 or 0.0, item[0]))
    for name, links in worst[:takes]:
        add(name, measures(links), links)
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
    from lmms_eval_tasks.build.countervqa.rederive import check_set

    counts = check_set(folder)
    table = text_table(None, "rule", "questions")
    for rule, number in sorted(counts.items()):
        table.add_row(rule, str(number))
    console = make_console()
    console.print(table)
    console.print(f"{sum(counts.values()):,} questions; none disagrees with its graph.")
