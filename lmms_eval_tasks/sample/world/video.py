"""Scenes and frames to H.264 clips whose bytes depend on nothing but the frames and the encoder's version."""

from collections.abc import Mapping
from pathlib import Path

import av
import numpy as np
from av.codec.context import Flags as CodecFlags
from av.container import Flags as ContainerFlags
from numpy.typing import NDArray

from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.render import render
from lmms_eval_tasks.sample.world.scene import DrawnScene
from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.data.pictures import INSTRUCTIONS

_X264 = f"asm={INSTRUCTIONS}"
_OPTIONS = {"preset": "medium", "threads": "1"}


def write_clip(path: Path, frames: NDArray[np.uint8], fps: int = FPS, crf: int = 18, look_ahead: bool = True) -> None:
    """Write (T, H, W, 3) uint8 RGB frames as an mp4 with one H.264 stream; H and W must be even."""
    x264 = _X264 if look_ahead else f"{_X264}:rc-lookahead=0"
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        container.flags |= ContainerFlags.bitexact.value
        stream = container.add_stream("libx264", rate=fps, options={"crf": str(crf), "x264-params": x264, **_OPTIONS})
        stream.height, stream.width = frames.shape[1:3]
        stream.pix_fmt = "yuv420p"
        context = stream.codec_context
        context.thread_count = 1
        context.gop_size = fps
        context.max_b_frames = 0
        context.flags |= CodecFlags.bitexact.value
        for array in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(np.ascontiguousarray(array), format="rgb24")))
        container.mux(stream.encode(None))


def film_scenes(scenes: Mapping[Path, DrawnScene], progress: Progress) -> None:
    """Simulate scenes, render them and write each to its clip; folders are made where they are missing."""
    for done, (path, scene) in enumerate(scenes.items(), 1):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_clip(path, render(scene)[0])
        progress("filming clips", done, len(scenes))
