"""How long frames of a clip take by our reader, beside decord, which has to give the same ones.

Measured on two cores, 2026-11-23: 0.5 to 1.1 of its time; 1,080 lines 0.5 to 0.9.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import decord
import numpy as np
from measuring import Options, film, print_ratio
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.clips import PyavFrames

Frames = NDArray[np.uint8]
WIDTHS = {64: 96, 480: 640, 1080: 1920}
THREADS = (1, 0)
"""One, and as many as each reader takes by itself."""


def ours(path: Path, numbers: list[int], threads: int) -> Frames:
    """Open a clip and decode frames by their numbers."""
    return PyavFrames(path, threads).read(numbers)


def by_decord(path: Path, numbers: list[int], threads: int) -> Frames:
    """The rival: the same by decord, as qwen-vl-utils calls it."""
    batch = decord.VideoReader(str(path), num_threads=threads).get_batch(numbers)
    # A model of lmms-eval may have set decord to return tensors, for the whole process.
    read: Frames = batch.asnumpy() if hasattr(batch, "asnumpy") else batch.numpy()
    return read


def timed(read: Callable[[], Frames]) -> tuple[float, Frames]:
    """Seconds and what was read."""
    started = time.perf_counter()
    frames = read()
    return time.perf_counter() - started, frames


def measure(path: Path, count: int, threads: int, repeats: int) -> tuple[float, float]:
    """Seconds of both readers in turn, the middle of some repeats each.

    Raises:
        RuntimeError: where their frames differ.
    """
    numbers = np.linspace(0, PyavFrames(path).count - 1, count).round().astype(int).tolist()
    own, rival = [], []
    for _ in range(repeats):
        seconds, frames = timed(partial(ours, path, numbers, threads))
        other_seconds, other_frames = timed(partial(by_decord, path, numbers, threads))
        if not np.array_equal(frames, other_frames):
            raise RuntimeError(f"Expected the same frames of {path.name}, but they differ.")
        own.append(seconds)
        rival.append(other_seconds)
    return statistics.median(own), statistics.median(rival)


def main() -> None:
    """Print seconds of both readers and their ratio."""
    parser = Options(__doc__)
    parser.add_size("--frames", 300, 12, "frames of a clip")
    parser.add_size("--lines", "480,1080", "64", "heights of pictures, of 64, 480 and 1080")
    parser.add_size("--counts", "16,64", "4", "frames that are read")
    parser.add_size("--repeats", 5, 1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for height in map(int, options.lines.split(",")):
            path = film(Path(folder, f"{height}.mp4"), (WIDTHS[height], height), options.frames)
            for count in map(int, options.counts.split(",")):
                for threads in THREADS:
                    own, rival = measure(path, count, threads, options.repeats)
                    print_ratio(
                        own / rival,
                        f"{height} lines, {count} of {options.frames} frames, {threads or 'own number of'} thread(s), "
                        f"ours {own:.3f} s, decord {rival:.3f} s",
                    )


if __name__ == "__main__":
    main()
