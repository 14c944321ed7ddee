"""How people are asked: what no page could ask is refused, and a review's flags follow from its types."""

from __future__ import annotations

from typing import Any

import pytest

from lmms_eval_tasks.utils.people.inquiries import Inquiry, Scale

SCALE = Scale("hard", "How hard?", {"1": "Easy", "2": "Hard"})


def test_what_no_page_could_ask_is_refused_and_a_review_asks_for_another_type_where_there_are_types() -> None:
    wrong: list[dict[str, Any]] = [{"form": "choices"}, {"form": "ratings"}, {"form": "choice", "scales": (SCALE,)}]
    for fields in (*wrong, {"form": "review", "attention": 1}):
        with pytest.raises(ValueError, match="Expected"):
            Inquiry(**fields)
    assert "".join(Inquiry("review", kinds=("planning",)).flags) == "abcdef"
    assert "".join(Inquiry("review").flags) == "abcef"
    assert not Inquiry("choice", kinds=("planning",)).flags
