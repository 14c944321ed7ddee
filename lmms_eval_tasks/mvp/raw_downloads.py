"""MVP's clips in the downloads of their nine sources, unpacked as they are: found, and made where a source has no MP4.

The official Makefile flattens, renames and converts each download into `videos/<source>/`; its script that deletes the
clips that are not wanted needs a `test.json` that was not published. Here the annotations say which are wanted.
Source: facebookresearch/minimal_video_pairs@149e336, Makefile and setup/.
"""

from __future__ import annotations

import glob
import hashlib
import io
import re
import struct
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction
from functools import cached_property
from itertools import count, islice
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, NonNegativeInt, ValidationError

from lmms_eval_tasks.api import InputError, Problems, Progress
from lmms_eval_tasks.api.clips import FrameCoder, FrameStream
from lmms_eval_tasks.api.release import (
    DamagedSource,
    UnreadableClip,
    needs_package,
    quote,
    read_metadata,
    summarize_names,
)

CLIP_SOURCES = {
    "pt": "https://github.com/google-deepmind/perception_test (valid_videos.zip)",
    "ssv2": "https://www.qualcomm.com/developer/software/something-something-v-2-dataset",
    "language_table": "gs://gresearch/robotics/language_table/0.0.1",
    "intphys": "https://intphys.cognitive-ml.fr (dev.tar.gz)",
    "inflevel": "https://github.com/allenai/inflevel (inflevel_lab.tar.gz)",
    "grasp": "https://github.com/i-machine-think/grasp (videos.zip)",
    "clevrer": "http://clevrer.csail.mit.edu (video_validation.zip)",
    "star": "Charades, https://prior.allenai.org/projects/charades (Charades_v1_480.zip)",
    "vinoground": "https://huggingface.co/datasets/HanSolo9682/Vinoground (vinoground_videos.zip)",
}
"""Where each source's clips come from: the official Makefile's downloads, and the pages that have their terms."""
INSIDE = {
    "pt": "videos",
    "ssv2": "20bn-something-something-v2",
    "intphys": "dev",
    "inflevel": "inflevel_lab",
    "grasp": "videos",
    "star": "Charades_v1_480",
    "vinoground": "vinoground_videos",
}
"""The folder that a download unpacks to, which may be given itself, or the folder that it lies in."""
PICTURES = tuple(f"scene_{number:03d}.png" for number in range(1, 101))
"""Pictures of a clip of IntPhys."""
INFO, SPLIT = "dataset_info.json", "train"
"""What says how many episodes each file of Language Table has, and the split that has them all."""
_INTPHYS = re.compile(r"_?(O[123])_(\d\d)_([1-4])\.mp4")
_EPISODE = re.compile(r"video_(0|[1-9]\d{0,8})\.mp4")
_CLEVRER = re.compile(r"video_(\d{5})\.mp4")

# ---- where clips lie -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RawClip:
    """A clip in a source's download, None where it is not there, and its file, as the user knows it."""

    clip: Path | ConvertedClip | None
    file: str


def read_folders(entries: Sequence[str], problems: Problems) -> dict[str, Path]:
    """Sources and the folders of their downloads, from texts such as `ssv2=DIR,intphys=DIR`."""
    folders: dict[str, Path] = {}
    # A folder's name may have a comma in it.
    for entry in (part for text in entries for part in re.split(r",(?=\s*\w+=)", text)):
        name, equals, folder = entry.strip().partition("=")
        where = f"--raw {entry.strip()}"
        if not equals or not folder:
            problems.add(where, f"Expected SOURCE=DIR, but got {quote(entry)}.")
        elif name not in CLIP_SOURCES:
            nearest = "".join(f" Did you mean {known}?" for known in get_close_matches(name, CLIP_SOURCES, n=1))
            problems.add(where, f"Expected one of {', '.join(CLIP_SOURCES)}, but got {quote(name)}.{nearest}")
        elif name in folders:
            problems.add(where, f"Expected each source once, but {name} is {folders[name]} too.")
        elif not Path(folder).expanduser().is_dir():
            problems.add(where, f"Expected the folder of a download, but there is no folder {folder}.")
        else:
            folders[name] = Path(folder).expanduser().absolute()
    return folders


