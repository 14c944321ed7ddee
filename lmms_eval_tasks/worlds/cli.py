"""`lmms-eval-tasks worlds …`: commands of Worlds alone."""

from __future__ import annotations

import typer

from lmms_eval_tasks.worlds.export.command import export_app
from lmms_eval_tasks.worlds.profile_command import profile

app = typer.Typer(no_args_is_help=True, help="Commands of Worlds alone.")
app.add_typer(export_app, name="export")
app.command()(profile)


@app.callback()
def worlds() -> None:
    """Commands of Worlds alone."""
