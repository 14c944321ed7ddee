"""`lmms-eval-tasks rescore`."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lmms_eval_tasks.utils.core.console import make_console, text_table

if TYPE_CHECKING:
    from lmms_eval_tasks.rescore import Rescored

DIFFERENT = 3
"""Exit status where a score has changed; 1 is a run that cannot be scored again."""


def rescore(
    run: Annotated[Path, typer.Argument(help="Output folder of a run, of which the latest; or its results file.")],
    out: Annotated[Path | None, typer.Option(help="New folder for results, sample logs and leaderboard files.")] = None,
) -> None:
    """Compute a finished run's scores again from its saved responses, and say what differs.

    Needs the prepared data that the run was made on, and no model, clip or judge. The run itself is left as it is.
    Ends with status 3 where a score is not what it was. A command that was cut short can be given again.
    """
    with _quiet(out is not None):
        from lmms_eval_tasks.rescore import claimed, write_rescored
        from lmms_eval_tasks.rescore import rescore as score_again

        written = None
        if out is None:
            with tempfile.TemporaryDirectory() as folder:
                rescored = score_again(run, Path(folder))
        else:
            with claimed(out, run):
                rescored = score_again(run, out)
                written = write_rescored(rescored, out)
    _show(rescored)
    if written:
        make_console().print(f"Written: {written}", soft_wrap=True)
    if rescored.changes:
        raise typer.Exit(DIFFERENT)


@contextmanager
def _quiet(files_kept: bool) -> Iterator[None]:
    """Without the host's own messages, nor ours about files for leaderboards where they are not kept."""
    import datasets
    from loguru import logger

    names = ["lmms_eval"] if files_kept else ["lmms_eval", "lmms_eval_tasks"]
    datasets.disable_progress_bars()
    for name in names:
        logger.disable(name)
    try:
        yield
    finally:
        for name in names:
            logger.enable(name)
        datasets.enable_progress_bars()


def _show(rescored: Rescored) -> None:
    console = make_console()
    for note in rescored.notes:
        console.print(f"Note: {note}.")
    for task, changed in rescored.items.items():
        if changed:
            console.print(f"{task}: {changed} of {len(rescored.logs[task])} items are read or graded otherwise.")
    if not rescored.changes:
        console.print(f"all {rescored.scores} scores equal")
        return
    scores = [change for change in rescored.changes if "_stderr" not in change.score]
    table = text_table("scores that differ", "task", "score", "old", "new")
    for change in scores:
        table.add_row(change.name, change.score, _number(change.old), _number(change.new))
    if scores:
        console.print(table)
    errors = len(rescored.changes) - len(scores)
    console.print(
        f"{len(rescored.changes)} of {rescored.scores} scores differ"
        + (f", {errors} of them standard errors, which are not listed" if errors else "")
    )


def _number(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
