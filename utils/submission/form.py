"""What a benchmark's `submission` module says of its official form, and how it is found by the benchmark's name."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lmms_eval_tasks.utils.benchmark.card import benchmarks, read_card
from lmms_eval_tasks.utils.core.problems import GroupedIssues, InputError
from lmms_eval_tasks.utils.runs.run import Logged

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
    """

    text: str
    rows: int
    empty: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Checked:
    """What was found in a file without issues.

    Attributes:
        form: Which of the benchmark's forms it has, and of which split where that is known.
        rows: Items in it.
        empty: How many of them have no answer.
        checked: What it was held against.
        notes: What is no issue but should be known, a sentence each.
    """

    form: str
    rows: int
    empty: int
    checked: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Form:
    """A benchmark's official form.

    Attributes:
        parts: Names of the files that it takes; the first one is what goes to the leaderboard.
        tasks: Split and part to the tasks whose records make the file.
        select: The rows of a split's table that belong to a part, in the table's order.
        examine: Notes what of a run cannot be submitted and only this benchmark knows of; told whether incomplete
            runs are allowed.
        build: The file of a part, from items of a run and a table of the rows of `select`; the hook writes by the same
            functions.
        check: Notes the issues of a file, given the prepared tables by split and whether missing items are allowed.
        unofficial: Tasks that no leaderboard takes, and why.
    """

    parts: tuple[str, ...]
    tasks: Callable[[str, str], tuple[str, ...]]
    select: Callable[[Sequence[TableRow], str], Sequence[TableRow]]
    examine: Callable[[Sequence[Logged], Mapping[str, TableRow], bool, GroupedIssues], None]
    build: Callable[[Sequence[Logged], Table, str], Built]
    check: Callable[[Path, Mapping[str, Table], bool, GroupedIssues], Checked]
    unofficial: Mapping[str, str] = field(default_factory=dict)


def read_form(benchmark: str) -> Form:
    """The official form of a benchmark, from its module `submission`.

    Raises:
        InputError: no benchmark has that name; where a task has, the message says whether it can be submitted.
    """
    if benchmark not in benchmarks():
        for name in benchmarks():
            if reason := _load(name).unofficial.get(benchmark):
                raise InputError(f"{benchmark} has no official submission: {reason}")
    read_card(benchmark)
    return _load(benchmark)


def _load(benchmark: str) -> Form:
    form = importlib.import_module(f"lmms_eval_tasks.{benchmark}.submission").FORM
    if not isinstance(form, Form):
        raise TypeError(f"lmms_eval_tasks.{benchmark}.submission.FORM is not a Form")
    return form
