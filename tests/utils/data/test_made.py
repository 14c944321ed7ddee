"""Frames, clips, parts and masked clips that are made from a clip: what they show, how well, and for any reader."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
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
    write_numbered,
)  # fmt: skip
from numpy.typing import NDArray
from PIL import Image

from lmms_eval_tasks.utils.data import made as made_clips
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import PyavFrames, clip_seconds
from lmms_eval_tasks.utils.data.made import (
    GROUP_FRAMES,
    MadeClip,
    cut_part,
    mask_boxes,
    part_pictures,
    show_frame,
    show_reversed,
    show_shuffled,
)
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


def assert_shown(made: MadeClip, source: NDArray[np.uint8], numbered: bool = True, most: float = MEAN_ERROR) -> None:
    """Every reader shows the source's pictures in the made clip's order."""
    for reader in READERS:
        shown = pictures_by(reader, made.path)
        assert shown.shape == source.shape
        assert not numbered or [number_of(picture) for picture in shown] == list(made.frames), reader
        errors = np.abs(shown.astype(int) - source[list(made.frames)]).mean(axis=(1, 2, 3))
        assert errors.max() < most, reader


@pytest.mark.parametrize("make", [show_reversed, show_shuffled])
def test_a_made_clip_has_all_frames_in_its_order_for_every_reader(
    make: Callable[[Path, ClipStore], MadeClip], clip: Path, store: ClipStore
) -> None:
    made = make(clip, store)
    assert sorted(made.frames) == list(range(COUNT))
    assert (made.frames == tuple(reversed(range(COUNT)))) == (make is show_reversed)
    with av.open(str(made.path)) as container:
        stream = container.streams.video[0]
        assert not container.streams.audio and (stream.average_rate, stream.frames) == (Fraction(25, 2), COUNT)
        assert (stream.duration or 0) * (stream.time_base or 0) == Fraction(COUNT * 2, 25)
    assert_shown(made, pictures_by("av", clip))
    for read in (PyavFrames(made.path).read, partial(pictures_by, "decord", made.path)):
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
        ((81, 47), "yuv444p", "libx264", ".mp4"), ((81, 47), "yuv420p", "mpeg4", ".avi"),
        ((80, 48), "yuv420p10le", "libx264", ".mkv"), ((80, 48), "yuvj420p", "mjpeg", ".mov"),
        ((80, 48), "yuv422p", "libx264", ".mkv"),
    ],
)  # fmt: skip
def test_odd_sizes_and_other_forms_of_pixels(
    size: tuple[int, int], pixels: str, codec: str, suffix: str, tmp_path: Path, store: ClipStore
) -> None:
    clip = write_numbered(tmp_path / f"clip{suffix}", 12, size, codec, pixels)
    assert_shown(show_shuffled(clip, store), pictures_by("av", clip), most=2 * MEAN_ERROR)
    assert number_of(picture_of(show_frame(clip, "last", store))) == 11


def test_frames_of_different_length_keep_theirs(tmp_path: Path, store: ClipStore) -> None:
    times = [0, 4, 8, 30, 34, 60, 100, 104, 108, 112]  # in hundredths of a second
    clip = write_numbered(tmp_path / "varying.mkv", len(times), times=times)
    for made in (show_reversed(clip, store), show_shuffled(clip, store)):
        with av.open(str(made.path)) as container:
            frames = list(container.decode(video=0))
        order = [number_of(frame.to_ndarray(format="rgb24")) for frame in frames]
        assert order == list(made.frames)
        for number, duration in zip(order, np.diff([float(frame.time or 0) for frame in frames]), strict=False):
            if number < len(times) - 1:
                assert duration == pytest.approx((times[number + 1] - times[number]) / 100, abs=0.0015)


def test_a_phones_clip_is_shown_masked_and_cut_upright(tmp_path: Path, store: ClipStore) -> None:
    clip = lay_on_its_side(write_numbered(tmp_path / "phone.mp4", 20, (120, 80)))
    upright = pictures_by("cv2", clip)
    assert upright.shape == (20, 120, 80, 3)
    assert_shown(show_shuffled(clip, store), upright, numbered=False)
    assert np.abs(picture_of(show_frame(clip, "centre", store)).astype(int) - upright[10]).max() <= 3
    shown = pictures_by("decord", mask_boxes(clip, [(0, 9, (8, 72, 32, 112))], store).path)
    assert shown[:, 72:112, 8:32].max() <= NEAR_BLACK and upright[:, 72:112, 8:32].mean() > 50
    assert np.abs(shown[:, :64].astype(int) - upright[:, :64]).mean() < 3
    cut_part(clip, 0.8, 1.2, tmp_path / "cut.mp4")
    assert np.abs(pictures_by("av", tmp_path / "cut.mp4").astype(int) - upright[10:15]).mean() < MEAN_ERROR
    (first, *_) = part_pictures(clip, 0.8, 1.2, 5)
    assert Image.open(io.BytesIO(first)).size == (80, 120)


@pytest.mark.parametrize("turned", [False, True])
def test_pixels_that_are_no_squares_keep_their_form(turned: bool, tmp_path: Path, store: ClipStore) -> None:
    clip = write_numbered(tmp_path / "wide.mp4", 12, pixel=Fraction(4, 3))
    clip = lay_on_its_side(clip) if turned else clip
    cut_part(clip, 0.2, 0.6, tmp_path / "cut.mp4")
    for made in (show_reversed(clip, store).path, show_shuffled(clip, store).path, tmp_path / "cut.mp4"):
        with av.open(str(made)) as container:
            assert container.streams.video[0].codec_context.sample_aspect_ratio == Fraction(
                *((3, 4) if turned else (4, 3))
            )


def test_frames_that_were_cut_off_are_not_shown(tmp_path: Path, store: ClipStore) -> None:
    clip = cut_off(write_numbered(tmp_path / "cut.mp4", 40), 5)
    for position, number in (("first", 0), ("centre", 17), ("last", 34)):
        made = show_frame(clip, position, store)
        assert made.frames == (number,) and number_of(picture_of(made)) == number + 5
    made = show_reversed(clip, store)
    assert [number_of(picture) - 5 for picture in pictures_by("decord", made.path)] == list(range(34, -1, -1))


@pytest.mark.slow
def test_one_frame_without_loss_and_random_ones_by_seed_and_content(
    clip: Path, tmp_path: Path, store: ClipStore
) -> None:
    for position, number in (("first", 0), ("centre", COUNT // 2), ("last", COUNT - 1)):
        made = show_frame(clip, position, store)
        assert made.frames == (number,) and made.path.suffix == ".png"
        assert np.array_equal(picture_of(made), pictures_by("av", clip)[number])
        assert np.abs(picture_of(made).astype(int) - numbered_frame(number, 80, 48)).mean() < 2 * MEAN_ERROR
    with pytest.raises(ValueError, match="first, centre, last or random"):
        show_frame(clip, "middle", store)
    four, wider = (write_numbered(tmp_path / f"{width}.mp4", 4, (width, 48)) for width in (80, 90))
    drawn = [show_frame(four, f"random{seed}", store).frames[0] for seed in range(60)]
    assert number_of(picture_of(show_frame(four, "random3", store))) == drawn[3]
    # Chi-squared of three degrees of freedom: above 16.3 once in a thousand times.
    assert sum((drawn.count(number) - 15) ** 2 / 15 for number in range(4)) < 16.3
    assert [show_frame(wider, f"random{seed}", store).frames[0] for seed in range(12)] != drawn[:12]
    # A shuffled clip is never the clip itself.
    two, three, one = (write_numbered(tmp_path / f"{count}.mp4", count) for count in (2, 3, 1))
    assert {show_shuffled(two, store, seed).frames for seed in range(4)} == {(1, 0)}
    orders = {show_shuffled(three, store, seed).frames for seed in range(20)}
    assert len(orders) == 5 and (0, 1, 2) not in orders
    assert show_shuffled(one, store).frames == show_reversed(one, store).frames == (0,)


def test_what_cannot_be_decoded_is_refused_and_leaves_nothing(tmp_path: Path, store: ClipStore) -> None:
    text, torn, cut = tmp_path / "text.mp4", tmp_path / "torn.mkv", tmp_path / "cut.mp4"
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
    for refused, message in (
        (lambda: show_reversed(torn, store), "cannot be decoded"),
        (lambda: show_shuffled(torn, store), "cannot be decoded"),
        (lambda: cut_part(text, 0.0, 1.0, cut), None),
        (lambda: part_pictures(text, 0.0, 1.0, 2), None),
    ):
        with pytest.raises(UnreadableClip, match=message):
            refused()
    assert not list(store.folder.glob("??/[!.]*")) and not list(store.folder.rglob("*.part")) and not cut.exists()


LENGTH, SIZE = 100, (160, 120)
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
    """Whether each pixel is touched by a box of that second; `margin` makes boxes larger."""
    x, y = np.meshgrid(*(np.arange(side) for side in size))
    mask = np.zeros(x.shape, dtype=bool)
    for start, end, (x1, y1, x2, y2) in BOXES:
        if start <= second < end:
            mask |= (x1 - margin < x + 1) & (x < x2 + margin) & (y1 - margin < y + 1) & (y < y2 + margin)
    return mask


@pytest.mark.slow
@pytest.mark.parametrize("pixels", ["yuv420p", "yuvj420p", "yuv444p"])
def test_the_inside_is_black_and_the_outside_as_the_codec_leaves_it(
    pixels: str, tmp_path: Path, store: ClipStore
) -> None:
    codec = "mjpeg" if "j" in pixels else "libx264"
    clip = write_numbered(tmp_path / "clip.mkv", MASKED, SIZE, codec, pixels)
    made = mask_boxes(clip, BOXES, store)
    assert made.frames == tuple(range(MASKED))
    masks = [[inside(number / RATE, SIZE, margin) for number in range(MASKED)] for margin in (0, BESIDE)]
    assert 30 < sum(mask.any() for mask in masks[0]) < MASKED  # between 2.0 and 2.4 s nothing is black
    for reader in READERS:
        source, shown = pictures_by(reader, clip), pictures_by(reader, made.path)
        assert source.shape == shown.shape and [number_of(picture) for picture in shown] == list(range(MASKED))
        for picture, before, mask, near in zip(shown, source, *masks, strict=True):
            errors = np.abs(picture.astype(int) - before)
            assert errors[~near].mean() < 3 and errors[~mask].mean() < 4
            if mask.any():
                assert picture[mask].max() <= NEAR_BLACK and picture[mask].mean() < 2


def test_the_same_source_gives_the_same_bytes_wherever_it_lies_and_boxes_are_a_set_and_finite(
    clip: Path, tmp_path: Path, store: ClipStore
) -> None:
    copy, other = tmp_path / "copy.mp4", ClipStore(tmp_path / "other", 1 << 30)
    copy.write_bytes(clip.read_bytes())
    frame = lambda clip, store: show_frame(clip, "random1", store)  # noqa: E731
    for make in (show_reversed, show_shuffled, frame, lambda clip, store: mask_boxes(clip, BOXES, store)):
        ours, theirs = make(clip, store), make(copy, other)
        assert ours.frames == theirs.frames and ours.path.name == theirs.path.name
        assert ours.path.read_bytes() == theirs.path.read_bytes()
    made = mask_boxes(clip, BOXES, store)
    assert mask_boxes(clip, BOXES[::-1], store) == made
    assert mask_boxes(clip, BOXES[:2], store).path != made.path
    for end in (math.nan, math.inf):
        with pytest.raises(ValueError, match="finite times and corners"):
            mask_boxes(clip, [(0, 1, (0, 0, end, 1))], store)


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds."""
    return write_numbered(tmp_path_factory.mktemp("parts") / "video.mp4", LENGTH)


