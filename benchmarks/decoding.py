"""How many clips an hour are read ahead of a model by one worker and by two, in how much memory, and whether it waits.

Films are decoded as a model would ask for them: 16 frames, evenly spread. Other programs on the machine matter little:
Linux says of each worker how long it waited for a core, and that is taken off, so that what is left is what the worker
did and what it waited for other workers. Where the system does not say, it is the time on the clock. The natural rival
is one worker, as decoding was before.

The last lines are of a model that takes 50 ms for an item. It gets as many workers as the arithmetic says, the seconds
of decoding over those of the model, rounded up, and the share of its time in which it waits for clips is printed, after
the first of them: by the clock, and simulated from the seconds that each clip took, as if each worker had a core.

Measured on two cores, 2026-11-25: 0.54 of its time for 480 lines (70,768 clips an hour against 38,545), 0.47 for
1,080; never more decoded clips in memory than fit; with the workers that the arithmetic says (2 at 95 ms a clip) the
model waits 2% of its time.
"""

from __future__ import annotations

import math
import resource
import statistics
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring import Options, film, print_ratio

from lmms_eval_tasks.models.base import Work
from lmms_eval_tasks.models.clip_reading import WAITING, OpenClip, ReadAhead, Reading
from lmms_eval_tasks.utils.core.work import own_cores

FRAMES = 16
SIZES = {"120": (160, 120), "480": (640, 480), "1080": (1920, 1080)}
MODEL_SECONDS = 0.05
LIMIT_CLIPS = 3
"""How many decoded clips fit into the memory that is allowed where that is measured."""


@dataclass
class Measured:
    """What workers did.

    Attributes:
        seconds: The longest that one of them took, without waiting for a core.
        clips: The seconds of each clip, in order, without waiting for a core.
        most: The most bytes of decoded frames that were there at once.
    """

    seconds: float
    clips: list[float]
    most: int


def own_seconds() -> float:
    """Seconds of this thread so far, without those in which it waited for a core."""
    try:
        waited = int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        waited = 0.0
    return time.perf_counter() - waited


def read_all(clips: Sequence[Path], workers: int, limit: int | None = None) -> Measured:
    """Read clips ahead of a model that takes no time."""
    lock, seconds, there = threading.Lock(), dict[int, dict[Path | int, float]](), dict[int, int]()
    most = 0

    def read(place: int, room: Reading[Any]) -> np.ndarray:
        nonlocal most
        begun = own_seconds()
        clip = OpenClip(clips[place], room, growth=1.0)
        frames = clip.read(np.linspace(0, clip.count - 1, FRAMES).round().astype(int).tolist())
        with lock:
            seconds.setdefault(threading.get_ident(), {})[place] = own_seconds() - begun
            there[place] = frames.nbytes
            most = max(most, sum(there.values()))
        return frames

    for place, reading in ReadAhead(workers, limit).read(range(len(clips)), read, Work()):
        reading.result()
        with lock:
            del there[place]
        reading.release()
    each = {place: taken for own in seconds.values() for place, taken in own.items()}
    longest = max(sum(own.values()) for own in seconds.values())
    return Measured(longest, [each[place] for place in range(len(clips))], most)


def share_waited(clips: Sequence[Path], workers: int) -> float:
    """Share of its time in which a model of `MODEL_SECONDS` an item waits for clips, after the first of them."""
    work, begun, before = Work(), 0.0, 0.0

    def read(clip: Path, room: Reading[Any]) -> np.ndarray:
        opened = OpenClip(clip, room, growth=1.0)
        return opened.read(np.linspace(0, opened.count - 1, FRAMES).round().astype(int).tolist())

    for number, (_, reading) in enumerate(ReadAhead(workers).read(clips, read, work)):
        reading.result()
        if number == workers:
            begun, before = time.perf_counter(), work.seconds[WAITING]
        time.sleep(MODEL_SECONDS)
        reading.release()
    return (work.seconds[WAITING] - before) / (time.perf_counter() - begun)


def share_simulated(seconds: Sequence[float], workers: int) -> float:
    """The same, from the seconds that each clip takes a worker that has a core."""
    free, model, waited, begun = [0.0] * workers, 0.0, 0.0, 0.0
    for number, taken in enumerate(seconds):
        worker = free.index(min(free))
        free[worker] += taken
        if number > workers:
            waited += max(0.0, free[worker] - model)
        model = max(model, free[worker])
        begun = model if number == workers else begun
        model += MODEL_SECONDS
    return waited / (model - begun)


def measure(name: str, size: tuple[int, int], options: Any, folder: Path) -> None:
    """Print what clips of one size of picture take."""
    clips = [film(folder / f"{name}.mp4", size, options.frames)] * options.clips
    count, clip_bytes = len(clips), FRAMES * size[0] * size[1] * 3
    read_all(clips[:2], 2)
    arms: dict[int, list[Measured]] = {1: [], 2: []}
    for _ in range(options.repeats):
        for workers, measured in arms.items():
            measured.append(read_all(clips, workers))
    hours = {workers: statistics.median(one.seconds for one in measured) for workers, measured in arms.items()}
    best = min(two.seconds / one.seconds for one, two in zip(arms[1], arms[2], strict=True))
    limited = read_all(clips, 2, LIMIT_CLIPS * clip_bytes)
    print_ratio(
        hours[2] / hours[1],
        f"{name} lines, two workers {3600 * count / hours[2]:,.0f} clips an hour, one {3600 * count / hours[1]:,.0f}; "
        f"{best:.2f} in the best repeat; at most {arms[2][0].most / clip_bytes:.0f} decoded clips in memory, and "
        f"{limited.most / clip_bytes:.0f} where {LIMIT_CLIPS} fit",
    )
    alone = arms[1][0].clips
    workers = math.ceil(statistics.mean(alone) / MODEL_SECONDS)
    simulated = share_simulated(alone * (1 + 4 * workers // count), workers)
    by_clock = f"{share_waited(clips, workers):.0%}" if workers < count else "not measured"
    print(
        f"{name} lines: {1000 * statistics.mean(alone):.0f} ms a clip, {1000 * MODEL_SECONDS:.0f} ms an item, "
        f"{workers} workers on {own_cores()} cores: share of its time waited by the clock {by_clock}, with a core "
        f"for each {simulated:.0%}",
        flush=True,
    )


def main() -> None:
    """Print what was measured."""
    parser = Options(__doc__)
    parser.add_size("--lines", "480,1080", "120", "heights of pictures")
    parser.add_size("--frames", 300, 20, "frames of a clip")
    parser.add_size("--clips", 24, 6, "clips of each size")
    parser.add_size("--repeats", 5, 1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        for height in options.lines.split(","):
            measure(height, SIZES[height], options, Path(name))
    print(f"peak memory of the process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")


if __name__ == "__main__":
    main()
