"""Read and write videos and pictures."""

from __future__ import annotations

from lmms_eval_tasks.utils.data.clips import FrameStream, PyavFrames, videos_below
from lmms_eval_tasks.utils.data.motion import ClipMotion, measure_motion, most_symmetric, symmetry
from lmms_eval_tasks.utils.data.pictures import FrameCoder, as_jpeg, h264_file

__all__ = [
    "ClipMotion",
    "FrameCoder",
    "FrameStream",
    "PyavFrames",
    "as_jpeg",
    "h264_file",
    "measure_motion",
    "most_symmetric",
    "symmetry",
    "videos_below",
]
