"""What a report page shows of an item of a pair that is answered by a letter, whichever the benchmark; see `Pages`."""

from __future__ import annotations

from lmms_eval_tasks.utils.reporting.views import AnswerView, Clip, ItemView, Row
from lmms_eval_tasks.utils.scoring.records import Record


def row_id(task: str, item_id: str) -> str:
    """The prepared row has the item's id."""
    return item_id


def item_view(task: str, record: Record, row: Row) -> ItemView:
    """The clip that the question is about."""
    return ItemView((Clip(row["clip"]),))


def answer_view(task: str, record: Record, row: Row, response: str) -> AnswerView:
    """What the official script reads in the response."""
    return AnswerView({"official reading": record.fields.get("official_answered") or "none"})
