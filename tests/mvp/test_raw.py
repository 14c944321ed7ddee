"""MVP from the downloads of its nine sources: clips that are made of a source's own files, and what is said of faults.

Language Table's episodes are TFRecords, in the order in which TensorFlow Datasets reads them.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import struct
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path

import av
import crc32c
import numpy as np
import pytest
from commands import printed
from expected import Expected
from numpy.typing import NDArray
from PIL import Image
from releases import contents, mvp_pair, write_clip, write_snapshot
from shown_progress import ShownProgress
from tfrecord.example_pb2 import Example

from lmms_eval_tasks.mvp.benchmark import SOURCES, SUBSETS, prepare
from lmms_eval_tasks.mvp.raw_downloads import (
    TfRecord,
    episode_clip,
    find_episodes,
    frame_of,
    index_records,
    read_frames,
    reading_order,
    scene_clip,
    webm_clip,
)
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.clips import is_readable
from lmms_eval_tasks.utils.data.home import clip_path
from lmms_eval_tasks.utils.data.pictures import FrameCoder
from lmms_eval_tasks.utils.data.prepare import Preparation, place_clip
from lmms_eval_tasks.utils.data.release import Clip, DamagedSource, UnreadableClip

pytestmark = pytest.mark.usefixtures("home")

CLIPS: Mapping[str, tuple[str, str]] = {
    "pt": ("pt/video_1.mp4", "pt/video_2.mp4"),
    "ssv2": ("ssv2/101.mp4", "ssv2/102.mp4"),
    "language_table": ("language_table/video_3.mp4", "language_table/video_36.mp4"),
    "intphys": ("intphys/_O1_01_1.mp4", "intphys/_O1_01_2.mp4"),
    "inflevel": ("inflevel/continuity/a.mp4", "inflevel/continuity/b.mp4"),
    "grasp": ("grasp/level2/Gravity/1.mp4", "grasp/level2/Gravity/2.mp4"),
    "clevrer": ("clevrer/video_10007.mp4", "clevrer/video_11003.mp4"),
    "star": ("star/0A8CF.mp4", "star/0BXRN.mp4"),
    "vinoground": ("vinoground/0_pos.mp4", "vinoground/0_neg.mp4"),
}
"""A pair of clips of each source, by MVP's names."""
SUBSET_OF = dict(zip(CLIPS, (0, 0, 1, 2, 2, 2, 2, 3, 3), strict=True))
LENGTHS = (18, 4, 20)
"""Episodes of each file of Language Table. Number 3 is 3 of the first file, and number 36 is 16 of it."""
MADE = ("intphys", "language_table", "ssv2")
Raw = dict[str, Path]


