"""Curves of a training, its loss and each of its rewards, from ms-swift's log: for a terminal and as a picture."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path

from lmms_eval_tasks.utils.core.files import replacing

PICTURE = "curves.png"
STEP = "global_step/max_steps"
BLOCKS = "▁▂▃▄▅▆▇█"
WIDTH = 40

Curve = Mapping[int, float]
"""Step to value."""


def read_curves(log: Path) -> dict[str, Curve]:
    """Loss, reward, and the mean of each reward apart, from a `logging.jsonl`; empty where nothing is logged yet."""
    curves: dict[str, dict[int, float]] = {}
    if not log.is_file():
        return {}
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            logged = json.loads(line)
            step = int(str(logged[STEP]).partition("/")[0])
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
        for field, value in logged.items():
            name = _curve_name(field)
            if name and isinstance(value, (int, float)) and abs(value) <= sys.float_info.max:
                curves.setdefault(name, {})[step] = float(value)
    ordered = sorted(curves, key=lambda name: (name != "loss", name != "reward", name))
    return {name: dict(sorted(curves[name].items())) for name in ordered}


def _curve_name(field: str) -> str | None:
    """Return the curve name of a log field, or None if the field is not plotted as a curve."""
    if field in ("loss", "reward"):
        return field
    parts = field.split("/")
    if len(parts) == 3 and parts[0] == "rewards" and parts[2] == "mean":
        return f"reward: {parts[1].removesuffix('Reward').lower() or parts[1]}"
    return None


def spark_line(values: Sequence[float], width: int = WIDTH) -> str:
    """A curve as a line of blocks, from its least value to its greatest; means of neighbours where there are many."""
    if not values:
        return ""
    number = min(width, len(values))
    bounds = [len(values) * place // number for place in range(number + 1)]
    means = [sum(values[low:high]) / (high - low) for low, high in pairwise(bounds)]
    least, span = min(means), max(means) - min(means)
    return "".join(BLOCKS[round((mean - least) / span * (len(BLOCKS) - 1)) if span else 0] for mean in means)


def draw_curves(curves: Mapping[str, Curve], path: Path) -> None:
    """Write the curves, one at least, as a PNG file, one below the other, with the step as their axis."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.0, 1.8 * len(curves) + 0.6), layout="constrained")
    rows = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, curve) in zip(rows, curves.items(), strict=True):
        axes.plot(list(curve), list(curve.values()), linewidth=1.2)
        axes.set_ylabel(name)
        axes.grid(alpha=0.3)
    rows[-1].set_xlabel("step")
    with replacing(path) as beside:
        figure.savefig(beside, format="png", dpi=120)