def find_raw_clips(
    folders: Mapping[str, Path], paths: Iterable[str], problems: Problems, progress: Progress
) -> dict[str, RawClip]:
    wanted: dict[str, list[PurePosixPath]] = {source: [] for source in folders}
    for path in dict.fromkeys(map(PurePosixPath, paths)):
        if path.parts and path.parts[0] in folders:
            wanted[path.parts[0]].append(path)
    clips: dict[str, RawClip] = {}
    for done, (source, folder) in enumerate(folders.items(), 1):
        before = len(problems)
        if source == "language_table":
            in_source = _find_episodes(folder, wanted[source], problems, progress)
        else:
            in_source = {str(path): _find(source, folder, path, problems) for path in wanted[source]}
        if in_source and len(problems) == before and not any(raw.clip for raw in in_source.values()):
            files = list(dict.fromkeys(raw.file for raw in in_source.values()))
            problems.add(
                f"--raw {source}={folder}",
                f"Expected files such as {summarize_names(files, 2)} in it, but got none of {len(files):,}.",
                remedy=f"give the folder that the download was unpacked to, of {CLIP_SOURCES[source]}.",
            )
        clips |= in_source
        progress("finding clips in downloads", done, len(folders))
    return clips


def _find(source: str, folder: Path, path: PurePosixPath, problems: Problems) -> RawClip:
    """A clip of another source, looked for in the folder that was given and in what the download unpacks to."""
    names = [name := PurePosixPath(*path.parts[1:])]
    is_webm, is_folder = source == "ssv2" and name.suffix == ".mp4", source == "intphys"
    if is_webm:
        names = [name.with_suffix(".webm")]
    elif is_folder:
        # `_O1_01_2.mp4` is the pictures of the property O1, quadruple 01, run 2.
        run = _INTPHYS.fullmatch(str(name))
        names = [PurePosixPath(*run.groups(), "scene")] if run else []
    elif source == "clevrer" and (number := _CLEVRER.fullmatch(name.name)):
        thousand = int(number[1]) // 1000 * 1000
        names.append(PurePosixPath(f"video_{thousand}-{thousand + 1000}", name.name))
    found = ((name, base / name) for name in names for base in (folder, folder / INSIDE.get(source, "")))
    name, place = next((one for one in found if one[1].exists()), (names[-1] if names else name, None))
    if place is None:
        return RawClip(None, str(name))
    what, thing = "", "it"
    if not (place.is_dir() if is_folder else place.is_file()):
        what = f"Expected {'a folder' if is_folder else 'a regular file'}, but got something else."
    elif is_folder and (lacking := [picture for picture in PICTURES if not (place / picture).is_file()]):
        got = f"{len(PICTURES) - len(lacking)} (without {summarize_names(lacking, 3)})"
        what = f"Expected {len(PICTURES)} pictures, {PICTURES[0]} to {PICTURES[-1]}, but got {got}."
        thing = "the folder"
    if what:
        remedy = f"unpack the download again, or delete {thing} to continue without this clip."
        problems.add(str(place), what, remedy=remedy)
        return RawClip(None, str(name))
    return RawClip(scene_clip(place) if is_folder else webm_clip(place) if is_webm else place, str(name))


def _find_episodes(
    folder: Path, paths: Sequence[PurePosixPath], problems: Problems, progress: Progress
) -> dict[str, RawClip]:
    """Clips of Language Table: `video_17.mp4` is the episode that is read as the eighteenth."""
    numbers = {path: int(name[1]) for path in paths if (name := _EPISODE.fullmatch(path.name))}
    places = (folder, folder / "0.0.1", folder / "language_table" / "0.0.1")
    try:
        root = next((place for place in places if (place / INFO).is_file()), None)
        if root is None:
            raise InputError(f"Expected {INFO} in it, which says how many episodes each file holds, but there is none.")
        episodes = find_episodes(root, set(numbers.values()), problems, progress)
    except InputError as error:
        remedy = f"copy it from {CLIP_SOURCES['language_table']}."
        problems.add(f"--raw language_table={folder}", str(error), remedy=remedy)
        return {}
    clips = {}
    for path in paths:
        file, record = episodes.get(numbers.get(path, -1), ("/".join(path.parts[1:]), None))
        clips[str(path)] = RawClip(episode_clip(numbers[path], record) if record else None, file)
    return clips


# ---- Language Table's episodes: TFRecords in the order of TensorFlow Datasets ---------------------------------------

