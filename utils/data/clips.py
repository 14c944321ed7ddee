"""Opening clips: whether a file is a video that can be read, and the black video that replaces a missing one."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from lmms_eval_tasks.utils.core.problems import InputError
from lmms_eval_tasks.utils.core.progress import Progress, no_progress

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLACEHOLDER_FRAMES = 16
PLACEHOLDER_SIDE = 224

K = TypeVar("K")
T = TypeVar("T")


def is_readable(path: Path, decode: bool = False, whole: bool = False) -> bool:
    """Whether a file opens as a video, with `decode` also whether its first frame can be decoded, with `whole` all.

    Opening reads the container's header only, which is what makes it cheap enough for every clip of a release.
    """
    import av

    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                return False
            frames = container.decode(video=0)
            is_decoded = not (decode or whole) or next(frames, None) is not None
            for _ in frames if whole else ():
                pass
            return is_decoded
    except (av.FFmpegError, OSError, ValueError):
        return False


def unreadable(
    paths: Iterable[Path],
    decode: bool = False,
    progress: Progress = no_progress,
    what: str = "opening clips",
    whole: bool = False,
) -> list[Path]:
    """The files that are not readable videos, in the given order; opened in parallel threads."""
    looked = in_parallel(list(paths), lambda path: is_readable(path, decode, whole), progress, what)
    return [path for path, good in looked if not good]


def in_parallel(things: Collection[K], work: Callable[[K], T], progress: Progress, what: str) -> Iterator[tuple[K, T]]:
    """Each thing and what `work` returns for it, in the given order; several are worked on in parallel threads.

    What `work` raises is raised here, and what has not begun by then is left undone.
    """
    with ThreadPoolExecutor(max_workers=min(32, (os.cpu_count() or 1) + 4)) as pool:
        for done, result in enumerate(zip(things, pool.map(work, things), strict=True), 1):
            yield result
            progress(what, done, len(things))


def refuse_folder_without_clips(what: str, folder: Path, paths: Iterable[Path], present: int) -> None:
    """Refuse a folder of videos that holds none of a release's clips: it is the wrong one.

    Args:
        what: What is prepared.
        folder: The folder that the user named.
        paths: Where its clips should lie.
        present: How many of them are there.

    Raises:
        InputError: where none is.
    """
    expected = list(dict.fromkeys(paths))
    if expected and not present:
        raise InputError(
            f"{what} cannot be prepared: none of its {len(expected):,} clips is in {folder}, and nothing was written.\n"
            f"Expected clips such as {expected[0]}. Remedy: give --videos the folder that they are named from."
        )


def frame_size(path: Path) -> tuple[int, int] | None:
    """Width and height in pixels of a clip as it is shown, from its header; None where it cannot be opened.

    A phone's clip may be stored lying on its side, as its first frame says; width and height are then those of the
    upright picture.
    """
    import av

    try:
        with av.open(str(path)) as container:
            if not container.streams.video:
                return None
            context = container.streams.video[0].codec_context
            width, height = int(context.width), int(context.height)
            first = next(container.decode(video=0), None)
            turned = first is not None and first.rotation % 180 == 90
    except (av.FFmpegError, OSError, ValueError):
        return None
    if not (width and height):
        return None
    return (height, width) if turned else (width, height)


def frame_sizes(paths: Iterable[Path], progress: Progress, what: str) -> dict[Path, tuple[int, int] | None]:
    """`frame_size` of each distinct file, read once and in parallel threads."""
    return dict(in_parallel(dict.fromkeys(paths), frame_size, progress, what))


def clip_seconds(path: Path) -> float | None:
    """A clip's length in seconds, from its header; None where it cannot be opened or its header states none."""
    import av

    try:
        with av.open(str(path)) as container:
            return container.duration / 1_000_000 if container.streams.video and container.duration else None
    except (av.FFmpegError, OSError, ValueError):
        return None


def clip_lengths(paths: Iterable[Path], progress: Progress, what: str) -> dict[Path, float | None]:
    """`clip_seconds` of each distinct file, read once and in parallel threads."""
    return dict(in_parallel(dict.fromkeys(paths), clip_seconds, progress, what))


def frame_at(path: Path, second: float) -> tuple[NDArray[np.uint8], float] | None:
    """The picture that a clip shows at a second, upright, (H, W, 3) RGB, and the clip's length in seconds.

    After the clip's end it is the last picture. None where the file is no video that can be decoded.
    """
    import av
    import numpy as np

    try:
        with av.open(str(path)) as container:
            stream = container.streams.video[0]
            container.seek(max(0, int(second * 1_000_000)))
            last = None
            for frame in container.decode(stream):
                if last is not None and (frame.time is None or frame.time > second + 1e-3):
                    break
                last = frame
            if last is None:
                return None
            # A container that states no length is taken to end with its last picture.
            length = container.duration / 1_000_000 if container.duration else float(last.time or 0.0)
            picture = np.rot90(last.to_ndarray(format="rgb24"), round(last.rotation / 90))
            return np.ascontiguousarray(picture), length
    except (av.FFmpegError, OSError, ValueError, IndexError):
        return None


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
