"""Groups of items that a filter removed: read from the file of `filter … --out`, and left out of sets and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict

from lmms_eval_tasks.utils.core.json_rows import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues


class FilteredLine(RowForm):
    """What became of a group; further columns say why."""

    model_config = ConfigDict(extra="ignore")

    task: WholeText
    group_id: WholeText
    removed: bool


@dataclass(frozen=True)
class RemovedGroups:
    """The groups that a filter removed, by task, and the name of its file."""

    name: str
    by_task: Mapping[str, frozenset[str]]

    @property
    def ids(self) -> frozenset[str]:
        """The groups of all tasks."""
        return frozenset().union(*self.by_task.values())


def read_removed(path: Path) -> frozenset[str]:
    """The ids of the groups that a filter removed, from the file that ``lmms-eval-tasks filter`` wrote.

    Raises:
        InputError: a line has another form; all problems at once.
        OSError: the file cannot be read.
    """
    return read_filter(path).ids


def read_filter(path: Path) -> RemovedGroups:
    """What a filter removed, by task; errors as for `read_removed`."""
    issues = GroupedIssues()
    lines = [line for _, line in read_rows(path, FilteredLine, issues, exact=False)]
    issues.raise_if_any(f"{path} is not what a filter wrote")
    tasks = dict.fromkeys(line.task for line in lines if line.removed)
    groups = {task: frozenset(line.group_id for line in lines if line.removed and line.task == task) for task in tasks}
    return RemovedGroups(path.name, groups)


_LEFT_OUT: ContextVar[RemovedGroups | None] = ContextVar("left_out", default=None)
"""A benchmark's `prepare` has no parameter for it, so that none can forget it."""


@contextmanager
def leaving_out(removed: RemovedGroups | None) -> Iterator[None]:
    """Leave groups out of the splits that are built in this block."""
    token = _LEFT_OUT.set(removed)
    try:
        yield
    finally:
        _LEFT_OUT.reset(token)


def left_out() -> RemovedGroups | None:
    """The groups to leave out here; None for none."""
    return _LEFT_OUT.get()
