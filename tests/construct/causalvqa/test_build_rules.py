"""Rules about questions and options, and the reader of blind answers."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from lmms_eval_tasks.construct.causalvqa import rows
from lmms_eval_tasks.construct.causalvqa.filters import read_letter
from lmms_eval_tasks.construct.causalvqa.rows import OptionText, QuestionText
from lmms_eval_tasks.construct.causalvqa.versions import EqualMeanings
from lmms_eval_tasks.construct.engine.roles import read_form
from lmms_eval_tasks.construct.engine.steps import Removed
from lmms_eval_tasks.construct.engine.texts import Fault, unless_faulty, until_good
from lmms_eval_tasks.utils.judge.client import UnreadableReply

OPTION: TypeAdapter[str] = TypeAdapter(OptionText)
QUESTION: TypeAdapter[str] = TypeAdapter(QuestionText)


def reasons(faults: list[Fault]) -> list[str]:
    return [fault.reason for fault in faults]


def test_options_are_equal_by_their_words() -> None:
    faults = rows.option_faults("The red ball.", [" a RED  ball!", "x1", "x2", "x3"])
    assert reasons(faults) == ["a distractor is the answer itself"]
    faults = rows.option_faults("x1", ["The red ball.", "a red ball", "x2", "x3"])
    assert reasons(faults) == ["two distractors are equal"]
    assert rows.option_faults("x1", ["The cat", "the cats", "two", "2"]) == []


@pytest.mark.parametrize(
    ("question", "answer", "wrong", "leaked"),
    [
        ("Why does the red ball stop?", "The red ball", ["The blue ball"], True),
        ("Why does the RED  ball stop?", "a red ball.", [], True),
        ("Why does the red balloon stop?", "The red ball", [], False),
        ("Why does the ball that is red stop?", "The red ball", [], False),
        ("Does the red ball or the blue ball stop?", "The red ball", ["The blue ball", "Neither"], False),
        ("Does the red ball or the blue ball stop?", "The red ball", ["The green ball", "Neither"], True),
    ],
)
def test_a_question_that_holds_its_answer_gives_it_away(
    question: str, answer: str, wrong: list[str], leaked: bool
) -> None:
    assert reasons(rows.question_faults(question, answer, wrong)) == ["the question gives the answer away"] * leaked


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("The red ball (correct)", True),
        ("The red ball [incorrect]", True),
        ("The red ball (the right answer)", True),
        ("(answer) The red ball", True),
        ("The red ball (wrong)", True),
        ("The red ball – correct.", True),
        ("The red ball: CORRECT", True),
        ("✓ The red ball", True),
        ("This is the wrong option", True),
        ("The red ball*", True),
        ("Ｂ: it falls", True),
        ("A fall, the ｒight answer", True),
        ("The hand (right)", False),
        ("It is put right", False),
        ("She corrects the angle", False),
        ("The correct tool", False),
        ("The false ceiling", False),
        ("To the right", False),
    ],
)
def test_an_option_that_says_whether_it_is_right(text: str, marked: bool) -> None:
    assert reasons(rows.option_faults("x", [text, "y", "z", "w"])) == [rows.MARKED] * marked


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "?!",
        "one\ntwo",
        "a|b",
        "A) red",
        "A. red",
        "(b) red",
        "1. red",
        "3) red",
        "  1. red",
        "\n3) red",
        "１． red",
        "x" * 301,
        "a\x00",
    ],
)
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
    ("reply", "letter"),
    [
        ("Answer: B END", "B"),
        ("It is A or C.\n\nanswer: c END\n", "C"),
        ("**Answer: D END**", "D"),
        ("Answer: (E). END.", "E"),
        ("Answer: A END. Or rather Answer: B END", "B"),
    ],
)
def test_a_blind_answer_is_the_letter_before_its_end(reply: str, letter: str) -> None:
    assert read_letter(reply) == letter


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("Answer: B", "missing END"),
        ("", "missing END"),
        ("Answer: B END because it is", "missing END"),
        ("Answer: B ENDING", "missing END"),
        ("Answer: F END", "no letter"),
        ("END", "no letter"),
        ("B END", "no letter"),
        ("Answer: B, I think END", "no letter"),
    ],
)
def test_a_reply_without_its_end_is_no_answer(reply: str, kind: str) -> None:
    with pytest.raises(UnreadableReply) as caught:
        read_letter(reply)
    assert str(caught.value).partition(":")[0] == kind


def test_a_pair_of_options_is_of_two() -> None:
    assert read_form('{"same": [[5, 1], [1, 5]]}', EqualMeanings).same == [(5, 1), (1, 5)]
    for pair in ("[1, 1]", "[1]", "[1, 2, 3]", "[0, 1]", "[1, 6]", '["1", "2"]', "[1.5, 2]"):
        with pytest.raises(UnreadableReply, match=r"^another form: "):
            read_form(f'{{"same": [{pair}]}}', EqualMeanings)


class Written(BaseModel):
    text: str


def test_a_text_is_written_until_it_is_good() -> None:
    seen = []

    def write(refused: object) -> Written:
        seen.append(refused)
        text = f"text {len(seen)}"
        faults = [Fault("bad", f"{text} is bad."), Fault("worse", "And so on.")]
        return unless_faulty(Written(text=text), faults if text != "text 3" else [])

    assert until_good(3, write).text == "text 3"
    first = {"text": "text 1", "why": ["text 1 is bad.", "And so on."]}
    second = {"text": "text 2", "why": ["text 2 is bad.", "And so on."]}
    assert seen == [(), (first,), (first, second)]
    seen.clear()
    with pytest.raises(Removed) as caught:
        until_good(2, write)
    assert (caught.value.reason, caught.value.detail) == ("bad", "text 2 is bad. And so on.")
