"""Sizes at which clips are shown, to which boxes in pixels refer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from lmms_eval_tasks.api import Progress
from lmms_eval_tasks.api.clips import FrameStream
from lmms_eval_tasks.api.release import UnreadableClip


def frame_sizes(paths: Iterable[Path], progress: Progress, what: str) -> dict[Path, tuple[int, int] | None]:
    """`frame_size` of each distinct file, read once and in parallel threads."""
    distinct = list(dict.fromkeys(paths))
    sizes: dict[Path, tuple[int, int] | None] = {}
    with ThreadPoolExecutor(max_workers=min(32, (os.cpu_count() or 1) + 4)) as pool:
        for path, size in zip(distinct, pool.map(frame_size, distinct), strict=True):
            sizes[path] = size
            progress(what, len(sizes), len(distinct))
    return sizes


def frame_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels of a clip as it is shown, from its header; None where it cannot be decoded."""
    try:
        with FrameStream(path) as stream:
            width, height = stream.size
            turned = round(next(stream.frames(as_stored=True)).rotation / 90) % 2
    except UnreadableClip:
        return None
    if not (width and height):
        return None
    return (height, width) if turned else (width, height)
