"""The command `lmms-eval-tasks`: thin, and the only place that prints and exits."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import lmms_eval_tasks
from lmms_eval_tasks.cli.bias import bias
from lmms_eval_tasks.cli.board import board
from lmms_eval_tasks.cli.check import check
from lmms_eval_tasks.cli.compare import compare
from lmms_eval_tasks.cli.export import export_app
from lmms_eval_tasks.cli.humans import humans
from lmms_eval_tasks.cli.launch import launch, sweep
from lmms_eval_tasks.cli.merge import merge
from lmms_eval_tasks.cli.new import new
from lmms_eval_tasks.cli.options import COMPARE, DATA, LOOK, ONE_BENCHMARK, PEOPLE, RUN, print_warnings, show_examples
from lmms_eval_tasks.cli.prepare import prepare_app
from lmms_eval_tasks.cli.prompts import prompts_app
from lmms_eval_tasks.cli.report import report
from lmms_eval_tasks.cli.rescore import rescore
from lmms_eval_tasks.cli.sample import sample, tiny_vlm
from lmms_eval_tasks.cli.submit import submit, validate
from lmms_eval_tasks.cli.views import views
from lmms_eval_tasks.registry import load_announced, registry
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import name_full_disk
from lmms_eval_tasks.utils.core.text import KNOWN, describe_unknown_variables, printable_lines


def _show_flags_bare(command: Any) -> None:
    """Have `--help` show a flag without a type, for it takes no value: a newer Typer writes `--stats <bool>`."""
    own_help = command.get_help_option(typer.Context(command))
    for option in [*command.params, *([own_help] if own_help else [])]:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
    for inner in getattr(command, "commands", {}).values():
        _show_flags_bare(inner)


class _Commands(TyperGroup):
    """Commands whose failures are the user's to mend: the message on stderr, exit status 1, no traceback."""

    def get_params(self, ctx: Any) -> list[Any]:
        # Typer adds the options for completion last.
        _show_flags_bare(self)
        return super().get_params(ctx)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (InputError, OSError) as raised:
            error = name_full_disk(raised)
            text = f"Cannot read or write: {error}" if isinstance(error, OSError) else str(error)
            typer.echo(printable_lines(text), err=True)
            raise typer.Exit(1) from raised


NAME = "lmms-eval-tasks"
EPILOG = f"""Each command shows examples: {NAME} report --help
To complete commands and options with Tab: {NAME} --install-completion"""
app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EPILOG)
app.command(rich_help_panel=DATA)(sample)
app.add_typer(prepare_app, name="prepare", rich_help_panel=DATA)
app.command(rich_help_panel=DATA)(check)
app.command(rich_help_panel=DATA)(bias)
app.command(rich_help_panel=DATA)(new)
app.add_typer(prompts_app, name="prompts", rich_help_panel=RUN)
app.command(rich_help_panel=RUN)(views)
app.command(rich_help_panel=RUN)(launch)
app.command(rich_help_panel=RUN)(sweep)
app.command(rich_help_panel=RUN)(merge)
app.command("tiny-vlm", rich_help_panel=RUN)(tiny_vlm)
app.command(rich_help_panel=LOOK)(report)
app.command(rich_help_panel=LOOK)(rescore)
app.command(rich_help_panel=COMPARE)(compare)
app.command(rich_help_panel=COMPARE)(board)
app.command(rich_help_panel=COMPARE)(submit)
app.command(rich_help_panel=COMPARE)(validate)
app.add_typer(export_app, name="export", rich_help_panel=COMPARE)
app.command(rich_help_panel=PEOPLE)(humans)
_own = {name.replace("_", "-"): benchmark.cli for name, benchmark in registry().benchmarks.items() if benchmark.cli}
_announced = load_announced("lmms_eval_tasks.commands", "command")
for _name, _command in _announced.found.items():
    _benchmark, _, _last = _name.rpartition(".")
    if _benchmark and _benchmark not in _own:
        _own[_benchmark] = typer.Typer(no_args_is_help=True, help=f"Commands of {_benchmark} alone.")
    _parent = _own.get(_benchmark, app)
    if isinstance(_command, typer.Typer):
        # Typer itself does not look at the group that a sub-app names.
        _parent.add_typer(_command, name=_last, rich_help_panel=_command.rich_help_panel)
    else:
        _parent.command(_last)(_command)
for _name, _commands in _own.items():
    app.add_typer(_commands, name=_name, rich_help_panel=ONE_BENCHMARK)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {lmms_eval_tasks.__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Video causal-reasoning benchmarks for lmms-eval: prepare data, run, report, compare and submit; make new sets."""
    unknown = describe_unknown_variables(os.environ, {*KNOWN, *registry().variables})
    print_warnings([*registry().faults, *_announced.faults, *unknown])


@app.command(rich_help_panel=RUN)
def path() -> None:
    """Print the folder of the tasks, for `lmms-eval tasks list --include-path`.

    Examples:
        {command}
        lmms-eval tasks list --include-path "$({command})"
    """
    typer.echo(Path(lmms_eval_tasks.__file__).parent)


show_examples(app, NAME)
