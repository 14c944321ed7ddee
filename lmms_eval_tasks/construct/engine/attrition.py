"""A built set as the command shows it, and its attrition by step next to the paper's numbers, as a table and a
picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.construct.engine.steps import PaperCount, Step
from lmms_eval_tasks.utils.core.files import replacing
from lmms_eval_tasks.utils.data.manifest import AttritionStep, SetAttrition

REPLACE = "Let a smaller set take the place of the one that is there."
"""The help of the option of `build`."""


@dataclass(frozen=True)
class BuiltTable:
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


@dataclass(frozen=True)
class BuiltSet:
    folder: Path | None
    summary: str
    tables: Sequence[BuiltTable] = ()
    warnings: Sequence[str] = ()
    attrition: SetAttrition | None = None


@dataclass(frozen=True)
class StepRun:
    step: Step
    came: int
    left: Sequence[Any]
    removed: Counter[str]
    asked_again: Counter[str]
    server_faults: Counter[str]
    asked: int
    unanswered: int
    """How many things that were asked brought no usable reply."""
    without_reply: int
    """How many rows a server gave no reply about."""

    def facts(self) -> dict[str, Any]:
        """The counts as JSON values: those that are the same in every build."""
        return {
            "step": self.step.name,
            "in": self.came,
            "out": len(self.left),
            "removed": _sorted(self.removed),
            "asked again": _sorted(self.asked_again),
            "paper": self.step.paper.kept or None,
        }

    def as_step(self) -> AttritionStep:
        left, removed = len(self.left), _sorted(self.removed)
        return AttritionStep(step=self.step.name, came=self.came, left=left, removed=removed)


def attrition_table(first: str, rows: int, paper: PaperCount, runs: Sequence[StepRun]) -> BuiltTable:
    """A line for what a build began with, one for each step, and below it one for each reason."""
    lines = [(first, f"{rows:,}", "", paper.kept)]
    for run in runs:
        share = f"{100 * len(run.left) / run.came:.0f}%" if run.came else "N/A"
        lines.append((run.step.name, f"{len(run.left):,}", share, run.step.paper.kept))
        lines += [(f"  {reason}", f"-{number:,}", "", "") for reason, number in _sorted(run.removed).items()]
        again = run.asked_again + run.server_faults
        lines += [(f"  asked again: {fault}", f"({number:,})", "", "") for fault, number in _sorted(again).items()]
    return BuiltTable("Attrition", ("step", "rows", "kept", "paper"), lines)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


NAMED = 3
"""Reasons that stand beside a bar."""


def draw_attrition(first: str, rows: int, runs: Sequence[StepRun], path: Path) -> None:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 0.4 + 0.6 * (len(runs) + 1)), layout="constrained")
    FigureCanvasAgg(figure)
    axes, beside_axes = figure.subplots(1, 2, sharey=True, width_ratios=(3, 2))
    names = [first, *(run.step.name for run in runs)]
    places = range(len(names))
    came = [rows, *(run.came for run in runs)]
    left = [rows, *(len(run.left) for run in runs)]
    axes.barh(places, came, color="#d9d9d9", height=0.7)
    axes.barh(places, left, color="#3b75af", height=0.7)
    most = max(*came, *left, 1)
    for place, number in enumerate(left):
        axes.text(max(came[place], number) + 0.01 * most, place, f"{number:,}", va="center", fontsize=9)
    for place, run in enumerate(runs, start=1):
        lines = [f"{count:,}  {reason}" for reason, count in run.removed.most_common(NAMED)]
        lines += ["…"] if len(run.removed) > NAMED else []
        beside_axes.text(0, place, "\n".join(lines), va="center", fontsize=7, color="#555555")
    axes.set_yticks(places, names)
    axes.invert_yaxis()
    axes.set_xlim(0, 1.15 * most)
    axes.set_xticks([])
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    beside_axes.axis("off")
    with replacing(path) as beside:
        figure.savefig(beside, format="png", dpi=120)
