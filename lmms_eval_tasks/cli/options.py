"""Shared parts of the commands: options, and reading runs with the notes on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.report.score_tables import entries_of
from lmms_eval_tasks.report.series import SERIES
from lmms_eval_tasks.runs.folder import Run, name_runs, read_run
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.output import Format, Output
from lmms_eval_tasks.utils.data.home import benchmark_dir, prepared_benchmark

AllowIncompleteOption = Annotated[
    bool, typer.Option("--allow-incomplete", help="Also read interrupted runs, as far as they go.")
]
NamesOption = Annotated[list[str] | None, typer.Option("--name", help="Name of each run, in order.")]
RunsArgument = Annotated[
    list[Path] | None,
    typer.Argument(help="Output folders of runs (the latest run of each is taken).", show_default=False),
]
SeriesOption = Annotated[list[str] | None, typer.Option(help=SERIES)]
PeopleOption = Annotated[Path | None, typer.Option(help="CSV of people's responses, as for `humans`.")]
ItemsOption = Annotated[str, typer.Option(help="What people were asked, as for `humans`: BENCHMARK:SPLIT or a file.")]
WithoutOption = Annotated[
    Path | None, typer.Option(dir_okay=False, help="Also score without the groups listed in this filter file.")
]
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


def with_options(run: Callable[..., None], options: Sequence[inspect.Parameter]) -> Callable[..., None]:
    """Give a function options that are known at run time alone: typer reads them from a signature, and nowhere else."""
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    run.__annotations__ = {option.name: option.annotation for option in options}
    return run


def own_options(run: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a function that are options, without that which takes all others."""
    parameters = inspect.signature(run, eval_str=True).parameters.values()
    return [one for one in parameters if one.kind is not inspect.Parameter.VAR_KEYWORD]


def clips_folder(name: str) -> Path | None:
    benchmark = prepared_benchmark(name)
    return benchmark_dir(benchmark) / "videos" if benchmark else None