def shown(pictures: tuple[bytes, ...]) -> list[int]:
    return [number_of(np.asarray(Image.open(io.BytesIO(picture)))) for picture in pictures]


@pytest.mark.slow
def test_a_cut_has_the_frames_of_its_time_and_what_follows_it_none_of_them(video: Path, tmp_path: Path) -> None:
    target = tmp_path / "cut.mp4"
    for start, end in ((0.0, 8.0), (0.0, 0.4), (2.0, 4.0), (2.09, 2.15), (5.2, 8.04), (7.93, 8)):
        count = cut_part(video, start, end, target)
        expected = list(range(int(start * RATE + 1e-6), min(LENGTH, ceil(end * RATE - 1e-6))))
        assert [number_of(picture) for picture in pictures_by("av", target)] == expected
        assert count == len(expected)
        assert clip_seconds(target) == pytest.approx(len(expected) / RATE, abs=0.01)
        assert shown(part_pictures(video, start, end, LENGTH)) == expected
    cut_part(video, start, end, tmp_path / "again.mp4")
    assert (tmp_path / "again.mp4").read_bytes() == target.read_bytes()
    for end in (1.6, 1.65, 7.9, 8.04):
        count = cut_part(video, 0.0, end, target)
        assert shown(part_pictures(video, end, end + 3.0, LENGTH, after=True)) == list(range(count, LENGTH))[:38]
    assert part_pictures(video, 8.0, 11.0, 5, after=True) == ()


def test_a_reader_can_begin_every_two_seconds_or_so_in_what_is_made(
    video: Path, tmp_path: Path, store: ClipStore
) -> None:
    cut_part(video, 0.0, 8.0, tmp_path / "cut.mp4")
    for made in (tmp_path / "cut.mp4", mask_boxes(video, BOXES, store).path):
        with av.open(str(made)) as container:
            keys = [frame.key_frame for frame in container.decode(video=0)]
        assert [number for number, is_key in enumerate(keys) if is_key] == list(range(0, len(keys), GROUP_FRAMES))


def test_pictures_are_spread_over_the_part_and_large_ones_made_smaller(video: Path, tmp_path: Path) -> None:
    assert shown(part_pictures(video, 1.6, 4.8, 5)) == [20, 30, 40, 49, 59]
    assert shown(part_pictures(video, 1.6, 4.8, 1)) == [20]
    (picture,) = part_pictures(write_numbered(tmp_path / "large.mp4", 2, (1536, 480)), 0.0, 0.08, 3)
    assert Image.open(io.BytesIO(picture)).size == (768, 240)
