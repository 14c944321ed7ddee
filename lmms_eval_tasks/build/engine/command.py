"""`lmms-eval-tasks build BENCHMARK --config FILE`, for a benchmark that has a pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.build.engine.built_set import REPLACE, BuiltSet
from lmms_eval_tasks.build.engine.config import read_config
from lmms_eval_tasks.build.engine.engine import run_pipeline
from lmms_eval_tasks.build.engine.forecast import describe_estimate, estimate_steps, forecast_table
from lmms_eval_tasks.build.engine.pipeline import Pipeline
from lmms_eval_tasks.build.engine.rows import check_ids
from lmms_eval_tasks.build.engine.steps import roles_of
from lmms_eval_tasks.utils.core.work import Progress, no_progress


def pipeline_command(load: Callable[[], Pipeline[Any]]) -> Callable[..., BuiltSet]:
    """Return the `build` command of a benchmark."""

    def build(
        config: Annotated[Path, typer.Option(help="YAML file: from what, and whom to ask.", show_default=False)],
        out: Annotated[Path, typer.Option(help="Folder of this build; the same command goes on.", show_default=False)],
        max_requests: Annotated[
            int | None, typer.Option(help="Stop before more requests than these are sent.", min=0, show_default=False)
        ] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be asked and what it costs.")] = False,
        replace: Annotated[bool, typer.Option("--replace", help=REPLACE)] = False,
        progress: Progress = no_progress,
    ) -> BuiltSet:
        """Make a set of questions from clips and annotations of your own; every reply of a model is kept."""
        pipeline = load()
        chosen, values = read_config(config, pipeline.config)
        steps = pipeline.steps(chosen)
        chosen.check_roles(roles_of(steps), config.name)
        rows = pipeline.read(chosen)
        check_ids(rows, pipeline.first)
        estimates = estimate_steps(len(rows), steps, chosen)
        if dry_run:
            table = forecast_table([step.name for step in steps], estimates)
            return BuiltSet(None, f"{len(rows):,} {pipeline.first}; nothing was asked", [table])
        typer.echo(f"{len(rows):,} {pipeline.first}. {describe_estimate(estimates)}", err=True)
        return run_pipeline(pipeline, chosen, values, steps, rows, out, max_requests, replace, progress)

    return build