MOST = 10_000_000
"""Episodes of a dataset; Language Table has 442,226."""
TOGETHER = BLOCK = 16
"""Files that are read in turns, and episodes that are taken from a file in one turn."""
_DAMAGED = "copy it again, or delete it to continue without its episodes."
_OTHERS = f"copy {INFO} and the files again, all of one version of the dataset."
_HEAD, _CHECKSUM = struct.Struct("<QI"), struct.Struct("<I")


@dataclass(frozen=True)
class TfRecord:
    """Location of a record's data in a file of TFRecords, and the checksum that the file states for it."""

    path: Path
    number: int
    start: int
    size: int
    checksum: int

    def read(self) -> bytes:
        with self.path.open("rb") as file:
            file.seek(self.start)
            data = file.read(self.size)
        if len(data) < self.size or _masked_crc32c(data) != self.checksum:
            raise UnreadableClip(f"Expected record {self.number} to have the checksum that the file states for it.")
        return data


def index_records(path: Path) -> Iterator[TfRecord]:
    """Yield the records of a file; of each only the length is read and checked, not the data."""
    size = path.stat().st_size
    with path.open("rb") as file:
        for number in count():
            head = file.read(_HEAD.size)
            if not head:
                return
            if len(head) < _HEAD.size:
                raise UnreadableClip(f"Expected a TFRecord as record {number}, but the file ends within its length.")
            length, checksum = _HEAD.unpack(head)
            if _masked_crc32c(head[:8]) != checksum:
                raise UnreadableClip(f"Expected a TFRecord as record {number}, but its length has another checksum.")
            start = file.tell()
            end = start + length + _CHECKSUM.size
            if end > size:
                what = f"Expected record {number} to end at byte {end:,}, but the file has {size:,} bytes"
                raise UnreadableClip(f"{what}: it was cut off.")
            file.seek(start + length)
            yield TfRecord(path, number, start, length, *_CHECKSUM.unpack(file.read(_CHECKSUM.size)))


def _masked_crc32c(data: bytes) -> int:
    """CRC-32C of data, rotated and shifted as TFRecords state it."""
    with needs_package("lmms-eval-tasks[mvp-raw]", "Making clips of Language Table"):
        import crc32c

    checksum: int = crc32c.crc32c(data)
    return (((checksum >> 15) | (checksum << 17)) + 0xA282EAD8) & 0xFFFFFFFF


class _Split(BaseModel):
    name: str
    shard_lengths: list[NonNegativeInt] = Field(alias="shardLengths", min_length=1)


class _Info(BaseModel):
    name: str
    splits: list[_Split]
    is_ordered: bool = Field(False, alias="disableShuffling")


def find_episodes(
    folder: Path, numbers: Collection[int], problems: Problems, progress: Progress
) -> dict[int, tuple[str, TfRecord | None]]:
    """Episodes of the training split of a dataset in a folder of TensorFlow Datasets, of which files may be missing.

    MVP numbers episodes in the order in which the official script reads them, which is not that of the files:
    TensorFlow Datasets opens 16 files at a time and takes 16 episodes from each in turn.
    Sources: facebookresearch/minimal_video_pairs@08cb285, setup/download_lt.py; tensorflow/datasets@088aba6,
    core/reader.py

    Returns:
        For each number that the dataset has, the name of its file, and its record there; None where the file is not
        there, or is not what it should be, which is a problem.
    """
    path = folder / INFO
    try:
        info = _Info.model_validate_json(read_metadata(path))
        lengths = next(split.shard_lengths for split in info.splits if split.name == SPLIT)
    except (ValidationError, StopIteration) as error:
        raise InputError(f"{path}: Expected the sizes of the files of the split {SPLIT}, but got none.") from error
    if sum(lengths) > MOST:
        raise InputError(f"{path}: Expected at most {MOST:,} episodes, but got {sum(lengths):,}.")
    name = f"{info.name}-{SPLIT}.tfrecord"
    files = [f"{name}-{number:05d}-of-{len(lengths):05d}" for number in range(len(lengths))]
    places = list(reading_order(lengths, 1 if info.is_ordered else TOGETHER, BLOCK))
    wanted = {number: places[number] for number in sorted(numbers) if number < len(places)}
    for path in sorted(folder.glob(f"{glob.escape(name)}-*-of-*")) if wanted else ():
        if path.name not in files:
            what = f"Expected no file but {files[0]} to {files[-1]}, by {INFO}, but got this one."
            problems.add(str(path), what, remedy=_OTHERS)
    found: dict[int, tuple[str, TfRecord | None]] = {}
    for file, length in enumerate(lengths if wanted else ()):
        records = _read_file(folder / files[file], length, problems)
        for number, place in ((number, place) for number, (own, place) in wanted.items() if own == file):
            found[number] = files[file], records[place] if records else None
        progress("finding episodes in files", file + 1, len(files))
    return found


