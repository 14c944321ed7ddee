"""What goes from step to step."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.core.forms import RowForm
from lmms_eval_tasks.utils.core.text import summarize_names


class PipelineRow(RowForm):
    """Base of the rows of a pipeline."""

    id: str


def check_ids(rows: Sequence[PipelineRow], where: str) -> None:
    """Refuse rows of which two have one name."""
    seen: set[str] = set()
    repeated = [row.id for row in rows if row.id in seen or seen.add(row.id)]  # type: ignore[func-returns-value]
    if repeated:
        raise InputError(f"Expected each id once in {where}, but got again: {summarize_names(repeated)}.")
