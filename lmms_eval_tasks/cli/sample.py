"""The commands `lmms-eval-tasks sample` and `tiny-vlm`: made-up releases, and a tiny model with random weights."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cli.prepare import prepare_app
from lmms_eval_tasks.utils.core.output import show_progress


def sample(
    benchmark: Annotated[
        list[str] | None, typer.Argument(help="Benchmarks to write it of; all if none is named.", show_default=False)
    ] = None,
    *,
    out: Annotated[Path, typer.Option(help="Folder to write: a new one, or an older sample.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Seed of the scenes.")] = 0,
    prepare: Annotated[bool, typer.Option("--prepare", help="Also prepare it; never over real data.")] = False,
) -> None:
    """Write a small made-up stand-in for the raw releases.

    Examples:
        lmms-eval-tasks sample --out sample --prepare
        lmms-eval-tasks sample causalvqa mvp --out sample --seed 1
    """
    from lmms_eval_tasks.registry import read_card
    from lmms_eval_tasks.sample.write_sample import build_sample, prepare_commands
    from lmms_eval_tasks.utils.core.output import make_console, text_table
    from lmms_eval_tasks.utils.data.home import home, read_manifest

    with show_progress() as progress:
        folder = build_sample(out, seed, progress, benchmarks=benchmark or ())
    typer.echo(f"Sample data, seed {seed}: {folder}")
    if prepare:
        commands = prepare_commands(folder)
        for arguments in commands:
            # What each prints would hide that all of them have done the same.
            with redirect_stdout(StringIO()):
                typer.main.get_command(prepare_app).main(arguments, standalone_mode=False)
        table = text_table(None, "prepared", "split", "items", "groups", "clips", "answers")
        for name in dict.fromkeys(name for name, *_ in commands):
            for split, facts in read_manifest(read_card(name)).splits.items():
                counts = map(str, (facts.rows, facts.groups, facts.clips))
                table.add_row(name, split, *counts, "withheld" if facts.answers_withheld else "known")
        make_console().print(table)
        typer.echo(f"Prepared in {home()}")


def tiny_vlm(
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Seed of the weights.")] = 0,
    released_ids: Annotated[
        bool, typer.Option("--released-ids", help="Ids of special tokens as ms-swift expects them, to try `train`.")
    ] = False,
) -> None:
    """Write a tiny Qwen2.5-VL with random weights, to try a run's whole path without a GPU.

    Examples:
        lmms-eval-tasks tiny-vlm --out tiny
        lmms-eval-tasks tiny-vlm --out tiny --seed 1
    """
    from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

    typer.echo(f"Qwen2.5-VL, random weights: {write_tiny_vlm(out, seed, released_ids=released_ids)}")
