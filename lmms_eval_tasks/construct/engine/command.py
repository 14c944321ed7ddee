"""The command `lmms-eval-tasks build BENCHMARK --config FILE`, and its forecast of requests, tokens and cost."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.construct.engine.config import CHANGE, BuildConfig, read_config
from lmms_eval_tasks.construct.engine.running import BuiltSet, BuiltTable, Pipeline, PlannedRun, run_pipeline
from lmms_eval_tasks.construct.engine.steps import Forecast, ReadyStep, check_ids, roles_of
from lmms_eval_tasks.utils.core.output import show_progress

CHARACTERS_A_TOKEN = 4


def forecast_table(rows: Sequence[Any], steps: Sequence[ReadyStep], config: BuildConfig) -> BuiltTable:
    lines: list[tuple[str, ...]] = []
    estimates = [(0.0, 0.0, 0.0, 0.0)]
    coming = float(len(rows))
    for step in steps:
        forecast = step.forecast if isinstance(step.forecast, Forecast) else step.forecast(rows)
        requests = coming * forecast.requests
        tokens_in = tokens_out = cost = 0.0
        for settings in map(config.role, step.roles) if requests else ():
            share = requests / len(step.roles)
            images = forecast.images * settings.tokens_an_image
            role_in = share * (forecast.characters / CHARACTERS_A_TOKEN + images)
            role_out = share * min(forecast.reply_tokens, settings.max_tokens)
            tokens_in, tokens_out = tokens_in + role_in, tokens_out + role_out
            price = settings.price
            cost += (role_in * price.input + role_out * price.output) / 1e6 if price else math.nan
        estimates.append((requests, tokens_in, tokens_out, cost))
        if requests:
            lines.append((step.name, f"{coming:,.0f}", *_cells(*estimates[-1])))
        coming *= forecast.rows
    lines.append(("all", "", *_cells(*map(sum, zip(*estimates, strict=True)))))
    columns = ("step", "rows", "requests", "tokens in", "tokens out", "cost")
    return BuiltTable("Estimate, by the paper's shares where it gives them", columns, lines)


def _cells(*numbers: float) -> tuple[str, ...]:
    *counts, cost = numbers
    return (*(f"{number:,.0f}" for number in counts), "no price" if math.isnan(cost) else f"{cost:,.2f}")


def pipeline_command(load: Callable[[], Pipeline[Any]]) -> Callable[..., BuiltSet]:
    def build(
        config: Annotated[Path, typer.Option(help="YAML file: from what, and whom to ask.", show_default=False)],
        out: Annotated[Path, typer.Option(help="Build folder; repeat the command to resume.", show_default=False)],
        changes: Annotated[
            list[str] | None,
            typer.Option(CHANGE, help="KEY=VALUE, in place of a key of the file; may be repeated.", show_default=False),
        ] = None,
        max_requests: Annotated[
            int | None, typer.Option(help="Stop before more requests than these are sent.", min=0, show_default=False)
        ] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be asked and what it costs.")] = False,
        replace: Annotated[
            bool, typer.Option("--replace", help="Let a smaller set take the place of the one that is there.")
        ] = False,
    ) -> BuiltSet:
        """Make a set of questions from clips and annotations of your own; every reply of a model is kept.

        Examples:
            {command} --config build.yaml --out built --dry-run
            {command} --config build.yaml --out built
        """
        pipeline = load()
        chosen, values = read_config(config, pipeline.config, changes or ())
        steps = pipeline.steps(chosen)
        chosen.check_roles(roles_of(steps), config.name)
        rows = pipeline.read(chosen)
        check_ids(rows, pipeline.first)
        table = forecast_table(rows, steps, chosen)
        if dry_run:
            return BuiltSet(None, f"{len(rows):,} {pipeline.first}; nothing was asked", [table])
        requests, tokens_in, tokens_out, cost = table.rows[-1][2:]
        expected = f"Expected: {requests} requests, {tokens_in} tokens in, {tokens_out} out, cost: {cost}."
        typer.echo(f"{len(rows):,} {pipeline.first}. {expected}", err=True)
        planned = PlannedRun(pipeline, chosen, values, steps, rows)
        with show_progress() as progress:
            return run_pipeline(planned, out, max_requests, replace, progress)

    return build
