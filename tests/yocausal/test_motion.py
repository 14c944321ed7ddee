from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmms_eval_tasks.sample.world.video import write_clip
from lmms_eval_tasks.yocausal.motion import measure_all, measure_motion, most_symmetric, symmetry

CURVES = st.lists(st.floats(0, 100), min_size=2, max_size=30)


@given(CURVES)
def test_symmetry_is_a_share_and_does_not_know_direction(curve: list[float]) -> None:
    found = symmetry(curve)
    assert found is not None and -1e-6 <= found <= 1
    assert symmetry(curve[::-1]) == found
    assert symmetry([*curve, *curve[::-1]]) == 1


@pytest.mark.parametrize(
    ("curve", "expected"),
    [([], None), ([1.0], None), ([1.0, 0.0], 0.0), ([0.0, 0.0], 1.0), ([1.0, 2.0, 1.0], 1.0), ([3.0, 1.0], 0.5)],
)
def test_symmetry(curve: list[float], expected: float | None) -> None:
    assert symmetry(curve) == expected


def test_the_most_symmetric_share_is_rounded_up_and_ties_go_by_name() -> None:
    found = {"b": 0.5, "a": 0.5, "c": 0.9, "d": None, "e": 0.1}
    assert most_symmetric(found) == {"a", "c"}
    assert most_symmetric(found, share=0.25) == {"c"}
    assert most_symmetric({"d": None}) == set()


def film(shifts: list[int]) -> np.ndarray:
    """A bright square that stands at each of some columns."""
    rng = np.random.default_rng(0)
    picture = rng.integers(0, 255, (32, 32, 1), dtype=np.uint8).repeat(3, axis=2)
    frames = np.full((len(shifts), 96, 160, 3), 60, dtype=np.uint8)
    for frame, shift in zip(frames, shifts, strict=True):
        frame[32:64, shift : shift + 32] = picture
    return frames


def test_motion_of_clips(tmp_path: Path) -> None:
    steady, early, still = tmp_path / "steady.mp4", tmp_path / "early.mp4", tmp_path / "still.mp4"
    write_clip(steady, film(list(range(0, 48, 3))), fps=8)
    write_clip(early, film([*range(0, 48, 6), *[48] * 8]), fps=8)
    write_clip(still, film([10] * 16), fps=8)
    broken = tmp_path / "broken.mp4"
    broken.write_bytes(b"no video")
    even, first_half, rest, none = measure_all([steady, early, still, broken])
    assert none is None
    assert even is not None and first_half is not None and rest is not None
    assert (even.frames, even.fps) == (16, 8.0)
    assert even.symmetry is not None and even.symmetry > 0.9
    assert first_half.symmetry is not None and first_half.symmetry < 0.3
    assert rest.magnitude is not None and even.magnitude is not None and rest.magnitude < even.magnitude / 10


def test_only_the_first_seconds_are_measured(tmp_path: Path) -> None:
    clip = tmp_path / "clip.mp4"
    write_clip(clip, film([*range(0, 48, 6), *[48] * 8]), fps=8)
    found = measure_motion(clip, seconds=1.0)
    assert found is not None and found.frames == 8
    assert found.symmetry is not None and found.symmetry > 0.8
