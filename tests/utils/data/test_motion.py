from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_clips import write_noise

from lmms_eval_tasks.sample.drawn_clips import write_clip
from lmms_eval_tasks.utils.data.motion import frame_difference, measure_motion, most_symmetric, symmetry
from lmms_eval_tasks.yocausal.prepare import flow

CURVES = st.lists(st.floats(0, 100), min_size=2, max_size=30)


@given(CURVES)
def test_symmetry_is_a_share_and_does_not_know_direction(curve: list[float]) -> None:
    found = symmetry(curve)
    assert found is not None and -1e-6 <= found <= 1
    assert symmetry(curve[::-1]) == found
    assert symmetry([*curve, *curve[::-1]]) == 1


def test_symmetry_and_the_most_symmetric_share_by_hand() -> None:
    curves: list[list[float]] = [[], [1.0], [1.0, 0.0], [0.0, 0.0], [1.0, 2.0, 1.0], [3.0, 1.0]]
    assert [symmetry(curve) for curve in curves] == [None, None, 0.0, 1.0, 1.0, 0.5]
    # The share is rounded up, and ties go by name.
    found = {"b": 0.5, "a": 0.5, "c": 0.9, "d": None, "e": 0.1}
    assert (most_symmetric(found), most_symmetric(found, share=0.25)) == ({"a", "c"}, {"c"})
    assert most_symmetric({"d": None}) == set()


def film(shifts: list[int]) -> np.ndarray:
    """A bright square that stands at each of some columns."""
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (32, 32, 1), dtype=np.uint8).repeat(3, axis=2)
    frames = np.full((len(shifts), 96, 160, 3), 60, dtype=np.uint8)
    for frame, shift in zip(frames, shifts, strict=True):
        frame[32:64, shift : shift + 32] = picture
    return frames


@pytest.mark.slow
def test_motion_of_clips(tmp_path: Path) -> None:
    steady, early, still, broken = (tmp_path / f"{name}.mp4" for name in ("steady", "early", "still", "broken"))
    write_clip(steady, film(list(range(0, 48, 3))), fps=8)
    write_clip(early, film([*range(0, 48, 6), *[48] * 8]), fps=8)
    write_clip(still, film([10] * 16), fps=16)
    broken.write_bytes(b"no video")
    even, first_half, rest, none = (measure_motion(clip, flow) for clip in (steady, early, still, broken))
    assert none is None
    assert even is not None and first_half is not None and rest is not None
    assert (even.frames, even.fps) == (16, 8.0)
    assert even.symmetry is not None and even.symmetry > 0.9
    assert first_half.symmetry is not None and first_half.symmetry < 0.3
    assert rest.magnitude is not None and even.magnitude is not None and rest.magnitude < even.magnitude / 10
    first_second = measure_motion(early, flow, seconds=1.0)
    assert first_second is not None and first_second.frames == 8
    assert first_second.symmetry is not None and first_second.symmetry > 0.8
    # What is measured is chosen: of every second frame, an eighth of a second apart.
    motion = measure_motion(still, lambda before, after: 2.0)
    assert motion is not None and motion.magnitude == 16.0
    dark, light = np.full((4, 4), 10, np.uint8), np.full((4, 4), 250, np.uint8)
    assert frame_difference(dark, light) == frame_difference(light, dark) == 240.0
    for seconds, frames in ((1e308, 16), (1e-300, 1)):
        motion = measure_motion(still, frame_difference, seconds)
        assert motion is not None and motion.frames == frames


def test_clips_whose_frames_change_their_size(tmp_path: Path) -> None:
    parts = tmp_path / "a.ts", tmp_path / "b.ts"
    for part, size in zip(parts, ((32, 32), (64, 32)), strict=True):
        write_noise(part, size, frames=16)
    clip = tmp_path / "resized.mp4"
    clip.write_bytes(b"".join(part.read_bytes() for part in parts))
    motion = measure_motion(clip, flow)
    assert motion is not None and motion.frames == 32 and motion.magnitude is not None


@pytest.mark.parametrize(
    ("size", "measured"),
    [((32, 32), (160, 160)), ((64, 32), (80, 160)), ((16, 128), (640, 160)), ((640, 2), (2, 160))],
)
def test_motion_is_measured_in_pictures_of_one_width_and_the_clips_form(
    size: tuple[int, int], measured: tuple[int, int], tmp_path: Path
) -> None:
    shapes: set[tuple[int, ...]] = set()

    def step(*pictures: np.ndarray) -> float:
        shapes.update(picture.shape for picture in pictures)
        return 0.0

    write_clip(tmp_path / "clip.mp4", np.zeros((4, size[1], size[0], 3), np.uint8), fps=4)
    assert measure_motion(tmp_path / "clip.mp4", step) is not None and shapes == {measured}
