"""Opening clips: whether a file is a video that can be read, and the black video that replaces a missing one."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress
from lmms_eval_tasks.utils.data.containers import is_cut_short, length_in_seconds
from lmms_eval_tasks.utils.data.frame_stream import FrameStream
from lmms_eval_tasks.utils.data.release import UnreadableClip

VIDEO_SUFFIXES = frozenset({".mp4", ".mov", ".mkv", ".avi", ".webm", ".m4v"})
"""Of the files that are taken for videos in any folder."""
PLACEHOLDER_FRAMES = 16
PLACEHOLDER_SIDE = 224

K = TypeVar("K")
T = TypeVar("T")


def videos_below(folder: Path) -> list[Path]:
    """The files in a folder, and in those in it, that are videos by their suffix; in the order of their paths.

    A suffix is one of .avi, .m4v, .mkv, .mov, .mp4 and .webm, in capitals or not. No file is opened.

    Raises:
        InputError: there is none.
    """
    found = sorted(path for path in folder.rglob("*") if path.suffix.lower() in VIDEO_SUFFIXES and path.is_file())
    if not found:
        raise InputError(f"{folder} holds no video ({', '.join(sorted(VIDEO_SUFFIXES))}).")
    return found


def is_readable(path: Path, whole: bool = False) -> bool:
    """Whether a file opens as a video and does not lack its end, with `whole` also whether all frames can be
    decoded."""
    try:
        with FrameStream(path) as stream:
            for _ in stream.frames(as_stored=True) if whole or is_cut_short(path) else ():
                pass
            return True
    except (UnreadableClip, OSError):
        return False


def unreadable(
    paths: Iterable[Path], progress: Progress = no_progress, what: str = "opening clips", whole: bool = False
) -> list[Path]:
    """The files that are not readable videos, in the given order; opened in parallel threads."""
    looked = in_parallel(list(paths), lambda path: is_readable(path, whole), progress, what)
    return [path for path, good in looked if not good]


def in_parallel(things: Collection[K], work: Callable[[K], T], progress: Progress, what: str) -> Iterator[tuple[K, T]]:
    """Each thing and what `work` returns for it, in the given order; several are worked on in parallel threads."""
    with ThreadPoolExecutor(max_workers=min(32, (os.cpu_count() or 1) + 4)) as pool:
        for done, result in enumerate(zip(things, pool.map(work, things), strict=True), 1):
            yield result
            progress(what, done, len(things))


def clip_seconds(path: Path) -> float | None:
    """A clip's length in seconds, from its header; None where it cannot be opened or its header states none."""
    import av

    try:
        with av.open(str(path)) as container:
            return length_in_seconds(container) if container.streams.video else None
    except (av.FFmpegError, OSError, ValueError):
        return None


def clip_lengths(paths: Iterable[Path], progress: Progress, what: str) -> dict[Path, float | None]:
    """`clip_seconds` of each distinct file, read once and in parallel threads."""
    return dict(in_parallel(dict.fromkeys(paths), clip_seconds, progress, what))


def write_placeholder(path: Path) -> None:
    """Write a black H.264 video of 16 frames, 224 by 224 pixels, two seconds; the same bytes each time."""
    import av
    import numpy as np

    with av.open(str(path), "w", format="mp4", options={"fflags": "+bitexact"}) as container:
        # With AVX-512 the encoder reads memory that it has not set, and bytes vary.
        stream = container.add_stream("libx264", rate=8, options={"x264-params": "asm=0"})
        stream.width = stream.height = PLACEHOLDER_SIDE
        stream.pix_fmt = "yuv420p"
        stream.thread_count = 1
        black = np.zeros((PLACEHOLDER_SIDE, PLACEHOLDER_SIDE, 3), dtype=np.uint8)
        for _ in range(PLACEHOLDER_FRAMES):
            container.mux(stream.encode(av.VideoFrame.from_ndarray(black, format="rgb24")))
        container.mux(stream.encode())
