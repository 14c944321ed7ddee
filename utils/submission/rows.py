"""What the submission files of multiple-choice benchmarks share: one row per item, with its id and its answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.core.problems import GroupedIssues
from lmms_eval_tasks.utils.core.wording import describe
from lmms_eval_tasks.utils.scoring.records import GradedItem
from lmms_eval_tasks.utils.submission.form import Table

INCOMPLETE = "--allow-incomplete writes the file nevertheless."
NOT_PREPARED = "the form alone: the benchmark is not prepared here, so ids and options were not looked at"
FORM_ALONE = "the form alone: split {split} is not prepared here, so ids and options were not looked at"


def examine_choices(
    entries: Sequence[GradedItem], rows: Mapping[str, Mapping[str, Any]], allow_incomplete: bool, issues: GroupedIssues
) -> None:
    """Note the answers of a run that are no options of their items."""
    for entry in entries:
        answered, row = entry.record.answered, rows.get(entry.record.item_id)
        if row is not None and answered is not None and answered not in list(ascii_uppercase[: len(row["options"])]):
            issues.add(
                "answers", "Expected options of their items, but got", f"{describe(answered)} ({entry.record.item_id})"
            )


def against(table: Table) -> str:
    """What a file was checked against, in words."""
    return f"the form, and every id, task and answer against {table}"


def note_doubled(field: str, name: str, where: str, seen: dict[str, str], issues: GroupedIssues) -> None:
    """Note an id that has a row already, and remember the place of one that has not."""
    if name in seen:
        issues.add(field, "Expected each id once, but got again", f"{describe(name)} ({where}, first in {seen[name]})")
    seen.setdefault(name, where)


def note_missing(names: Iterable[str], seen: Mapping[str, str], of: str, issues: GroupedIssues) -> None:
    """Note the items that have no row."""
    for name in names:
        if name not in seen:
            issues.add("rows", f"Expected one for every item of {of}, but there is none for", describe(name))
