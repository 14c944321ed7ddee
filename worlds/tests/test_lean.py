"""By which traits a question leans to its right option, which balances the set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from lmms_eval_worlds.questions.question import Sketch


def test_the_traits_of_right_and_wrong_options_by_hand() -> None:
    facts: Any = SimpleNamespace(scene=SimpleNamespace(id="s"))
    options = {"the ball": ("~body ball", "colour red"), "the big cube": ("body cube",)}
    sketch = Sketch(facts, "perception", "k", (("Which ball is it?", 0),), options, ())
    assert sketch.lean == pytest.approx(
        {
            # The mark of a trait that may go beyond the cap stands before the whole name.
            "~perception/k/body ball": 0.5,
            "perception/k/colour red": 0.5,
            "perception/k/body cube": -0.5,
            "~perception/s/the ball": 0.5,
            "~perception/s/the big cube": -0.5,
            "perception/longest": -0.5,
            "perception/shortest": 0.5,
            # Of "the", "ball" and "the ball" the question has one; of the other option's nothing.
            "perception/0/most like the question": 0.5,
            "perception/0/least like the question": -0.5,
        }
    )
