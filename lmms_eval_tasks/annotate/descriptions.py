"""Timed descriptions as a page shows them, and as they come back edited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

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
    own = plan.by_annotator
    edits = []
    for file in sorted(files, key=lambda file: file.annotator):
        rows = {row.place: row for row in own[file.annotator]}
        for given in sorted(file.answers, key=lambda answer: answer.place):
            if given.entries is not None:
                entries = [entry.model_dump() for entry in given.entries]
                edits.append({"item_id": rows[given.place].item_id, "annotator": file.annotator, "entries": entries})
    return edits
