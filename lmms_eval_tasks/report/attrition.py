"""What was left of a built set at each step of its making, as a panel of the tasks that ask it."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.console import text_table
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.attrition import SetAttrition
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.runs.run import Run


def attrition_panels(tasks: Sequence[str], runs: Sequence[Run]) -> list[Panel]:
    """The attrition of the sets that runs were asked, those that `build` made and that are prepared here."""
    found: list[SetAttrition] = []
    for name in tasks:
        task = registry().find_task(name)
        if task is None:
            continue
        try:
            split = read_manifest(task.benchmark.card).splits.get(task.split)
        except InputError:
            continue  # Another place of the page says that nothing is prepared.
        attrition = split.attrition if split else None
        asked = [run.set_of(name) for run in runs if name in run.records]
        if split and attrition and attrition not in found and all(one.may_share(split.data_set) for one in asked):
            found.append(attrition)
    return [_panel(one) for one in found]


def _panel(attrition: SetAttrition) -> Panel:
    table = text_table(None, "step", "rows", "of what came to it", numbers=True)
    table.add_row(attrition.start, attrition.rows, "")
    for step in attrition.steps:
        kept = f"{100 * step.left / step.came:.0f}%" if step.came >= step.left and step.came else f"from {step.came:,}"
        table.add_row(step.step, step.left, kept)
        for reason, number in step.removed.items():
            table.add_row(f"– {reason}", -number, "")
    return Panel(
        "What the build left at each step", note="Below each step: why rows were removed, and how many.", table=table
    )
