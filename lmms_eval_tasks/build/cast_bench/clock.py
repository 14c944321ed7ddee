"""Times of a clip as models write them."""

from __future__ import annotations

from lmms_eval_tasks.utils.answers.evidence_reading import is_clock, official_seconds


def clock(second: int) -> str:
    """A second as ``MM:SS``."""
    return f"{second // 60:02d}:{second % 60:02d}"


def read_clock(text: str) -> int | None:
    """The second of a time ``MM:SS``; None for any other text."""
    return official_seconds(text) if is_clock(text) else None


def read_span(start: str, end: str, last: int) -> tuple[int, int] | None:
    """The seconds of two times ``MM:SS`` in their order and within a clip; None for any others."""
    first, until = read_clock(start), read_clock(end)
    if first is None or until is None or not first <= until <= last:
        return None
    return first, until
