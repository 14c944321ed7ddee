"""The submission of a multiple-choice benchmark, declared once for its writer and its check: one JSON line per item."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.forms import RowForm, as_lines, read_rows
from lmms_eval_tasks.utils.core.text import describe
from lmms_eval_tasks.utils.data.card import Card, Row
from lmms_eval_tasks.utils.scoring.record import GradedItem
from lmms_eval_tasks.utils.submission.form import FORM_ALONE, Attendance, Built, Checked, Table

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
        compare: How a line differs from its item, but for id and answer, given its split; how it differs from the form
            without an item, and with an empty text where the split cannot be known.
        split_of: The split that a line names; None where lines name none.
        siblings: The ids that a file must have where it has one of them, for a split that is not prepared.
        id_field: The field of the item's id.
        answer_field: The field of the answer; an empty text stands for none.
        notes: What to know before a file is sent, a sentence each.
    """

    card: Card
    row_type: type[RowForm]
    values: Callable[[Row, str], Mapping[str, str]]
    answers: Callable[[Row | None], Sequence[str] | None]
    path: Callable[[str, str], str]
    parts: tuple[str, ...] = ("answers",)
    answer: str = "the letter of an option"
    compare: Callable[[Any, Row | None, str], Iterable[Difference]] = lambda row, item, split: ()
    split_of: Callable[[Any], str] | None = None
    siblings: Callable[[str], Iterable[str]] = lambda item_id: ()
    id_field: str = "row_id"
    answer_field: str = "model_answer"
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
        for row in table.rows:
            if row["item_id"] in letters:
                letter = letters[row["item_id"]]
                answer = (self.answers(row) or ())[ascii_uppercase.index(letter)] if letter else ""
                values = {**self.values(row, table.split), self.answer_field: answer}
                if values.keys() != fields.keys():
                    wanted, got = ", ".join(fields), ", ".join(values)
                    raise InputError(f"Expected the fields {wanted} of {self.row_type.__name__}, but got {got}.")
                lines.append({name: values[name] for name in fields})
        empty = sum(not line[self.answer_field] for line in lines)
        return Built(as_lines(lines), len(lines), empty, self.notes)

    def check(self, path: Path, prepared: Mapping[str, Table], allow_incomplete: bool, issues: Problems) -> Checked:
        """Validate a file against the form, and against its split where that is prepared."""
        title = self.card.title
        lines = [(where, self._id(row), row) for where, row in read_rows(path, self.row_type, issues)]
        empty = sum(not getattr(row, self.answer_field) for *_, row in lines)
        if not lines:
            return Checked(title, 0, 0, "")
        items = {split: {row["item_id"]: row for row in table.rows} for split, table in prepared.items()}
        split = self._find_split([row for *_, row in lines], items)
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
                continue
            for field, clause, case in self._differences(row, own.get(item_id), split or ""):
                issues.add(field, clause, f"{case} ({where})")
        name = f"split {split}, subset {subset}" if subset else f"split {split}"
        notes = attendance.finish(name if table else "a pair", allow_incomplete)
        if subset:
            notes.append(f"One subset of {len(subsets)}: the leaderboard takes their files joined.")
        if table:
            checked = f"the form, and every id, task and answer against {table}"
        elif split or not prepared:
            checked = FORM_ALONE.format(what=f"split {split}" if split else "the benchmark")
        else:
            other = f"no id is one of the prepared split {', '.join(prepared)}, and the other is not prepared"
            checked = f"the form alone: {other}"
        if not prepared and not split:
            sizes = " and ".join(f"{facts.items:,}" for facts in self.card.splits.values() if facts.items)
            notes.append(f"The published splits have {sizes} items.")
        return Checked(f"{title}, {name}" if split else title, len(lines), empty, checked, tuple(notes), table)

    def _id(self, row: RowForm) -> str:
        return str(getattr(row, self.id_field))

    def _find_split(self, rows: Sequence[RowForm], items: Mapping[str, Mapping[str, Row]]) -> str | None:
        """The split of a file: the one that its first line names, or of the prepared ones that of most of its ids."""
        if self.split_of:
            return self.split_of(rows[0])
        if len(self.card.splits) == 1:
            return next(iter(self.card.splits))
        known = Counter(split for row in rows for split, own in items.items() if self._id(row) in own)
        if not known and len(items) < len(self.card.splits):
            return None
        return max(items, key=known.__getitem__)

    def _differences(self, row: RowForm, item: Row | None, split: str) -> Iterable[Difference]:
        yield from self.compare(row, item, split)
        answer, allowed = getattr(row, self.answer_field), self.answers(item)
        if answer and allowed is not None and answer not in allowed:
            clause = f"Expected {self.answer} of the item, or an empty text, but got"
            yield self.answer_field, clause, describe(answer)
