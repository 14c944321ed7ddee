"""`lmms-eval-tasks board`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.options import NAMES, FormatOption, PriceOption, refuse_doubled
from lmms_eval_tasks.runs.costs import Price, read_price
from lmms_eval_tasks.runs.scores import SCORES, ScoredRun, read_scored
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Output, open_output


def board(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Output folders of runs, or folders of scores and cards alone; of each its latest run."),
    ],
    out: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Also write one HTML page that needs no network.")
    ] = None,
    names: Annotated[list[str] | None, typer.Option("--name", help=NAMES)] = None,
    task: Annotated[str, typer.Option(help="Only this task or group.")] = "",
    price: PriceOption = "",
    form: FormatOption = None,
) -> None:
    """Rank runs by their files of scores: a leaderboard of one's own, on which runs that cannot be told apart tie.

    Examples:
        lmms-eval-tasks board out/qwen out/internvl --out board.html
        lmms-eval-tasks board results/* --task mvp_mini --format markdown
    """
    with open_output("board", form) as output:
        _show(output, runs, out, names or (), task, read_price(price))


def _show(
    output: Output, sources: Sequence[Path], out: Path | None, names: Sequence[str], task: str, price: Price
) -> None:
    from lmms_eval_tasks.board import RANKS, TESTS, board_tables, build_tables, name_scored, overview_table, write_board

    scored = [_read(source) for source in sources]
    refuse_doubled([one.path for one in scored], sources)
    tables = build_tables(name_scored(scored, names), task, price)
    for one in scored:
        for note in one.notes:
            output.note(f"note: {note}.", style="yellow", whole=True)
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
