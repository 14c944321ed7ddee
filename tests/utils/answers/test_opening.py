"""How a response is opened, on answers as models of today write them, with what a careful reader takes them for."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.utils.answers import read_choice
from lmms_eval_tasks.utils.answers.plausibility import read_plausibility
from lmms_eval_tasks.utils.verdicts import UNCLEAR, read_verdict

OPTIONS = ["The cat pushes it", "A gust of wind moves the curtain", "The man pulls the cloth", "The dog tilts it"]


def read(kind: str, text: str, cut_off: bool = False) -> str | None:
    if kind == "choice":
        return read_choice(text, OPTIONS, cut_off=cut_off)
    if kind == "plausibility":
        return read_plausibility(text, cut_off=cut_off)
    verdict = read_verdict(text, cut_off=cut_off)
    return None if verdict == UNCLEAR else verdict


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("choice", "First the cat, A. Then the curtain moves, which fits B. Now C, and I need"),
        ("choice", "The dog pushes it, so D is correct? Wait, but the man also"),
        ("choice", "The clip is short. So it is B. But A also"),
        ("choice", "The clip shows a cat. The answer is B. Wait, the man also"),
        ("verdict", "The woman opens the drawer. She would not have the knife then. But another knife"),
        ("verdict", "Okay, so the question is about whether she would still have taken it. She would need"),
        ("verdict", "No. Wait, maybe"),
        ("plausibility", "The ball rolls behind the wall. It looks possible so far. Then the"),
        ("plausibility", "The clip seems impossible at first. Then"),
    ],
)
def test_what_is_weighed_in_an_answer_that_was_cut_off_is_not_read(kind: str, text: str) -> None:
    assert read(kind, text, cut_off=True) is None


@pytest.mark.parametrize(
    ("kind", "text", "answer"),
    [
        ("choice", "B. The curtain moves and then the glass is seen to", "B"),
        ("choice", "The answer is B because the curtain moves. The cat is on the sofa and A is", "B"),
        ("choice", "The curtain moves. \\boxed{B} since the", "B"),
        ("choice", '{"answer": "B", "explanation": "the curtain moves and', "B"),
        ("choice", "**B**\n\nThe wind moves", "B"),
        ("verdict", "No. Without the drawer being opened, she could", "no"),
        ("verdict", "**Answer: No**\n\nThe drawer holds the", "no"),
        ("plausibility", "No, the ball vanishes and", "B"),
        ("plausibility", "Answer: 0. The cube", "B"),
        ("plausibility", '{"answer": 1, "explanation": "the bal', "A"),
    ],
)
def test_what_an_answer_that_was_cut_off_commits_itself_to_is_read(kind: str, text: str, answer: str) -> None:
    assert read(kind, text, cut_off=True) == answer
