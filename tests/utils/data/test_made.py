"""Frames, clips, parts and masked clips that are made from a clip: what they show, how well, and for any reader."""

from __future__ import annotations

import io
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction
from functools import partial
from math import ceil
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
from lmms_eval_tasks.utils.data.clips import clip_seconds
from lmms_eval_tasks.utils.data.frames import PyavFrames
from lmms_eval_tasks.utils.data.made import (
    MadeClip,
    black_out,
    boxes_at,
    cut_part,
    mask_boxes,
    part_pictures,
    show_frame,
    show_reversed,
    show_shuffled,
)
from lmms_eval_tasks.utils.data.pictures import from_planes, planes_of
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


SIZE = (160, 120)
MASKED = 40
RATE = 12.5
BOXES = (
    (0.0, 1.0, (31, 51, 64, 83)),
    (0.5, 2.0, (90.4, 60.6, 110.2, 99.1)),
    (2.4, 9.0, (140, 100, 500, 500)),
)
NEAR_BLACK = 20
"""Most brightness, of 255, of a pixel in a box after coding, in any of its three colours; the mean is below 2."""
BESIDE = 4
"""Pixels beside a box that the codec may change more than others, half of one of its blocks."""


def inside(second: float, size: tuple[int, int], margin: int = 0) -> NDArray[np.bool_]:
    """Whether each pixel is touched by a box of that second: a plain loop over pixels; `margin` makes boxes larger."""
    mask = np.zeros((size[1], size[0]), dtype=bool)
    for start, end, (x1, y1, x2, y2) in BOXES:
        if start <= second < end:
            for y in range(size[1]):
                for x in range(size[0]):
                    if x1 - margin < x + 1 and x < x2 + margin and y1 - margin < y + 1 and y < y2 + margin:
                        mask[y, x] = True
    return mask


@pytest.mark.parametrize("pixels", ["yuv420p", "yuvj420p", "yuv444p"])
def test_before_coding_every_pixel_in_a_box_is_black_and_every_other_as_it_was(pixels: str, tmp_path: Path) -> None:
    clip = write_numbered(tmp_path / "clip.mkv", MASKED, SIZE, "mjpeg" if "j" in pixels else "libx264", pixels)
    with av.open(str(clip)) as container:
        frames = list(container.decode(video=0))
    for number in (0, 5, 8, 20, 35):
        frame = frames[number]
        planes = planes_of(frame)
        before = planes.copy()
        black_out(planes, boxes_at(number / RATE, BOXES), pixels == "yuvj420p")
        mask = inside(number / RATE, SIZE)
        assert mask.any() and np.array_equal(planes[:, ~mask], before[:, ~mask])
        shown = from_planes(planes, frame).to_ndarray(format="rgb24")
        assert shown[mask].max() == 0
        assert np.abs(shown[~mask].astype(int) - frame.to_ndarray(format="rgb24")[~mask]).max() <= 3


@pytest.mark.parametrize("reader", ["decord", "av", "cv2"])
def test_after_coding_the_inside_is_black_and_the_outside_as_the_codec_leaves_it(
    reader: str, tmp_path: Path, store: ClipStore
) -> None:
    clip = write_numbered(tmp_path / "clip.mp4", MASKED, SIZE)
    made = mask_boxes(clip, BOXES, store)
    assert made.frames == tuple(range(MASKED))
    source, shown = pictures_by(reader, clip), pictures_by(reader, made.path)
    assert source.shape == shown.shape
    masked_frames = 0
    for number in range(MASKED):
        mask, near = inside(number / RATE, SIZE), inside(number / RATE, SIZE, BESIDE)
        masked_frames += mask.any()
        assert number_of(shown[number]) == number
        errors = np.abs(shown[number].astype(int) - source[number])
        assert errors[~near].mean() < 3 and errors[~mask].mean() < 4
        if mask.any():
            assert shown[number][mask].max() <= NEAR_BLACK and shown[number][mask].mean() < 2
    assert 30 < masked_frames < MASKED  # between 2.0 and 2.4 s nothing is black


def test_boxes_are_of_the_upright_frame(tmp_path: Path, store: ClipStore) -> None:
    clip = lay_on_its_side(write_numbered(tmp_path / "phone.mp4", 6, (120, 80)))
    made = mask_boxes(clip, [(0, 9, (8, 72, 32, 112))], store)
    shown, upright = pictures_by("decord", made.path), pictures_by("cv2", clip)
    assert shown.shape == upright.shape == (6, 120, 80, 3)
    assert shown[:, 72:112, 8:32].max() <= NEAR_BLACK and upright[:, 72:112, 8:32].mean() > 50
    assert np.abs(shown[:, :64].astype(int) - upright[:, :64]).mean() < 3


