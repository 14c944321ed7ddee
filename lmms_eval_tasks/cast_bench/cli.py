"""`lmms-eval-tasks cast-bench …`: commands of CaST-Bench alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.cast_bench.mask_commands import still_answered

app = typer.Typer(no_args_is_help=True, help="Commands of CaST-Bench alone.")
app.command()(still_answered)


@app.command()
def show(
    item: Annotated[str, typer.Argument(help="Id of the item, as in the sample log.", show_default=False)],
    run: Annotated[Path, typer.Option(help="Output folder of a run: its latest run.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option(help="Picture to write: .png, .pdf or .svg; by default ITEM.png here.")
    ] = None,
    at: Annotated[
        int | None, typer.Option(help="Second to show; by default one with the most boxes.", show_default=False)
    ] = None,
) -> None:
    """Draw a model's answer to one item: its boxes in a frame and its evidence over time, beside the true ones.

    Examples:
        lmms-eval-tasks cast-bench show sav_000003_1 --run out/qwen
        lmms-eval-tasks cast-bench show sav_000003_1 --run out/qwen --at 4 --out evidence.pdf
    """
    from lmms_eval_tasks.cast_bench.draw import draw_item
    from lmms_eval_tasks.cast_bench.item import read_item

    path = out or Path(f"{item}.png")
    draw_item(read_item(item, run, at), path)
    typer.echo(f"cast_bench, {item}: {path.absolute()}")
