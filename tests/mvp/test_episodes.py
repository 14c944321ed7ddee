"""Language Table's episodes: TFRecords, in the order in which TensorFlow Datasets reads them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from expected import Expected
from mvp_downloads import LENGTHS, episode, episode_colour, example, framed, png, write_episodes, write_records

from lmms_eval_tasks.mvp.raw_downloads import BadRecord, Episodes, index_records, read_frames, reading_order
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.release import UnreadableClip

BY_TENSORFLOW = bytes.fromhex(
    "2e00000000000000c5cb57fa0a2c0a0c0a016112070a050a01780a000a0d0a016212081a060a0401ac02000a0d0a0163120812060a040000c03f"
    "7d53e3ab"
)
"""What `tf.io.TFRecordWriter` of TensorFlow 2 writes for a: bytes "x" and "", b: integers 1, 300, 0, c: a float 1.5."""


def raised(call: Callable[[], object]) -> str:
    with pytest.raises((BadRecord, UnreadableClip, InputError)) as caught:
        call()
    return str(caught.value)


def test_a_file_of_tensorflow_is_read(tmp_path: Path) -> None:
    (tmp_path / "x.tfrecord").write_bytes(BY_TENSORFLOW)
    (record,) = index_records(tmp_path / "x.tfrecord")
    assert framed(record.read()) == BY_TENSORFLOW


def test_records_are_found_without_reading_their_data_and_faults_are_named(tmp_path: Path, expected: Expected) -> None:
    data = [b"", b"one", b"x" * 5000]
    path = write_records(tmp_path / "x.tfrecord", data)
    assert [record.read() for record in index_records(path)] == data
    damaged = bytearray(path.read_bytes())
    damaged[-10] ^= 1
    path.write_bytes(damaged)
    records = index_records(path)
    assert [record.read() for record in records[:2]] == data[:2]
    messages = [raised(records[2].read)]
    # Each record has 12 bytes before its data and 4 behind them.
    whole = write_records(tmp_path / "two", [b"one", b"two"]).read_bytes()
    for lost in (1, 4, 5, 7, 8, 18):
        path.write_bytes(whole[:-lost])
        messages.append(f"without {lost}: {raised(lambda: index_records(path))}")
    path.write_bytes(b"\xff" * 100)
    expected("\n".join([*messages, raised(lambda: index_records(path))]))


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
    steps = reading_order(lengths, together, block)
    read = [f"{file}.{place}" for file, start, count in steps for place in range(start, start + count)]
    assert " ".join(read) == order


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_episodes(tmp_path / "0.0.1")


def change_info(folder: Path, lengths: list[str] | None = None, **changes: object) -> None:
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = lengths or info["splits"][0]["shardLengths"]
    (folder / "dataset_info.json").write_text(json.dumps({**info, **changes}))


def shades(folder: Path) -> list[int]:
    """The shade of grey of each episode, in the order of their numbers."""
    records = Episodes(folder).find(range(sum(LENGTHS)), Problems(), no_progress)
    return [int(next(read_frames(records[number]))[0, 0, 0]) for number in range(sum(LENGTHS))]


def test_episodes_are_numbered_in_the_order_of_reading(folder: Path) -> None:
    # Sixteen of the first file, all four of the second, sixteen of the third, and what is left of the two.
    blocks = [(0, 0, 16), (1, 0, 4), (2, 0, 16), (0, 16, 2), (2, 16, 4)]
    assert shades(folder) == [
        episode_colour(file, start + place) for file, start, count in blocks for place in range(count)
    ]
    change_info(folder, disableShuffling=True)
    assert shades(folder) == [episode_colour(file, place) for file in range(3) for place in range(LENGTHS[file])]


def test_an_episode_names_its_file_whether_that_is_there_or_not(folder: Path) -> None:
    (folder / "language_table-train.tfrecord-00001-of-00003").unlink()
    episodes, problems = Episodes(folder), Problems()
    assert episodes.file_of(17) == "language_table-train.tfrecord-00001-of-00003"
    assert episodes.file_of(sum(LENGTHS)) is None
    assert list(episodes.find((3, 17, 99), problems, no_progress)) == [3]
    assert not problems


def test_files_that_cannot_be_those_of_the_dataset(folder: Path, tmp_path: Path, expected: Expected) -> None:
    messages = []

    def find(*numbers: int) -> None:
        problems = Problems()
        assert Episodes(folder).find(numbers, problems, no_progress).keys() <= {*numbers}
        messages.append(raised(lambda: problems.raise_if_any("It cannot be prepared", "nothing was written")))

    # Number 36 lies in the last file; that the first one holds others than are said moves its number.
    change_info(folder, ["17", "5", "20"])
    find(36)
    change_info(folder, ["22", "20"])
    find(3)
    change_info(folder, [str(length) for length in LENGTHS])
    file = folder / "language_table-train.tfrecord-00000-of-00003"
    file.unlink()
    os.mkfifo(file)
    find(3)
    for text in (
        "", "[]", '{"name": "x", "splits": []}', '{"name": "x", "splits": [{"name": "train"}]}',
        json.dumps({"name": "x", "splits": [{"name": "train", "shardLengths": [str(10**12)]}]}),
    ):  # fmt: skip
        (folder / "dataset_info.json").write_text(text)
        messages.append(raised(lambda: Episodes(folder)))
    expected("\n".join(messages))


def test_an_episode_that_is_not_whole_says_what_it_lacks(tmp_path: Path, expected: Expected) -> None:
    last = b"steps/is_last\x12\x06\x1a\x04\x0a\x02\x00"
    good, other = (png(np.full((16, width, 3), 1, dtype=np.uint8)) for width in (32, 30))
    two = episode([1, 1])
    steps = {"steps/is_first": [1, 0], "steps/is_last": [0, 1]}
    episodes = (
        episode([1, 2], steps=3),
        b"",
        episode([1, 2]).replace(last + b"\x01", last + b"\x00"),
        b"\xff",
        two.replace(good[8:16], bytes(8), 1),
        example({"steps/observation/rgb": [good, other], **steps}),
    )
    messages = []
    for data in episodes:
        (record,) = index_records(write_records(tmp_path / "x", [data]))
        messages.append(raised(lambda record=record: list(read_frames(record))))
    expected("\n".join(messages))
