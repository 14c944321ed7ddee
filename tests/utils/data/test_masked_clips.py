"""Boxes that are blacked out over time, pixel by pixel: the frames before they are coded, and what readers then see."""

from __future__ import annotations

import math
from pathlib import Path

import av
import numpy as np
import pytest
from numbered_clips import lay_on_its_side, number_of, pictures_by, write_numbered
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.made import black_out, boxes_at, mask_boxes
from lmms_eval_tasks.utils.data.pictures import from_planes, planes_of

SIZE = (160, 120)
COUNT = 40
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


@pytest.fixture
def store(tmp_path: Path) -> ClipStore:
    return ClipStore(tmp_path / "made", 1 << 30)


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
    clip = write_numbered(tmp_path / "clip.mkv", COUNT, SIZE, "mjpeg" if "j" in pixels else "libx264", pixels)
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
    clip = write_numbered(tmp_path / "clip.mp4", COUNT, SIZE)
    made = mask_boxes(clip, BOXES, store)
    assert made.frames == tuple(range(COUNT))
    source, shown = pictures_by(reader, clip), pictures_by(reader, made.path)
    assert source.shape == shown.shape
    masked_frames = 0
    for number in range(COUNT):
        mask, near = inside(number / RATE, SIZE), inside(number / RATE, SIZE, BESIDE)
        masked_frames += mask.any()
        assert number_of(shown[number]) == number
        errors = np.abs(shown[number].astype(int) - source[number])
        assert errors[~near].mean() < 3 and errors[~mask].mean() < 4
        if mask.any():
            assert shown[number][mask].max() <= NEAR_BLACK and shown[number][mask].mean() < 2
    assert 30 < masked_frames < COUNT  # between 2.0 and 2.4 s nothing is black


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
