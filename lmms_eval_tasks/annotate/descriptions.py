"""Timed descriptions as a page shows them, and as they come back edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.annotate.collect import planned_answers
from lmms_eval_tasks.annotate.forms import AnswerFile
from lmms_eval_tasks.annotate.plan import Plan
from lmms_eval_tasks.utils.benchmark.descriptions import TimedDescription


def clock(second: int) -> str:
    """A second as ``MM:SS``."""
    return f"{second // 60:02}:{second % 60:02}"


def shown_descriptions(described: Sequence[TimedDescription]) -> list[dict[str, Any]]:
    """What a page holds of the descriptions of a clip."""
    return [
        {
            "name": one.name,
            "start": clock(one.start),
            "end": clock(one.end),
            "text": one.text,
            "boxes": {second: [round(share, 4) for share in box] for second, box in one.boxes.items()},
        }
        for one in described
    ]


def collect_edits(plan: Plan, files: Sequence[AnswerFile]) -> list[dict[str, Any]]:
    """A row for each item that was edited, or found right: its id, by whom, and its entries."""
    return [
        {
            "item_id": row.item_id,
            "annotator": row.annotator,
            "entries": [entry.model_dump() for entry in given.entries],
        }
        for row, given in planned_answers(plan, files)
        if given.entries is not None
    ]
