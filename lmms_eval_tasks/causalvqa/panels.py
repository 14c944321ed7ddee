"""What a report page shows of CausalVQA."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.causalvqa.scores import split
from lmms_eval_tasks.utils.panels import Panel, Shown, answer_panels, consistency_panel, outcome_panel
from lmms_eval_tasks.utils.records import Record
from lmms_eval_tasks.utils.views import AnswerView, ItemView, Row, one_clip

__all__ = ["answer_view", "item_view", "panels", "row_id", "split"]


def panels(task: str, runs: Sequence[Shown]) -> list[Panel]:
    """Consistency between the two versions of a question, outcomes, and letters."""
    return [consistency_panel(runs, "versions"), outcome_panel(runs), *answer_panels(runs)]


def row_id(task: str, item_id: str) -> str:
    """The prepared row has the item's id."""
    return item_id


def item_view(task: str, record: Record, row: Row) -> ItemView:
    """The question's clip."""
    return one_clip(row)


def answer_view(task: str, record: Record, row: Row, response: str) -> AnswerView:
    """What the official script reads in the response."""
    return AnswerView({"official reading": record.fields.get("official_answered") or "none"})
