"""The command `lmms-eval-tasks build BENCHMARK --config FILE`, and its forecast of requests, tokens and cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lmms_eval_tasks.construct.engine.attrition import REPLACE, BuiltSet, BuiltTable
from lmms_eval_tasks.construct.engine.config import CHANGE, BuildConfig, RoleSettings, read_config
from lmms_eval_tasks.construct.engine.running import Pipeline, run_pipeline
from lmms_eval_tasks.construct.engine.steps import AnyStep, Forecast, check_ids, roles_of
from lmms_eval_tasks.utils.core.work import Progress, no_progress

CHARACTERS_A_TOKEN = 4


@dataclass(frozen=True)
class StepForecast:
    """Expected requests, tokens and cost of one step, or of all."""

    rows: float
    requests: float
    tokens_in: float
    tokens_out: float
    cost: float | None


def estimate_steps(rows: Sequence[Any], steps: Sequence[AnyStep], config: BuildConfig) -> list[StepForecast]:
    """An estimate for each step, from what the step says of itself; requests of a step are shared among its roles."""
    estimates = []
    coming = float(len(rows))
    for step in steps:
        forecast = step.forecast if isinstance(step.forecast, Forecast) else step.forecast(rows)
        asked = [config.role(role) for role in step.roles] if forecast.requests else []
        estimates.append(estimate_requests(coming, forecast, asked))
        coming *= forecast.rows
    return estimates


def estimate_requests(rows: float, forecast: Forecast, asked: Sequence[RoleSettings]) -> StepForecast:
    """Estimate the requests, tokens and cost of a step."""
    requests = rows * forecast.requests
    cost: float | None = 0.0
    tokens_in = tokens_out = 0.0
    for settings in asked:
        share = requests / len(asked)
        text = share * forecast.characters / CHARACTERS_A_TOKEN
        role_in = text + share * forecast.images * settings.tokens_an_image
        role_out = share * min(forecast.reply_tokens, settings.max_tokens)
        tokens_in, tokens_out = tokens_in + role_in, tokens_out + role_out
        price = settings.price
        if price is None or cost is None:
            cost = None
        else:
            cost += (role_in * price.input + role_out * price.output) / 1e6
    return StepForecast(rows, requests, tokens_in, tokens_out, cost)


def forecast_table(names: Sequence[str], estimates: Sequence[StepForecast]) -> BuiltTable:
    """A line for each step that asks, by its name, and one for all."""
    lines = [(name, _whole(one.rows), *_cells(one)) for name, one in zip(names, estimates, strict=True) if one.requests]
    lines.append(("all", "", *_cells(_sum(estimates))))
    columns = ("step", "rows", "requests", "tokens in", "tokens out", "cost")
    return BuiltTable("Estimate, by the paper's shares where it gives them", columns, lines)


def describe_estimate(estimates: Sequence[StepForecast]) -> str:
    """A sentence on what all steps are expected to take."""
    requests, tokens_in, tokens_out, cost = _cells(_sum(estimates))
    return f"Expected: {requests} requests, {tokens_in} tokens in, {tokens_out} out, cost: {cost}."


def _sum(estimates: Sequence[StepForecast]) -> StepForecast:
    costs = [one.cost for one in estimates if one.cost is not None]
    return StepForecast(
        0.0,
        sum(one.requests for one in estimates),
        sum(one.tokens_in for one in estimates),
        sum(one.tokens_out for one in estimates),
        sum(costs) if len(costs) == len(estimates) else None,
    )


def _cells(one: StepForecast) -> tuple[str, ...]:
    cost = "no price" if one.cost is None else f"{one.cost:,.2f}"
    return (_whole(one.requests), _whole(one.tokens_in), _whole(one.tokens_out), cost)


def _whole(number: float) -> str:
    return f"{number:,.0f}"


def pipeline_command(load: Callable[[], Pipeline[Any]]) -> Callable[..., BuiltSet]:
    """Return the `build` command of a benchmark."""

    def build(
        config: Annotated[Path | None, typer.Option(help="YAML file: from what, and whom to ask.", show_default=False)],
        out: Annotated[Path, typer.Option(help="Folder of this build; the same command goes on.", show_default=False)],
        changes: Annotated[
            list[str] | None,
            typer.Option(CHANGE, help="KEY=VALUE, in place of a key of the file; may be repeated.", show_default=False),
        ] = None,
        max_requests: Annotated[
            int | None, typer.Option(help="Stop before more requests than these are sent.", min=0, show_default=False)
        ] = None,
        dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be asked and what it costs.")] = False,
        replace: Annotated[bool, typer.Option("--replace", help=REPLACE)] = False,
        progress: Progress = no_progress,
    ) -> BuiltSet:
        """Make a set of questions from clips and annotations of your own; every reply of a model is kept.

        Examples:
            {command} --config build.yaml --out built --dry-run
            {command} --config build.yaml --out built
        """
        pipeline = load()
        chosen, values = read_config(config, pipeline.config, changes or ())
        steps = pipeline.steps(chosen)
        chosen.check_roles(roles_of(steps), config.name if config else CHANGE)
        rows = pipeline.read(chosen)
        check_ids(rows, pipeline.first)
        estimates = estimate_steps(rows, steps, chosen)
        if dry_run:
            table = forecast_table([step.name for step in steps], estimates)
            return BuiltSet(None, f"{len(rows):,} {pipeline.first}; nothing was asked", [table])
        typer.echo(f"{len(rows):,} {pipeline.first}. {describe_estimate(estimates)}", err=True)
        return run_pipeline(pipeline, chosen, values, steps, rows, out, max_requests, replace, progress)

    return build
