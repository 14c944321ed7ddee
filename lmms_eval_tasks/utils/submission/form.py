"""Submissions to leaderboards: official forms, the tables that they are made from, and the form with a line an item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Protocol

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, as_lines, read_rows
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.data.card import Card, DataSet, Row
from lmms_eval_tasks.utils.data.home import read_table
from lmms_eval_tasks.utils.scoring.record import GradedItem

INCOMPLETE = "--allow-incomplete writes the file nevertheless."
FIRST_SAMPLE = "Each item was answered several times: the first sample is in it."
FORM_ALONE = "the form alone: {what} is not prepared here, so ids and options were not looked at"


class Pointing(Protocol):
    """Object that says which items of a benchmark it asks, as the pointer of a `Task` does."""

    @property
    def pointer(self) -> Mapping[str, Any]: ...


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


def read_prepared(card: Card, split: str) -> Table:
    """Return the prepared table of a split."""
    table, manifest = read_table(card, split)
    return Table(split, table.to_pylist(), manifest.data_set)


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

    def of(self, items: Iterable[GradedItem]) -> Built:
        """The same file, with a note where these are its items and each was answered several times."""
        if all(item.record.sample is None for item in items):
            return self
        return replace(self, notes=(*self.notes, FIRST_SAMPLE))


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


Difference = tuple[str, str, str]
"""A field, a clause such as "Expected the item's stratum, but got", and what was read."""


@dataclass(frozen=True)
class ChoiceForm:
    """An official form whose files have a line an item.

    Attributes:
        card: The benchmark's card.
        row_type: The form of a line, its fields in order.
        values: A prepared row and its split to all fields but the answer.
        answers: A prepared row to what is written for each of its options; without a row what may be written at all,
            None where that cannot be known.
        path: As of `SubmissionForm`.
        parts: As of `SubmissionForm`.
        answer: What is written for an answer, for messages.
        compare: How a line differs from the form otherwise, given its item, which is None where that is not known, and
            its split, an empty text where that cannot be known. Where the item is known, the line's fields are
            compared with `values` without it.
        split_of: The split that a line names; None where lines name none.
        siblings: The ids that a file must have where it has one of them, for a split that is not prepared.
        id_field: The field of the item's id.
        answer_field: The field of the answer.
        no_answer: What stands for none: an empty text or None.
        notes: What to know before a file is sent, a sentence each.
    """

    card: Card
    row_type: type[RowForm]
    values: Callable[[Row, str], Mapping[str, str]]
    answers: Callable[[Row | None], Sequence[str | int] | None]
    path: Callable[[str, str], str]
    parts: tuple[str, ...] = ("answers",)
    answer: str = "the letter of an option"
    compare: Callable[[Any, Row | None, str], Iterable[Difference]] = lambda row, item, split: ()
    split_of: Callable[[Any], str] | None = None
    siblings: Callable[[str], Iterable[str]] = lambda item_id: ()
    id_field: str = "row_id"
    answer_field: str = "model_answer"
    no_answer: str | None = ""
    notes: tuple[str, ...] = ()

    def examine(
        self,
        entries: Sequence[GradedItem],
        rows: Mapping[str, Row],
        allow_incomplete: bool,
        issues: Problems,
    ) -> None:
        """Note the answers of a run that are no options of their items."""
        for entry in entries:
            answered, row = entry.record.answered, rows.get(entry.record.item_id)
            if row is not None and answered not in (None, *ascii_uppercase[: len(row["options"])]):
                case = f"{describe(answered)} ({entry.record.item_id})"
                issues.add("answers", "Expected options of their items, but got", case)

    def build(self, entries: Sequence[GradedItem], table: Table, part: str) -> Built:
        """The file of a run, in the table's order; an item without an entry has no line.

        Raises:
            InputError: where `values` gives other fields than a line has.
        """
        letters = {entry.record.item_id: entry.record.answered for entry in entries}
        lines, fields = [], self.row_type.model_fields
        for row in (row for row in table.rows if row["item_id"] in letters):
            letter = letters[row["item_id"]]
            answer = (self.answers(row) or ())[ascii_uppercase.index(letter)] if letter else self.no_answer
            values = {**self.values(row, table.split), self.answer_field: answer}
            if values.keys() != fields.keys():
                wanted, got = ", ".join(fields), ", ".join(values)
                raise InputError(f"Expected the fields {wanted} of {self.row_type.__name__}, but got {got}.")
            lines.append({name: values[name] for name in fields})
        empty = sum(line[self.answer_field] == self.no_answer for line in lines)
        return Built(as_lines(lines), len(lines), empty, self.notes)

    def check(self, path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
        """Validate a file against the form, and against its split where that is prepared."""
        title = self.card.title
        read = read_rows(path, self.row_type, issues)
        lines = [(where, str(getattr(row, self.id_field)), row) for where, row in read]
        empty = sum(getattr(row, self.answer_field) == self.no_answer for *_, row in lines)
        if not lines:
            return Checked(title, 0, 0, "")
        items = {split: {row["item_id"]: row for row in table.rows} for split, table in prepared.items()}
        split = self._find_split(lines, items)
        table = prepared.get(split) if split else None
        own = items[split] if split and table else {}
        subsets = {row.get("subset") for row in own.values()}
        # A file all of whose items are of one subset is that subset's.
        named = {own[item_id].get("subset") for _, item_id, _ in lines if item_id in own}
        subset = next(iter(named)) if len(named) == 1 < len(subsets) else None
        expected = [item_id for item_id, row in own.items() if subset is None or row["subset"] == subset]
        if not table:
            expected = [sibling for _, item_id, _ in lines for sibling in self.siblings(item_id)]
        attendance = Attendance({item_id: [item_id] for item_id in expected}, self.id_field, "each id", issues)
        for where, item_id, row in lines:
            attendance.add(item_id, describe(item_id), where)
            if table and item_id not in own:
                other = next((name for name, rows in items.items() if item_id in rows), None)
                wanted = f"one split, {split}, but got some of {other}:" if other else f"split {split}, but got"
                issues.add(self.id_field, f"Expected items of {wanted}", f"{describe(item_id)} ({where})")
            else:
                self._check_line(where, row, own.get(item_id), split or "", issues)
        name = f"split {split}, subset {subset}" if subset else f"split {split}"
        notes = attendance.finish(name if table else "a pair", allow_incomplete)
        if subset:
            notes.append(f"One subset of {len(subsets)}: the leaderboard takes their files joined.")
        notes += self._sizes(split, table, prepared)
        checked = _checked_against(split, table, prepared)
        return Checked(f"{title}, {name}" if split else title, len(lines), empty, checked, tuple(notes), table)

    def _find_split(self, lines: Sequence[tuple[str, str, Any]], items: Mapping[str, Mapping[str, Row]]) -> str | None:
        """Return the split of a file: the one that its first line names, the only one, or the prepared one that has
        most of its ids."""
        if self.split_of:
            return self.split_of(lines[0][2])
        if len(self.card.splits) == 1:
            return next(iter(self.card.splits))
        known = Counter(name for _, item_id, _ in lines for name, own in items.items() if item_id in own)
        return max(items, key=known.__getitem__) if known or len(items) >= len(self.card.splits) else None

    def _check_line(self, where: str, row: Any, item: Row | None, split: str, issues: Problems) -> None:
        """Note what in a line is not as its item has it; without the item, which is not prepared, what can be seen."""
        for name, wanted in self.values(item, split).items() if item else ():
            if (got := getattr(row, name, None)) != wanted:
                case = f"{describe(got)} for {describe(wanted)} ({where})"
                issues.add(name, "Expected that of the item, but got", case)
        for wrong, clause, case in self.compare(row, item, split):
            issues.add(wrong, clause, f"{case} ({where})")
        answer, allowed = getattr(row, self.answer_field), self.answers(item)
        if answer != self.no_answer and allowed is not None and answer not in allowed:
            clause = f"Expected {self.answer} of the item, or an empty text, but got"
            issues.add(self.answer_field, clause, f"{describe(answer)} ({where})")

    def _sizes(self, split: str | None, table: Table | None, prepared: Mapping[str, Table]) -> Iterator[str]:
        """Say how many items a file's split has where it is not prepared."""
        if split and not table and len(self.card.splits) > 1 and (size := self.card.splits[split].items):
            yield f"The published split has {size:,} items."
        elif not prepared and not split:
            sizes = " and ".join(f"{facts.items:,}" for facts in self.card.splits.values() if facts.items)
            yield f"The published splits have {sizes} items."


def _checked_against(split: str | None, table: Table | None, prepared: Mapping[str, Table]) -> str:
    if table:
        return f"the form, and every id, task and answer against {table}"
    if split or not prepared:
        return FORM_ALONE.format(what=f"split {split}" if split else "the benchmark")
    other = f"no id is one of the prepared split {', '.join(prepared)}, and the other is not prepared"
    return f"the form alone: {other}"


OfficialForm = SubmissionForm | ChoiceForm
