"""The size of the frames that a model was shown, for models that write boxes in pixels of those."""

from __future__ import annotations

from dataclasses import dataclass

from lmms_eval_tasks.utils.evidence.boxes import FrameSize

FACTOR = 28
"""Both sides of a frame shown to Qwen2.5-VL are multiples of this."""
MOST_FRAME_PIXELS = 768 * FACTOR**2
"""qwen-vl-utils shows no larger frame of a video, unless the least size is larger."""
MOST_FRAMES = 300
"""With more frames qwen-vl-utils makes each of them smaller, so that all fit the model's context."""
DEFAULT_RATE = 2.0
"""Frames per second that qwen-vl-utils takes where nothing else is asked for."""


@dataclass(frozen=True)
class PixelLimits:
    """Least and largest number of pixels of a frame that a Qwen2.5-VL adapter shows to its model."""

    least: int
    most: int


def qwen_limits(model: object) -> PixelLimits | None:
    """The limits of lmms-eval's Qwen2.5-VL adapter, from its settings.

    Returns:
        None where the model has no such settings, or so many frames that their size depends on the clip's length.

    Source: ``fetch_video`` of qwen-vl-utils 0.0.14, and lmms-eval's `qwen2_5_vl` adapters, which pass it their
    ``min_pixels`` and ``max_pixels``.
    """
    least, most = getattr(model, "min_pixels", None), getattr(model, "max_pixels", None)
    frames, rate = getattr(model, "max_num_frames", None), getattr(model, "fps", None)
    if not isinstance(least, int) or not isinstance(most, int):
        return None
    if not isinstance(frames, int) or frames > MOST_FRAMES or (rate is not None and rate > DEFAULT_RATE):
        return None
    return PixelLimits(least, min(most, max(MOST_FRAME_PIXELS, int(1.05 * least))))


def shown_frame(frame: FrameSize, limits: PixelLimits) -> FrameSize | None:
    """Width and height of the frame that the model was shown, None where no frame of that shape can be."""
    from transformers.models.qwen2_vl.image_processing_qwen2_vl import smart_resize

    try:
        height, width = smart_resize(frame[1], frame[0], FACTOR, limits.least, limits.most)
    except ValueError:  # sides that differ by more than 200 times
        return None
    return int(width), int(height)
