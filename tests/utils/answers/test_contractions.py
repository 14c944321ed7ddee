"""Contractions are spelled out in one place, for the rewards and for the verdicts alike."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.utils.answers.verdict import spell_out


@pytest.mark.parametrize(("text", "spelled_out"), [
    ("he couldn't, can't and won't", "he could not, can not and will not"),
    ("that's why they'd stop", "that is why they would stop"),
    ("who'd have known", "who would have known"),
    ("the cook's knife", "the cook's knife"),
    ("no contraction", "no contraction"),
])  # fmt: skip
def test_a_contraction_is_spelled_out(text: str, spelled_out: str) -> None:
    assert spell_out(text) == spelled_out
