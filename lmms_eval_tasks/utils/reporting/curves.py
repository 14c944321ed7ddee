"""Scores against a quantity: the timestep at which a model's losses were measured, or another."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lmms_eval_tasks.utils.reporting.figures import Line, LinePlot, Place, fit_axis
from lmms_eval_tasks.utils.reporting.run_records import RunRecords
from lmms_eval_tasks.utils.scoring.metrics import Metric

Curve = tuple[str, RunRecords, Callable[[float], Metric]]


def timestep_plot(
    caption: str,
    timesteps: Sequence[float],
    curves: Sequence[Curve],
    run: RunRecords | None = None,
    rule: float | None = None,
    digits: int = 1,
    along: str = "timestep",
) -> LinePlot:
    """Scores with their 95% intervals against the timestep, or another quantity.

    Args:
        caption: What it shows, for those who do not see it.
        timesteps: Where the scores are shown; timesteps go from 0 (clean) to 1000 (noise).
        curves: At least one: what it is, its run, and the score at a timestep, which is left out where the run has
            none. A second curve of a run is dashed.
        run: The run that all are of, whose number and name stand above; None where they are of several.
        rule: Where a thin line crosses, such as chance.
        digits: Decimals of the scores in tables.
        along: What the quantity is called.
    """
    metric = curves[0][2](timesteps[0])
    tags = [of.tag for _, of, _ in curves]
    lines = [
        Line(label, _places(of, metric_at, timesteps), of.tag, of.tag in tags[:place])
        for place, (label, of, metric_at) in enumerate(curves)
    ]
    named, tag = (run.name, run.tag) if run else ("", "")
    axis = f"{metric.title}, {metric.unit}" if metric.unit else metric.title
    ends = [end for line in lines for place in line.places for end in (place.score.low, place.score.high)]
    bounds = fit_axis(metric.bounds, ends)
    return LinePlot(caption, lines, along, (axis, bounds), rule, metric.unit, digits, name=named, tag=tag)


def _places(run: RunRecords, metric_at: Callable[[float], Metric], timesteps: Sequence[float]) -> list[Place]:
    scores = ((timestep, run.estimate(metric_at(timestep))) for timestep in timesteps)
    return [Place("", timestep, score) for timestep, score in scores if score]
