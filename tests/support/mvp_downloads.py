"""The downloads of MVP's nine sources, unpacked, made small in the sources' own formats, and annotations for them."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import av
import crc32c
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from raw_releases import mvp_pair, write_snapshot
from releases import write_clip
from tfrecord.example_pb2 import Example

from lmms_eval_tasks.mvp.benchmark import SUBSETS

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


def write_annotations(root: Path) -> Path:
    """A snapshot of MVP whose splits are the same, a pair of each source."""
    rows: dict[str, list[dict[str, str]]] = {subset: [] for subset in SUBSETS}
    for source, paths in CLIPS.items():
        first, second = mvp_pair(f"{source}_0", source=source, video_path=paths[1])
        rows[SUBSETS[SUBSET_OF[source]]] += [{**first, "source": source, "video_path": paths[0]}, second]
    write_snapshot(root, "mini", rows)
    return write_snapshot(root, "full", rows)


def write_downloads(root: Path) -> dict[str, Path]:
    """The nine downloads, each as its archive unpacks; source to folder."""
    clips = {
        "pt": ("videos/video_1.mp4", "videos/video_2.mp4", "videos/video_3.mp4"),
        "inflevel": ("inflevel_lab/continuity/a.mp4", "inflevel_lab/continuity/b.mp4"),
        "grasp": ("videos/level2/Gravity/1.mp4", "videos/level2/Gravity/2.mp4", "videos/level1/Gravity/1.mp4"),
        "clevrer": ("video_10000-11000/video_10007.mp4", "video_11000-12000/video_11003.mp4"),
        "star": ("Charades_v1_480/0A8CF.mp4", "Charades_v1_480/0BXRN.mp4"),
        "vinoground": ("vinoground_videos/0_pos.mp4", "vinoground_videos/0_neg.mp4"),
    }
    one = write_clip(root / "clip.mp4")
    for source, names in clips.items():
        for name in names:
            target = root / source / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(one.read_bytes())
    for number in (101, 102, 103):
        write_webm(root / "ssv2" / "20bn-something-something-v2" / f"{number}.webm", number)
    for run in (1, 2):
        write_scene(root / "intphys" / "dev" / "O1" / "01" / str(run) / "scene", 60 * run)
    write_episodes(root / "language_table" / "0.0.1")
    return {source: root / source for source in CLIPS}


def raw_option(folders: Mapping[str, Path]) -> str:
    """The folders as `--raw` takes them."""
    return ",".join(f"{source}={folder}" for source, folder in folders.items())


def write_webm(
    path: Path,
    seed: int,
    frames: int = 9,
    size: tuple[int, int] = (42, 24),
    sound: bool = False,
    live: bool = False,
) -> Path:
    """A VP9 video, (width, height), twelve frames a second, of a bar that moves to the right.

    With silence beside it, where it is to have `sound`; where it is written `live`, without its length.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w", format="webm", options={"live": "1"} if live else {}) as container:
        stream = container.add_stream(
            "libvpx-vp9", rate=Fraction(12), options={"lossless": "1", "deadline": "realtime"}
        )
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.thread_count = 1
        voice = container.add_stream("libopus", rate=48_000) if sound else None
        for number in range(frames):
            picture = np.full((size[1], size[0], 3), seed % 100, dtype=np.uint8)
            picture[:, 4 * number : 4 * number + 4] = 220
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())
        if voice:
            silence = av.AudioFrame.from_ndarray(np.zeros((1, 4_000 * frames), dtype=np.float32), "fltp", "mono")
            silence.sample_rate = 48_000
            for packet in (*voice.encode(silence), *voice.encode(None)):
                container.mux(packet)
    return path


def write_scene(folder: Path, shade: int) -> Path:
    """A hundred pictures of one colour, which gets redder, as IntPhys has them."""
    folder.mkdir(parents=True)
    for number in range(1, 101):
        picture = np.full((16, 16, 3), (shade + number, shade, 40), dtype=np.uint8)
        Image.fromarray(picture).save(folder / f"scene_{number:03d}.png", compress_level=1)
    return folder


def write_episodes(folder: Path, lengths: Sequence[int] = LENGTHS) -> Path:
    """Language Table in the form of TensorFlow Datasets; `episode_colour` tells its episodes apart."""
    folder.mkdir(parents=True)
    split = {"name": "train", "shardLengths": [str(length) for length in lengths], "numBytes": "1"}
    info = {"name": "language_table", "version": "0.0.1", "splits": [split], "fileFormat": "tfrecord"}
    (folder / "dataset_info.json").write_text(json.dumps(info), encoding="utf-8")
    for file, length in enumerate(lengths):
        records = [episode([episode_colour(file, place)] * 3) for place in range(length)]
        write_records(folder / f"language_table-train.tfrecord-{file:05d}-of-{len(lengths):05d}", records)
    return folder


def episode_colour(file: int, place: int) -> int:
    """The shade of grey of an episode, by its file and its place there."""
    return 20 + 50 * file + 2 * place


def episode(shades: Sequence[int], steps: int | None = None, size: tuple[int, int] = (16, 32)) -> bytes:
    """An episode with a grey PNG for each shade, (height, width), and with as many steps, or with `steps`."""
    count = len(shades) if steps is None else steps
    return example(
        {
            "steps/observation/rgb": [png(np.full((*size, 3), shade, dtype=np.uint8)) for shade in shades],
            "steps/observation/effector_translation": [0.5] * (2 * count),
            "steps/is_first": [int(step == 0) for step in range(count)],
            "steps/is_last": [int(step == count - 1) for step in range(count)],
            "episode_id": [b"7"],
        }
    )


def png(picture: NDArray[np.uint8]) -> bytes:
    """A picture's file."""
    file = io.BytesIO()
    Image.fromarray(picture).save(file, format="PNG")
    return file.getvalue()


def example(features: Mapping[str, Sequence[bytes | int | float]]) -> bytes:
    """A `tf.train.Example`."""
    message = Example()
    for name, values in features.items():
        feature = message.features.feature[name]
        of_kind = {bytes: feature.bytes_list, float: feature.float_list, int: feature.int64_list}
        of_kind[type(values[0])].value.extend(values)
    return message.SerializeToString(deterministic=True)


def write_records(path: Path, records: Sequence[bytes]) -> Path:
    """A file of TFRecords."""
    path.write_bytes(b"".join(map(framed, records)))
    return path


def framed(data: bytes) -> bytes:
    """A record as it stands in a file."""
    head = struct.pack("<Q", len(data))
    return head + struct.pack("<I", masked(head)) + data + struct.pack("<I", masked(data))


def masked(data: bytes) -> int:
    """The masked CRC-32C of data."""
    checksum = crc32c.crc32c(data)
    return ((checksum >> 15 | checksum << 17 & 0xFFFFFFFF) + 0xA282EAD8) & 0xFFFFFFFF
