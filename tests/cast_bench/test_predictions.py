"""Official prediction lines: read, and joined with items by what their prompts ask."""

import json
from pathlib import Path

import pytest
from oracles import unit_oracles

from lmms_eval_tasks.cast_bench.submission import PREDICTIONS, prompt_question, read_asked
from lmms_eval_tasks.runs.saved_answers import SavedResponses, read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.record import QuestionText

KINDS = [PREDICTIONS]


def write(path: Path, *lines: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return path


OFFICIAL = "Watch.\n\nQuestion: {}\n\nOptions:\n{}\n\nReply with JSON."


def joined(saved: SavedResponses, *asked: QuestionText) -> tuple[str | None, list[str | None]]:
    """The message of joining lines with a task's items, and the response of each item."""
    items = {f"{place:02}": one for place, one in enumerate(asked)}
    message = saved.join({"task": items}, Path("p.jsonl"))
    return message, [saved.find("task", item_id) for item_id in items]


def predicted(question: str, options: str, predict: str) -> dict[str, str]:
    return {"prompt": OFFICIAL.format(question, options), "predict": predict, "label": "x"}


def test_official_lines_are_joined_by_question_and_options(tmp_path: Path) -> None:
    lines = [predicted("Why?", "A: a\nB: b", "first"), predicted("Why?", "A: a\nB: c", "second")]
    saved = read_responses(write(tmp_path / "p.jsonl", *lines), KINDS)
    asked = [(" Why?", ["a", "c"]), ("Why?", ["a", "b"]), ("Why?", ["b", "a"]), ("What?", ["a", "b"])]
    assert joined(saved, *(QuestionText.of(*one) for one in asked))[1] == ["second", "first", None, None]


def test_an_official_line_may_hold_no_prediction(tmp_path: Path) -> None:
    """The official script takes ``null``, which an interface that refused leaves behind, for an empty text."""
    line = {**predicted("Why?", "A: a\nB: b", ""), "predict": None}
    saved = read_responses(write(tmp_path / "p.jsonl", line), KINDS)
    assert joined(saved, QuestionText.of("Why?", ["a", "b"])) == (None, [""])
    del line["predict"]
    with pytest.raises(InputError, match=r"p.jsonl, line 1: Expected an object with .*predict"):
        read_responses(write(tmp_path / "p.jsonl", line), KINDS)


@pytest.mark.parametrize(
    "options", ["A: a\nB: b", "A: a\nB: b\nC: \nD: ", "A:  a \r\nB: b", "A: a\nB: b\nC:\nthat was all"]
)
def test_options_without_a_text_do_not_count(options: str) -> None:
    prompt = f"Question: Why?\nOptions:\n{options}"
    asked = read_asked(prompt)
    assert asked == (
        QuestionText.of("Why?", ["a", "b"])
        if "that" not in options
        else QuestionText.of("Why?", ["a", "b", "that was all"])
    )


def test_an_option_may_go_on_in_the_next_line() -> None:
    assert read_asked("Question: Why\nnot?\n\nOptions:\nA: one\n two\nB: b\n\nC: prose") == QuestionText.of(
        "Why not?", ["one two", "b"]
    )


def test_a_prompt_that_asks_nothing_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"p.jsonl, line 1: Expected an object with .*Question: and Options:"):
        read_responses(write(tmp_path / "p.jsonl", {"prompt": "Why?\nA: x", "predict": "A"}), KINDS)


@pytest.mark.parametrize(
    "options", ["\n\nA: a\nB: b", " A: a\nB: b", "\n \n\nA: a\nB: b\n\nC: prose", " choose one\nA: a\nB: b"]
)
def test_the_first_option_may_stand_beside_or_below(options: str) -> None:
    assert read_asked(f"Question: Why?\nOptions:{options}") == QuestionText.of("Why?", ["a", "b"])


@pytest.mark.parametrize("options", ["", "\n", "\n\n", " B: b", "\nprose\nA: a", "\n(A) a\n(B) b"])
def test_no_options_where_there_is_no_line_of_the_first(options: str) -> None:
    assert read_asked(f"Question: Why?\nOptions:{options}") == QuestionText.of("Why?", [])


