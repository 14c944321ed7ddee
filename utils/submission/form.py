"""The official form of a benchmark's submission."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.benchmark.registry import find_benchmark, registry
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.scoring.records import GradedItem

TableRow = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """The prepared table of a split, rows in its order, and whether it is sample data."""

    split: str
    rows: Sequence[TableRow]
    sample: bool

    def __str__(self) -> str:
        return f"the prepared split {self.split}{' (SAMPLE DATA)' if self.sample else ''}"


@dataclass(frozen=True)
class Built:
    """A submission file to be written.

    Attributes:
        text: All of it.
        rows: How many items are in it.
        empty: How many of them have no answer, because it was unparsed or the item was not asked.
        notes: What to know before it is sent, a sentence each.
        partial: Whether it says less than its items could, which a run warns of.
    """

    text: str
    rows: int
    empty: int
    notes: tuple[str, ...] = ()
    partial: bool = False


@dataclass(frozen=True)
class Checked:
    """What was found in a file without issues.

    Attributes:
        form: Which of the benchmark's forms it has, and of which split where that is known.
        rows: Items in it.
        empty: How many of them have no answer.
        checked: What it was checked against.
        notes: What is no issue but should be known, a sentence each.
    """

    form: str
    rows: int
    empty: int
    checked: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SubmissionForm:
    """A benchmark's official form.

    Attributes:
        parts: Names of the files that it takes; the first one is what goes to the leaderboard.
        tasks: Split and part to the tasks whose records make the file.
        path: Split and part to the file's place below a run's output path.
        select: The rows of a split's table that belong to a part, in the table's order.
        examine: Notes what of a run cannot be submitted and only this benchmark knows of; the flag says whether
            incomplete runs are allowed.
        build: The file of a part, from items of a run and a table of the rows of `select`; None where no item has what
            the file needs.
        check: Notes the issues of a file, given the prepared tables by split and whether missing items are allowed.
    """

    parts: tuple[str, ...]
    tasks: Callable[[str, str], tuple[str, ...]]
    path: Callable[[str, str], str]
    select: Callable[[Sequence[TableRow], str], Sequence[TableRow]]
    examine: Callable[[Sequence[GradedItem], Mapping[str, TableRow], bool, GroupedIssues], None]
    build: Callable[[Sequence[GradedItem], Table, str], Built | None]
    check: Callable[[Path, Mapping[str, Table], bool, GroupedIssues], Checked]


def find_form(name: str) -> SubmissionForm:
    """The official form of a benchmark.

    Raises:
        InputError: no benchmark has that name, or it has no form; the message says why.
    """
    task = registry().find_task(name)
    if task and name not in registry().benchmarks and (reason := task.kind.no_submission):
        raise InputError(f"{name} has no official submission: {reason}")
    benchmark = find_benchmark(name)
    if benchmark.submission is None:
        raise InputError(f"{name} has no official submission: {benchmark.no_submission}")
    return benchmark.submission


def read_prepared(benchmark: str, split: str, part: str) -> Table:
    """The prepared rows that belong to a part of a benchmark's submission.

    Raises:
        InputError: where the split is not prepared.
    """
    arrow, manifest = read_table(benchmark, split)
    return Table(split, find_form(benchmark).select(arrow.to_pylist(), part), manifest.sample)
