"""How many rows each step leaves, and why the others went, beside the paper's numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lmms_eval_tasks.build.engine.built_set import BuiltTable
from lmms_eval_tasks.build.engine.steps import PaperCount
from lmms_eval_tasks.utils.data.manifest import AttritionStep


@dataclass(frozen=True)
class StepCounts:
    """Counts of one step."""

    name: str
    came: int
    left: int
    removed: Counter[str]
    asked_again: Counter[str] = field(default_factory=Counter)
    server_faults: Counter[str] = field(default_factory=Counter)
    paper: PaperCount = field(default_factory=PaperCount)

    def facts(self) -> dict[str, Any]:
        """The counts as JSON values: those that are the same in every build."""
        return {
            "step": self.name,
            "in": self.came,
            "out": self.left,
            "removed": _sorted(self.removed),
            "asked again": _sorted(self.asked_again),
            "paper": self.paper.kept or None,
        }

    def as_step(self) -> AttritionStep:
        """The counts as they are kept with the set."""
        return AttritionStep(step=self.name, came=self.came, left=self.left, removed=_sorted(self.removed))


def attrition_table(first: str, rows: int, paper: PaperCount, steps: Sequence[StepCounts]) -> BuiltTable:
    """A line for what a build began with, one for each step, and below it one for each reason."""
    lines = [(first, f"{rows:,}", "", paper.kept)]
    for step in steps:
        share = f"{100 * step.left / step.came:.0f}%" if step.came else "N/A"
        lines.append((step.name, f"{step.left:,}", share, step.paper.kept))
        lines += [(f"  {reason}", f"-{number:,}", "", "") for reason, number in _sorted(step.removed).items()]
        again = step.asked_again + step.server_faults
        lines += [(f"  asked again: {fault}", f"({number:,})", "", "") for fault, number in _sorted(again).items()]
    return BuiltTable("Attrition", ("step", "rows", "kept", "paper"), lines)


def _sorted(counts: Counter[str]) -> dict[str, int]:
    """Counts, the largest first, equals by name."""
    return dict(sorted(counts.items(), key=lambda entry: (-entry[1], entry[0])))


def count_faults(unreadable: Iterable[Sequence[str]]) -> Counter[str]:
    """Count the repeated requests by the fault of the reply before."""
    return Counter(fault for faults in unreadable for fault in faults)
