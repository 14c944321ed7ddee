"""The form of a line, made of what a kind of task needs of its records."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from lmms_eval_tasks.utils.scoring.record import LogForm, LogLine, Outcome, Record, log_line

RECORD = Record("q", "q", {"part": "big", "kind": "a"}, "A", "A", Outcome.CORRECT, fields={"depth": 1}).to_json()


class Fields(LogForm):
    depth: int


class Submission(LogForm):
    row: int


FORM = log_line(Fields, ["part"], submission=Submission | None)


def test_a_line_may_hold_more_than_its_form_asks_for() -> None:
    fields = {"depth": 1, "other": "more"}
    line = {"record": {**RECORD, "fields": fields}, "submission_rows": {"row": 1, "x": 2}, "doc": {}}
    assert isinstance(FORM.model_validate(line), LogLine)
    assert FORM.model_validate({"record": RECORD})


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"stratum": {"kind": "a"}}, ("record", "stratum", "part")),
        ({"stratum": {"part": "big", "kind": 1}}, ("record", "stratum", "kind")),
        ({"fields": {}}, ("record", "fields", "depth")),
        ({"answered": 1}, ("record", "answered")),
        ({"outcome": "fine"}, ("record", "outcome")),
    ],
)
def test_what_scores_need_is_asked_for(change: dict[str, Any], place: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError) as caught:
        FORM.model_validate({"record": {**RECORD, **change}})
    assert [error["loc"] for error in caught.value.errors()] == [place]


def test_the_submission_has_its_form() -> None:
    with pytest.raises(ValidationError, match="row"):
        FORM.model_validate({"record": RECORD, "submission_rows": {}})


def test_a_record_is_read_as_it_was_written_and_in_no_other_form() -> None:
    line = FORM.model_validate({"record": {**RECORD, "fields": {"depth": 1, "other": "more"}}})
    assert line.record.fields == {"depth": 1, "other": "more"}
    assert Record.from_json(RECORD).to_json() == RECORD
    with pytest.raises(ValueError, match="Expected a record with item_id"):
        Record.from_json({**RECORD, "detail": None})
