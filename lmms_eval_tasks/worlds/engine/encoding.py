"""Frames to a small H.264 clip, as bytes."""

from __future__ import annotations

import io
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# SSE2 is in every such processor; with what x264 finds by itself bytes differ between processors, and with AVX-512 it
# reads memory that it has not set. These are the bytes that it writes without any of it, in half the time.
_INSTRUCTIONS = "MMX2,SSE2" if platform.machine().lower() in ("x86_64", "amd64") else "0"
# Without a look ahead the first picture is coded by itself: clips that start alike start with the same bits.
_ALONE = "rc-lookahead=0:mbtree=0:sync-lookahead=0"
_OPTIONS = {"preset": "veryfast", "threads": "1", "x264-params": f"asm={_INSTRUCTIONS}:{_ALONE}"}
QUALITY = 20
"""Of the encoder, from 0 to 51: the larger, the smaller are clips."""


def encode_frames(frames: Sequence[NDArray[np.uint8]], rate: int, comment: str, quality: int = QUALITY) -> bytes:
    """An mp4 with one H.264 stream; the same frames give the same bytes."""
    import av
    from av.codec.context import Flags as CodecFlags
    from av.container import Flags as ContainerFlags

    written = io.BytesIO()
    with av.open(written, "w", format="mp4") as container:
        container.flags |= ContainerFlags.bitexact.value
        container.metadata["comment"] = comment
        stream = container.add_stream("libx264", rate=rate, options={"crf": str(quality), **_OPTIONS})
        stream.height, stream.width = frames[0].shape[:2]
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.thread_count = 1
        context.flags |= CodecFlags.bitexact.value
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode(None))
    return written.getvalue()


def comment_of(path: Path) -> str | None:
    """The text that a file carries; None where it is no clip that can be opened."""
    import av

    try:
        with av.open(str(path)) as container:
            return str(container.metadata.get("comment", ""))
    except (av.FFmpegError, OSError, ValueError):
        return None
