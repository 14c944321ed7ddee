from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.prompting import read_prompt
from lmms_eval_tasks.utils.answers.choice import choice_grader, grade_choice, with_official_reading
from lmms_eval_tasks.utils.answers.hooks import Prompt, TaskSettings, ask_choice
from lmms_eval_tasks.utils.scoring.metrics import SINGLE_ACCURACY, UNPARSED_RATE, UNSCORED_RATE
from lmms_eval_tasks.utils.scoring.record import Outcome, Record, UnscoredReason

ROW: dict[str, Any] = {
    "item_id": "q1_0",
    "group_id": "q1",
    "options": ["falls", "stays"],
    "answer": "B",
    "asked": True,
}


def grade(response: object, official: str | None = None, **changes: Any) -> Record:
    record = grade_choice({**ROW, **changes}, response, stratum={"difficulty": "easy"})
    return with_official_reading(record, official)


def test_options_are_lettered() -> None:
    assert ask_choice({**ROW, "question": "?"}, TaskSettings(Prompt("own", "{options}"))) == "(A) falls\n(B) stays"


@pytest.mark.parametrize(
    ("response", "outcome", "answered"),
    [
        ("B", Outcome.CORRECT, "B"),
        ("A", Outcome.WRONG, "A"),
        ("I cannot tell.", Outcome.UNPARSED, None),
        ("", Outcome.UNPARSED, None),
        (None, Outcome.UNPARSED, None),
        (b"\xff\x00B", Outcome.UNPARSED, None),
    ],
)
def test_outcomes(response: object, outcome: Outcome, answered: str | None) -> None:
    record = grade(response)
    assert (record.outcome, record.answered) == (outcome, answered)
    assert record.correct is (outcome is Outcome.CORRECT)


def test_a_task_grades_with_and_without_the_own_extractor() -> None:
    context = SimpleNamespace(settings=TaskSettings(read_prompt("mcq_letter")), model=None, judge=lambda schema: None)
    row = {**ROW, "part": "big"}
    plain = choice_grader(stratum=lambda row: {"size": row["part"]})(row, "B", context).record
    both = choice_grader(lambda text: text, ("part",), ("options",))(row, "B", context).record
    assert (plain.stratum, plain.fields) == ({"size": "big"}, {"prompt": context.settings.signature})
    assert (both.stratum, both.fields["options"]) == ({"part": "big"}, row["options"])
    assert (both.fields["official_answered"], both.fields["official_correct"]) == ("B", True)


@pytest.mark.parametrize(
    ("changes", "reason"), [({"answer": None}, UnscoredReason.NO_KEY), ({"asked": False}, UnscoredReason.NO_CLIP)]
)
def test_what_could_not_be_graded_is_unscored_and_says_why(changes: dict[str, Any], reason: UnscoredReason) -> None:
    record = grade("B", "B", **changes)
    assert record.outcome is Outcome.UNSCORED
    assert record.correct is None
    assert record.unscored_reason is reason
    assert record.fields["official_correct"] is None


def test_an_item_that_was_not_asked_has_no_answer() -> None:
    record = grade("B", "B", asked=False)
    assert (record.answered, record.fields["official_answered"]) == (None, None)
    assert (record.outcome, record.unscored_reason) == (Outcome.UNSCORED, UnscoredReason.NO_CLIP)


@pytest.mark.parametrize(
    ("answered", "right", "changes", "outcome"),
    [
        ("2.1", True, {}, Outcome.CORRECT),
        ("2.0", False, {}, Outcome.WRONG),
        ("2.0", None, {}, Outcome.CORRECT),
        (None, False, {}, Outcome.UNPARSED),
        ("2.1", True, {"expected": None}, Outcome.UNSCORED),
        ("2.1", True, {"asked": False}, Outcome.UNSCORED),
    ],
)
def test_a_grader_may_say_what_is_right(
    answered: str | None, right: bool | None, changes: dict[str, Any], outcome: Outcome
) -> None:
    given: dict[str, Any] = {"expected": "2.0", "asked": True, "fields": {}, **changes}
    assert Record.graded("q", "q", {}, answered=answered, right=right, **given).outcome is outcome


def test_official_reading_is_graded_beside_ours() -> None:
    record = grade("The answer is B, not A.", "A")
    assert record.outcome is Outcome.CORRECT
    assert record.fields["official_correct"] is False


def values(record: Record) -> tuple[float | None, float | None, float | None]:
    return tuple(metric.value(record) for metric in (SINGLE_ACCURACY, UNPARSED_RATE, UNSCORED_RATE))  # type: ignore[return-value]


def test_values_of_a_scored_record() -> None:
    assert values(grade("B", "B")) == (100.0, 0.0, 0.0)
    assert values(grade("A", "B")) == (0.0, 0.0, 0.0)


def test_an_unparsed_answer_is_counted_where_the_key_is_withheld() -> None:
    assert values(grade("no idea", None, answer=None)) == (None, 100.0, 100.0)


def test_an_item_that_was_not_asked_is_not_unparsed() -> None:
    assert values(grade("", None, asked=False)) == (None, None, 100.0)


@given(st.text())
def test_records_survive_the_sample_log(response: str) -> None:
    record = grade(response, "A")
    assert Record.from_json(record.to_json()) == record


def test_a_record_without_its_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected a record with item_id"):
        Record.from_json({"item_id": "q1"})
