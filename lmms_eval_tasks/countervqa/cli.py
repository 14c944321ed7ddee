"""`lmms-eval-tasks countervqa …`: commands of CounterVQA alone."""

from __future__ import annotations

import typer

from lmms_eval_tasks.countervqa.error_commands import errors
from lmms_eval_tasks.countervqa.graph_commands import check_questions, graph_quality

app = typer.Typer(no_args_is_help=True, help="Commands of CounterVQA alone.")
app.command()(graph_quality)
app.command()(check_questions)
app.command()(errors)
