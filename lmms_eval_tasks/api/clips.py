"""Reading and writing videos and pictures."""

from __future__ import annotations

from lmms_eval_tasks.utils.data.clips import videos_below
from lmms_eval_tasks.utils.data.coding import FrameCoder
from lmms_eval_tasks.utils.data.frame_stream import FrameStream
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.jpeg import as_jpeg

__all__ = [
    "FrameCoder",
    "FrameStream",
    "PyavFrames",
    "as_jpeg",
    "videos_below",
]
