"""The command `lmms-eval-tasks`: thin, and the only place that prints and exits."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer

import lmms_eval_tasks
from lmms_eval_tasks.cli.commands import CommandPlace, LazyCommands, LazyGroup, lazy_group
from lmms_eval_tasks.cli.help import COMPARE, DATA, LOOK, ONE_BENCHMARK, PEOPLE, RUN, print_warnings
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.files import name_full_disk
from lmms_eval_tasks.utils.core.text import KNOWN, describe_unknown_variables, printable_lines

NAME = "lmms-eval-tasks"
EPILOG = f"""Each command shows examples: {NAME} report --help
To complete commands and options with Tab: {NAME} --install-completion"""
COMMANDS: Mapping[str, Mapping[str, str]] = {
    DATA: {
        "sample": "sample:sample",
        "prepare": "prepare:prepare_app",
        "check": "check:check",
        "bias": "bias:bias",
        "new": "new:new",
    },
    RUN: {
        "prompts": "prompts:prompts_app",
        "views": "views:views",
        "launch": "launch:launch",
        "sweep": "launch:sweep",
        "merge": "merge:merge",
        "tiny-vlm": "sample:tiny_vlm",
        "path": "path:path",
    },
    LOOK: {"report": "report:report", "page": "page:page", "rescore": "rescore:rescore"},
    COMPARE: {
        "compare": "compare:compare",
        "board": "board:board",
        "submit": "submit:submit",
        "validate": "submit:validate",
        "export": "export:export_app",
    },
    PEOPLE: {"humans": "humans:humans"},
}
"""Our commands in the groups of `--help`, each with its module in this folder and its name there."""
GROUP = "lmms_eval_tasks.commands"
"""Entry points of further commands, ours and other packages': ``yocausal.rank`` is `rank` of the group `yocausal`."""


def find_commands() -> tuple[dict[str, Any], tuple[str, ...]]:
    """The commands by name, ours first, and which of others' have a name that is taken."""
    commands: dict[str, Any] = {}
    for panel, places in COMMANDS.items():
        for name, place in places.items():
            commands[name] = CommandPlace(f"{NAME} {name}", f"{__package__}.{place}", panel)
    groups: dict[str, dict[str, CommandPlace]] = {}
    taken = []
    own = lmms_eval_tasks.__name__
    for point in sorted(entry_points(group=GROUP), key=lambda one: (not one.value.startswith(f"{own}."), one.name)):
        above, _, name = point.name.rpartition(".")
        beside = groups.setdefault(above, {}) if above else commands
        if name in beside:
            package = point.dist.name if point.dist else point.value
            taken.append(f"The command {point.name} of the package {package} cannot be used: its name is taken.")
        else:
            beside[name] = CommandPlace(" ".join(filter(None, (NAME, above, name))), point.value)
    for name, entries in sorted(groups.items()):
        facts = {"help": f"Commands of {name} alone.", "rich_help_panel": ONE_BENCHMARK}
        commands[name] = lazy_group(name, entries.values(), **facts)
    return commands, tuple(taken)


class _Commands(LazyGroup):
    """Commands whose failures are the user's to mend: the message on stderr, exit status 1, no traceback."""

    def __init__(self, **facts: Any) -> None:
        super().__init__(**facts)
        commands, self.taken = find_commands()
        self.commands = LazyCommands(commands.values())  # type: ignore[assignment]

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (InputError, OSError) as raised:
            error = name_full_disk(raised)
            text = f"Cannot read or write: {error}" if isinstance(error, OSError) else str(error)
            typer.echo(printable_lines(text), err=True)
            raise typer.Exit(1) from raised


app = typer.Typer(cls=_Commands, no_args_is_help=True, pretty_exceptions_enable=False, epilog=EPILOG)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{NAME} {lmms_eval_tasks.__version__}")
        raise typer.Exit


@app.callback()
def main(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Video causal-reasoning benchmarks for lmms-eval: prepare data, run, report, compare and submit; make new sets."""
    from lmms_eval_tasks.registry import registry

    unknown = describe_unknown_variables(os.environ, {*KNOWN, *registry().variables})
    taken = context.command.taken if isinstance(context.command, _Commands) else ()
    print_warnings([*registry().faults, *taken, *unknown])
