"""The forms of the lines of a sample log, by which a finished run is checked where it is read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, cast

from pydantic import ConfigDict, Field, create_model

from lmms_eval_tasks.utils.benchmark.data_set import DataSet
from lmms_eval_tasks.utils.core.json_rows import RowForm
from lmms_eval_tasks.utils.scoring.records import Outcome, UnscoredReason


class LogForm(RowForm):
    """Base of the forms of a line's parts: at least its fields, each of its type; what else is there is not read."""

    model_config = ConfigDict(extra="ignore")


class StratumForm(LogForm):
    """Names and values by which scores are broken down, some of which a task's scores need."""

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


def log_line(
    fields: type[LogForm],
    stratum: Iterable[str] = (),
    answered: Any = str | None,
    submission: Any = dict[str, Any] | None,
) -> type[LogLine]:
    """The form of the lines of a kind of task whose scores need more of a record than those of every task.

    Args:
        fields: The record's fields.
        stratum: Names by which scores are broken down.
        answered: The type of what was answered.
        submission: The type of what the submission needs of the item beside the record.

    Returns:
        The form, a pydantic model, for `TaskKind.log_form`.
    """
    parts: dict[str, Any] = {"answered": (answered, ...), "fields": (fields, ...)}
    if names := dict.fromkeys(stratum, (str, ...)):
        parts["stratum"] = (create_model("StratumForm", __base__=StratumForm, **cast(Any, names)), ...)
    record = create_model("RecordForm", __base__=RecordForm, **parts)
    return create_model("LogLine", __base__=LogLine, record=(record, ...), submission_rows=(submission, None))


class ChoiceFields(LogForm):
    """Of a multiple-choice item that the official script reads too."""

    official_correct: bool | None
    official_answered: str | None = None


ChoiceLine = log_line(ChoiceFields)
"""The line of a multiple-choice item that the official script reads too.

Its record has the fields ``official_correct``, whether the script takes the answer for right (None where there is no
key), and perhaps ``official_answered``, the option that the script reads.
"""
