"""What was left of a built set at each step of its making, as a panel of the tasks that ask it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from lmms_eval_tasks.installed.registry import registry
from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.data.attrition import SetAttrition
from lmms_eval_tasks.utils.data.home import read_manifest
from lmms_eval_tasks.utils.reporting.figures import template_environment
from lmms_eval_tasks.utils.reporting.panels import Panel
from lmms_eval_tasks.utils.runs.run import Run

ASSETS = Path(__file__).parent / "assets"


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
    most = max(attrition.rows, *(number for step in attrition.steps for number in (step.came, step.left)), 1)
    body = template_environment(ASSETS).get_template("funnel.html").render(attrition=attrition, most=most)
    return Panel(
        "What the build left at each step",
        Markup(body),
        "The pale part of a bar is what came to a step, the full part what it left; below it stands why rows went.",
    )
