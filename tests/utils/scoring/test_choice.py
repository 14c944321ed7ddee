from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.utils.prompting.prompts import read_prompt
from lmms_eval_tasks.utils.scoring.choice import NO_CLIP, list_options, metric_items, render_question, score_choice
from lmms_eval_tasks.utils.scoring.records import NOT_ASKED, Outcome, Record

ROW: dict[str, Any] = {
    "item_id": "q1_0",
    "group_id": "q1",
    "options": ["falls", "stays"],
    "answer": "B",
    "asked": True,
}


def grade(response: object, official: str | None = None, **changes: Any) -> Record:
    return score_choice({**ROW, **changes}, response, stratum={"difficulty": "easy"}, official=official)


def test_options_are_lettered() -> None:
    assert list_options(["falls", "stays"]) == "(A) falls\n(B) stays"


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


@pytest.mark.parametrize(("changes", "reason"), [({"answer": None}, "no answer key"), ({"asked": False}, "no clip")])
def test_what_could_not_be_graded_is_unscored_and_says_why(changes: dict[str, Any], reason: str) -> None:
    record = grade("B", "B", **changes)
    assert record.outcome is Outcome.UNSCORED
    assert record.correct is None
    assert record.fields["reason"] == reason
    assert record.fields["official_correct"] is None


@pytest.mark.parametrize(("response", "changes"), [("B", {"asked": False}), (NOT_ASKED, {})])
def test_an_item_that_was_not_asked_has_no_answer(response: str, changes: dict[str, Any]) -> None:
    record = grade(response, "B", **changes)
    assert (record.answered, record.fields["official_answered"]) == (None, None)
    assert (record.outcome, record.fields["reason"]) == (Outcome.UNSCORED, "no clip")


def test_a_row_without_its_clip_asks_in_other_words() -> None:
    # The host's cache knows a response by its prompt: one to the placeholder must not serve the clip.
    row = {**ROW, "question": "What next?"}
    asked, missing = (render_question(read_prompt("mcq_letter"), {**row, "asked": flag}) for flag in (True, False))
    assert missing == f"{NO_CLIP}\n{asked}"


def test_official_reading_is_graded_beside_ours() -> None:
    record = grade("The answer is B, not A.", "A")
    assert record.outcome is Outcome.CORRECT
    assert record.fields["official_correct"] is False


def test_items_of_a_scored_record() -> None:
    items = metric_items(grade("B", "B"), pair_by=["easy"], single_by=["easy"])
    assert items["pair_accuracy"] == items["pair_accuracy_easy"] == {"group_id": "q1", "correct": True}
    assert items["single_accuracy"] == {"group_id": "q1", "correct": True, "score": 100.0}
    assert (items["unparsed_rate"], items["unscored_rate"]) == (0.0, 0.0)


def test_an_unparsed_answer_is_counted_where_the_key_is_withheld() -> None:
    items = metric_items(grade("no idea", None, answer=None))
    assert (items["unparsed_rate"], items["unscored_rate"]) == (100.0, 100.0)


def test_an_item_that_was_not_asked_is_not_unparsed() -> None:
    items = metric_items(grade("", None, asked=False))
    assert (items["unparsed_rate"], items["unscored_rate"]) == (None, 100.0)
    assert "score" not in items["single_accuracy"]


@given(st.text())
def test_records_survive_the_sample_log(response: str) -> None:
    record = grade(response, "A")
    assert Record.from_json(record.to_json()) == record


def test_a_record_without_its_fields_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected a record with item_id"):
        Record.from_json({"item_id": "q1"})
