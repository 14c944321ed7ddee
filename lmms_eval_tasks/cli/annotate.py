"""`lmms-eval-tasks annotate …`: asking people about a prepared benchmark."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.annotate.collect import COLUMNS, collect_answers, read_answer_files
from lmms_eval_tasks.annotate.descriptions import collect_edits
from lmms_eval_tasks.annotate.forms import AskingMode, Decision
from lmms_eval_tasks.annotate.plan import (
    ATTENTION,
    MINUTES,
    RESPONSES,
    annotators_needed,
    as_csv,
    make_plan,
    read_plan,
    table_text,
)
from lmms_eval_tasks.annotate.questions import only_split, read_questions
from lmms_eval_tasks.annotate.review import COLUMNS as REVIEW_COLUMNS
from lmms_eval_tasks.annotate.review import collect_reviews, decide_items
from lmms_eval_tasks.report.clips import Clips
from lmms_eval_tasks.utils.benchmark.registry import find_benchmark
from lmms_eval_tasks.utils.core.console import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.json_rows import as_lines
from lmms_eval_tasks.utils.core.wording import summarize_names

if TYPE_CHECKING:
    from rich.console import Console

    from lmms_eval_tasks.annotate.forms import AnswerFile
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


@annotate_app.command()
def page(
    plan: Annotated[Path, typer.Argument(help="A plan.")],
    out: Annotated[Path, typer.Option(help="Folder for the pages.", show_default=False)],
    annotator: Annotated[list[str] | None, typer.Option(help="Only these annotators; repeatable.")] = None,
    mode: Annotated[AskingMode, typer.Option(help="What is asked.")] = AskingMode.answer,
    clips: Annotated[
        Clips, typer.Option(help="Clips of a page: in it, in a folder beside it, or in it up to 30 MB of them.")
    ] = Clips.auto,
) -> None:
    """Write a page for each annotator, which opens from disk and saves a file of answers."""
    from lmms_eval_tasks.annotate.page import write_pages

    written = write_pages(read_plan(plan), out, mode, annotator or (), clips)
    console = make_console()
    console.print(f"{len(written):,} pages: {out}", soft_wrap=True)
    console.print(f"Next:  lmms-eval-tasks annotate collect {plan} ANSWERS --out people.csv", soft_wrap=True)


@annotate_app.command()
def collect(
    plan: Annotated[Path, typer.Argument(help="The plan.")],
    answers: Annotated[list[Path], typer.Argument(help="Files of answers, or folders of them.")],
    out: Annotated[Path, typer.Option(help="Where to write the answers.", show_default=False)],
    attention_errors: Annotated[
        int, typer.Option(min=0, help="How many attention checks an annotator may fail; one more leaves them out.")
    ] = 0,
) -> None:
    """Join files of answers with their plan: for `humans`, as a table of reviews, or as edited descriptions."""
    read = read_plan(plan)
    files = read_answer_files(read, answers)
    console = make_console()
    if files[0].mode is AskingMode.review:
        _write_reviews(console, read, files, out)
        return
    if files[0].mode is AskingMode.edit:
        edits = collect_edits(read, files)
        write_file(out, as_lines(edits))
        console.print(f"{len(edits):,} items edited or found right: {out}", soft_wrap=True)
        return
    collected = collect_answers(read, files, attention_errors)
    planned, answered = sum(collected.planned.values()), sum(collected.answered.values())
    console.print(f"{len(collected.planned):,} annotators answered {answered:,} of their {planned:,} items")
    if collected.silent:
        console.print(f"without a file: {len(collected.silent):,} ({summarize_names(collected.silent)})")
    if collected.inattentive:
        named = [f"{name} {wrong} wrong" for name, wrong in collected.inattentive.items()]
        console.print(f"left out, inattentive: {len(named):,} ({summarize_names(named)})")
    write_file(out, table_text(COLUMNS, collected.responses))
    console.print(f"{len(collected.responses):,} responses: {out}", soft_wrap=True)
    _print_next(console, read, out)


def _print_next(console: Console, plan: Plan, out: Path) -> None:
    """What grades the answers: where the release withholds the keys, a file of somebody who has them."""
    benchmark, split = plan.source
    items = f"{benchmark}:{split}"
    facts = find_benchmark(benchmark).card.splits.get(split)
    if facts is not None and facts.answers_withheld:
        console.print(
            f"The keys of {items} are withheld: put those that you have into keys.csv (item,version,answer), or a "
            "column correct (0 or 1) into the responses."
        )
        items = "keys.csv"
    console.print(f"Next:  lmms-eval-tasks humans {out} --items {items}", soft_wrap=True)


def _write_reviews(console: Console, plan: Plan, files: Sequence[AnswerFile], out: Path) -> None:
    reviews = collect_reviews(plan, files)
    decided = Counter(decide_items(reviews).values())
    planned = len({row.item_id for row in plan.rows if not row.attention})
    counts = ", ".join(f"{decided[decision]:,} {decision.value}" for decision in Decision)
    console.print(f"{len(reviews):,} reviews of {sum(decided.values()):,} of {planned:,} versions: {counts}")
    write_file(out, table_text(REVIEW_COLUMNS, reviews))
    console.print(f"Written: {out}", soft_wrap=True)


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
