"""Frames and clips that are made from a clip: which frames they show, how well, and that any reader reads them."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from pathlib import Path

import av
import numpy as np
import pytest
from numbered_clips import (
    cut_off,
    lay_on_its_side,
    number_of,
    numbered_frame,
    pictures_by,
    pictures_by_decord,
    write_numbered,
)  # fmt: skip
from numpy.typing import NDArray
from PIL import Image

from lmms_eval_tasks.utils.data import made as made_clips
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.made import MadeClip, show_frame, show_reversed, show_shuffled
from lmms_eval_tasks.utils.data.release import UnreadableClip

COUNT = 70
READERS = ("decord", "av", "cv2")
MEAN_ERROR = 3.0
"""Most mean difference, of 255, between a frame of a made clip and the source's."""


@pytest.fixture
def store(tmp_path: Path) -> ClipStore:
    return ClipStore(tmp_path / "made", 1 << 30)


@pytest.fixture(scope="module")
def clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_numbered(tmp_path_factory.mktemp("source") / "clip.mp4", COUNT, sound=True)


def picture_of(made: MadeClip) -> NDArray[np.uint8]:
    with Image.open(made.path) as picture:
        return np.asarray(picture)


def facts(path: Path) -> tuple[object, ...]:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        assert not container.streams.audio or path.name == "clip.mp4"
        length = (stream.duration or 0) * (stream.time_base or 0)
        return stream.width, stream.height, stream.average_rate, length, stream.frames


@pytest.mark.parametrize("make", [show_reversed, show_shuffled])
def test_a_made_clip_has_all_frames_in_its_order_for_every_reader(make, clip: Path, store: ClipStore) -> None:
    made = make(clip, store)
    assert sorted(made.frames) == list(range(COUNT))
    assert (made.frames == tuple(reversed(range(COUNT)))) == (make is show_reversed)
    assert facts(made.path) == facts(clip) == (80, 48, Fraction(25, 2), Fraction(COUNT * 2, 25), COUNT)
    for reader in READERS:
        source, shown = pictures_by(reader, clip), pictures_by(reader, made.path)
        assert [number_of(picture) for picture in shown] == list(made.frames), reader
        errors = np.abs(shown.astype(int) - source[list(made.frames)]).mean(axis=(1, 2, 3))
        assert errors.max() < MEAN_ERROR, reader
    for read in (PyavFrames(made.path).read, partial(pictures_by_decord, made.path)):
        for positions in ([COUNT - 1], [33, 2], [50, 51, 49]):
            assert [number_of(picture) for picture in read(positions)] == [made.frames[at] for at in positions]