def write_webm(
    path: Path, seed: int = 1, frames: int = 9, size: tuple[int, int] = (42, 24), live: bool = False
) -> Path:
    """A VP9 video, (width, height), twelve frames a second, of a bar that moves; `live` is without its length."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="webm", options={"live": "1"} if live else {}) as container:
        options = {"lossless": "1", "deadline": "realtime"}
        stream = container.add_stream("libvpx-vp9", rate=Fraction(12), options=options)
        stream.width, stream.height = size
        stream.pix_fmt, stream.thread_count = "yuv420p", 1
        for number in range(frames):
            picture = np.full((size[1], size[0], 3), seed % 100, dtype=np.uint8)
            picture[:, 4 * number : 4 * number + 4] = 220
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
    return path


def write_scene(folder: Path, shade: int = 60) -> Path:
    """A hundred pictures of one colour, which gets redder, as IntPhys has them."""
    folder.mkdir(parents=True)
    for number in range(1, 101):
        picture = np.full((16, 16, 3), (shade + number, shade, 40), dtype=np.uint8)
        Image.fromarray(picture).save(folder / f"scene_{number:03d}.png", compress_level=1)
    return folder


def png(shade: int, width: int = 32) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((16, width, 3), shade, dtype=np.uint8)).save(file, format="PNG")
    return file.getvalue()


def episode(pictures: Sequence[bytes], steps: int | None = None) -> bytes:
    """A `tf.train.Example` with pictures, and with as many steps, or with `steps`."""
    count = len(pictures) if steps is None else steps
    message = Example()
    features: dict[str, Sequence[bytes] | Sequence[int]] = {
        "steps/observation/rgb": pictures,
        "steps/is_first": [int(step == 0) for step in range(count)],
        "steps/is_last": [int(step == count - 1) for step in range(count)],
        "episode_id": [b"7"],
    }
    for name, values in features.items():
        feature = message.features.feature[name]
        (feature.bytes_list if isinstance(values[0], bytes) else feature.int64_list).value.extend(values)
    return bytes(message.SerializeToString(deterministic=True))


def framed(data: bytes) -> bytes:
    """A record as it stands in a file, with its masked checksums."""

    def masked(part: bytes) -> bytes:
        checksum = crc32c.crc32c(part)
        return struct.pack("<I", ((checksum >> 15 | checksum << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF)

    head = struct.pack("<Q", len(data))
    return head + masked(head) + data + masked(data)


def write_records(path: Path, *records: bytes) -> Path:
    path.write_bytes(b"".join(map(framed, records)))
    return path


def shade_of(file: int, place: int) -> int:
    """The shade of grey of an episode, by its file and its place there."""
    return 20 + 50 * file + 2 * place


def write_episodes(folder: Path, lengths: Sequence[int] = LENGTHS) -> Path:
    """Language Table in the form of TensorFlow Datasets."""
    folder.mkdir(parents=True)
    split = {"name": "train", "shardLengths": [str(length) for length in lengths], "numBytes": "1"}
    info = {"name": "language_table", "version": "0.0.1", "splits": [split], "fileFormat": "tfrecord"}
    (folder / "dataset_info.json").write_text(json.dumps(info), encoding="utf-8")
    for file, length in enumerate(lengths):
        records = [episode([png(shade_of(file, place))] * 3) for place in range(length)]
        write_records(folder / shard(file, len(lengths)), *records)
    return folder


def shard(file: int, of: int = len(LENGTHS)) -> str:
    return f"language_table-train.tfrecord-{file:05d}-of-{of:05d}"


def write_annotations(root: Path) -> None:
    """A snapshot of MVP whose splits are the same, a pair of each source."""
    rows: dict[str, list[dict[str, str]]] = {subset: [] for subset in SUBSETS}
    for source, paths in CLIPS.items():
        first, second = mvp_pair(f"{source}_0", source=source, video_path=paths[1])
        rows[SUBSETS[SUBSET_OF[source]]] += [{**first, "source": source, "video_path": paths[0]}, second]
    for split in ("mini", "full"):
        write_snapshot(root, split, rows)


def write_downloads(root: Path) -> None:
    """The nine downloads, each as its archive unpacks, in a folder of the source's name."""
    one = write_clip(root / "clip.mp4").read_bytes()
    for name in (
        *(f"pt/videos/video_{number}.mp4" for number in (1, 2, 3)),
        *(f"inflevel/inflevel_lab/continuity/{name}.mp4" for name in "ab"),
        *(f"grasp/videos/{name}/Gravity/{number}.mp4" for name in ("level1", "level2") for number in (1, 2)),
        "clevrer/video_10000-11000/video_10007.mp4", "clevrer/video_11000-12000/video_11003.mp4",
        *(f"star/Charades_v1_480/{name}.mp4" for name in ("0A8CF", "0BXRN")),
        *(f"vinoground/vinoground_videos/0_{name}.mp4" for name in ("pos", "neg")),
    ):  # fmt: skip
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(one)
    for number in (101, 102, 103):
        write_webm(root / "ssv2" / "20bn-something-something-v2" / f"{number}.webm", number)
    for run in (1, 2):
        write_scene(root / "intphys" / "dev" / "O1" / "01" / str(run) / "scene", 60 * run)
    write_episodes(root / "language_table" / "0.0.1")


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot and the nine downloads, which no test changes."""
    root = tmp_path_factory.mktemp("originals")
    write_annotations(root)
    write_downloads(root / "raw")
    return root


@pytest.fixture
def raw(originals: Path, tmp_path: Path) -> Raw:
    """The nine downloads, which a test can spoil."""
    shutil.copytree(originals / "raw", tmp_path / "raw")
    return {source: tmp_path / "raw" / source for source in SOURCES}


def option(folders: Mapping[str, Path]) -> str:
    """The folders as `--raw` takes them."""
    return ",".join(f"{source}={folder}" for source, folder in folders.items())


def raised(call: Callable[[], object]) -> str:
    with pytest.raises((UnreadableClip, InputError)) as caught:
        call()
    return str(caught.value)


def decoded(path: Path) -> tuple[list[NDArray[np.uint8]], list[Fraction]]:
    """The pictures of a clip, RGB, and the seconds at which they are shown."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
        times = [frame.pts * frame.time_base for frame in frames if frame.pts is not None and frame.time_base]
        return [frame.to_ndarray(format="rgb24") for frame in frames], times


