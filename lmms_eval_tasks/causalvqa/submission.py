"""CausalVQA's submission file: one row per item, written at the end of a run and by `submit` alike.

Source: no page or script states the form. The field names are those of the leaderboard's other benchmarks, `task` is
the stratum as the task files of facebookresearch/CausalVQA@3f65605 name it; the rest is our inference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Literal

from lmms_eval_tasks.causalvqa.card import CARD, DIFFICULTIES, TYPES
from lmms_eval_tasks.utils.core.json_rows import Row, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.scoring.records import GradedItem
from lmms_eval_tasks.utils.submission.files import as_lines
from lmms_eval_tasks.utils.submission.form import Built, Checked, SubmissionForm, Table, TableRow
from lmms_eval_tasks.utils.submission.rows import (
    NOT_PREPARED,
    against,
    examine_choices,
    note_doubled,
    note_missing,
)

OFFICIAL_DIFFICULTY = {"easy": "easy", "medium": "med", "hard": "hard"}
TASKS = {"test": "causalvqa_paired", "debug": "causalvqa_debug_paired"}
LETTERS = ascii_uppercase[:5]


class SubmittedLetter(Row):
    """One row of the file."""

    data_name: Literal["causalvqa"]
    task: str
    row_id: str
    model_answer: str


def official_task(kind: str, difficulty: str) -> str:
    """A stratum's name in the official task files: ``Planning_med``."""
    return f"{kind.capitalize()}_{OFFICIAL_DIFFICULTY[difficulty]}"


def make_rows(answers: Mapping[str, str | None], rows: Sequence[TableRow]) -> list[dict[str, str]]:
    """The file's rows.

    Args:
        answers: Item id to the letter answered, None where nothing could be read or the item was not asked; items
            without an entry have no row.
        rows: The prepared table's rows, whose order the file has.
    """
    return [
        {
            "data_name": CARD.name,
            "task": official_task(row["type"], row["difficulty"]),
            "row_id": row["item_id"],
            "model_answer": answers[row["item_id"]] or "",
        }
        for row in rows
        if row["item_id"] in answers
    ]


def build(entries: Sequence[GradedItem], table: Table, part: str) -> Built:
    """The file of a run."""
    made = make_rows({entry.record.item_id: entry.record.answered for entry in entries}, table.rows)
    return Built(as_lines(made), len(made), sum(not row["model_answer"] for row in made))


def check(path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: GroupedIssues) -> Checked:
    """Hold a file against the form, and against the split that most of its ids belong to where one is prepared."""
    rows = list(read_rows(path, SubmittedLetter, issues))
    empty = sum(not row.model_answer for _, row in rows)
    if not rows:
        return Checked(CARD.title, 0, 0, "")
    if not prepared:
        _check_form(rows, allow_incomplete, issues)
        published = (
            f"The published splits have {' and '.join(f'{facts.items:,}' for facts in CARD.splits.values())} items."
        )
        return Checked(CARD.title, len(rows), empty, NOT_PREPARED, (published,))
    splits = {split: {row["item_id"]: row for row in table.rows} for split, table in prepared.items()}
    known = Counter(split for _, row in rows for split, items in splits.items() if row.row_id in items)
    if not known and len(prepared) < len(CARD.splits):
        _check_form(rows, allow_incomplete, issues)
        other = (
            f"the form alone: no id is one of the prepared split {', '.join(prepared)}, and the other is not prepared"
        )
        return Checked(CARD.title, len(rows), empty, other)
    table = prepared[max(splits, key=lambda split: known[split])]
    items = splits[table.split]
    seen: dict[str, str] = {}
    for where, row in rows:
        item = items.get(row.row_id)
        note_doubled("row_id", row.row_id, where, seen, issues)
        if item is None:
            _note_unknown(row.row_id, where, table.split, splits, issues)
            continue
        task = official_task(item["type"], item["difficulty"])
        if row.task != task:
            issues.add("task", "Expected the item's stratum, but got", f"{describe(row.task)} for {task} ({where})")
        _check_answer(row.model_answer, ascii_uppercase[: len(item["options"])], where, issues)
    if not allow_incomplete:
        note_missing(items, seen, f"split {table.split}", issues)
    lacking = len(items.keys() - seen.keys())
    notes = (f"Incomplete: {lacking:,} of {len(items):,} items have no row.",) if lacking else ()
    return Checked(f"{CARD.title}, split {table.split}", len(rows), empty, against(table), notes)


def _note_unknown(
    row_id: str, where: str, split: str, splits: Mapping[str, Mapping[str, Any]], issues: GroupedIssues
) -> None:
    other = next((name for name, items in splits.items() if row_id in items), None)
    if other:
        issues.add(
            "row_id", f"Expected items of one split, {split}, but got some of {other}:", f"{describe(row_id)} ({where})"
        )
    else:
        issues.add("row_id", f"Expected items of split {split}, but got", f"{describe(row_id)} ({where})")


def _check_answer(answer: str, letters: str, where: str, issues: GroupedIssues) -> None:
    if answer and answer not in list(letters):
        issues.add(
            "model_answer",
            "Expected the letter of an option of the item, or an empty text, but got",
            f"{describe(answer)} ({where})",
        )


def _check_form(rows: Sequence[tuple[str, SubmittedLetter]], allow_incomplete: bool, issues: GroupedIssues) -> None:
    """What can be told without the table: names of strata, the form of ids, and both versions of each question."""
    strata = {official_task(kind, difficulty) for kind in TYPES for difficulty in DIFFICULTIES}
    seen: dict[str, str] = {}
    for where, row in rows:
        note_doubled("row_id", row.row_id, where, seen, issues)
        question, _, version = row.row_id.rpartition("_")
        if not question or version not in ("0", "1"):
            issues.add("row_id", "Expected <qid>_0 or <qid>_1, but got", f"{describe(row.row_id)} ({where})")
        if row.task not in strata:
            issues.add(
                "task",
                "Expected one of the 15 strata, such as Planning_med, but got",
                f"{describe(row.task)} ({where})",
            )
        _check_answer(row.model_answer, LETTERS, where, issues)
    if not allow_incomplete:
        questions = dict.fromkeys(row_id[:-2] for row_id in seen if row_id.endswith(("_0", "_1")))
        note_missing((f"{question}_{version}" for question in questions for version in "01"), seen, "a pair", issues)


FORM = SubmissionForm(
    parts=("answers",),
    tasks=lambda split, part: (TASKS[split],),
    path=lambda split, part: f"submissions/causalvqa_{split}.jsonl",
    select=lambda rows, part: rows,
    examine=examine_choices,
    build=build,
    check=check,
)
