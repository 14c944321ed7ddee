"""The groups of `--help`, the examples of commands, and warnings; it imports nothing that takes time."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import typer
from typer.main import get_command_name

from lmms_eval_tasks.utils.core.text import printable_lines

DATA = "Data"
RUN = "Run"
LOOK = "Look at results"
COMPARE = "Compare and submit"
PEOPLE = "People"
BUILD = "Build a set"
TRAIN = "Train"
ONE_BENCHMARK = "One benchmark alone"

HEADING = "Examples:"
_SECTION = re.compile(rf"^{HEADING}\n((?:[ ]+\S.*(?:\n|$))+)", re.MULTILINE)


def split_examples(text: str) -> tuple[str, list[str]]:
    """Part a docstring into the rest of it and its examples, one command line each."""
    found = _SECTION.search(text)
    if not found:
        return text, []
    rest = f"{text[: found.start()].rstrip()}\n\n{text[found.end() :].lstrip()}".strip()
    return rest, [line.strip() for line in found[1].splitlines()]


def join_examples(text: str, examples: Sequence[str]) -> str:
    return "\n".join([text, *(["", HEADING, *(f"  {line}" for line in examples)] if examples else ())])


def short_help(function: Callable[..., Any]) -> str:
    """The first line of a function's docstring, and its examples."""
    text, examples = split_examples(inspect.getdoc(function) or "")
    return join_examples(text.partition("\n")[0], examples)


def show_examples(app: typer.Typer, called: str) -> None:
    """Put the examples of an app's commands, and of its groups' commands, at the end of what their `--help` shows."""
    for command in app.registered_commands:
        if command.callback is None:
            continue
        text, examples = split_examples(inspect.cleandoc(command.help or inspect.getdoc(command.callback) or ""))
        if examples:
            name = command.name or get_command_name(command.callback.__name__)
            whole = [example.replace("{command}", f"{called} {name}") for example in examples]
            command.help, command.epilog = text, join_examples("", whole).lstrip()
    for group in app.registered_groups:
        if group.typer_instance is not None:
            show_examples(group.typer_instance, f"{called} {group.name}")


def print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        typer.echo(printable_lines(f"warning: {warning}"), err=True)


def show_flags_bare(command: Any) -> None:
    """Have `--help` show a flag without a type, for it takes no value: a newer Typer writes `--stats <bool>`."""
    own_help = command.get_help_option(typer.Context(command))
    for option in [*command.params, *([own_help] if own_help else [])]:
        if getattr(option, "is_flag", False) and option.metavar is None:
            option.metavar = ""
