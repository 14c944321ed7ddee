"""The forms of a sample log's lines, one for each kind of task."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

from pydantic import Field, WrapValidator, create_model

from lmms_eval_tasks.utils.scoring.record import LogForm, Record, record_form


class _Stratum(LogForm, extra="allow"):
    __pydantic_extra__: dict[str, str] = Field(init=False)


def _as_written(form: Any) -> Any:
    """Annotate a value that must have a form, and is kept as it was written."""

    def check(value: Any, validate: Callable[[Any], object]) -> Any:
        validate(value)
        return value

    return Annotated[form, WrapValidator(check)]


class LogLine(LogForm):
    """A line of a task of ours, made by `log_line`."""

    record: Record
    submission_rows: Any = None


def log_line(
    fields: type[LogForm] = LogForm,
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
    names: dict[str, Any] = dict.fromkeys(stratum, (str, ...))
    record = record_form(
        answered=_as_written(answered),
        fields=_as_written(fields),
        stratum=_as_written(create_model("Stratum", __base__=_Stratum, **names)),
    )
    return create_model("LogLine", __base__=LogLine, record=(record, ...), submission_rows=(submission, None))


AnyLine = log_line()
"""The line of any task of ours."""


class ChoiceFields(LogForm):
    """Of a multiple-choice item that the official script reads too."""

    official_correct: bool | None
    official_answered: str | None = None


ChoiceLine = log_line(ChoiceFields)
"""The line of a multiple-choice item that the official script reads too.

Its record has the fields ``official_correct``, whether the script takes the answer for right (None where there is no
key), and perhaps ``official_answered``, the option that the script reads.
"""
