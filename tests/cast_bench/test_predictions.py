"""Official prediction lines: read, and joined with items by what their prompts ask."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from expected import Expected
from oracles import unit_oracles

from lmms_eval_tasks.cast_bench.submission import PREDICTIONS, prompt_question, read_asked
from lmms_eval_tasks.runs.saved_answers import SavedResponses, read_responses
from lmms_eval_tasks.utils.core.errors import InputError
from lmms_eval_tasks.utils.scoring.prediction_lines import QuestionText

OFFICIAL = "Watch.\n\nQuestion: {}\n\nOptions:\n{}\n\nReply with JSON."
AB, AC = "A: a\nB: b", "A: a\nB: c"
WHY = QuestionText.of("Why?", ["a", "b"])


def saved(folder: Path, *lines: object) -> SavedResponses:
    """The lines of a file, each a question, its options and what was predicted, or as it stands."""
    path = folder / "p.jsonl"
    rows = [
        {"prompt": OFFICIAL.format(*line[:2]), "predict": line[2], "label": "x"} if isinstance(line, tuple) else line
        for line in lines
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return read_responses(path, [PREDICTIONS])


def joined(found: SavedResponses, *asked: QuestionText) -> tuple[str | None, list[str | None]]:
    """The message of joining lines with a task's items, and the response of each item."""
    items = {f"{place:02}": one for place, one in enumerate(asked)}
    message = found.join({"task": items}, Path("p.jsonl"))
    replies = [found.find("task", item_id) for item_id in items]
    return message, [reply.text if reply else None for reply in replies]


def test_official_lines_are_joined_by_question_and_options(tmp_path: Path) -> None:
    found = saved(tmp_path, ("Why?", AB, "first"), ("Why?", AC, "second"))
    asked = [(" Why?", ["a", "c"]), ("Why?", ["a", "b"]), ("Why?", ["b", "a"]), ("What?", ["a", "b"])]
    assert joined(found, *(QuestionText.of(*one) for one in asked))[1] == ["second", "first", None, None]
    # The official script takes `null`, which an interface that refused leaves behind, for an empty text.
    assert joined(saved(tmp_path, ("Why?", AB, None)), WHY) == (None, [""])
    for line, lacks in (
        ({"prompt": OFFICIAL.format("Why?", AB)}, "predict"),
        ({"prompt": "Why?\nA: x", "predict": "A"}, "Question: and Options:"),
    ):
        with pytest.raises(InputError, match=rf"p.jsonl, line 1: Expected an object with .*{lacks}"):
            saved(tmp_path, line)


def test_a_question_is_known_by_its_words_and_those_of_its_options() -> None:
    text = QuestionText.of(" Which\n ball  is it?", ["the red\tone ", " ", "b"])
    assert text == QuestionText("Which ball is it?", ("the red one", "b"))


def test_options_are_read_from_a_prompt() -> None:
    for options, *texts in (
        # Options without a text do not count.
        ("\nA: a\nB: b", "a", "b"),
        ("\nA:  a \r\nB: b\nC: \nD: ", "a", "b"),
        # An option may go on in the next line.
        ("\nA: a\nB: b\nC:\nthat was all", "a", "b", "that was all"),
        ("\nA: one\n two\nB: b\n\nC: prose", "one two", "b"),
        # The first option may stand beside or below.
        (" A: a\nB: b", "a", "b"),
        ("\n \n\nA: a\nB: b\n\nC: prose", "a", "b"),
        (" choose one\nA: a\nB: b", "a", "b"),
        # Without a line of the first there are none.
        *((options,) for options in ("", "\n", "\n\n", " B: b", "\nprose\nA: a", "\n(A) a\n(B) b")),
    ):
        assert read_asked(f"Question: Why\nnot?\nOptions:{options}") == QuestionText.of("Why not?", texts), options


def test_items_that_ask_the_same_have_their_lines_in_order(tmp_path: Path) -> None:
    """The official script gives the last line to the last such item and none to the others."""
    first, second = (("Why?", AB, said) for said in ("first", "second"))
    what = QuestionText.of("What?", ["a"])
    found = saved(tmp_path, first, ("What?", "A: a", "other"), second)
    assert joined(found, WHY, what, WHY) == (None, ["first", "other", "second"])
    for lines, number in (([first], 2), ([first, second], 3), ([first, second] * 2, 3)):
        message, _ = joined(saved(tmp_path, *lines), *[WHY] * number)
        assert message is not None and message.endswith(
            f"line {len(lines)}: Expected {number} lines for the {number} items that ask 'Why?', but got {len(lines)}."
        )


def test_lines_that_match_no_question_or_one_that_has_a_line_are_named_and_take_no_others_place(
    tmp_path: Path, expected: Expected
) -> None:
    """The official script puts line 1, whose question it does not know, at index 1, over what was joined there."""
    lines = [("Why?", AB, "A"), ("Why?", AC, "A"), ("What?", "A: a", "A"), ("Why?", "(A) a", "A")]
    other, what = QuestionText.of("Why?", ["a", "c"]), QuestionText.of("What?", ["a"])
    # Each line is of a question of one of the tasks.
    items = {"task 0": {"0": WHY, "1": other}, "task 1": {"0": what, "1": other}}
    assert saved(tmp_path, *lines[:3]).join(items, tmp_path / "p.jsonl") is None
    unmatched, _ = joined(saved(tmp_path, *lines), WHY)
    twice, _ = joined(saved(tmp_path, lines[0], ("Why?", f"{AB}\nC: ", "B")), WHY)
    asked = (QuestionText.of(name, ["a", "b"]) for name in ("First?", "Second?"))
    unknown, responses = joined(saved(tmp_path, ("Second?", AB, "A"), ("Unknown?", AB, "B")), *asked)
    assert responses == [None, "A"]
    expected(f"{unmatched}\n{twice}\n{unknown}")


def test_the_question_is_what_the_official_expression_finds() -> None:
    cases = unit_oracles()["question_regex"]
    assert len(cases) > 4
    for prompt, question in cases.items():
        assert prompt_question(prompt.strip("'").replace("\\n", "\n")) == question, prompt
