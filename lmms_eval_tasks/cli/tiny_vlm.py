"""`lmms-eval-tasks tiny-vlm`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def tiny_vlm(
    out: Annotated[Path, typer.Option(help="Folder for the checkpoint.", show_default=False)],
    seed: Annotated[int, typer.Option(help="Seed of the weights.")] = 0,
    released_ids: Annotated[
        bool, typer.Option("--released-ids", help="Ids of special tokens as ms-swift expects them, to try `train`.")
    ] = False,
) -> None:
    """Write a tiny Qwen2.5-VL with random weights, to try a run's whole path without a GPU."""
    from lmms_eval_tasks.sample.tiny_vlm import write_tiny_vlm

    typer.echo(f"Qwen2.5-VL, random weights: {write_tiny_vlm(out, seed, released_ids=released_ids)}")
