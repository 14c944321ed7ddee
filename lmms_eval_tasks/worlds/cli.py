"""`lmms-eval-tasks worlds …`: commands of Worlds alone."""

from __future__ import annotations

import typer

from lmms_eval_tasks.worlds.export.command import export_app

app = typer.Typer(no_args_is_help=True, help="Commands of Worlds alone.")
app.add_typer(export_app, name="export")


@app.callback()
def worlds() -> None:
    """Commands of Worlds alone."""
