"""The command `lmms-eval-tasks new`: the skeleton of a benchmark of one's own."""

from __future__ import annotations

import re
from importlib.util import find_spec
from keyword import iskeyword
from pathlib import Path
from typing import Annotated

import typer

from lmms_eval_tasks.registry import registry
from lmms_eval_tasks.utils.core.errors import InputError

TEMPLATE = Path(__file__).with_name("new_benchmark")
PLACEHOLDER = "NAME"
"""What stands for the benchmark's name in the template, in texts and in names of files."""


def new(
    name: Annotated[str, typer.Argument(help="Name of the benchmark, of its package and of its task.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write (default: one of that name).", show_default=False)
    ] = None,
) -> None:
    """Write the skeleton of a benchmark of your own: a package of pairs of clips, each with a question.

    Examples:
        lmms-eval-tasks new ball_bounce
        lmms-eval-tasks new ball_bounce --out benchmarks/ball_bounce
    """
    _check_name(name)
    folder = out or Path(name)
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(f"Expected a folder that is new or empty, but {folder} is not. Name another one by --out.")
    for file in sorted(TEMPLATE.rglob("*")):
        if file.is_file() and file.suffix != ".pyc":
            path = folder / str(file.relative_to(TEMPLATE)).replace(PLACEHOLDER, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.read_text("utf-8").replace(PLACEHOLDER, name), "utf-8")
    typer.echo(
        f"Wrote {folder}. In {folder / name / 'benchmark.py'} fill in the card, and say what a row of your annotations "
        "holds.\nWith annotations.csv (item_id, pair, clip, question, option_a, option_b, answer) and the clips in "
        f"videos/ in a folder DIR:\n"
        f"  pip install -e {folder if folder.is_absolute() else f'./{folder}'}\n"
        f"  lmms-eval-tasks prepare {name} --source DIR\n"
        f"  lmms-eval-tasks check {name} --thorough\n"
        f"  lmms-eval --model random_answer --tasks {name} --output_path out/{name} --log_samples\n"
        "Once there are two kinds of task, each has a YAML whose pointer names it, and a group names both in a YAML of "
        f"its own:\n  group: {name}\n  task: [{name}_first, {name}_second]\n  aggregate_metric_list: [{{metric: "
        "pair_accuracy}]\n  metadata: {version: 1-A}"
    )


def _check_name(name: str) -> None:
    if not re.fullmatch(r"[A-Za-z](\w*[A-Za-z0-9])?", name, re.ASCII) or iskeyword(name):
        raise InputError(
            "Expected a name that Python and pip take, of letters, digits and underscores, such as ball_bounce, "
            f"but got {name!r}."
        )
    spec = find_spec(name)
    if name in registry().benchmarks or registry().find_task(name) or (spec and spec.origin):
        raise InputError(f"Expected a new name, but a benchmark, a task or a package is called {name} already.")
