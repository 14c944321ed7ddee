"""Multiple-choice items: how a response becomes a record."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from lmms_eval_tasks.utils.answers.reader import read_choice
from lmms_eval_tasks.utils.benchmark.benchmark import TaskContext
from lmms_eval_tasks.utils.benchmark.rows import Row
from lmms_eval_tasks.utils.scoring.parts import Fields, Grade, Stratum, fields_of, stratum_of
from lmms_eval_tasks.utils.scoring.records import GradedItem, Record


def grade_choice(
    row: Row,
    response: object,
    *,
    stratum: Mapping[str, str],
    fields: Mapping[str, Any] | None = None,
) -> Record:
    """Grade one response to a multiple-choice item."""
    answered = None
    if row["asked"] and isinstance(response, str):
        answered = read_choice(response, row["options"], cut_off=row.get("cut_off", False))
    return Record.graded(
        row["item_id"],
        row["group_id"],
        dict(stratum),
        row["answer"],
        answered,
        asked=row["asked"],
        fields=dict(fields or {}),
    )


def with_official_reading(record: Record, official: str | None) -> Record:
    """The record with what the benchmark's own extractor reads, compared with the key as its scorer does."""
    answered = official if record.asked else None
    correct = None if record.unscored_reason else answered == record.expected
    return record.with_fields(official_answered=answered, official_correct=correct)


def choice_grader(
    read_official: Callable[[str], str | None] | None = None,
    stratum: Stratum = (),
    fields: Fields = (),
) -> Grade:
    """How a task grades multiple-choice items.

    The answer is the option that a response names by its letter or text. An item is unscored where its clip is missing
    or its key is withheld, and unparsed where nothing is read. A record's field ``prompt`` has the prompt's signature.

    Args:
        read_official: The benchmark's own extractor, which then reads a response as well: the record's fields
            ``official_answered`` and ``official_correct``, for `OFFICIAL_ACCURACIES`.
        stratum: Columns of the prepared table by which scores are broken down, or names and values from a row.
        fields: Columns that a record repeats among its fields, or names and values from a row, the response and the
            task.
    """

    def grade(row: Row, response: object, context: TaskContext) -> GradedItem:
        own = fields_of(row, response, context, fields)
        record = grade_choice(row, response, stratum=stratum_of(row, stratum), fields=own)
        if read_official is None:
            return GradedItem(record)
        return GradedItem(with_official_reading(record, read_official(response) if isinstance(response, str) else None))

    return grade
