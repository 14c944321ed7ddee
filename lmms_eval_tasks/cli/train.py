"""`lmms-eval-tasks train …`: post-training as a benchmark's paper does it, or by the keys of a multiple-choice set."""

from __future__ import annotations

import typer

from lmms_eval_tasks.utils.benchmark.registry import registry
from lmms_eval_tasks.utils.training.choice_commands import choice_app

train_app = typer.Typer(
    no_args_is_help=True,
    help="Train a video model on data of your own: as a benchmark's paper does, or by the keys of multiple choice.",
)
for _benchmark in registry().benchmarks.values():
    if _benchmark.train is not None:
        train_app.add_typer(_benchmark.train, name=_benchmark.name)
    elif _benchmark.read_choices is not None:
        train_app.add_typer(choice_app(_benchmark), name=_benchmark.name)