def test_the_groups_of_a_long_clip_are_reversed_one_by_one(
    clip: Path, store: ClipStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(made_clips, "GROUP_BYTES", 5 * 2 * 80 * 48)
    made = show_reversed(clip, store)
    assert [number_of(picture) for picture in pictures_by("decord", made.path)] == list(made.frames)
    with av.open(str(made.path)) as container:
        keys = [number for number, packet in enumerate(container.demux(video=0)) if packet.is_keyframe]
    assert keys == list(range(0, COUNT, 5))


@pytest.mark.parametrize(
    ("size", "pixels", "codec", "suffix"),
    [
        ((81, 47), "yuv444p", "libx264", ".mp4"),
        ((81, 47), "yuv420p", "mpeg4", ".avi"),
        ((80, 48), "yuv420p10le", "libx264", ".mkv"),
        ((80, 48), "yuvj420p", "mjpeg", ".mov"),
        ((80, 48), "yuv422p", "libx264", ".mkv"),
    ],
)
def test_odd_sizes_and_other_forms_of_pixels(
    size: tuple[int, int], pixels: str, codec: str, suffix: str, tmp_path: Path, store: ClipStore
) -> None:
    clip = write_numbered(tmp_path / f"clip{suffix}", 12, size, codec, pixels)
    source = pictures_by("av", clip)
    for made in (show_reversed(clip, store), show_shuffled(clip, store)):
        for reader in READERS:
            shown = pictures_by(reader, made.path)
            assert shown.shape == (12, size[1], size[0], 3)
            assert [number_of(picture) for picture in shown] == list(made.frames)
            assert np.abs(shown.astype(int) - source[list(made.frames)]).mean() < 2 * MEAN_ERROR, reader
    assert number_of(picture_of(show_frame(clip, "last", store))) == 11


def test_frames_of_different_length_keep_theirs(tmp_path: Path, store: ClipStore) -> None:
    times = [0, 4, 8, 30, 34, 60, 100, 104, 108, 112]
    clip = write_numbered(tmp_path / "varying.mkv", len(times), times=times)
    steps = np.diff(times)
    for made in (show_reversed(clip, store), show_shuffled(clip, store)):
        with av.open(str(made.path)) as container:
            frames = list(container.decode(video=0))
        order = [number_of(frame.to_ndarray(format="rgb24")) for frame in frames]
        assert order == list(made.frames)
        shown = np.diff([float(frame.time or 0) for frame in frames])
        for number, duration in zip(order, shown, strict=False):
            if number < len(steps):
                assert duration == pytest.approx(steps[number] / 100, abs=0.0015)


def test_a_phones_clip_is_shown_upright(tmp_path: Path, store: ClipStore) -> None:
    clip = lay_on_its_side(write_numbered(tmp_path / "phone.mp4", 8, (96, 80)))
    upright = pictures_by("cv2", clip)
    assert upright.shape == (8, 96, 80, 3)
    made = show_shuffled(clip, store)
    for reader in READERS:
        shown = pictures_by(reader, made.path)
        assert np.abs(shown.astype(int) - upright[list(made.frames)]).mean() < MEAN_ERROR
    assert np.abs(picture_of(show_frame(clip, "centre", store)).astype(int) - upright[4]).max() <= 3


def test_frames_that_were_cut_off_are_not_shown(tmp_path: Path, store: ClipStore) -> None:
    clip = cut_off(write_numbered(tmp_path / "cut.mp4", 40), 5)
    for position, number in (("first", 0), ("centre", 17), ("last", 34)):
        made = show_frame(clip, position, store)
        assert made.frames == (number,) and number_of(picture_of(made)) == number + 5
    made = show_reversed(clip, store)
    assert [number_of(picture) - 5 for picture in pictures_by("decord", made.path)] == list(made.frames)
    assert sorted(made.frames) == list(range(35))


def test_a_picture_is_whole_where_decord_was_imported_first(clip: Path, tmp_path: Path) -> None:
    code = (
        "import decord, cv2, sys; from pathlib import Path; from lmms_eval_tasks.utils.data.made import *; "
        "print(show_frame(Path(sys.argv[1]), 'last', ClipStore(Path(sys.argv[2]), 1 << 30)).path)"
    )
    command = [sys.executable, "-c", code, str(clip), str(tmp_path / "made")]
    path = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert number_of(picture_of(MadeClip(Path(path), (COUNT - 1,)))) == COUNT - 1


def test_one_frame_without_loss(clip: Path, store: ClipStore) -> None:
    for position, number in (("first", 0), ("centre", COUNT // 2), ("last", COUNT - 1)):
        made = show_frame(clip, position, store)
        assert made.frames == (number,) and made.path.suffix == ".png"
        assert np.array_equal(picture_of(made), pictures_by("av", clip)[number])
        assert np.abs(picture_of(made).astype(int) - numbered_frame(number, 80, 48)).mean() < 2 * MEAN_ERROR
    with pytest.raises(ValueError, match="first, centre, last or random"):
        show_frame(clip, "middle", store)


def test_random_frames_follow_seed_and_content_and_are_spread_evenly(tmp_path: Path, store: ClipStore) -> None:
    clip = write_numbered(tmp_path / "four.mp4", 4)
    drawn = [show_frame(clip, f"random{seed}", store) for seed in range(120)]
    again = ClipStore(tmp_path / "other", 1 << 30)
    assert [show_frame(clip, f"random{seed}", again).frames for seed in range(5)] == [made.frames for made in drawn[:5]]
    for made in drawn[:5]:
        assert number_of(picture_of(made)) == made.frames[0]
    counts = Counter(made.frames[0] for made in drawn)
    # Chi-squared of three degrees of freedom: above 16.3 once in a thousand times.
    assert sum((counts[number] - 30) ** 2 / 30 for number in range(4)) < 16.3
    other = write_numbered(tmp_path / "wider.mp4", 4, (90, 48))
    assert [show_frame(other, f"random{seed}", store).frames for seed in range(12)] != [
        made.frames for made in drawn[:12]
    ]


def test_a_shuffled_clip_is_never_the_clip_itself(tmp_path: Path, store: ClipStore) -> None:
    clip = write_numbered(tmp_path / "two.mp4", 2)
    assert {show_shuffled(clip, store, seed).frames for seed in range(8)} == {(1, 0)}
    three = write_numbered(tmp_path / "three.mp4", 3)
    orders = {show_shuffled(three, store, seed).frames for seed in range(40)}
    assert len(orders) == 5 and (0, 1, 2) not in orders
    one = write_numbered(tmp_path / "one.mp4", 1)
    assert show_shuffled(one, store).frames == show_reversed(one, store).frames == (0,)


def test_the_same_source_gives_the_same_bytes_wherever_it_lies(clip: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.mp4"
    copy.write_bytes(clip.read_bytes())
    one, other = ClipStore(tmp_path / "one", 1 << 30), ClipStore(tmp_path / "other", 1 << 30)
    for make in (show_reversed, show_shuffled, lambda clip, store: show_frame(clip, "random1", store)):
        ours, theirs = make(clip, one), make(copy, other)
        assert ours.frames == theirs.frames and ours.path.name == theirs.path.name
        assert ours.path.read_bytes() == theirs.path.read_bytes()


def test_what_cannot_be_decoded_is_refused_and_leaves_nothing(tmp_path: Path, store: ClipStore) -> None:
    text, torn = tmp_path / "text.mp4", tmp_path / "torn.mkv"
    text.write_text("no video")
    whole = write_numbered(tmp_path / "whole.mp4", 30).read_bytes()
    damaged = bytearray(whole)
    middle = whole.index(b"mdat") + 2000
    damaged[middle : middle + 3000] = b"\xff" * 3000
    torn.write_bytes(damaged)
    for make in (show_reversed, show_shuffled, lambda clip, store: show_frame(clip, "last", store)):
        with pytest.raises(UnreadableClip, match="cannot be opened"):
            make(text, store)
        with pytest.raises(UnreadableClip, match="no file that can be read"):
            make(tmp_path / "none.mp4", store)
    for make in (show_reversed, show_shuffled):
        with pytest.raises(UnreadableClip, match="cannot be decoded"):
            make(torn, store)
    assert not list(store.folder.glob("??/[!.]*")) and not list(store.folder.rglob("*.part"))
