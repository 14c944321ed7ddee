"""`lmms-eval-tasks submit` and `lmms-eval-tasks validate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.runs import print_notes
from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.console import make_console
from lmms_eval_tasks.utils.core.output import Output
from lmms_eval_tasks.utils.core.problems import InputError

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
            help="Output folder of a run: its latest run. Of a leaderboard as many as hold its tasks.",
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
        bool, typer.Option("--allow-unofficial", help="Also of data that is not the official release, as a sample.")
    ] = False,
    allow_incomplete: Annotated[
        bool, typer.Option("--allow-incomplete", help="Also where items are missing or were not asked.")
    ] = False,
    allow_sample: Annotated[bool, typer.Option("--allow-sample", hidden=True)] = False,
) -> None:
    """Write the file that a leaderboard takes from a finished run, without its model; or all files that it takes."""
    from lmms_eval_tasks.submit import submit as write

    console = make_console()
    if allow_sample:
        console.print("warning: --allow-sample is called --allow-unofficial now.", style="yellow")
    if name in registry().leaderboards:
        from lmms_eval_tasks.cli.leaderboard import submit_all

        if split or part:
            raise InputError(f"Expected neither --split nor --part for {name}, which takes certain splits whole.")
        submit_all(name, runs, out, allow_unofficial or allow_sample, allow_incomplete)
        return
    if len(runs) > 1:
        problem = f"Expected one run for {name}, but got {len(runs)}. A leaderboard takes several: {LEADERBOARDS}."
        raise InputError(problem)
    done = write(name, runs[0], out, split, part, allow_unofficial or allow_sample, allow_incomplete)
    print_notes(Output("submit"), done.runs[0])
    if done.apart:
        console.print(f"{done.apart}: no leaderboard should be sent this.", style="bold red")
    counts = f"{done.built.rows:,} of {done.items:,} items, {done.built.empty:,} without an answer"
    console.print(f"{name}, split {done.split}, {done.part}: {counts}")
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
    """Validate a submission file: its form, ids and answers; every kind of issue is listed, with exit status 1."""
    from lmms_eval_tasks.submit import validate as check

    checked = check(benchmark, file, allow_incomplete)
    console = make_console()
    apart = checked.against.data_set.apart if checked.against else ""
    verdict = f"in the form, but not valid for the leaderboard: it was checked against {apart}" if apart else "valid"
    console.print(f"{file}: {verdict}", soft_wrap=True, style="bold red" if apart else None)
    console.print(f"{checked.form}: {checked.rows:,} rows, {checked.empty:,} without an answer")
    console.print(f"checked: {checked.checked}")
    for note in checked.notes:
        console.print(f"note: {note}")
