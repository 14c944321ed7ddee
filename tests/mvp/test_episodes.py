from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
from mvp_downloads import LENGTHS, episode, episode_colour, example, png, write_episodes, write_records

from lmms_eval_tasks.mvp.raw_downloads import Episodes, index_records, read_frames, reading_order
from lmms_eval_tasks.utils.core.errors import InputError, Problems
from lmms_eval_tasks.utils.core.work import no_progress
from lmms_eval_tasks.utils.data.release import UnreadableClip


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


def shades(episodes: Episodes, numbers: range) -> list[int]:
    records = episodes.find(numbers, Problems(), no_progress)
    return [int(next(read_frames(records[number]))[0, 0, 0]) for number in numbers]


def test_episodes_are_numbered_in_the_order_of_reading(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "0.0.1")
    # Sixteen of the first file, all four of the second, sixteen of the third, and what is left of the two.
    blocks = [(0, 0, 16), (1, 0, 4), (2, 0, 16), (0, 16, 2), (2, 16, 4)]
    expected = [episode_colour(file, start + place) for file, start, count in blocks for place in range(count)]
    assert shades(Episodes(folder), range(sum(LENGTHS))) == expected


def test_an_ordered_dataset_is_read_file_by_file(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "0.0.1")
    info = json.loads((folder / "dataset_info.json").read_text())
    (folder / "dataset_info.json").write_text(json.dumps({**info, "disableShuffling": True}))
    expected = [episode_colour(file, place) for file in range(3) for place in range(LENGTHS[file])]
    assert shades(Episodes(folder), range(sum(LENGTHS))) == expected


def test_an_episode_names_its_file_whether_that_is_there_or_not(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "0.0.1")
    (folder / "language_table-train.tfrecord-00001-of-00003").unlink()
    episodes, problems = Episodes(folder), Problems()
    assert episodes.file_of(17) == "language_table-train.tfrecord-00001-of-00003"
    assert episodes.file_of(sum(LENGTHS)) is None
    assert list(episodes.find((3, 17, 99), problems, no_progress)) == [3]
    assert not problems


@pytest.mark.parametrize(
    "text", ["", "[]", '{"name": "x", "splits": []}', '{"name": "x", "splits": [{"name": "train"}]}']
)
def test_a_description_without_sizes_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "dataset_info.json").write_text(text)
    with pytest.raises(InputError, match=r"dataset_info\.json: Expected the sizes of the files of the split train"):
        Episodes(tmp_path)


def test_sizes_that_no_dataset_has_are_refused(tmp_path: Path) -> None:
    split = {"name": "train", "shardLengths": [str(10**12)]}
    (tmp_path / "dataset_info.json").write_text(json.dumps({"name": "x", "splits": [split]}))
    with pytest.raises(InputError, match=r"Expected at most 10,000,000 episodes, but got 1,000,000,000,000\."):
        Episodes(tmp_path)


def problem(tmp_path: Path, data: bytes) -> str:
    (record,) = index_records(write_records(tmp_path / "x", [data]))
    with pytest.raises(UnreadableClip) as caught:
        list(read_frames(record))
    return str(caught.value)


def test_an_episode_that_is_not_whole_says_what_it_lacks(tmp_path: Path) -> None:
    assert problem(tmp_path, episode([1, 2], steps=3)) == "Expected one picture for each of 3 steps, but got 2."
    assert problem(tmp_path, b"") == "Expected one picture for each of 0 steps, but got 0."
    last = b"steps/is_last\x12\x06\x1a\x04\x0a\x02\x00"
    ended = episode([1, 2]).replace(last + b"\x01", last + b"\x00")
    assert problem(tmp_path, ended) == "Expected an episode from its first step to its last, but it is a part of one."
    assert problem(tmp_path, b"\xff") == "Expected a whole tf.train.Example, but it cannot be read."


def test_a_picture_that_cannot_be_shown_is_named(tmp_path: Path) -> None:
    good = png(np.full((16, 32, 3), 1, dtype=np.uint8))
    data = episode([1, 1])
    at = data.index(good) + 8
    spoilt = data[:at] + b"\0" * 8 + data[at + 8 :]
    assert problem(tmp_path, spoilt) == "Expected the picture of step 0 to be a PNG or a JPEG."
    other = png(np.full((16, 30, 3), 1, dtype=np.uint8))
    steps = {"steps/is_first": [1, 0], "steps/is_last": [0, 1]}
    assert problem(tmp_path, example({"steps/observation/rgb": [good, other], **steps})) == (
        "Expected pictures of one size, but that of step 1 has another."
    )


def found(folder: Path, *numbers: int) -> str:
    """What is wrong with the files of a dataset where episodes are looked for."""
    problems = Problems()
    assert Episodes(folder).find(numbers, problems, no_progress).keys() <= {*numbers}
    with pytest.raises(InputError) as caught:
        problems.raise_if_any("It cannot be prepared", "nothing was written")
    return str(caught.value).replace(str(folder), "~")


REMEDY = "Remedy: copy dataset_info.json and the files again, all of one version of the dataset."


def test_lengths_that_are_not_those_of_the_files_are_refused(tmp_path: Path) -> None:
    """Number 36 lies in the last file; that the first one holds others than are said moves its number."""
    folder = write_episodes(tmp_path / "0.0.1")
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = ["17", "5", "20"]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    file = "~/language_table-train.tfrecord-0000"
    assert found(folder, 36) == (
        "It cannot be prepared: 2 problems, nothing was written.\n"
        f"  {file}0-of-00003: Expected 17 episodes, as dataset_info.json says of this file, but got 18. {REMEDY}\n"
        f"  {file}1-of-00003: Expected 5 episodes, as dataset_info.json says of this file, but got 4. {REMEDY}"
    )


def test_files_of_another_division_are_refused(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "0.0.1")
    info = json.loads((folder / "dataset_info.json").read_text())
    info["splits"][0]["shardLengths"] = ["22", "20"]
    (folder / "dataset_info.json").write_text(json.dumps(info))
    assert (
        "~/language_table-train.tfrecord-00002-of-00003: Expected no file but language_table-train.tfrecord-00000-of-"
        f"00002 to language_table-train.tfrecord-00001-of-00002, by dataset_info.json, but got this one. {REMEDY}"
    ) in found(folder, 3)


def test_a_pipe_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    folder = write_episodes(tmp_path / "0.0.1")
    file = folder / "language_table-train.tfrecord-00000-of-00003"
    file.unlink()
    os.mkfifo(file)
    assert f"~/{file.name}: Expected a regular file, but got something else. Remedy: copy it again" in found(folder, 3)
