"""Rules about texts that models write."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from lmms_eval_tasks.construct.engine.steps import Removed
from lmms_eval_tasks.construct.engine.texts import (
    Fault,
    bare_words,
    holds_text,
    is_marked,
    read_span,
    unless_faulty,
    until_good,
)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("The red ball.", "  a RED   ball!", True),
        ("Don’t stop", "don't stop", True),
        ("Ｆｕｌｌ width", "full width", True),
        ("The ball hits the block", "The block hits the ball", False),
        ("two", "2", False),
        ("the cat", "the cats", False),
        ("a well-known ball", "a well known ball", False),
    ],
)
def test_texts_are_equal_by_their_words(one: str, other: str, same: bool) -> None:
    assert (bare_words(one) == bare_words(other)) is same


def test_a_text_holds_words_in_a_row() -> None:
    assert holds_text("Why does the red ball stop?", "The red ball.")
    assert holds_text("stop", "stop") and holds_text("Why stop", "stop") and not holds_text("stop", "stop why")
    for part in ("red stop", "", "The", "The red balloon"):
        assert not holds_text("Why does the red ball stop?", part)


@pytest.mark.parametrize(
    ("marked", "texts"),
    [
        (
            True,
            ["B: it falls", "(C) it falls", "It falls (correct)", "A fall, the right answer", "Answer: it falls",
             "a distractor", "It falls ✓", "It falls - correct", "It falls [key]", "It falls*", "Ｂ: it falls",
             "The red ball [incorrect]", "(answer) The red ball", "The red ball – correct.", "The red ball: CORRECT",
             "This is the wrong option", "A fall, the ｒight answer", "It falls (as in [the correct one"],
        ),
        (
            False,
            ["A ball falls.", "It comes from left.", "They answer the phone.", "The correct key opens the door.",
             "It falls (left)", "The hand (right)", "It is put right", "She corrects the angle", "The false ceiling"],
        ),
    ],
)  # fmt: skip
def test_an_option_does_not_say_which_it_is(marked: bool, texts: list[str]) -> None:
    assert [text for text in texts if is_marked(text) is not marked] == []


@pytest.mark.parametrize(
    ("start", "end", "span"),
    [
        ("00:00", "00:09", (0, 9)), ("00:09", "00:09", (9, 9)), ("00:00", "00:10", None), ("00:05", "00:04", None),
        ("5", "00:06", None), ("00:05.5", "00:06", None), ("00:00:05", "00:06", None), ("", "", None),
    ],
)  # fmt: skip
def test_times_lie_within_the_clip_in_their_order(start: str, end: str, span: tuple[int, int] | None) -> None:
    assert read_span(start, end, 9) == span


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
