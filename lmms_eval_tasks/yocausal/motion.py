"""How much moves in a clip by optical flow, and whether as much moves at its end as at its beginning."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.api import Progress, no_progress
from lmms_eval_tasks.api.clips import ClipMotion, measure_motion


def measure_all(
    paths: Sequence[Path], seconds: float | None = None, progress: Progress = no_progress
) -> Iterator[ClipMotion | None]:
    """Measure the flow of clips, or of their first seconds, in their order, several at once."""
    workers = max(1, min(8, os.cpu_count() or 1))
    with ThreadPoolExecutor(workers, thread_name_prefix="motion") as pool:
        for done, motion in enumerate(pool.map(lambda path: measure_motion(path, flow, seconds), paths), 1):
            progress("measuring motion", done, len(paths))
            yield motion


def flow(before: NDArray[np.uint8], after: NDArray[np.uint8]) -> float:
    """Mean length of the flow between two pictures, in widths of the picture."""
    import cv2

    found: Any = cv2.calcOpticalFlowFarneback(before, after, None, 0.5, 3, 15, 3, 5, 1.2, 0)
    return float(np.hypot(found[..., 0], found[..., 1]).mean() / before.shape[1])
