"""Frames of a clip in another order: which order that is, and a clip that a model is to read in it."""

from __future__ import annotations

import hashlib
import random
from enum import Enum
from pathlib import Path

from lmms_eval_tasks.utils.data.clip_facts import digest_clip


class FrameOrder(str, Enum):
    """Another order than a clip's own."""

    REVERSED = "reversed"
    SHUFFLED = "shuffled"

    def numbers(self, clip: Path, count: int, seed: int = 0) -> tuple[int, ...]:
        """Numbers of a clip's frames, from 0 on, in this order."""
        own = list(range(count))
        if self is FrameOrder.REVERSED:
            return tuple(reversed(own))
        generator, order = seeded(clip, seed), list(own)
        while order == own and count > 1:
            generator.shuffle(order)
        return tuple(order)


def seeded(clip: Path, seed: int) -> random.Random:
    """A generator of random numbers that depends on a seed and what a clip holds alone."""
    return random.Random(hashlib.sha256(f"{seed}\0{digest_clip(clip)}".encode()).hexdigest())


class ReorderedClip(str):
    """A clip whose frames a model is to read in another order."""

    path: Path
    order: FrameOrder

    def __new__(cls, path: Path, order: FrameOrder) -> ReorderedClip:
        """A clip in an order."""
        clip = super().__new__(cls, f"{path}#{order.value}")
        clip.path, clip.order = path, order
        return clip

    def __getnewargs__(self) -> tuple[Path, FrameOrder]:  # type: ignore[override]
        return self.path, self.order


def source_of(clip: str | Path) -> tuple[Path, str]:
    """The file of a clip, and the order in which its frames are to be read; empty for its own."""
    return (clip.path, clip.order.value) if isinstance(clip, ReorderedClip) else (Path(clip), "")
