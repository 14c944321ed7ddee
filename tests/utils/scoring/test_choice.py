"""From a response to the record of a question with options."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.answers.choice import choice_grader
from lmms_eval_tasks.utils.answers.hooks import Prompt, TaskSettings, ask_choice
from lmms_eval_tasks.utils.answers.reply import Reply, as_reply
from lmms_eval_tasks.utils.scoring.log_line import LogLine, log_line
from lmms_eval_tasks.utils.scoring.metrics import SINGLE_ACCURACY, UNPARSED_RATE, UNSCORED_RATE
from lmms_eval_tasks.utils.scoring.record import LogForm, Outcome, Record, UnscoredReason

ROW: dict[str, Any] = {
    "item_id": "q1_0", "group_id": "q1", "options": ["falls", "stays"], "answer": "B",
}  # fmt: skip
METRICS = (SINGLE_ACCURACY, UNPARSED_RATE, UNSCORED_RATE)
LOGGED = Record("q", "q", {"part": "big", "kind": "a"}, "A", "A", Outcome.CORRECT, fields={"depth": 1}).to_json()


def grade(response: object, official: str | None = None, **changes: Any) -> Record:
    own = choice_grader(lambda text: official, lambda row: {"difficulty": "easy"})
    task: Any = SimpleNamespace(settings=TaskSettings())
    return own({**ROW, **changes}, as_reply(response), task).record


def test_outcomes_and_what_they_count() -> None:
    unread = (Outcome.UNPARSED, None, (0.0, 100.0, 0.0))
    for response, changes, outcome, answered, values in (
        ("B", {}, Outcome.CORRECT, "B", (100.0, 0.0, 0.0)), ("A", {}, Outcome.WRONG, "A", (0.0, 0.0, 0.0)),
        ("I cannot tell.", {}, *unread), ("", {}, *unread), (None, {}, *unread), (b"\xff\x00B", {}, *unread),
        # Without a key an answer that cannot be read still counts as such; an item that was not asked has none.
        ("B", {"answer": None}, UnscoredReason.NO_KEY, "B", (None, 0.0, 100.0)),
        ("no idea", {"answer": None}, UnscoredReason.NO_KEY, None, (None, 100.0, 100.0)),
        (Reply(missing=UnscoredReason.NO_CLIP), {}, UnscoredReason.NO_CLIP, None, (None, None, 100.0)),
    ):  # fmt: skip
        record = grade(response, "B", **changes)
        assert record.answered == answered
        assert tuple(metric.value(record) for metric in METRICS) == values
        if isinstance(outcome, UnscoredReason):
            assert (record.outcome, record.unscored_reason, record.correct) == (Outcome.UNSCORED, outcome, None)
            assert record.fields["official_correct"] is None
            assert record.asked or record.fields["official_answered"] is None
        else:
            assert (record.outcome, record.correct) == (outcome, outcome is Outcome.CORRECT)
    record = grade("The answer is B, not A.", "A")
    assert (record.outcome, record.fields["official_correct"]) == (Outcome.CORRECT, False)


def test_a_task_letters_options_and_grades_with_and_without_the_own_extractor() -> None:
    assert ask_choice({**ROW, "question": "?"}, TaskSettings(Prompt("own", "{options}"))) == "(A) falls\n(B) stays"
    context: Any = SimpleNamespace(
        settings=TaskSettings(read_prompt("mcq_letter")), model=None, judge=lambda schema: None
    )
    row = {**ROW, "part": "big"}
    plain = choice_grader(stratum=lambda row: {"size": row["part"]})(row, Reply("B"), context).record
    both = choice_grader(lambda text: text, ("part",), ("options",))(row, Reply("B"), context).record
    assert (plain.stratum, plain.fields) == ({"size": "big"}, {"prompt": context.settings.signature})
    assert (both.stratum, both.fields["options"]) == ({"part": "big"}, row["options"])
    assert (both.fields["official_answered"], both.fields["official_correct"]) == ("B", True)


def test_a_grader_may_say_what_is_right() -> None:
    for answered, right, changes, outcome in (
        ("2.1", True, {}, Outcome.CORRECT), ("2.0", False, {}, Outcome.WRONG), ("2.0", None, {}, Outcome.CORRECT),
        (None, False, {}, Outcome.UNPARSED), ("2.1", True, {"expected": None}, Outcome.UNSCORED),
        ("2.1", True, {"missing": UnscoredReason.FAILED}, Outcome.UNSCORED),
    ):  # fmt: skip
        given: dict[str, Any] = {"expected": "2.0", "fields": {}, **changes}
        assert Record.graded("q", "q", {}, answered=answered, right=right, **given).outcome is outcome


@given(st.text())
def test_records_survive_the_sample_log(response: str) -> None:
    record = grade(response, "A")
    assert Record.from_json(record.to_json()) == record


class Fields(LogForm):
    depth: int


class Submission(LogForm):
    row: int


def test_a_line_of_a_log_has_what_scores_and_the_submission_need_and_may_hold_more() -> None:
    form = log_line(Fields, ["part"], submission=Submission | None)
    line = {"record": {**LOGGED, "fields": {"depth": 1, "other": "more"}}, "submission_rows": {"row": 1, "x": 2}}
    read = form.model_validate({**line, "doc": {}})
    assert isinstance(read, LogLine) and read.record.fields == {"depth": 1, "other": "more"}
    assert form.model_validate({"record": LOGGED})
    for change, place in (
        ({"stratum": {"kind": "a"}}, ("record", "stratum", "part")),
        ({"stratum": {"part": "big", "kind": 1}}, ("record", "stratum", "kind")),
        ({"fields": {}}, ("record", "fields", "depth")),
        ({"answered": 1}, ("record", "answered")),
        ({"outcome": "fine"}, ("record", "outcome")),
    ):
        with pytest.raises(ValidationError) as caught:
            form.model_validate({"record": {**LOGGED, **change}})
        assert [error["loc"] for error in caught.value.errors()] == [place]
    with pytest.raises(ValidationError, match="row"):
        form.model_validate({"record": LOGGED, "submission_rows": {}})
    for wrong in ({"item_id": "q1"}, {**LOGGED, "detail": None}):
        with pytest.raises(ValueError, match="Expected a record with item_id"):
            Record.from_json(wrong)
