"""Shared parts of the commands: help groups and examples, options, and reading runs with the notes on them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.main import get_command_name

from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.runs.folder import Run, name_runs, read_run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Format, Output
from lmms_eval_tasks.utils.core.text import printable_lines
from lmms_eval_tasks.utils.data.home import benchmark_dir, prepared_benchmark

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


AllowIncompleteOption = Annotated[
    bool, typer.Option("--allow-incomplete", help="Also read interrupted runs, as far as they go.")
]
NamesOption = Annotated[list[str] | None, typer.Option("--name", help="Name of each run, in order.")]
TaskOption = Annotated[str, typer.Option(help="Only this task or group.")]
PriceOption = Annotated[
    str,
    typer.Option(
        metavar="in=…,out=…",
        help="Price of a million tokens: the tokens of the answers are then shown with their cost.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="Write the tables in this format on standard output, and notes on standard error."),
]


def open_runs(
    output: Output,
    sources: Sequence[Path],
    allow_incomplete: bool = False,
    allow_predictions: bool = False,
    names: Sequence[str] = (),
    task: str = "",
) -> list[Run]:
    runs = [read_run(source, allow_incomplete, allow_predictions) for source in sources]
    refuse_doubled([run.path for run in runs], sources)
    named = name_runs(runs, names)
    if task and (scored := [run for run in runs if not run.only_predicted]):
        entries_of(scored, task)
    for run in runs:
        print_notes(output, run.notes, run.incomplete)
    return named


def refuse_doubled(paths: Sequence[Path], sources: Sequence[Path]) -> None:
    named: dict[Path, list[str]] = {}
    for path, source in zip(paths, sources, strict=True):
        named.setdefault(path.resolve(), []).append(str(source))
    doubled = [f"{' and '.join(given)} are one run, {path}" for path, given in named.items() if len(given) > 1]
    if doubled:
        raise InputError(f"Expected different runs, but {'; '.join(doubled)}.")


def print_notes(output: Output, notes: Iterable[str], incomplete: str = "") -> None:
    for note in notes:
        output.note(f"note: {note}.", style="yellow", whole=True)
    if incomplete:
        output.warn(f"INCOMPLETE: the run was cut short, {incomplete}.")


def print_warnings(warnings: Iterable[str]) -> None:
    for warning in warnings:
        typer.echo(printable_lines(f"warning: {warning}"), err=True)


def command_of(
    function: Callable[..., Any], run: Callable[..., None], further: Mapping[str, tuple[Any, Any]] | None = None
) -> Callable[..., None]:
    """Give a command the options of a function, and of its docstring the first line and the examples."""
    signature = inspect.signature(function, eval_str=True)
    further = further or {}
    own = [parameter for name, parameter in signature.parameters.items() if name not in ("progress", *further)]
    options = own + [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=option)
        for name, (option, default) in further.items()
    ]
    run.__signature__ = signature.replace(parameters=options, return_annotation=None)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in options}
    text, examples = split_examples(inspect.getdoc(function) or "")
    run.__doc__ = join_examples(text.partition("\n")[0], examples)
    return run


def clips_folder(name: str) -> Path | None:
    benchmark = prepared_benchmark(name)
    return benchmark_dir(benchmark) / "videos" if benchmark else None
