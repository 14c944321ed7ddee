"""The reference of the commands, from the command line itself: what `--help` shows, as a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from lmms_eval_tasks.cli.app import NAME, app
from lmms_eval_tasks.cli.help import split_examples

INTRODUCTION = f"""# Commands

Every command of `{NAME}`, as `--help` shows it: in the groups of `{NAME} --help`, with its options and examples. To
complete commands and options with Tab, give `{NAME} --install-completion` once. [How commands end](exit_codes.md) and
[which variables they read](variables.md) have pages of their own.
"""


def commands_page() -> str:
    """The page's Markdown."""
    group = typer.main.get_command(app)
    panels: dict[str, list[tuple[str, Any]]] = {}
    for name, command in sorted(_commands(group).items()):
        panels.setdefault(command.rich_help_panel or "Other", []).append((name, command))
    lines = [INTRODUCTION]
    # In the order of the terminal, where a group stands at its first command.
    for panel in dict.fromkeys(command.rich_help_panel or "Other" for command in _commands(group).values()):
        lines += [f"## {panel}", ""]
        for name, command in panels[panel]:
            lines += _command_lines((name,), command)
    return "\n".join(lines).rstrip() + "\n"


def _commands(group: Any) -> dict[str, Any]:
    """The commands of a group by name; those that `--help` hides are none."""
    return {name: command for name, command in group.commands.items() if not command.hidden}


def _command_lines(path: tuple[str, ...], command: Any) -> Iterator[str]:
    yield f"{'#' * min(len(path) + 2, 4)} `{' '.join(path)}`"
    yield ""
    text, _ = split_examples(command.help or "")
    yield text
    yield ""
    if hasattr(command, "commands"):
        for name, below in sorted(_commands(command).items()):
            yield from _command_lines((*path, name), below)
        return
    context = typer.Context(command, info_name=" ".join((NAME, *path)))
    rows = [row for parameter in command.get_params(context) if (row := _parameter_row(parameter, context))]
    yield from ("| argument or option | meaning |", "| --- | --- |", *rows, "")
    yield from ("```bash", *split_examples(command.epilog or "")[1], "```", "")


def _parameter_row(parameter: Any, context: typer.Context) -> str:
    """A row for a parameter; empty where it is hidden, or is every command's."""
    if getattr(parameter, "hidden", False) or parameter.name == "help":
        return ""
    is_option = parameter.param_type_name == "option"
    name = ", ".join(parameter.opts) if is_option else parameter.name.upper()
    shown = parameter.get_help_record(context)
    return f"| `{name}` | {' '.join(str(shown[1] if shown else '').split()).replace('|', chr(92) + '|')} |"
