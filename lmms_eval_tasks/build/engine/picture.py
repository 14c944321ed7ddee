"""The attrition of a build, drawn."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from lmms_eval_tasks.build.engine.attrition import StepCounts
from lmms_eval_tasks.utils.core.files import replacing

NAMED = 3
"""Reasons that stand beside a bar."""


def draw_attrition(first: str, rows: int, steps: Sequence[StepCounts], path: Path) -> None:
    """Draw a bar for what a build began with and one for each step, with the main reasons of what went."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 0.4 + 0.6 * (len(steps) + 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes, beside_axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    names = [first, *(step.name for step in steps)]
    places = range(len(names))
    came = [rows, *(step.came for step in steps)]
    left = [rows, *(step.left for step in steps)]
    axes.barh(places, came, color="#d9d9d9", height=0.7)
    axes.barh(places, left, color="#3b75af", height=0.7)
    most = max(*came, *left, 1)
    for place, number in enumerate(left):
        axes.text(max(came[place], number) + 0.01 * most, place, f"{number:,}", va="center", fontsize=9)
    for place, step in enumerate(steps, start=1):
        lines = [f"{count:,}  {reason}" for reason, count in step.removed.most_common(NAMED)]
        lines += ["…"] if len(step.removed) > NAMED else []
        beside_axes.text(0, place, "\n".join(lines), va="center", fontsize=7, color="#555555")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * most)
    axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    beside_axes.axis("off")
    with replacing(path) as beside:
        figure.savefig(beside, format="png", dpi=120)