def made(tmp_path: Path, clip: Clip) -> Path:
    place_clip(clip, tmp_path / "made.mp4", [tmp_path / "earlier.mp4"])
    return tmp_path / "made.mp4"


def test_clips_have_the_pictures_and_times_of_their_sources(tmp_path: Path) -> None:
    source = write_webm(tmp_path / "1.webm", size=(43, 24))
    # What lies behind a film is no part of it.
    source.write_bytes(source.read_bytes() + bytes(5_000))
    pictures, times = decoded(made(tmp_path, webm_clip(source)))
    original, at = decoded(source)
    assert len(pictures) == len(original) == 9 and pictures[0].shape == (24, 43, 3)
    assert np.abs(np.asarray(pictures, np.int16) - np.asarray(original, np.int16)).mean() < 3
    assert times == [time - at[0] for time in at]
    pictures, times = decoded(made(tmp_path, scene_clip(write_scene(tmp_path / "scene"))))
    assert times == [Fraction(number, 24) for number in range(100)]
    for number, picture in enumerate(pictures, 1):
        assert np.abs(picture.reshape(-1, 3).mean(axis=0) - (60 + number, 60, 40)).max() < 4
    (record,) = index_records(write_records(tmp_path / "x", episode([png(shade) for shade in (10, 120, 250)])))
    pictures, times = decoded(made(tmp_path, episode_clip(0, record)))
    assert times == [Fraction(number, 5) for number in range(3)]
    assert [round(float(picture.mean()), -1) for picture in pictures] == [10, 120, 250]


@pytest.mark.parametrize("size", [(2, 2), (15, 32), (16, 31)])
def test_colours_are_those_of_the_picture(size: tuple[int, int]) -> None:
    for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255), (200, 120, 30)):
        shown = frame_of(np.full((*size, 3), colour, dtype=np.uint8)).to_ndarray(format="rgb24")
        assert shown.shape == (*size, 3) and np.abs(np.int16(shown) - colour).max() <= 4


def test_a_clip_is_made_once_and_again_where_its_source_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_webm(tmp_path / "1.webm")
    first = made(tmp_path, webm_clip(source)).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(FrameCoder, "__enter__", lambda coder: pytest.fail("made again"))
        assert made(tmp_path, webm_clip(source)).read_bytes() == first
        (tmp_path / "made.mp4").rename(tmp_path / "earlier.mp4")
        assert made(tmp_path, webm_clip(source)).read_bytes() == first
    (tmp_path / "made.mp4").write_bytes(first[:-50])
    (tmp_path / "earlier.mp4").unlink()
    assert made(tmp_path, webm_clip(source)).read_bytes() == first
    write_webm(source, 90, frames=7)
    assert len(decoded(made(tmp_path, webm_clip(source)))[0]) == 7


