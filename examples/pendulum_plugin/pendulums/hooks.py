"""The hooks that the YAML names: how an item is asked and graded."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks import api

__all__ = ["process_results"]

TOLERANCE = 0.15
"""How many seconds off is still right."""

grade_choice = api.choice_grader()


def grade_seconds(row: api.Row, reply: api.Reply, context: api.RunningTask) -> api.GradedItem:
    """Grade the last number of whatever a model gave; raises nothing."""
    numbers = re.findall(r"\d{1,4}(?:\.\d{1,4})?", reply.text)
    off = abs(float(numbers[-1]) - float(row["answer"])) if numbers and row["answer"] else None
    record = api.Record.graded(
        row["item_id"],
        row["group_id"],
        {},
        row["answer"],
        numbers[-1] if numbers else None,
        missing=reply.missing,
        right=off is not None and off <= TOLERANCE,
        fields={"off": off, "prompt": context.settings.signature},
    )
    return api.GradedItem(record)


@api.hook
def process_results(task: api.RunningTask, doc: api.Row, results: Sequence[Any]) -> dict[str, Any]:
    """The record of a letter or a number, and an entry for each score that it counts in."""
    return task.grade_first(doc, results, grade_choice if doc["options"] else grade_seconds)
