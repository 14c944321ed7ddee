"""Language Table's episodes as TensorFlow Datasets stores them, found by the number that MVP's clips have.

MVP numbers episodes in the order in which the official script reads them, which is not that of the files: TensorFlow
Datasets opens 16 files at a time and takes 16 episodes from each in turn.
Sources: facebookresearch/minimal_video_pairs@08cb285, setup/download_lt.py; tensorflow/datasets@088aba6, core/reader.py
"""

from __future__ import annotations

import glob
import io
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from lmms_eval_tasks.api import InputError, Problems, Progress
from lmms_eval_tasks.api.release import UnreadableClip, read_metadata
from lmms_eval_tasks.mvp.tfrecord import BadRecord, TfRecord, index_records, read_example

INFO = "dataset_info.json"
SPLIT = "train"
FRAMES = "steps/observation/rgb"
FIRST, LAST = "steps/is_first", "steps/is_last"
MOST = 10_000_000
"""Episodes of a dataset; Language Table has 442,226."""
TOGETHER = 16
"""Files that are read in turns."""
BLOCK = 16
"""Episodes that are taken from a file in one turn."""
_DAMAGED = "copy it again, or delete it to go on without its episodes."
_OTHERS = f"copy {INFO} and the files again, all of one version of the dataset."


class _Split(BaseModel):
    name: str
    shard_lengths: list[NonNegativeInt] = Field(alias="shardLengths", min_length=1)


class _Info(BaseModel):
    name: str
    splits: list[_Split]
    is_ordered: bool = Field(False, alias="disableShuffling")


class Episodes:
    """The training split of a dataset in a folder of TensorFlow Datasets, of which files may be missing."""

    def __init__(self, folder: Path) -> None:
        """Read how many episodes each file holds."""
        self.folder = folder
        path = folder / INFO
        try:
            info = _Info.model_validate_json(read_metadata(path))
            lengths = next(split.shard_lengths for split in info.splits if split.name == SPLIT)
        except (ValidationError, StopIteration) as error:
            raise InputError(f"{path}: Expected the sizes of the files of the split {SPLIT}, but got none.") from error
        if sum(lengths) > MOST:
            raise InputError(f"{path}: Expected at most {MOST:,} episodes, but got {sum(lengths):,}.")
        self._lengths, self._name = lengths, f"{info.name}-{SPLIT}.tfrecord"
        self.files = [f"{self._name}-{number:05d}-of-{len(lengths):05d}" for number in range(len(lengths))]
        self._places: dict[int, tuple[int, int]] = {}
        number = 0
        for file, start, count in reading_order(lengths, 1 if info.is_ordered else TOGETHER, BLOCK):
            for place in range(start, start + count):
                self._places[number] = file, place
                number += 1

    def file_of(self, number: int) -> str | None:
        """Name of the file that holds an episode; None where the dataset has fewer episodes."""
        return self.files[self._places[number][0]] if number in self._places else None

    def find(self, numbers: Collection[int], problems: Problems, progress: Progress) -> dict[int, TfRecord]:
        """Return the locations of the wanted episodes whose file exists."""
        wanted: dict[int, list[int]] = defaultdict(list)
        for number in sorted(set(numbers) & self._places.keys()):
            wanted[self._places[number][0]].append(number)
        if not wanted:
            return {}
        for path in sorted(self.folder.glob(f"{glob.escape(self._name)}-*-of-*")):
            if path.name not in self.files:
                what = f"Expected no file but {self.files[0]} to {self.files[-1]}, by {INFO}, but got this one."
                problems.add(str(path), what, remedy=_OTHERS)
        places: dict[int, TfRecord] = {}
        for file, length in enumerate(self._lengths):
            records = self._index(self.folder / self.files[file], length, problems)
            places |= {number: records[self._places[number][1]] for number in wanted[file] if records}
            progress("finding episodes in files", file + 1, len(self.files))
        return places

    def _index(self, path: Path, length: int, problems: Problems) -> list[TfRecord]:
        """The records of a file; none where it is not there, or is not what it should be, which is a problem."""
        if not path.exists():
            return []
        try:
            records = index_records(path) if path.is_file() else None
        except BadRecord as error:
            problems.add(str(path), str(error), remedy=_DAMAGED)
            return []
        if records is None:
            problems.add(str(path), "Expected a regular file, but got something else.", remedy=_DAMAGED)
            return []
        if len(records) != length:
            what = f"Expected {length:,} episodes, as {INFO} says of this file, but got {len(records):,}."
            problems.add(str(path), what, remedy=_OTHERS)
            return []
        return records


def reading_order(lengths: Sequence[int], together: int, block: int) -> Iterator[tuple[int, int, int]]:
    """Yield the order in which records of several files are read, as `tf.data.Dataset.interleave` does it."""
    waiting = [file for file, length in enumerate(lengths) if length][::-1]
    taken = [0] * len(lengths)
    slots: list[int | None] = [None] * together
    while waiting or any(file is not None for file in slots):
        for slot, file in enumerate(slots):
            if file is None:
                if not waiting:
                    continue
                file = slots[slot] = waiting.pop()
            count = min(block, lengths[file] - taken[file])
            if count:
                yield file, taken[file], count
                taken[file] += count
            # That a file has no more is seen only when one more is asked for.
            if count < block:
                slots[slot] = None


def read_frames(record: TfRecord) -> Iterator[NDArray[np.uint8]]:
    """The pictures of an episode, (H, W, 3) RGB, in the order of its steps."""
    try:
        features = read_example(record.read(), (FRAMES, FIRST, LAST))
    except BadRecord as error:
        raise UnreadableClip(str(error)) from error
    frames, first, last = (list(features.get(name, ())) for name in (FRAMES, FIRST, LAST))
    if not frames or not len(frames) == len(first) == len(last):
        raise UnreadableClip(
            f"Expected one picture for each of {max(len(first), len(last))} steps, but got {len(frames)}."
        )
    if first[0] != 1 or last[-1] != 1:
        raise UnreadableClip("Expected an episode from its first step to its last, but it is a part of one.")
    size: Any = None
    for number, frame in enumerate(frames):
        picture = _decode(frame, number)
        size = size or picture.shape
        if picture.shape != size:
            raise UnreadableClip(f"Expected pictures of one size, but that of step {number} has another.")
        yield picture


def _decode(frame: object, number: int) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(frame if isinstance(frame, bytes) else b"")) as image:
            return np.asarray(image.convert("RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise UnreadableClip(f"Expected the picture of step {number} to be a PNG or a JPEG.") from error
