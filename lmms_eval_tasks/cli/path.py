"""`lmms-eval-tasks path`."""

from __future__ import annotations

from pathlib import Path

import typer

import lmms_eval_tasks


def path() -> None:
    """Print the folder of the tasks, for `lmms-eval tasks list --include-path`.

    Examples:
        {command}
        lmms-eval tasks list --include-path "$({command})"
    """
    typer.echo(Path(lmms_eval_tasks.__file__).parent)
