"""What flags lead to."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.annotate.forms import Decision
from lmms_eval_tasks.annotate.review import decide, decide_items


@pytest.mark.parametrize(
    ("flags", "decision"),
    [("", "keep"), ("a", "remove"), ("c", "remove"), ("d", "repair"), ("f", "repair"), ("fb", "remove")],
)
def test_the_hardest_flag_decides(flags: str, decision: str) -> None:
    assert decide(flags).value == decision


def test_two_reviews_of_a_version_count_together() -> None:
    reviews = [{"item_id": "q2", "flags": ""}, {"item_id": "q1", "flags": "d"}, {"item_id": "q1", "flags": "a"}]
    assert decide_items(reviews) == {"q1": Decision.remove, "q2": Decision.keep}
