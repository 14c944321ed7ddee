"""Descriptions of what happens in a clip, each with its span of time, that people may edit."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

FrameShare = tuple[float, float, float, float]
"""A box as shares of the frame's width and height: left, top, right, bottom."""


@dataclass(frozen=True)
class TimedDescription:
    """What somebody or something does in a clip.

    Attributes:
        name: Who or what.
        start: First second, in whole seconds from the clip's beginning.
        end: Last second, inclusive.
        text: What happens.
        boxes: Second to where it is: left, top, right and bottom as shares of the frame's width and height, 0-1. Empty
            where that is not known.
    """

    name: str
    start: int
    end: int
    text: str
    boxes: Mapping[int, FrameShare] = field(default_factory=dict)
