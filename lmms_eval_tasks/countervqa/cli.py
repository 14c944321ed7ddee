"""`lmms-eval-tasks countervqa …`: commands of CounterVQA alone."""

from __future__ import annotations

import typer

from lmms_eval_tasks.countervqa.error_commands import errors

app = typer.Typer(no_args_is_help=True, help="Commands of CounterVQA alone.")
app.command()(errors)
