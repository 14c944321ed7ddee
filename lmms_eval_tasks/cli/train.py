"""`lmms-eval-tasks train …`: post-training as a benchmark's paper does it."""

from __future__ import annotations

import typer

from lmms_eval_tasks.utils.benchmark.registry import registry

train_app = typer.Typer(
    no_args_is_help=True, help="Train a video model as a benchmark's paper does, on data of your own."
)
for _benchmark in registry().benchmarks.values():
    if _benchmark.train is not None:
        train_app.add_typer(_benchmark.train, name=_benchmark.name)
