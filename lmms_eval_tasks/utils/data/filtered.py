"""Groups of items that a filter removed: read from the file of `filter … --out`, and left out of sets and runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict

from lmms_eval_tasks.utils.core.json_rows import RowForm, WholeText, read_rows
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError


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


def read_removed(path: Path) -> RemovedGroups:
    """Read a filter's file.

    Raises:
        InputError: it cannot be read, has other rows, or removes nothing.
    """
    issues = GroupedIssues()
    try:
        lines = [line for _, line in read_rows(path, FilteredLine, issues, exact=False)]
    except OSError as error:
        raise InputError(f"{path} cannot be used: {error.strerror or error}.") from error
    issues.raise_if_any(f"{path.name} cannot be used")
    tasks = dict.fromkeys(line.task for line in lines if line.removed)
    if not tasks:
        raise InputError(f"{path.name} cannot be used: it removes no group.")
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
