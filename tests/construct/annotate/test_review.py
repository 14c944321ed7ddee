"""What flags lead to."""

from __future__ import annotations

import pytest

from lmms_eval_tasks.construct.annotate.answer_files import decide_items
from lmms_eval_tasks.utils.people.inquiries import Decision, decide


@pytest.mark.parametrize(
    ("flags", "decision"),
    [
        (["", ""], "keep"),
        (["a", ""], "remove"),
        (["", "c"], "remove"),
        (["fb", ""], "remove"),
        (["d", ""], "repair"),
        (["def", ""], "repair"),
        (["d", "f"], "remove"),
        (["e", "e"], "remove"),
    ],
)
def test_the_papers_flags_remove_or_repair(flags: list[str], decision: str) -> None:
    """CausalVQA, 2.2.7: a to c remove; d to f repair where at most one reviewer raised one of them."""
    assert decide(flags).value == decision


def test_two_reviews_of_a_version_count_together() -> None:
    reviews = [
        {"item_id": "q2", "flags": "", "decision": "keep"},
        {"item_id": "q1", "flags": "d", "decision": "repair"},
        {"item_id": "q1", "flags": "a", "decision": "remove"},
        {"item_id": "q3", "flags": "e", "decision": "repair"},
        {"item_id": "q3", "flags": "f", "decision": "repair"},
        {"item_id": "q4", "flags": "", "decision": "repair"},
    ]
    decided = {"q1": Decision.remove, "q2": Decision.keep, "q3": Decision.remove, "q4": Decision.repair}
    assert decide_items(reviews) == decided
