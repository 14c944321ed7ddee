"""The forms of the lines of a sample log, by which a finished run is checked where it is read.

A benchmark whose scores need more of a record than these forms ask for has forms of its own.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from lmms_eval_tasks.utils.benchmark.data_set import DataSet
from lmms_eval_tasks.utils.core.json_rows import RowForm
from lmms_eval_tasks.utils.scoring.records import Outcome, UnscoredReason


class LogForm(RowForm):
    """Part of a line: at least its fields, each of its type; what else is there is not looked at."""

    model_config = ConfigDict(extra="ignore")


class StratumForm(LogForm):
    """Names and values by which scores are broken down; a benchmark adds the names that its scores need."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, str] = Field(init=False)


class RecordForm(LogForm):
    """An item's record, as `Record.to_json` writes it."""

    item_id: str = Field(min_length=1)
    group_id: str
    stratum: dict[str, str]
    expected: str | None
    answered: str | None
    outcome: Annotated[Outcome, Field(strict=False)]
    unscored_reason: Annotated[UnscoredReason, Field(strict=False)] | None
    detail: str
    fields: dict[str, Any]
    view: str
    data_set: DataSet | None = None


class LogLine(LogForm):
    """A line of a task of ours."""

    record: RecordForm
    submission_rows: dict[str, Any] | None = None


class ChoiceFields(LogForm):
    """Of a multiple-choice item that the official script reads too."""

    official_correct: bool | None
    official_answered: str | None = None


class ChoiceRecord(RecordForm):
    """The record of such an item."""

    fields: ChoiceFields  # type: ignore[assignment]


class ChoiceLine(LogLine):
    """The line of such an item."""

    record: ChoiceRecord
