"""`lmms-eval-tasks board`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import FormatOption, NamesOption, PriceOption, TaskOption, print_notes, refuse_doubled
from lmms_eval_tasks.runs.costs import read_price
from lmms_eval_tasks.runs.scores import SCORES, ScoredRun, read_scored
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import open_output


def board(
    runs: Annotated[
        list[Path],
        typer.Argument(
            help="Output folders of runs, or folders of scores and cards alone (the latest run of each is taken)."
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Also write one HTML page that needs no network.")
    ] = None,
    names: NamesOption = None,
    task: TaskOption = "",
    price: PriceOption = "",
    form: FormatOption = None,
) -> None:
    """Rank runs by their score files, as on a leaderboard; runs that do not differ significantly tie.

    Examples:
        lmms-eval-tasks board out/qwen out/internvl --out board.html
        lmms-eval-tasks board results/* --task mvp_mini --format markdown
    """
    from lmms_eval_tasks.board import RANKS, TESTS, board_tables, build_tables, name_scored, overview_table, write_board

    with open_output("board", form) as output:
        money = read_price(price)
        scored = [_read(source) for source in runs]
        refuse_doubled([one.path for one in scored], runs)
        tables = build_tables(name_scored(scored, names or ()), task, money)
        for one in scored:
            print_notes(output, one.notes)
        for table in ([overview_table(tables)] if len(tables) > 1 else []) + board_tables(tables):
            output.table(table)
        output.note(f"{RANKS} {TESTS}")
        if out:
            write_board(tables, out)
            output.note(f"Page: {out.absolute()}")


def _read(source: Path) -> ScoredRun:
    try:
        return read_scored(source)
    except InputError as error:
        if source.is_file() or any(source.rglob(f"*{SCORES}")):
            raise
        raise InputError(
            f"{error}\n  A board needs the file of scores of each run: `lmms-eval-tasks rescore RUN --out DIR` makes "
            "it from the run's sample logs."
        ) from None