def test_a_question_answered_twice_is_told(tmp_path: Path) -> None:
    lines = [predicted("Why?", "A: a\nB: b", "A"), predicted("Why?", "A: a\nB: b\nC: ", "B")]
    path = write(tmp_path / "p.jsonl", *lines)
    assert joined(read_responses(path, KINDS), QuestionText.of("Why?", ["a", "b"]))[0] == (
        "p.jsonl cannot be replayed: 1 problem, no line is joined by its position.\n"
        "  p.jsonl, line 2: Expected one response per item, but 'Why?' is also at p.jsonl, line 1."
    )


def test_items_that_ask_the_same_have_their_lines_in_order(tmp_path: Path) -> None:
    """The official script gives the last line to the last such item and none to the others."""
    lines = [predicted("Why?", "A: a\nB: b", said) for said in ("first", "second")]
    same = QuestionText.of("Why?", ["a", "b"])
    path = write(tmp_path / "p.jsonl", lines[0], predicted("What?", "A: a", "other"), lines[1])
    saved = read_responses(path, KINDS)
    assert joined(saved, same, QuestionText.of("What?", ["a"]), same) == (None, ["first", "other", "second"])
    for said, number in ((lines[:1], 2), (lines, 3), ([*lines, *lines], 3)):
        path = write(tmp_path / "p.jsonl", *said)
        told, _ = joined(read_responses(path, KINDS), *[same] * number)
        assert told is not None and told.endswith(
            f"line {len(said)}: Expected {number} lines for the {number} items that ask 'Why?', but got {len(said)}."
        )


def test_lines_that_match_no_question_are_told(tmp_path: Path) -> None:
    lines = [
        predicted("Why?", "A: a\nB: b", "A"),
        predicted("Why?", "A: a\nB: c", "A"),
        predicted("What?", "A: a", "A"),
        predicted("Why?", "(A) a", "A"),
    ]
    path = write(tmp_path / "p.jsonl", *lines[:3])
    tables = [
        [QuestionText.of("Why?", ["a", "b"]), QuestionText.of("Why?", ["a", "c"])],
        [QuestionText.of("What?", ["a"]), QuestionText.of("Why?", ["a", "c"])],
    ]
    items = {
        f"task {number}": {str(place): asked for place, asked in enumerate(table)}
        for number, table in enumerate(tables)
    }
    assert read_responses(path, KINDS).join(items, path) is None
    path = write(tmp_path / "p.jsonl", *lines)
    assert joined(read_responses(path, KINDS), QuestionText.of("Why?", ["a", "b"]))[0] == (
        "p.jsonl cannot be replayed: 3 problems, no line is joined by its position.\n"
        "  p.jsonl, line 2: Expected the prompt to ask 'Why?' with the item's options, but got a, c.\n"
        "  p.jsonl, line 3: Expected the prompt to ask a question of this run's tasks, but got 'What?'.\n"
        "  p.jsonl, line 4: Expected options of 'Why?' as lines A: … after Options:, but found none."
    )


def test_the_question_is_what_the_official_expression_finds() -> None:
    cases = unit_oracles()["question_regex"]
    assert len(cases) > 4
    for prompt, question in cases.items():
        assert prompt_question(prompt.strip("'").replace("\\n", "\n")) == question, prompt


def test_no_line_takes_another_questions_place(tmp_path: Path) -> None:
    """The official script puts line 1, whose question it does not know, at index 1, over what was joined there."""
    known = QuestionText.of("Second?", ["a", "b"])
    lines = [predicted("Second?", "A: a\nB: b", "A"), predicted("Unknown?", "A: a\nB: b", "B")]
    path = write(tmp_path / "p.jsonl", *lines)
    saved = read_responses(path, KINDS)
    message, responses = joined(saved, QuestionText.of("First?", ["a", "b"]), known)
    assert responses == [None, "A"] and "line 2: " in (message or "")
