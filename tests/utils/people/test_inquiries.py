"""How people are asked: what no page could ask is refused, and a review's flags follow from its types."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_eval_tasks.utils.people.inquiries import Inquiry, Scale

SCALE = Scale("hard", "How hard?", {"1": "Easy", "2": "Hard"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"form": "choices"},
        {"form": "ratings"},
        {"form": "choice", "scales": (SCALE,)},
        {"form": "review", "attention": 1},
    ],
)
def test_what_no_page_could_ask_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="Expected"):
        Inquiry(**wrong)


def test_a_review_asks_for_another_type_where_there_are_types() -> None:
    assert "".join(Inquiry("review", kinds=("planning",)).flags) == "abcdef"
    assert "".join(Inquiry("review").flags) == "abcef"
    assert not Inquiry("choice", kinds=("planning",)).flags
