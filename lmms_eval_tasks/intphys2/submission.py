"""IntPhys 2's submission file: a line for each held-out clip.

Source: README of facebookresearch/IntPhys2, and its issue 6: ``model_answer`` is 1 for possible and 0 for impossible,
and the order does not matter. What the leaderboard does with a line without an answer is not known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from lmms_eval_tasks.api import (
    Built,
    Checked,
    GradedItem,
    Problems,
    Row,
    RowForm,
    SubmissionForm,
    Table,
    read_rows,
)
from lmms_eval_tasks.api.answers import IMPOSSIBLE, POSSIBLE
from lmms_eval_tasks.api.release import as_lines, describe
from lmms_eval_tasks.api.submission import Attendance
from lmms_eval_tasks.intphys2.card import CARD, FOLDERS

ANSWERS = {POSSIBLE: 1, IMPOSSIBLE: 0}
SPLIT = "heldout"


class SubmittedClip(RowForm):
    """One line of the file; None stands for no answer."""

    data_name: Literal["intphys2"]
    task: Literal["HeldOut"]
    row_id: str
    model_answer: int | None = Field(ge=0, le=1)


def examine(entries: Sequence[GradedItem], rows: Mapping[str, Row], allow_incomplete: bool, issues: Problems) -> None:
    """Note answers that are neither possible nor impossible."""
    for entry in entries:
        answered = entry.record.answered
        if answered is not None and answered not in ANSWERS:
            case = f"{describe(answered)} ({entry.record.item_id})"
            issues.add("answers", "Expected options of their items, but got", case)


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built:
    """The file of a run, in the table's order; an item without an entry has no line."""
    answered = {entry.record.item_id: entry.record.answered for entry in entries}
    lines = [
        {
            "data_name": CARD.name,
            "task": FOLDERS[table.split],
            "row_id": row["item_id"],
            "model_answer": ANSWERS.get(answered[row["item_id"]] or ""),
        }
        for row in table.rows
        if row["item_id"] in answered
    ]
    return Built(as_lines(lines), len(lines), sum(line["model_answer"] is None for line in lines))


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
    """Validate a file against the form, and against the held-out split where that is prepared."""
    table = prepared.get(SPLIT)
    lines = list(read_rows(path, SubmittedClip, issues))
    expected = [row["item_id"] for row in table.rows] if table else []
    attendance = Attendance({name: [name] for name in expected}, "row_id", "each clip", issues)
    for where, line in lines:
        attendance.add(line.row_id, describe(line.row_id), where)
        if table and line.row_id not in attendance.expected:
            issues.add("row_id", f"Expected clips of split {SPLIT}, but got", f"{describe(line.row_id)} ({where})")
        elif not line.row_id:
            issues.add("row_id", "Expected a clip's name, but got", f"none ({where})")
    notes = attendance.finish(f"split {SPLIT}", allow_incomplete)
    alone = f"the form alone: split {SPLIT} is not prepared here"
    against = f"the form, and every clip against {table}" if table else alone
    if not table:
        notes.append(f"The published split has {CARD.splits[SPLIT].items} clips.")
    empty = sum(line.model_answer is None for _, line in lines)
    return Checked(f"{CARD.title}, split {SPLIT}", len(lines), empty, against, tuple(notes), table)


FORM = SubmissionForm(("answers",), lambda split, part: f"submissions/{CARD.name}_{split}.jsonl", examine, build, check)
