"""What one more file costs in a full store of made clips, by how many files it holds.

Each store is as large as its limit, of files without content. A tenth as many are then made in it one after the other:
once while all others are in use, so that none may be deleted, and once where all are old, so that room is made.

The rivals are a store of 2,000 files, and a look at all files, which a full store took for each new one.

Measured on two cores, 2026-11-25: 1.00 and 1.07 of its time; 0.002 of a look.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from measuring import Options, print_ratio

from lmms_eval_tasks.utils.data.clip_store import ClipStore

SIZE = 1_000_000
"""Bytes that a file has by its length; none of them is on the disk."""
OLD = 7200.0
"""Seconds since the last use of files that may be deleted."""


def fill(folder: Path, files: int, age: float) -> ClipStore:
    """A store as large as its limit."""
    used = time.time() - age
    for number in range(files):
        name = hashlib.sha256(str(number).encode()).hexdigest()
        path = folder / name[:2] / f"{name}.mp4"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_empty(path)
        os.utime(path, (used, used))
    return ClipStore(folder, files * SIZE)


def write_empty(path: Path) -> int:
    """Write a file whose content is not on the disk; it is made of a clip of one frame."""
    with path.open("wb") as file:
        file.truncate(SIZE)
    return 1


def seconds_to_make(stores: Sequence[ClipStore], counts: Sequence[int]) -> list[float]:
    """Seconds that a new file takes in each store, on average, where so many are made, a few in each in turn."""
    seconds, rounds = [0.0] * len(stores), min(counts)
    clip = stores[0].folder.parent / "clip.mp4"
    clip.write_bytes(b"clip")
    for turn in range(rounds):
        for place, (store, count) in enumerate(zip(stores, counts, strict=True)):
            started = time.perf_counter()
            for number in range(turn * count // rounds, (turn + 1) * count // rounds):
                store.find_or_make(clip, {"number": number}, ".mp4", "all", write_empty)
            seconds[place] += time.perf_counter() - started
    return [all_ / count for all_, count in zip(seconds, counts, strict=True)]


def seconds_to_look(store: ClipStore) -> float:
    """The rival: seconds of one look at all files, as a store takes that looks whenever it is full."""
    started = time.perf_counter()
    sum(path.stat().st_size for path in store.folder.glob("??/*"))
    return time.perf_counter() - started


def main() -> None:
    """Print what a new file costs in the larger store, in parts of the smaller one and of a look at all files."""
    parser = Options(__doc__)
    parser.add_size("--few", 2_000, 100, "files of the smaller store")
    parser.add_size("--many", 100_000, 400, "of the larger one")
    options = parser.parse_args()
    few, many = options.few, options.many
    for state, age in (("all in use", 0.0), ("all old", OLD)):
        with tempfile.TemporaryDirectory() as folder:
            small, large = (fill(Path(folder, str(files), "views"), files, age) for files in (few, many))
            at_few, at_many = seconds_to_make((small, large), (few // 10, many // 10))
            look = seconds_to_look(large)
        beside = f"a file beside {many:,} ({1e3 * at_many:.2f} ms)"
        print_ratio(at_many / at_few, f"{state}, {beside} to one beside {few:,}")
        print_ratio(at_many / look, f"{state}, {beside} to a look at all ({1e3 * look:.0f} ms)")


if __name__ == "__main__":
    main()
