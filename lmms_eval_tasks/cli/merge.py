"""`lmms-eval-tasks merge`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.core.output import make_console


def merge(
    runs: Annotated[
        list[Path], typer.Argument(help="Output folder of each part (its latest run is taken) or its results file.")
    ],
    out: Annotated[Path, typer.Option(help="New folder for results, sample logs and leaderboard files.")],
) -> None:
    """Merge the parts of a run.

    LMMS_EVAL_TASKS_SHARD=i/N makes a run of one part. Needs the prepared data that the parts were made on, and no
    model, clip or judge. The runs of the parts are left as they are. Whatever is missing, twice, or not alike is
    named, and then nothing is written. A command that was cut short can be given again.

    Examples:
        lmms-eval-tasks merge out/parts/1 out/parts/2 --out out/whole
        lmms-eval-tasks merge out/parts/* --out out/whole
    """
    from lmms_eval_tasks.finished.merge import merge as put_together
    from lmms_eval_tasks.host.quiet import quiet_host

    with quiet_host():
        merged = put_together(runs, out)
    console = make_console()
    for note in merged.notes:
        console.print(f"Note: {note}.")
    tasks = len(merged.items)
    console.print(f"{merged.parts:,} parts: {sum(merged.items.values()):,} items of {tasks:,} tasks")
    console.print(f"Written: {merged.path}", soft_wrap=True)
