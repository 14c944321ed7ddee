"""How a CausalVQA item is graded; it is asked as any multiple-choice question is."""

from __future__ import annotations

from lmms_eval_tasks.causalvqa.official import official_choice
from lmms_eval_tasks.utils.benchmark.benchmark import Row, TaskContext
from lmms_eval_tasks.utils.scoring.choice import grade_choice, with_official_reading
from lmms_eval_tasks.utils.scoring.records import GradedItem


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade one of the two versions of a question."""
    record = grade_choice(
        row,
        response,
        stratum={"type": row["type"], "difficulty": row["difficulty"]},
        fields={"version": row["version"], "prompt": context.settings.signature},
    )
    official = official_choice(response) if isinstance(response, str) else None
    return GradedItem(with_official_reading(record, official))
