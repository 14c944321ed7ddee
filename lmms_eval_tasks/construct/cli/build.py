"""`lmms-eval-tasks build …`: sets of questions made from annotated clips."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps

import typer

from lmms_eval_tasks.cli.help import BUILD, print_warnings, short_help
from lmms_eval_tasks.construct.engine.running import BuiltSet
from lmms_eval_tasks.registry import load_announced
from lmms_eval_tasks.utils.core.output import make_console, text_table
from lmms_eval_tasks.utils.data.identity import mark_as_built
from lmms_eval_tasks.utils.data.manifest import write_attrition

build_app = typer.Typer(
    no_args_is_help=True, help="Make a benchmark's set of questions from clips of your own.", rich_help_panel=BUILD
)


def _build_command(benchmark: str, build: Callable[..., BuiltSet]) -> Callable[..., None]:
    @wraps(build)
    def run(**options: object) -> None:
        built = build(**options)
        if built.folder is not None:
            mark_as_built(built.folder)
            if built.attrition is not None:
                write_attrition(built.attrition, built.folder)
        console = make_console()
        for shown in built.tables:
            if shown.title:
                console.print(f"\n{shown.title}", style="bold")
            table = text_table(None, *shown.columns)
            for cells in shown.rows:
                table.add_row(*cells)
            console.print(table)
        for warning in built.warnings:
            console.print(f"warning: {warning}", style="yellow")
        console.print(built.summary)
        if built.folder is not None:
            source = shlex.quote(str(built.folder))
            console.print(f"Next:  lmms-eval-tasks prepare {benchmark} --source {source}", soft_wrap=True)

    return run


BUILDERS = load_announced("lmms_eval_tasks.builders", "builder")
"""Benchmark to what makes a set of its form: a function whose parameters are typer options."""
for _name, _build in BUILDERS.found.items():
    build_app.command(_name, help=short_help(_build))(_build_command(_name, _build))


@build_app.callback()
def build() -> None:
    """Make a benchmark's set of questions from clips of your own."""
    print_warnings(BUILDERS.faults)
