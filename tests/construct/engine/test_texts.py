"""Rules about texts that models write."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.construct.engine.texts import bare_words, holds_text, is_marked


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


@pytest.mark.parametrize(
    ("text", "part", "held"),
    [
        ("Why does the red ball stop?", "The red ball.", True),
        ("Why does the red ball stop?", "red stop", False),
        ("Why does the red balloon stop?", "The red ball", False),
        ("Why does it stop?", "", False),
        ("Why does it stop?", "The", False),
    ],
)
def test_a_text_holds_words_in_a_row(text: str, part: str, held: bool) -> None:
    assert holds_text(text, part) is held


@given(st.text(), st.text(), st.text())
def test_a_text_holds_its_parts(before: str, part: str, after: str) -> None:
    assert holds_text(f"{before} {part} {after}", part) is bool(bare_words(part))


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("B: it falls", True), ("(C) it falls", True), ("It falls (correct)", True), ("A fall, the right answer", True),
        ("Answer: it falls", True), ("a distractor", True), ("A ball falls.", False), ("It comes from left.", False),
        ("They answer the phone.", False), ("The correct key opens the door.", False), ("It falls ✓", True),
        ("It falls - correct", True), ("It falls [key]", True), ("It falls*", True), ("It falls (left)", False),
    ],
)  # fmt: skip
def test_an_option_does_not_say_which_it_is(text: str, marked: bool) -> None:
    assert is_marked(text) is marked


def test_a_long_text_is_looked_at_in_time_that_grows_with_its_length() -> None:
    before = time.process_time()
    assert not is_marked("(" * 20_000)
    assert time.process_time() - before < 2.0
    assert is_marked("It falls (as in [the correct one")
