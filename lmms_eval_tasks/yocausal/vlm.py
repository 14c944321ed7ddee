"""How a clip's direction is graded, for the task `yocausal_vlm`: a pair's clip and its reversal are two items."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lmms_eval_tasks.api import GradedItem, Row, TaskContext, choice_grader
from lmms_eval_tasks.yocausal.card import FORWARD, REVERSED, UNKNOWN
from lmms_eval_tasks.yocausal.table import stratum

if TYPE_CHECKING:
    import datasets


def both_directions(table: datasets.Dataset) -> datasets.Dataset:
    """Each pair's clip and its reversal as two items, one after the other."""
    doubled = table.select([row for row in range(len(table)) for _ in range(2)])
    sides = (("fwd", FORWARD), ("bwd", REVERSED)) * len(table)
    clips = [row[column] for row in table for column in ("clip", "clip_backward")]
    columns = {
        "item_id": [f"{name}_{side}" for name, (side, _) in zip(doubled["item_id"], sides, strict=True)],
        "answer": [answer for _, answer in sides],
        "clip": clips,
    }
    doubled = doubled.remove_columns(["clip_backward", *columns])
    for name, column in columns.items():
        doubled = doubled.add_column(name, column)
    return doubled


def pair_id(item_id: str) -> str:
    """The pair that an item is one clip of."""
    return item_id.rpartition("_")[0]


grade_direction = choice_grader(stratum=stratum)


def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
    """Grade one clip; its credit by the protocol of the paper's study of people is among the record's fields."""
    record = grade_direction(row, response, context).record
    credit = None if record.correct is None else 100.0 if record.correct else 50.0 * (record.answered == UNKNOWN)
    return GradedItem(record.with_fields(human_credit=credit))
