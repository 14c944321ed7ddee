"""`lmms-eval-tasks annotate …`: asking people about a prepared benchmark."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from lmms_eval_tasks.cli.help import PEOPLE
from lmms_eval_tasks.construct.annotate import answer_files
from lmms_eval_tasks.construct.annotate import plan as plans
from lmms_eval_tasks.registry import find_benchmark
from lmms_eval_tasks.report.page_files import Clips
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines, csv_text
from lmms_eval_tasks.utils.core.output import make_console, show_progress, text_table
from lmms_eval_tasks.utils.core.text import summarize_names
from lmms_eval_tasks.utils.people.inquiries import ANSWER, LAST_FRAME, Decision

if TYPE_CHECKING:
    from rich.console import Console

    from lmms_eval_tasks.utils.core.output import FittingTable


RunOption = Annotated[
    Path | None, typer.Option(help="The finished run whose answers people are asked about.", show_default=False)
]
TaskOption = Annotated[str, typer.Option(help="The run's task; needed where it has several.")]
annotate_app = typer.Typer(
    no_args_is_help=True,
    help="Ask people about a prepared benchmark: pages to answer on, and one file of answers for `humans`.",
    rich_help_panel=PEOPLE,
)


@annotate_app.command()
def plan(
    benchmark: Annotated[str, typer.Argument(help="A prepared benchmark.")],
    out: Annotated[Path, typer.Option(help="Where to write the plan: CSV.", show_default=False)],
    split: Annotated[str, typer.Option(help="Its split; needed where several are prepared.")] = "",
    mode: Annotated[
        str, typer.Option(help="Mode: answer, last-frame, review, or one of the benchmark's own.")
    ] = ANSWER,
    responses: Annotated[
        int | None, typer.Option(min=1, help="Responses to each version of a question.", show_default="the mode's")
    ] = None,
    annotators: Annotated[
        int | None, typer.Option(min=1, help="How many people; by default as many as --minutes asks for.")
    ] = None,
    minutes: Annotated[
        float, typer.Option(min=0.1, help="Minutes of clips an annotator sees, on average, at most.")
    ] = plans.MINUTES,
    attention: Annotated[
        int | None,
        typer.Option(min=0, help="Items that check attention, an annotator.", show_default="the mode's"),
    ] = None,
    sample: Annotated[
        int | None, typer.Option(min=1, help="Ask of so many questions, drawn by chance.", show_default="all")
    ] = None,
    run: RunOption = None,
    task: TaskOption = "",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all that is drawn.")] = 0,
) -> None:
    """Plan who is asked what: equal seconds of clips to everybody, and nobody sees two versions of a question.

    Examples:
        lmms-eval-tasks annotate plan causalvqa --split debug --out plan.csv
        lmms-eval-tasks annotate plan countervqa --mode links --sample 400 --out links.csv
    """
    chosen = plans.only_split(benchmark, split)
    inquiry, items = plans.asked_items(benchmark, chosen, mode, run, task)
    if attention and inquiry.form != "choice":
        raise InputError(f"Expected --attention 0 in the mode {mode}, in which nothing is chosen alone.")
    with show_progress() as progress:
        questions = plans.planned_questions(benchmark, inquiry, items, progress)
    if attention and not any(question.choices for question in questions):
        raise InputError(f"Expected --attention 0 of {benchmark}, whose items offer nothing to choose.")
    if sample is not None:
        questions = plans.draw_sample(questions, sample, seed)
    each = responses or inquiry.responses
    whole_pairs = find_benchmark(benchmark).pairs_of_clips and mode in (ANSWER, LAST_FRAME)
    number = annotators or plans.annotators_needed(questions, each, minutes, whole_pairs)
    checks = inquiry.attention if attention is None else attention
    shares = plans.Shares(number, each, checks, whole_pairs)
    made = plans.make_plan(benchmark, chosen, questions, shares, seed, mode)
    write_file(out, plans.as_csv(made))
    console = make_console()
    versions, answers = _number(len(questions), "version"), _number(each, "response")
    console.print(f"{benchmark}, {chosen}: {versions}, {answers} to each, seed {seed}")
    console.print(_summary(made, number))
    console.print(f"Written: {out}", soft_wrap=True)
    about = f" --run {run}{f' --task {task}' if task else ''}" if run else ""
    console.print(f"Next:  lmms-eval-tasks annotate page {out} --out pages{about}", soft_wrap=True)


@annotate_app.command()
def page(
    plan: Annotated[Path, typer.Argument(help="A plan.")],
    out: Annotated[Path, typer.Option(help="Folder for the pages.", show_default=False)],
    annotator: Annotated[list[str] | None, typer.Option(help="Only these annotators; repeatable.")] = None,
    clips: Annotated[
        Clips, typer.Option(help="Clips of a page: in it, in a folder beside it, or in it up to 30 MB of them.")
    ] = Clips.auto,
    run: RunOption = None,
    task: TaskOption = "",
    texts: Annotated[
        Path | None,
        typer.Option(help="YAML with words of your own: instructions, consent, closing.", show_default=False),
    ] = None,
    practice: Annotated[
        bool, typer.Option(help="Begin with an item for practice, of a question that the annotator is not asked.")
    ] = True,
) -> None:
    """Write a page for each annotator, which opens from disk and saves a file of answers.

    Examples:
        lmms-eval-tasks annotate page plan.csv --out pages
        lmms-eval-tasks annotate page plan.csv --out pages --annotator a001 --annotator a002 --clips link
    """
    from lmms_eval_tasks.construct.annotate.annotation_page import PageTexts, write_pages
    from lmms_eval_tasks.construct.engine.config import read_config

    words = read_config(texts, PageTexts)[0] if texts else None
    written = write_pages(plans.read_plan(plan), out, annotator or (), clips, (run, task), words, practice)
    console = make_console()
    console.print(f"{_number(len(written), 'page')}: {out}", soft_wrap=True)
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
    """Join files of answers with their plan: as choices or ratings for `humans`, as reviews, or as edited texts.

    Examples:
        lmms-eval-tasks annotate collect plan.csv answers --out people.csv
        lmms-eval-tasks annotate collect plan.csv answers --out people.csv --attention-errors 1
    """
    read = plans.read_plan(plan)
    inquiry = find_benchmark(read.source[0]).inquiry(read.mode)
    files = answer_files.read_answer_files(read, answers, inquiry)
    console = make_console()
    for consent, agreed in Counter(file.consent for file in files if file.consent).items():
        console.print(f"agreed to the consent text {consent}: {agreed:,} of {len(files):,}")
    if inquiry.form == "review":
        reviews = answer_files.collect_reviews(read, files)
        decided = Counter(answer_files.decide_items(reviews).values())
        planned = len({row.item_id for row in read.rows})
        counts = ", ".join(f"{decided[decision]:,} {decision.value}" for decision in Decision)
        made = _number(len(reviews), "review")
        console.print(f"{made} of {sum(decided.values()):,} of {_number(planned, 'version')}: {counts}")
        write_file(out, csv_text(answer_files.REVIEW_COLUMNS, reviews))
        console.print(f"Written: {out}", soft_wrap=True)
    elif inquiry.form == "ratings":
        rated = answer_files.collect_ratings(read, files)
        write_file(out, csv_text((*answer_files.RATED_COLUMNS, *(scale.name for scale in inquiry.scales)), rated))
        console.print(f"{_number(len(rated), 'item')} rated: {out}", soft_wrap=True)
        _print_next(console, read, out)
    elif inquiry.form == "choice":
        collected = answer_files.collect_answers(read, files, attention_errors)
        planned, answered = sum(collected.planned.values()), sum(collected.answered.values())
        answering = _number(len(collected.planned), "annotator")
        console.print(f"{answering} answered {answered:,} of their {_number(planned, 'item')}")
        if collected.silent:
            console.print(f"without a file: {len(collected.silent):,} ({summarize_names(collected.silent)})")
        if collected.inattentive:
            named = [f"{name} {failed} not passed" for name, failed in collected.inattentive.items()]
            console.print(f"left out, attention: {len(named):,} ({summarize_names(named)})")
        write_file(out, csv_text(answer_files.COLUMNS, collected.responses))
        console.print(f"{_number(len(collected.responses), 'response')}: {out}", soft_wrap=True)
        _print_next(console, read, out)
    else:
        edits = answer_files.collect_edits(read, files)
        write_file(out, as_lines(edits))
        discarded = sum(bool(edit.get("discarded")) for edit in edits)
        found = f"{_number(len(edits), 'item')} edited or found right"
        console.print(f"{found}{f', {discarded:,} discarded' if discarded else ''}: {out}", soft_wrap=True)


def _number(count: int, what: str) -> str:
    """So many of what is named in the singular: `1 item`, `2,000 items`."""
    return f"{count:,} {what}" if count == 1 else f"{count:,} {what}s"


def _print_next(console: Console, plan: plans.Plan, out: Path) -> None:
    """Print the command that grades the answers; where the release withholds the keys, ask for a file of them."""
    benchmark, split = plan.source
    items = f"{benchmark}:{split}"
    if plan.mode not in (ANSWER, LAST_FRAME):
        console.print(f"Next:  lmms-eval-tasks humans {out} --items {items} --mode {plan.mode}", soft_wrap=True)
        return
    facts = find_benchmark(benchmark).card.splits.get(split)
    if facts is not None and facts.answers_withheld:
        console.print(
            f"The keys of {items} are withheld: put those that you have into keys.csv (item,version,answer), or a "
            "column correct (0 or 1) into the responses."
        )
        items = "keys.csv"
    console.print(f"Next:  lmms-eval-tasks humans {out} --items {items}", soft_wrap=True)


def _summary(made: plans.Plan, annotators: int) -> FittingTable:
    own = made.by_annotator
    idle = [0] * (annotators - len(own))
    items = [sum(not row.attention for row in rows) for rows in own.values()] + idle
    seconds = [sum(row.milliseconds for row in rows) / 1000 for rows in own.values()] + idle
    table = text_table(None, "of an annotator", "min", "mean", "max")
    table.add_row("items", *(f"{value:,.1f}" for value in (min(items), fmean(items), max(items))))
    if made.mode != LAST_FRAME:
        table.add_row("seconds of clips", *(f"{value:,.1f}" for value in (min(seconds), fmean(seconds), max(seconds))))
    table.add_row("annotators", "", f"{annotators:,}", "")
    return table
