"""Rules about questions and options, and the reader of blind answers."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from lmms_eval_tasks.construct.causalvqa import rows
from lmms_eval_tasks.construct.causalvqa.pipeline import EqualMeanings, read_letter
from lmms_eval_tasks.construct.causalvqa.rows import OptionText, QuestionText
from lmms_eval_tasks.construct.engine.steps import read_form
from lmms_eval_tasks.utils.judge.client import UnreadableReply

OPTION: TypeAdapter[str] = TypeAdapter(OptionText)
QUESTION: TypeAdapter[str] = TypeAdapter(QuestionText)


@pytest.mark.parametrize(
    ("wrong", "leaked"), [([], True), (["The green ball", "Neither"], True), (["The blue ball", "Neither"], False)]
)
def test_a_question_gives_its_answer_away_unless_it_holds_a_wrong_one_too(wrong: list[str], leaked: bool) -> None:
    faults = rows.question_faults("Does the RED  ball or the blue ball stop?", "a red ball.", wrong)
    assert [fault.reason for fault in faults] == ["the question gives the answer away"] * leaked
    assert rows.option_faults("x1", ["The cat", "the cats", "two", "2"]) == []


@pytest.mark.parametrize(
    "text",
    ["", " ", "?!", "one\ntwo", "a|b", "A) red", "A. red", "(b) red", "1. red", "  1. red", "\n3) red", "１． red",
     "x" * 301, "a\x00"],
)  # fmt: skip
def test_what_is_no_option(text: str) -> None:
    with pytest.raises(ValidationError):
        OPTION.validate_python(text)


def test_what_is_an_option_or_a_question() -> None:
    assert OPTION.validate_python("  A ball rolls. ") == "A ball rolls."
    assert OPTION.validate_python("3 balls") == "3 balls"
    assert QUESTION.validate_python(" Why? ") == "Why?"
    for text in ("Why", "", "?" * 601, "Why\nnot?"):
        with pytest.raises(ValidationError):
            QUESTION.validate_python(text)


@pytest.mark.parametrize(
    ("reply", "read"),
    [
        ("Answer: B END", "B"), ("It is A or C.\n\nanswer: c END\n", "C"), ("**Answer: D END**", "D"),
        ("Answer: (E). END.", "E"), ("Answer: A END. Or rather Answer: B END", "B"),
        ("Answer: B", "missing END"), ("", "missing END"), ("Answer: B END because it is", "missing END"),
        ("Answer: B ENDING", "missing END"), ("Answer: F END", "no letter"), ("END", "no letter"),
        ("B END", "no letter"), ("Answer: B, I think END", "no letter"),
    ],
)  # fmt: skip
def test_a_blind_answer_is_the_letter_before_its_end(reply: str, read: str) -> None:
    if len(read) == 1:
        assert read_letter(reply) == read
    else:
        with pytest.raises(UnreadableReply, match=f"^{read}: "):
            read_letter(reply)


def test_a_pair_of_options_is_of_two() -> None:
    assert read_form('{"same": [[5, 1], [1, 5]]}', EqualMeanings).same == [(5, 1), (1, 5)]
    for pair in ("[1, 1]", "[1]", "[1, 2, 3]", "[0, 1]", "[1, 6]", '["1", "2"]', "[1.5, 2]"):
        with pytest.raises(UnreadableReply, match=r"^another form: "):
            read_form(f'{{"same": [{pair}]}}', EqualMeanings)
