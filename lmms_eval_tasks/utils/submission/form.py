"""The official form of a benchmark's submission, and the tasks and prepared table from which a file is made."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from lmms_eval_tasks.utils.core.errors import Problems
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.data.card import Card, DataSet, Row
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.scoring.record import GradedItem

INCOMPLETE = "--allow-incomplete writes the file nevertheless."
FORM_ALONE = "the form alone: {what} is not prepared here, so ids and options were not looked at"


class Pointing(Protocol):
    """Object that says which items of a benchmark it asks, as a `Task` does."""

    @property
    def pointer(self) -> Mapping[str, Any]:
        """That, as a task's pointer does."""


@dataclass(frozen=True)
class Table:
    """The prepared table of a split; as a text it says which, and what its set is where that is not the release.

    Attributes:
        split: Name of the split.
        rows: Its rows, in the table's order.
        data_set: What the set is, as in `SplitManifest`.
    """

    split: str
    rows: Sequence[Row]
    data_set: DataSet

    def __str__(self) -> str:
        apart = self.data_set.apart
        return f"the prepared split {self.split}{f' ({apart})' if apart else ''}"

    def rows_of(self, tasks: Iterable[Pointing]) -> Table:
        """The table of the rows that some of the split's tasks ask."""
        subsets = {task.pointer.get("subset") for task in tasks}
        return self if None in subsets else replace(self, rows=[row for row in self.rows if row["subset"] in subsets])


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
    """Contents of a file without issues.

    Attributes:
        form: Which of the benchmark's forms it has, and of which split where that is known.
        rows: Items in it.
        empty: How many of them have no answer.
        checked: What it was checked against.
        notes: What is no issue but should be known, a sentence each.
        against: The prepared table that it was checked against; None where that is not prepared.
    """

    form: str
    rows: int
    empty: int
    checked: str
    notes: tuple[str, ...] = ()
    against: Table | None = None


class OfficialForm(Protocol):
    """A benchmark's official form, as `SubmissionForm` explains its parts."""

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of its files."""

    @property
    def path(self) -> Callable[[str, str], str]:
        """Split and part to the file's place."""

    def examine(
        self,
        entries: Sequence[GradedItem],
        rows: Mapping[str, Row],
        allow_incomplete: bool,
        issues: Problems,
        /,
    ) -> None:
        """Note what of a run cannot be submitted."""

    def build(self, entries: Sequence[GradedItem], table: Table, part: str, /) -> Built | None:
        """The file of a part."""

    def check(self, path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems, /) -> Checked:
        """Note the issues of a file."""


@dataclass(frozen=True)
class SubmissionForm:
    """An official form of a benchmark's own.

    Attributes:
        parts: Names of the files that it takes; the first one is what goes to the leaderboard. A part that has a
            subset's name holds the items of that subset alone.
        path: Split and part to the file's place below a run's output path. A run puts its model before the ending.
        examine: Notes what of a run cannot be submitted and only this benchmark knows of; the flag says whether
            incomplete runs are allowed.
        build: The file of a part, from items of a run and the part's rows; None where no item has what the file needs.
        check: Notes the issues of a file, given the prepared tables by split and whether missing items are allowed.
    """

    parts: tuple[str, ...]
    path: Callable[[str, str], str]
    examine: Callable[[Sequence[GradedItem], Mapping[str, Row], bool, Problems], None]
    build: Callable[[Sequence[GradedItem], Table, str], Built | None]
    check: Callable[[Path, Mapping[str, Table], bool, Problems], Checked]


@dataclass
class Attendance:
    """Record of the items that have a row in a file being checked.

    Attributes:
        expected: What identifies an item in the file, to the ids of the items that it stands for.
        id_field: The field that identifies an item.
        unique: What may stand in the file once for each item.
        issues: Takes what is wrong.
        places: What identifies an item, to the places where it was read.
    """

    expected: Mapping[Any, Sequence[str]]
    id_field: str
    unique: str
    issues: Problems
    places: dict[Hashable, list[str]] = field(default_factory=dict)

    def add(self, key: Hashable, case: str, where: str) -> None:
        """Take a row, and note it where its item has one already.

        Args:
            key: What identifies its item.
            case: The item, as a message names it.
            where: The row's place ("line 3").
        """
        places = self.places.setdefault(key, [])
        if len(places) >= max(1, len(self.expected.get(key, ()))):
            case = f"{case} ({where}, first in {places[0]})"
            self.issues.add(self.id_field, f"Expected {self.unique} once, but got again", case)
        places.append(where)

    def finish(self, whole: str, allow_incomplete: bool) -> list[str]:
        """Note the items of something whole that have no row; how many these are, as a sentence.

        Args:
            whole: What should be whole, as a message names it ("split test").
            allow_incomplete: Whether items without a row are no issues.
        """
        missing = [item for key, items in self.expected.items() for item in items[len(self.places.get(key, ())) :]]
        for item in () if allow_incomplete else missing:
            self.issues.add("rows", f"Expected one for every item of {whole}, but there is none for", describe(item))
        total = sum(map(len, self.expected.values()))
        return [f"Incomplete: {len(missing):,} of {total:,} items have no row."] if missing else []


def read_prepared(card: Card, split: str, tasks: Iterable[Pointing] = ()) -> Table:
    """The prepared table of a split, or of it the rows that some of its tasks ask."""
    arrow, manifest = read_table(card, split)
    subsets = {task.pointer.get("subset") for task in tasks}
    if subsets and None not in subsets:
        import pyarrow as pa
        import pyarrow.compute as pc

        arrow = arrow.filter(pc.is_in(arrow["subset"], pa.array(sorted(map(str, subsets)))))
    return Table(split, arrow.to_pylist(), manifest.data_set)
