"""What a report shows of CausalVQA."""

from lmms_eval_tasks.utils.columns import PAIR_COLUMNS, Column


def columns(task: str) -> tuple[Column, ...]:
    """The columns of one of its tasks."""
    return PAIR_COLUMNS