def _read_file(path: Path, length: int, problems: Problems) -> list[TfRecord]:
    if not path.exists():
        return []
    what, remedy = "Expected a regular file, but got something else.", _DAMAGED
    if path.is_file():
        try:
            records = list(index_records(path))
            if len(records) == length:
                return records
            what = f"Expected {length:,} episodes, as {INFO} says of this file, but got {len(records):,}."
            remedy = _OTHERS
        except UnreadableClip as error:
            what = str(error)
    problems.add(str(path), what, remedy=remedy)
    return []


def reading_order(lengths: Sequence[int], together: int, block: int) -> Iterator[tuple[int, int]]:
    """Yield files and places in them in the order in which `tf.data.Dataset.interleave` reads several files."""
    files = (iter([(file, place) for place in range(length)]) for file, length in enumerate(lengths) if length)
    turns = list(islice(files, together))
    while turns:
        going_on = []
        for records in turns:
            taken = list(islice(records, block))
            yield from taken
            # That a file has no more is seen only when one more is asked for.
            following = records if len(taken) == block else next(files, None)
            if following is not None:
                going_on.append(following)
        turns = going_on


def read_frames(record: TfRecord) -> Iterator[NDArray[np.uint8]]:
    """The pictures of an episode, (H, W, 3) RGB, in the order of its steps."""
    with needs_package("lmms-eval-tasks[mvp-raw]", "Making clips of Language Table"):
        from google.protobuf.message import DecodeError
        from tfrecord.example_pb2 import Example

    try:
        features = Example.FromString(record.read()).features.feature
    except DecodeError as error:
        raise UnreadableClip("Expected a whole tf.train.Example, but it cannot be read.") from error
    frames = features["steps/observation/rgb"].bytes_list.value
    first, last = (features[f"steps/is_{which}"].int64_list.value for which in ("first", "last"))
    if not frames or not len(frames) == len(first) == len(last):
        steps = max(len(first), len(last))
        raise UnreadableClip(f"Expected one picture for each of {steps} steps, but got {len(frames)}.")
    if first[0] != 1 or last[-1] != 1:
        raise UnreadableClip("Expected an episode from its first step to its last, but it is a part of one.")
    named = ((f"step {number}", io.BytesIO(frame)) for number, frame in enumerate(frames))
    return _decode(named, "Expected the picture of {} to be a PNG or a JPEG.")


# ---- clips that are made -------------------------------------------------------------------------------------------

FORMAT = 1
"""Grows when the same source is to be made into another clip."""
PICTURES_RATE, EPISODE_RATE = 24, 5
KEY_EVERY = 48
"""Frames from one that can be shown without another to the next, so that none is far from where a reader must begin."""
SLACK = 0.25
"""Seconds by which a clip's last frame may end before the length that its header states, beside two frames."""


@dataclass(frozen=True)
class ConvertedClip:
    """A clip that is made, and carries the mark of what it was made of.

    Attributes:
        where: The source, as the user knows it.
        size: Bytes of the source, which is about as many as the clip takes, or more.
        digest: Another text for every other source.
        film: Opens its frames: how long each is shown, as `FrameCoder` takes it, and the frames themselves.
    """

    where: str
    size: int
    digest: Callable[[], str]
    film: Callable[[], AbstractContextManager[tuple[Any, Iterable[Any]]]]

    @cached_property
    def mark(self) -> str:
        return f"{FORMAT} {self.digest()}"

    def is_made(self, path: Path) -> bool:
        """Whether a file says that it was made of this source."""
        import av

        if path.is_symlink() or not path.is_file():
            return False
        try:
            with av.open(str(path)) as container:
                return bool(container.metadata.get("comment") == self.mark)
        except (av.FFmpegError, OSError, ValueError):
            return False

    def make(self, path: Path) -> None:
        try:
            coded = 0
            with self.film() as (timing, frames), FrameCoder(path, timing, comment=self.mark) as coder:
                for coded, frame in enumerate(frames, 1):
                    coder.add(coded - 1, frame, is_key=(coded - 1) % KEY_EVERY == 0)
                coder.write(range(coded))
            with FrameStream(path) as clip:
                decoded = sum(1 for _ in clip.frames())
            if decoded != coded:
                raise UnreadableClip(f"Expected the clip that was made to have {coded} frames, but got {decoded}.")
        except UnreadableClip as error:
            remedy = "get it again, or delete it to continue without this clip."
            raise DamagedSource(self.where, str(error), remedy) from error