def test_a_damaged_source_is_named_and_no_film_that_was_cut_short_is_taken(tmp_path: Path, expected: Expected) -> None:
    messages = []

    def refuse(clip: Clip) -> None:
        with pytest.raises(DamagedSource) as caught:
            made(tmp_path, clip)
        assert not (tmp_path / "made.mp4").exists() and not list(tmp_path.glob(".*"))
        assert caught.value.remedy == "get it again, or delete it to continue without this clip."
        messages.append(re.sub(r"least [\d,]+ of", "least N of", str(caught.value)))

    path = write_webm(tmp_path / "1.webm", frames=24)
    whole = path.read_bytes()
    # Behind its header nothing: the film is as long as it was, and of zeros, as an unfinished download is.
    for content in (b"no video", whole[: len(whole) // 2].ljust(len(whole), b"\0")):
        path.write_bytes(content)
        refuse(webm_clip(path))
    for live in (False, True):
        whole = write_webm(path, frames=36, live=live).read_bytes()
        for share in (0.42, 0.97):
            path.write_bytes(whole[: int(len(whole) * share)])
            refuse(webm_clip(path))
    scene = write_scene(tmp_path / "scene")
    (scene / "scene_050.png").write_bytes(b"")
    refuse(scene_clip(scene))
    (record,) = index_records(write_records(tmp_path / "x", episode([png(1), png(2)], steps=3)))
    refuse(episode_clip(8, record))
    expected("\n".join(messages))


BY_TENSORFLOW = bytes.fromhex(
    "2e00000000000000c5cb57fa0a2c0a0c0a016112070a050a01780a000a0d0a016212081a060a0401ac02000a0d0a0163120812060a040000c03f"
    "7d53e3ab"
)
"""What `tf.io.TFRecordWriter` of TensorFlow 2 writes for a: bytes "x" and "", b: integers 1, 300, 0, c: a float 1.5."""


def all_frames(record: TfRecord) -> list[NDArray[np.uint8]]:
    return list(read_frames(record))


def test_records_are_found_and_faults_are_named(tmp_path: Path, expected: Expected) -> None:
    path = tmp_path / "x.tfrecord"
    path.write_bytes(BY_TENSORFLOW)
    (record,) = index_records(path)
    assert framed(record.read()) == BY_TENSORFLOW
    data = [b"", b"one", b"x" * 5000]
    assert [record.read() for record in index_records(write_records(path, *data))] == data
    damaged = bytearray(path.read_bytes())
    damaged[-10] ^= 1
    path.write_bytes(damaged)
    records = list(index_records(path))
    assert [record.read() for record in records[:2]] == data[:2]
    messages = [raised(records[2].read)]
    # Each record has 12 bytes before its data and 4 behind them.
    whole = write_records(tmp_path / "two", b"one", b"two").read_bytes()
    for lost in (1, 4, 5, 7, 8, 18):
        path.write_bytes(whole[:-lost])
        messages.append(f"without {lost}: {raised(lambda: list(index_records(path)))}")
    path.write_bytes(b"\xff" * 100)
    messages.append(raised(lambda: list(index_records(path))))
    # Episodes that are not whole.
    last, two = b"steps/is_last\x12\x06\x1a\x04\x0a\x02\x00", episode([png(1), png(2)])
    for episode_data in (
        b"", b"\xff", two.replace(last + b"\x01", last + b"\x00"), two.replace(png(1)[8:16], bytes(8), 1),
        episode([png(1), png(1, width=30)]),
    ):  # fmt: skip
        (record,) = index_records(write_records(tmp_path / "x", episode_data))
        messages.append(raised(partial(all_frames, record)))
    expected("\n".join(messages))


@pytest.mark.parametrize(
    ("lengths", "together", "block", "order"),
    [
        ((5, 0, 1, 7, 3), 2, 2, "0.0 0.1 2.0 0.2 0.3 3.0 3.1 0.4 3.2 3.3 4.0 4.1 3.4 3.5 4.2 3.6"),
        ((3, 3, 3), 2, 3, "0.0 0.1 0.2 1.0 1.1 1.2 2.0 2.1 2.2"),
        ((4, 1), 16, 16, "0.0 0.1 0.2 0.3 1.0"),
    ],
)
def test_files_take_turns_as_in_tensorflow(lengths: tuple[int, ...], together: int, block: int, order: str) -> None:
    """The orders are those of `tf.data.Dataset.interleave`, TensorFlow 2, with and without parallel calls."""
    read = reading_order(lengths, together, block)
    assert " ".join(f"{file}.{place}" for file, place in read) == order


def change_info(folder: Path, lengths: Sequence[object] = LENGTHS, **changes: object) -> None:
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = list(map(str, lengths))
    (folder / "dataset_info.json").write_text(json.dumps({**info, **changes}))


def test_episodes_are_numbered_in_the_order_of_reading(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "0.0.1")

    def shades() -> list[int]:
        episodes = find_episodes(folder, range(sum(LENGTHS)), Problems(), no_progress)
        records = [episodes[number][1] for number in range(sum(LENGTHS))]
        return [int(next(read_frames(record))[0, 0, 0]) for record in records if record]

    # Sixteen of the first file, all four of the second, sixteen of the third, and what is left of the two.
    blocks = [(0, 0, 16), (1, 0, 4), (2, 0, 16), (0, 16, 2), (2, 16, 4)]
    assert shades() == [shade_of(file, start + place) for file, start, count in blocks for place in range(count)]
    change_info(folder, disableShuffling=True)
    assert shades() == [shade_of(file, place) for file in range(3) for place in range(LENGTHS[file])]
    # An episode names its file, whether that is there or not.
    (folder / shard(1)).unlink()
    change_info(folder, disableShuffling=False)
    problems = Problems()
    episodes = find_episodes(folder, (3, 17, sum(LENGTHS), 99), problems, no_progress)
    assert episodes.keys() == {3, 17} and episodes[3][1] and episodes[17] == (shard(1), None) and not problems


def test_files_that_cannot_be_those_of_the_dataset(tmp_path: Path, expected: Expected) -> None:
    folder, messages = write_episodes(tmp_path / "0.0.1"), []

    def find(number: int) -> None:
        problems = Problems()
        find_episodes(folder, [number], problems, no_progress)
        messages.append(raised(lambda: problems.raise_if_any("It cannot be prepared", "nothing was written")))

    # Number 36 lies in the last file; that the first one holds others than are said moves its number.
    change_info(folder, (17, 5, 20))
    find(36)
    change_info(folder, (22, 20))
    find(3)
    change_info(folder)
    (folder / shard(0)).unlink()
    os.mkfifo(folder / shard(0))
    find(3)
    for text in (
        "", "[]", '{"name": "x", "splits": []}', '{"name": "x", "splits": [{"name": "train"}]}',
        json.dumps({"name": "x", "splits": [{"name": "train", "shardLengths": [str(10**12)]}]}),
    ):  # fmt: skip
        (folder / "dataset_info.json").write_text(text)
        messages.append(raised(lambda: find_episodes(folder, [3], Problems(), no_progress)))
    expected("\n".join(messages))


def webm(raw: Raw, number: int = 101) -> Path:
    return raw["ssv2"] / "20bn-something-something-v2" / f"{number}.webm"


def scene(raw: Raw, run: int = 1) -> Path:
    return raw["intphys"] / "dev" / "O1" / "01" / str(run) / "scene"


@pytest.mark.slow
def test_nine_downloads_end_in_no_missing_clip(originals: Path, raw: Raw, home: Path) -> None:
    assert set(SOURCES) == set(CLIPS)
    snapshot = str(originals / "snapshot")
    progress = ShownProgress()
    facts = prepare(Preparation(progress), None, snapshot, "mini", [option(raw)])["mini"]
    assert (facts.clips, facts.missing) == (2 * len(SOURCES), ())
    counted = progress.counted()
    assert counted["mini: reading annotations"] == len(SUBSETS)
    assert (counted["finding clips in downloads"], counted["finding episodes in files"]) == (9, len(LENGTHS))
    for source, paths in CLIPS.items():
        for path in paths:
            clip = clip_path("mvp", f"mini/{path}")
            assert is_readable(clip, whole=True) and clip.is_symlink() == (source not in MADE)
    video = raw["clevrer"] / "video_11000-12000" / "video_11003.mp4"
    assert clip_path("mvp", "mini/clevrer/video_11003.mp4").readlink() == video
    first = contents(home)
    # The folder of the clips themselves will do too.
    inside = {source: next(path for path in raw[source].iterdir()) for source in SOURCES if source != "clevrer"}
    entry = option({**inside, "clevrer": raw["clevrer"]}).replace(",pt=", ", pt=")
    assert prepare(Preparation(), None, snapshot, raw=[entry])["mini"].missing == ()
    assert contents(home) == first


def test_what_is_missing_is_said_with_its_file_and_where_it_comes_from(
    originals: Path, raw: Raw, tmp_path: Path, hundred_columns: None, expected: Expected
) -> None:
    webm(raw, 102).unlink()
    shutil.rmtree(scene(raw, 2).parent)
    (raw["clevrer"] / "video_11000-12000" / "video_11003.mp4").unlink()
    shutil.rmtree(raw["language_table"] / "0.0.1")
    write_episodes(raw["language_table"] / "0.0.1", (4, *LENGTHS))
    (raw["language_table"] / "0.0.1" / shard(0, 4)).unlink()
    del raw["vinoground"], raw["pt"]
    # A source that is not given comes from the videos.
    for path in CLIPS["pt"]:
        write_clip(tmp_path / "videos" / path)
    words = ("--source", originals / "snapshot", "--raw", option(raw), "--videos", tmp_path / "videos")
    _, heading, table = printed("prepare", "mvp", *words).partition("Clips that are missing")
    expected(heading + table.rpartition("Prepared in")[0])


@pytest.mark.slow
def test_faults_that_are_seen_before_any_clip_is_decoded(
    originals: Path, raw: Raw, tmp_path: Path, home: Path, expected: Expected
) -> None:
    messages = []

    def refuse(*options: str) -> None:
        message = raised(lambda: prepare(Preparation(), None, str(originals / "snapshot"), raw=[*options]))
        messages.append(re.sub(r"byte [\d,]+,", "byte N,", message))

    (tmp_path / "pt").mkdir()
    refuse(f"ssv=x,ssv2={tmp_path}/none,pt={tmp_path}/pt,pt={tmp_path}/pt,grasp=")
    refuse()
    (scene(raw) / "scene_007.png").unlink()
    file = raw["language_table"] / "0.0.1" / shard(0)
    file.write_bytes(file.read_bytes()[:1500])
    refuse(option({**raw, "star": raw["grasp"]}))
    # A pipe would be waited for, and a device has no end.
    linked, folder = raw["star"] / "Charades_v1_480" / "0A8CF.mp4", raw["grasp"] / "videos/level2/Gravity/1.mp4"
    for path in (webm(raw), linked, folder):
        path.unlink()
    os.mkfifo(webm(raw))
    linked.symlink_to("/dev/zero")
    folder.mkdir()
    shutil.rmtree(scene(raw))
    scene(raw).write_bytes(b"")
    del raw["language_table"]
    refuse(option(raw))
    expected("\n".join(messages))
    assert not home.exists()


@pytest.mark.slow
def test_what_cannot_be_decoded_leaves_what_was_there_and_what_was_converted_serves_the_other_split(
    originals: Path, raw: Raw, home: Path, monkeypatch: pytest.MonkeyPatch, expected: Expected
) -> None:
    snapshot = str(originals / "snapshot")
    prepare(Preparation(), None, snapshot, raw=[option({"grasp": raw["grasp"]})])
    before = contents(home / "mvp")
    spoilt = {webm(raw): 40, scene(raw, 2) / "scene_100.png": 0}
    whole = {path: path.read_bytes() for path in spoilt}
    for path, size in spoilt.items():
        path.write_bytes(whole[path][:size])
    expected(raised(lambda: prepare(Preparation(), None, snapshot, raw=[option(raw)])))
    assert contents(home / "mvp") == before
    for path, content in whole.items():
        path.write_bytes(content)
    begun: list[Path] = []
    enter = FrameCoder.__enter__

    def begin(coder: FrameCoder) -> FrameCoder:
        begun.append(coder._path)
        return enter(coder)

    monkeypatch.setattr(FrameCoder, "__enter__", begin)
    # Of six clips four had been converted.
    for split in ("mini", "full"):
        assert prepare(Preparation(), None, snapshot, split, [option(raw)])[split].missing == () and len(begun) == 2
    mini, full = (clip_path("mvp", f"{split}/ssv2/101.mp4") for split in ("mini", "full"))
    assert mini.samefile(full)
