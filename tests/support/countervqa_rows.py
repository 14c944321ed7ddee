"""Rows of a prepared CounterVQA table."""

from __future__ import annotations

from typing import Any

GRAPH = '{"clip": "c.mp4", "actions": [{"id": "a1", "start": 5, "text": "hits {it}"}], "links": []}'


def row(number: int, verdict: str | None, level: str = "L1", interaction: str = "H2H", **more: Any) -> dict[str, Any]:
    """A question by itself, which its number names."""
    return {
        "item_id": str(number), "group_id": str(number), "question": "Had {it} not?", "answer": verdict, "asked": True,
        "level": level, "interaction": interaction, "rule": None, "paired": False, "explanation": "It is so.",
        "graph": GRAPH, **more,
    }  # fmt: skip
