"""What a decoded frame shows: upright, as planes of brightness and colours, or as RGB."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def turns_of(frame: Any) -> int:
    """By how many quarters of a turn, counterclockwise, a frame is to be turned to be upright, 0 to 3."""
    turns: int = round(frame.rotation / 90) % 4
    return turns


def rgb_of(frame: Any, size: tuple[int, int] | None = None) -> NDArray[np.uint8]:
    """A frame upright as (H, W, 3) RGB, equal to decord's to the last bit."""
    # swscale asks for a range of RGB, too, and ignores it. PyAV hands it the matrix only where the two ranges differ.
    source, target = ("JPEG", "MPEG") if has_full_range(frame) else ("MPEG", "JPEG")
    width, height = size or (frame.width, frame.height)
    colours = frame.reformat(width, height, "rgb24", src_color_range=source, dst_color_range=target).to_ndarray()
    return np.ascontiguousarray(np.rot90(colours, turns_of(frame)))


def upright(frame: Any) -> Any:
    """A decoded frame as it is to be shown: a phone's clip may be stored lying on its side."""
    turns = turns_of(frame)
    if not turns:
        return frame
    return from_planes(np.ascontiguousarray(np.rot90(planes_of(frame), turns, axes=(1, 2))), frame)


def planes_of(frame: Any) -> NDArray[np.uint8]:
    """Brightness and colours of a frame, (3, H, W); colours that pixels share are repeated, not blended."""
    if frame.format.name in ("yuv420p", "yuvj420p") and not (frame.width % 2 or frame.height % 2):
        height, width = frame.height, frame.width
        packed = frame.to_ndarray()
        colours = packed[height:].reshape(2, height // 2, width // 2)
        return np.concatenate([packed[None, :height], colours.repeat(2, axis=1).repeat(2, axis=2)])
    planes: NDArray[np.uint8] = frame.reformat(format=full_format(frame)).to_ndarray()
    return planes


def from_planes(planes: NDArray[np.uint8], like: Any) -> Any:
    """A frame with the brightness and colours of `planes`, (3, H, W), which mean what they mean in the frame `like`."""
    import av

    frame = av.VideoFrame.from_ndarray(planes, format=full_format(like))
    frame.colorspace, frame.color_range = like.colorspace, like.color_range
    return frame


def has_full_range(frame: Any) -> bool:
    """Whether black is 0 in a frame's brightness, not 16."""
    return frame.format.name.startswith("yuvj") or int(frame.color_range) == 2


def full_format(frame: Any) -> str:
    """The form of pixels in which each has its own colours, in a frame's range."""
    return "yuvj444p" if frame.format.name.startswith("yuvj") else "yuv444p"
