"""What a filter of a set removed, for `prepare`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.core.json_rows import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues


class FilteredRow(RowForm):
    """A group of items in a filter's file: of which task, whether it goes, and why."""

    task: WholeText
    group_id: WholeText
    removed: bool
    why: str
    members: dict[str, dict[str, Any]]


def read_removed(path: Path) -> frozenset[str]:
    """The ids of the groups that a filter removed, from the file that ``lmms-eval-tasks filter`` wrote.

    Raises:
        InputError: a line has another form; all problems at once.
        OSError: the file cannot be read.
    """
    issues = GroupedIssues()
    removed = frozenset(row.group_id for _, row in read_rows(path, FilteredRow, issues, exact=False) if row.removed)
    issues.raise_if_any(f"{path} is not what a filter wrote")
    return removed
