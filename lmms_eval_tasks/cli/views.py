"""`lmms-eval-tasks views`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.utils.benchmark.views import CLIP_VIEWS
from lmms_eval_tasks.utils.core.output import make_console


def views(
    tasks: Annotated[list[str], typer.Argument(help="Tasks, groups or tags of lmms-eval, or patterns: 'mvbench_*'.")],
    out: Annotated[Path, typer.Option(help="Folder for the views' task files.", show_default=False)],
    view: Annotated[
        str,
        typer.Option("--views", help="Which, with commas: also video_only, socratic, single_frame_random3."),
    ] = ",".join(CLIP_VIEWS),
    include_path: Annotated[str | None, typer.Option(help="A folder with further tasks.")] = None,
) -> None:
    """Write controls for other people's video tasks: without the clip, with one frame of it, without the question.

    Ours have their views by name, such as mvp_mini_blind.

    Examples:
        lmms-eval-tasks views mvbench --out views
        lmms-eval-tasks views mvbench --out views --views blind,single_frame,video_only
    """
    from lmms_eval_tasks.host.quiet import quiet_host
    from lmms_eval_tasks.host.tasks.foreign_views import write_views

    with quiet_host():
        written = write_views(tasks, view.split(","), out, include_path)
    console = make_console()
    console.print(f"{len(written.tasks):,} tasks written to {out}", soft_wrap=True)
    first = (*written.groups, *written.tasks)[0]
    console.print(f"Run them:  lmms-eval --include_path {out} --tasks {first} …", soft_wrap=True)
