"""`lmms-eval-tasks humans`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import AllowIncompleteOption, FormatOption, open_runs
from lmms_eval_tasks.report.people_baseline import (
    further_parts,
    show_checks,
    show_difficulty,
    show_scores,
    show_study,
    write_summary,
)
from lmms_eval_tasks.report.people_tables import AskedItems, outcomes_by_question, print_mode, show_shared
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import write_file
from lmms_eval_tasks.utils.core.forms import as_lines
from lmms_eval_tasks.utils.core.output import open_output
from lmms_eval_tasks.utils.people import baseline
from lmms_eval_tasks.utils.people.inquiries import ANSWER, LAST_FRAME
from lmms_eval_tasks.utils.people.responses import Key, join_pairs, read_human_responses

ITEMS_HELP = (
    "The items: a prepared table (.parquet), CSV (item, version, answer, strata), or a prepared split as "
    "BENCHMARK:SPLIT. Without it, responses need a column correct."
)


def humans(
    responses: Annotated[
        Path, typer.Argument(help="CSV of responses: item, version, annotator, choice[, correct]; or of ratings.")
    ],
    items: Annotated[str, typer.Option(help=ITEMS_HELP)] = "",
    mode: Annotated[
        str, typer.Option(help="Mode in which people were asked about a prepared split, as of `annotate plan`.")
    ] = ANSWER,
    by: Annotated[
        str, typer.Option(help="Stratum columns; a difficulty that the items lack comes from the responses.")
    ] = "",
    drop_disputed: Annotated[
        bool, typer.Option("--drop-disputed", help="Leave out questions whose most frequent answer is not the key.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Write a summary of each question, as CSV.")] = None,
    labels_out: Annotated[
        Path | None,
        typer.Option(help="Write which items people can discriminate, for `prepare … --labels`; of a study only."),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(help="Output folder of a run: what it and people share, item by item; may be given again."),
    ] = None,
    task: Annotated[str, typer.Option(help="Only this task or group of the runs.")] = "",
    allow_incomplete: AllowIncompleteOption = False,
    form: FormatOption = None,
) -> None:
    """Compute a human baseline from people's responses, which `annotate` can collect, and compare runs with people.

    Examples:
        lmms-eval-tasks humans people.csv --items causalvqa:debug
        lmms-eval-tasks humans people.csv --items mvp:mini --run out/qwen
    """
    if mode not in (ANSWER, LAST_FRAME):
        if drop_disputed or out or labels_out or run:
            raise InputError(f"Expected no --drop-disputed, --out, --labels-out or --run in the mode {mode}.")
        with open_output("humans", form) as output:
            print_mode(output, responses, items, mode, [name for name in by.split(",") if name])
        return
    if task and not run:
        raise InputError("Expected --task only with --run.")
    of_items = AskedItems(items)
    study, benchmark, pairs = of_items.study, of_items.benchmark, of_items.whole_pairs
    if labels_out is not None and study is None:
        raise InputError("Expected --labels-out only with --items of a benchmark that has a study of people.")
    asked = of_items.questions if items else None
    of_runs = of_items.of_runs if run else None
    answers = read_human_responses(responses, asked, whole_pairs=pairs)
    summaries = baseline.summarise(join_pairs(answers) if pairs else answers)
    if pairs and not summaries:
        raise InputError(f"{responses.name} holds no pair whose two clips one person answered.")
    known = {name for one in (asked or {}).values() for name in one.strata}
    own = benchmark.card.strata_columns if benchmark is not None and pairs else ("type", "difficulty")
    columns = _columns(by, own, known)
    strata = baseline.question_strata(summaries, asked, columns)
    with open_output("humans", form) as output:
        opened = open_runs(output, run or [], allow_incomplete)
        disputed = show_checks(output, answers, summaries, asked, drop_disputed, pairs)
        if drop_disputed:
            strata = {item: stratum for item, stratum in strata.items() if item not in disputed}
        parts = further_parts(benchmark, asked) if benchmark is not None and asked is not None else {}
        show_scores(output, join_pairs(answers) if pairs else answers, strata, parts, pairs)
        show_difficulty(output, summaries, asked if "difficulty" in known else None, pairs)
        if study is not None:
            show_study(output, study, of_items.rows, answers, items)
        outcomes: Mapping[str, Mapping[Key, str]] = {}
        if of_runs is not None:
            kept = [one for one in answers if not (drop_disputed and one.item in disputed)]
            show_shared(output, kept, of_runs, opened, task)
            outcomes = outcomes_by_question(opened, of_runs, task)
        if study is not None and labels_out is not None:
            labels = baseline.label_items(answers)
            write_file(labels_out, as_lines({"id": item, study.label: label} for item, label in labels.items()))
            output.note(f"Written: {labels_out}", whole=True)
        if out is not None:
            write_summary(out, summaries, disputed, outcomes)
            output.note(f"Written: {out}", whole=True)


def _columns(by: str, own: Sequence[str], known: set[str]) -> list[str]:
    """Return the stratum columns that are asked for, or else those of a benchmark's own that its items have."""
    columns = by.split(",") if by else [name for name in own if name in known] or ["difficulty"]
    possible = sorted(known | {"difficulty"})
    if unknown := [name for name in columns if name not in possible]:
        raise InputError(f"Expected stratum columns, any of {', '.join(possible)}, but got {', '.join(unknown)}.")
    return columns
