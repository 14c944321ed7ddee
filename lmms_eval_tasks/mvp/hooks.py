"""How an MVP item is graded; it is asked as any multiple-choice question is."""

from __future__ import annotations

from lmms_eval_tasks.mvp.official import official_choice
from lmms_eval_tasks.utils.benchmark.benchmark import Row, TaskContext
from lmms_eval_tasks.utils.scoring.choice import grade_choice, with_official_reading
from lmms_eval_tasks.utils.scoring.records import GradedItem


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade one of the two clips of a minimal pair."""
    record = grade_choice(
        row,
        response,
        stratum={"subset": row["subset"], "source": row["source"]},
        fields={"prompt": context.settings.signature},
    )
    candidate = official_choice(response) if isinstance(response, str) else None
    return GradedItem(with_official_reading(record, None if candidate is None else "AB"[candidate]))
