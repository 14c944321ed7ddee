"""MVP's submission files: one per subset, and the four joined; written at the end of a run and by `submit` alike.

Source: facebookresearch/minimal_video_pairs@149e336, tasks/mvp/utils.py, `mvp_pair_accuracy` (fields, names of files)
and README (the four are joined for the leaderboard). The official writer submits candidate A for unparsed answers; this
one an empty text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from lmms_eval_tasks.mvp.card import CARD, SUBSETS
from lmms_eval_tasks.utils.core.json_rows import Row, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.scoring.records import GradedItem
from lmms_eval_tasks.utils.submission.files import as_lines
from lmms_eval_tasks.utils.submission.form import Built, Checked, SubmissionForm, Table, TableRow
from lmms_eval_tasks.utils.submission.rows import (
    FORM_ALONE,
    against,
    examine_choices,
    note_doubled,
    note_missing,
)

DATA_NAME = {"mini": "mvp_mini", "full": "mvp"}
SPLIT = {name: split for split, name in DATA_NAME.items()}
JOINT = "joint"


class SubmittedCandidate(Row):
    """One row of a file."""

    data_name: Literal["mvp_mini", "mvp"]
    row_id: str
    model_answer: str
    task: str


def file_path(split: str, part: str) -> str:
    """Where a file lies below a run's output path; a subset's has its official name."""
    name = DATA_NAME[split]
    return f"{name}_submission.jsonl" if part == JOINT else f"submissions/{name}_{part}_valid.jsonl"


def make_rows(
    answers: Mapping[str, str | None], rows: Sequence[TableRow], subset: str, data_name: str
) -> list[dict[str, str]]:
    """The rows of a subset's file.

    Args:
        answers: Item id to the letter answered, None where nothing could be read or the item was not asked; items
            without an entry have no row.
        rows: The prepared table's rows, whose order the file has.
        subset: The subset.
        data_name: The split's name in the file.
    """
    found = []
    for row in rows:
        if row["subset"] == subset and row["item_id"] in answers:
            letter = answers[row["item_id"]]
            text = row["options"]["AB".index(letter)] if letter else ""
            found.append({"data_name": data_name, "row_id": row["item_id"], "model_answer": text, "task": subset})
    return found


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built:
    """The joint file of a run, subsets in the order of their tasks, or that of one subset."""
    answers = {entry.record.item_id: entry.record.answered for entry in entries}
    subsets = SUBSETS if part == JOINT else (part,)
    made = [row for subset in subsets for row in make_rows(answers, table.rows, subset, DATA_NAME[table.split])]
    return Built(as_lines(made), len(made), sum(not row["model_answer"] for row in made))


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: GroupedIssues) -> Checked:
    """Hold a file, the joint one or that of the only subset in it, against the form and its split where prepared."""
    rows = list(read_rows(path, SubmittedCandidate, issues))
    empty = sum(not row.model_answer for _, row in rows)
    if not rows:
        return Checked(CARD.title, 0, 0, "")
    split = SPLIT[rows[0][1].data_name]
    subsets = {row.task for _, row in rows}
    only = next(iter(subsets)) if len(subsets) == 1 and subsets <= set(SUBSETS) else None
    table = prepared.get(split)
    items = {row["item_id"]: row for row in table.rows} if table else {}
    seen: dict[str, str] = {}
    for where, row in rows:
        note_doubled("row_id", row.row_id, where, seen, issues)
        if SPLIT[row.data_name] != split:
            issues.add(
                "data_name", f"Expected one split, {DATA_NAME[split]} as in the first row, but got",
                f"{describe(row.data_name)} ({where})",
            )  # fmt: skip
        if row.task not in SUBSETS:
            issues.add("task", f"Expected one of {', '.join(SUBSETS)}, but got", f"{describe(row.task)} ({where})")
        if table:
            _check_item(row, items.get(row.row_id), split, where, issues)
        elif not row.row_id.rpartition("_")[0]:
            issues.add("row_id", "Expected <pair>_<member>, but got", f"{describe(row.row_id)} ({where})")
    expected = [name for name, item in items.items() if only is None or item["subset"] == only]
    name = f"split {split}" if only is None else f"split {split}, subset {only}"
    if not allow_incomplete:
        note_missing(expected, seen, name, issues)
    lacking = sum(name not in seen for name in expected)
    notes = [f"Incomplete: {lacking:,} of {len(expected):,} items have no row."] if lacking else []
    if only:
        notes.append(f"One subset of {len(SUBSETS)}: the leaderboard takes their files joined.")
    checked = against(table) if table else FORM_ALONE.format(split=split)
    return Checked(f"{CARD.title}, {name}", len(rows), empty, checked, tuple(notes))


def _check_item(row: SubmittedCandidate, item: TableRow | None, split: str, where: str, issues: GroupedIssues) -> None:
    if item is None:
        issues.add("row_id", f"Expected items of split {split}, but got", f"{describe(row.row_id)} ({where})")
        return
    if row.task in SUBSETS and row.task != item["subset"]:
        issues.add("task", "Expected the item's subset, but got", f"{row.task} for {item['subset']} ({where})")
    if row.model_answer and row.model_answer not in item["options"]:
        issues.add(
            "model_answer",
            "Expected the text of a candidate of the item, or an empty text, but got",
            f"{describe(row.model_answer)} ({where})",
        )


FORM = SubmissionForm(
    path=file_path,
    parts=(JOINT, *SUBSETS),
    tasks=lambda split, part: tuple(f"{DATA_NAME[split]}_{one}" for one in (SUBSETS if part == JOINT else (part,))),
    select=lambda rows, part: [row for row in rows if part in (JOINT, row["subset"])],
    examine=examine_choices,
    build=build,
    check=check,
)
