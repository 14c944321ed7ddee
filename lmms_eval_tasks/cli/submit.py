"""The commands `lmms-eval-tasks submit`, for one benchmark or a whole leaderboard, and `validate`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import print_notes
from lmms_eval_tasks.finished.submit import Slot, submit_to_leaderboard
from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Cell, Output, make_console, text_table

LEADERBOARDS = ", ".join(registry().leaderboards)


def submit(
    name: Annotated[
        str,
        typer.Argument(
            help=f"A benchmark, or a leaderboard that takes several benchmarks: {LEADERBOARDS}.", show_default=False
        ),
    ],
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Output folder of a run (the latest is taken); for a leaderboard, of all runs that hold its tasks.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="File to write, or the folder for a leaderboard's files.", show_default=False)
    ],
    split: Annotated[str, typer.Option(help="Split, where the run has several.")] = "",
    part: Annotated[
        str,
        typer.Option(help="Another of the benchmark's files; its page lists them."),
    ] = "",
    allow_unofficial: Annotated[
        bool,
        typer.Option(
            "--allow-unofficial", help="Also write it for data other than the official release, such as the sample."
        ),
    ] = False,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Also write it where items are missing or were not asked.")
    ] = False,
) -> None:
    """Write a leaderboard's submission file from a finished run; no model needed.

    Examples:
        lmms-eval-tasks submit mvp out/qwen-mvp --out mvp_mini.jsonl
        lmms-eval-tasks submit physical-reasoning out/qwen-mvp out/qwen-causalvqa --out files
    """
    from lmms_eval_tasks.finished.submit import submit as write

    console = make_console()
    if name in registry().leaderboards:
        if split or part:
            raise InputError(f"Expected neither --split nor --part for {name}, which takes certain splits whole.")
        submit_all(name, runs, out, allow_unofficial, allow_incomplete)
        return
    if len(runs) > 1:
        problem = f"Expected one run for {name}, but got {len(runs)}. A leaderboard takes several: {LEADERBOARDS}."
        raise InputError(problem)
    done = write(name, runs[0], out, split, part, allow_unofficial, allow_incomplete)
    print_notes(Output("submit"), done.runs[0].notes, done.runs[0].incomplete)
    if done.apart:
        console.print(f"{done.apart}: do not send it to a leaderboard.", style="bold red")
    counts = f"{done.built.rows:,} of {done.items:,} items, {done.built.empty:,} without an answer"
    of_part = f" (--part {part})" if part else ""
    console.print(f"{name}, split {done.split}{of_part}: {counts}")
    if done.built.rows < done.items:
        console.print("warning: It is incomplete: a leaderboard should refuse it.", style="yellow")
    for note in done.built.notes:
        console.print(f"note: {note}")
    console.print(f"Written: {out}", soft_wrap=True)


def validate(
    benchmark: Annotated[str, typer.Argument(help="Its name.", show_default=False)],
    file: Annotated[Path, typer.Argument(help="Submission file.", show_default=False)],
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Do not mind items that are missing.")
    ] = False,
) -> None:
    """Validate a submission file: its form, ids and answers; every kind of issue is listed, with exit status 1.

    Examples:
        lmms-eval-tasks validate mvp mvp_mini.jsonl
        lmms-eval-tasks validate causalvqa causalvqa.jsonl --allow-incomplete
    """
    from lmms_eval_tasks.finished.submit import validate as check

    checked = check(benchmark, file, allow_incomplete)
    console = make_console()
    apart = checked.against.data_set.apart if checked.against else ""
    verdict = f"in the form, but not valid for the leaderboard: it was checked against {apart}" if apart else "valid"
    console.print(f"{file}: {verdict}", soft_wrap=True, style="bold red" if apart else None)
    console.print(f"{checked.form}: {checked.rows:,} rows, {checked.empty:,} without an answer")
    console.print(f"checked: {checked.checked}")
    for note in checked.notes:
        console.print(f"note: {note}")


def submit_all(name: str, runs: Sequence[Path], out: Path, allow_unofficial: bool, allow_incomplete: bool) -> None:
    done = submit_to_leaderboard(name, runs, out, allow_unofficial, allow_incomplete)
    output = Output("submit")
    for run in done.runs:
        print_notes(output, run.notes, run.incomplete)
    for run in done.unused:
        output.note(f"note: No file was made from {run.path}.", style="yellow", whole=True)
    if len(models := dict.fromkeys(run.name for run in done.runs)) > 1:
        warning = f"The files come from {len(models)} models: {', '.join(models)}. A leaderboard row is for one model."
        output.note(f"warning: {warning}", style="yellow", whole=True)
    for apart in dict.fromkeys(slot.made.apart for slot in done.slots if slot.made and slot.made.apart):
        output.warn(f"{apart}: do not send it to a leaderboard.")
    table = text_table(f"For {name}, in {out}", "file", "tasks", "rows", "empty", "checked")
    for slot in done.slots:
        table.add_row(*_row(slot))
    output.table(table)
    for slot in done.slots:
        if slot.made and slot.checked:
            for note in dict.fromkeys((*slot.made.built.notes, *slot.checked.notes)):
                output.note(f"note: {slot.path.name}: {note}")
        elif slot.outdated:
            warning = f"{slot.path} is an older file, not made from these runs."
            output.note(f"warning: {warning}", style="yellow", whole=True)
    if missing := [slot.tasks for slot in done.slots if not slot.made and slot.place.needed]:
        warning = f"Run {', '.join(missing)} with --log_samples, and give that run too."
        output.note(f"warning: Files are missing. {warning}", style="yellow", whole=True)


def _row(slot: Slot) -> tuple[Cell, ...]:
    if slot.made and slot.checked:
        built = slot.made.built
        rows = f"{built.rows:,} of {slot.made.items:,}"
        return slot.path.name, slot.tasks, rows, built.empty, slot.checked.checked
    state = "missing" if slot.place.needed else "not needed"
    if slot.lacking:
        state = f"{state}: the runs lack {', '.join(slot.lacking)}"
    return slot.path.name, slot.tasks, "none", "", state