def webm_clip(source: Path) -> ConvertedClip:
    """A WebM as an MP4, with its frames' own times."""

    def whole(stream: FrameStream) -> Iterator[Any]:
        yield from stream.frames()
        stated = stream.stated_seconds()
        if stated is not None and stream.seconds_of_last_frame() + 2 / stream.rate + SLACK < stated:
            raise UnreadableClip(f"Expected {source} to last {stated:.2f} seconds, but it was cut off.")

    @contextmanager
    def film() -> Iterator[tuple[FrameStream, Iterator[Any]]]:
        with FrameStream(source) as stream:
            yield stream, whole(stream)

    return ConvertedClip("ssv2", source.stat().st_size, lambda: _sha256(source), film)


def scene_clip(folder: Path) -> ConvertedClip:
    """The numbered pictures of a folder; all of them are there."""
    files = {name: folder / name for name in PICTURES}
    undecodable = "Expected {} to be a picture, but it cannot be decoded."

    def digest() -> str:
        return hashlib.sha256("\n".join(map(_sha256, files.values())).encode()).hexdigest()

    size = sum(file.stat().st_size for file in files.values())
    return ConvertedClip(str(folder), size, digest, lambda: _show(_decode(files.items(), undecodable), PICTURES_RATE))


def episode_clip(number: int, record: TfRecord) -> ConvertedClip:
    # The file states the checksum, so that an episode that is already made is not read.
    digest = f"{record.size}-{record.checksum:08x}"
    where = f"{record.path}, episode {number}"
    return ConvertedClip(where, record.size, lambda: digest, lambda: _show(read_frames(record), EPISODE_RATE))


def _show(pictures: Iterable[NDArray[np.uint8]], rate: int) -> AbstractContextManager[tuple[Any, list[Any]]]:
    frames = list(map(frame_of, pictures))
    return nullcontext((PictureTiming(Fraction(rate), len(frames)), frames))


@dataclass
class PictureTiming:
    """Pictures that are shown one after the other, each equally long; their pixels are square."""

    rate: Fraction
    count: int
    aspect: Fraction = Fraction(0)

    def durations(self) -> tuple[list[int], Fraction]:
        return [1] * self.count, 1 / self.rate


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _decode(pictures: Iterable[tuple[str, Any]], undecodable: str) -> Iterator[NDArray[np.uint8]]:
    """Pictures of one size, (H, W, 3) RGB, by what messages call them."""
    from PIL import Image

    size: tuple[int, ...] | None = None
    for name, source in pictures:
        try:
            with Image.open(source) as image:
                picture = np.asarray(image.convert("RGB"))
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise UnreadableClip(undecodable.format(name)) from error
        size = size or picture.shape
        if picture.shape != size:
            raise UnreadableClip(f"Expected pictures of one size, but that of {name} has another.")
        yield picture


def frame_of(picture: NDArray[np.uint8]) -> Any:
    """A picture, (H, W, 3) RGB, as a frame of a video: brightness and colours by ITU-R BT.601, 16 to 235 and to 240."""
    import av

    pixels = picture.astype(np.int32)
    height, width = pixels.shape[:2]
    is_odd = height % 2 or width % 2
    shared = pixels if is_odd else (pixels.reshape(height // 2, 2, width // 2, 2, 3).sum(axis=(1, 3)) + 2) >> 2
    planes = [
        ((image @ np.array(weights, dtype=np.int32) + 128) >> 8) + zero
        for image, weights, zero in (
            (pixels, (66, 129, 25), 16),
            (shared, (-38, -74, 112), 128),
            (shared, (112, -94, -18), 128),
        )
    ]
    packed = np.concatenate([plane.astype(np.uint8).ravel() for plane in planes])
    shape, name = ((3, height, width), "yuv444p") if is_odd else ((height * 3 // 2, width), "yuv420p")
    frame = av.VideoFrame.from_ndarray(packed.reshape(shape), format=name)
    frame.colorspace, frame.color_range = 5, 1  # BT.601, limited range
    return frame
