"""A camera that moves while it films: the whole picture slides to the left and the right."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.world.physics import FPS

REACH = 8
"""How far the camera gets from where it starts, in px to either side."""
_SECONDS = 3.0


def film_moving(frames: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return the view of a camera that goes to and fro on (T, H, W, 3) frames: (T, H, W + 2 `REACH`, 3)."""
    width = frames.shape[2] + 2 * REACH
    wide = np.pad(frames, ((0, 0), (0, 0), (2 * REACH, 2 * REACH), (0, 0)), mode="edge")
    turn = 2 * math.pi / (_SECONDS * FPS)
    starts = [REACH + round(REACH * math.sin(turn * frame)) for frame in range(len(frames))]
    return np.stack([picture[:, start : start + width] for picture, start in zip(wide, starts, strict=True)])
