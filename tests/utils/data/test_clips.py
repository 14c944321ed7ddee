from __future__ import annotations

from pathlib import Path

import av
import pytest
from releases import write_clip

from lmms_eval_tasks.utils.data.clips import is_readable, unreadable, write_placeholder

CLIPS = Path(__file__).parent / "clips"


@pytest.mark.parametrize("whole", [False, True])
def test_a_real_clip_is_readable(tmp_path: Path, whole: bool) -> None:
    assert is_readable(write_clip(tmp_path / "a.mp4"), whole)


@pytest.mark.parametrize("content", [b"", b"not a video", bytes(range(256)) * 64])
def test_other_files_are_not(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.mp4"
    path.write_bytes(content)
    assert not is_readable(path)


def test_a_truncated_clip_is_not(tmp_path: Path) -> None:
    path = write_clip(tmp_path / "a.mp4")
    path.write_bytes(path.read_bytes()[:-200])
    assert not is_readable(path)


def test_what_is_damaged_inside_is_found_by_decoding_to_the_end() -> None:
    damaged = CLIPS / "damaged_inside.mp4"
    assert is_readable(damaged) and not is_readable(damaged, whole=True)
    assert not is_readable(CLIPS / "cut_short.mp4")


def test_unreadable_keeps_the_order_and_tells_how_far_it_is(tmp_path: Path) -> None:
    good = write_clip(tmp_path / "good.mp4")
    steps: list[tuple[str, int, int]] = []
    paths = [tmp_path / "z.mp4", good, tmp_path / "b.mp4"]
    assert unreadable(paths, progress=lambda *step: steps.append(step)) == [paths[0], paths[2]]
    assert steps == [("opening clips", done, 3) for done in (1, 2, 3)]


def test_placeholder_is_a_black_video_with_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("a.mp4", "b.mp4"):
        write_placeholder(tmp_path / name)
    assert (tmp_path / "a.mp4").read_bytes() == (tmp_path / "b.mp4").read_bytes()
    with av.open(str(tmp_path / "a.mp4")) as container:
        frames = [frame.to_ndarray(format="rgb24") for frame in container.decode(video=0)]
    assert len(frames) == 16
    assert all(frame.shape == (224, 224, 3) and frame.max() < 4 for frame in frames)
