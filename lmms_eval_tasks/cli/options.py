"""What several commands share: options of a benchmark's own function, files of items, warnings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.cli.help import join_examples, split_examples
from lmms_eval_tasks.utils.core.formats import Format
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.wording import printable_lines
from lmms_eval_tasks.utils.data.home import benchmark_dir, table_path

FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="Write the tables in this format on standard output, and notes on standard error."),
]
"""How a command writes its tables."""


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


def table_file(name: str) -> Path:
    """The file of items that an option names: a path, or a prepared split as ``BENCHMARK:SPLIT``."""
    benchmark, colon, split = name.partition(":")
    path = table_path(benchmark, split) if colon and not Path(name).exists() else Path(name)
    if not path.is_file():
        raise InputError(f"{name} cannot be used: there is no {path}.")
    return path


def prepared_benchmark(name: str) -> str | None:
    """The benchmark of a prepared split that an option names, as for `table_file`; None where it names a path."""
    benchmark, colon, _ = name.partition(":")
    return benchmark if colon and not Path(name).exists() else None


def clips_folder(name: str) -> Path | None:
    """Where the clips of a file of items lie that `table_file` found; None where it is no prepared split's."""
    benchmark = prepared_benchmark(name)
    return benchmark_dir(benchmark) / "videos" if benchmark else None