def test_boxes_are_a_set_and_finite_and_the_same_ones_give_the_same_bytes(tmp_path: Path, store: ClipStore) -> None:
    clip = write_numbered(tmp_path / "clip.mp4", 5, SIZE)
    made = mask_boxes(clip, BOXES, store)
    assert mask_boxes(clip, BOXES[::-1], store) == made
    assert mask_boxes(clip, BOXES[:2], store).path != made.path
    assert mask_boxes(clip, BOXES, ClipStore(tmp_path / "other", 1 << 30)).path.read_bytes() == made.path.read_bytes()
    for end in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite times and corners"):
            mask_boxes(clip, [(0, 1, (0, 0, end, 1))], store)


FPS, LENGTH = 12.5, 100


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds."""
    return write_numbered(tmp_path_factory.mktemp("parts") / "video.mp4", LENGTH)


def shown(pictures: tuple[bytes, ...]) -> list[int]:
    return [number_of(np.asarray(Image.open(io.BytesIO(picture)))) for picture in pictures]


@pytest.mark.parametrize(("start", "end"), [(0.0, 8.0), (0.0, 0.4), (2.0, 4.0), (2.09, 2.15), (5.2, 8.04), (7.93, 8)])
def test_a_cut_has_the_frames_of_its_time(start: float, end: float, video: Path, tmp_path: Path) -> None:
    target = tmp_path / "cut.mp4"
    count = cut_part(video, start, end, target)
    first = int(start * FPS + 1e-6)
    expected = list(range(first, min(LENGTH, ceil(end * FPS - 1e-6))))
    assert [number_of(picture) for picture in pictures_by("av", target)] == expected
    assert count == len(expected)
    assert clip_seconds(target) == pytest.approx(len(expected) / FPS, abs=0.01)
    assert shown(part_pictures(video, start, end, LENGTH)) == expected
    cut_part(video, start, end, tmp_path / "again.mp4")
    assert (tmp_path / "again.mp4").read_bytes() == target.read_bytes()


def test_each_frame_is_shown_as_long_as_in_the_video(tmp_path: Path) -> None:
    path = write_numbered(tmp_path / "video.mp4", 8, times=[0, 10, 30, 40, 100, 110, 120, 200])
    cut_part(path, 0.3, 1.2, tmp_path / "cut.mp4")
    assert [number_of(picture) for picture in pictures_by("av", tmp_path / "cut.mp4")] == [2, 3, 4, 5]
    with av.open(str(tmp_path / "cut.mp4")) as container:
        times = [packet.pts * packet.time_base for packet in container.demux(video=0) if packet.size]
    assert [float(time) for time in times] == pytest.approx([0.0, 0.1, 0.7, 0.8], abs=1e-3)


def test_a_clip_that_lies_on_its_side_is_cut_upright(tmp_path: Path) -> None:
    path = lay_on_its_side(write_numbered(tmp_path / "video.mp4", 20))
    cut_part(path, 0.8, 1.2, tmp_path / "cut.mp4")
    pictures = pictures_by("av", tmp_path / "cut.mp4")
    assert pictures.shape == (5, 80, 48, 3)
    assert [number_of(np.rot90(picture)) for picture in pictures] == [10, 11, 12, 13, 14]
    (first, *_) = part_pictures(path, 0.8, 1.2, 5)
    assert Image.open(io.BytesIO(first)).size == (48, 80)


def test_pictures_are_spread_over_the_part_and_large_ones_made_smaller(video: Path, tmp_path: Path) -> None:
    assert shown(part_pictures(video, 1.6, 4.8, 5)) == [20, 30, 40, 49, 59]
    assert shown(part_pictures(video, 1.6, 4.8, 1)) == [20]
    assert part_pictures(video, 1.6, 4.8, 5) == part_pictures(video, 1.6, 4.8, 5)
    (picture,) = part_pictures(write_numbered(tmp_path / "large.mp4", 2, (1536, 480)), 0.0, 0.08, 3)
    assert Image.open(io.BytesIO(picture)).size == (768, 240)


def test_what_follows_a_part_has_none_of_its_frames(video: Path, tmp_path: Path) -> None:
    for end in (1.6, 1.65, 7.9, 8.0, 8.04):
        count = cut_part(video, 0.0, end, tmp_path / "cut.mp4")
        assert shown(part_pictures(video, end, end + 3.0, LENGTH, after=True)) == list(range(count, LENGTH))[:38]
    assert part_pictures(video, 8.0, 11.0, 5, after=True) == ()


def test_what_is_no_video_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(UnreadableClip):
        cut_part(tmp_path / "text.mp4", 0.0, 1.0, tmp_path / "cut.mp4")
    with pytest.raises(UnreadableClip):
        part_pictures(tmp_path / "text.mp4", 0.0, 1.0, 2)
    assert not (tmp_path / "cut.mp4").exists()
