"""Timed descriptions as a page shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.utils.people.inquiries import TimedDescription


def clock(second: int) -> str:
    """A second as ``MM:SS``."""
    return f"{second // 60:02}:{second % 60:02}"


def shown_descriptions(described: Sequence[TimedDescription]) -> list[dict[str, Any]]:
    """Return the descriptions of a clip in the form that a page holds."""
    return [
        {
            "name": one.name,
            "start": clock(one.start),
            "end": clock(one.end),
            "text": one.text,
            "boxes": {second: [round(share, 4) for share in box] for second, box in one.boxes.items()},
        }
        for one in described
    ]
