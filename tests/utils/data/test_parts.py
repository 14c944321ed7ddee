"""Parts of videos: the frames that are in them, as pictures and as clips."""

from __future__ import annotations

import io
from math import ceil
from pathlib import Path

import av
import numpy as np
import pytest
from numbered_clips import lay_on_its_side, number_of, pictures_by, write_numbered
from PIL import Image

from lmms_eval_tasks.utils.data.clips import clip_seconds
from lmms_eval_tasks.utils.data.made import cut_part, part_pictures
from lmms_eval_tasks.utils.data.release import UnreadableClip

FPS, COUNT = 12.5, 100


@pytest.fixture(scope="module")
def video(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight seconds."""
    return write_numbered(tmp_path_factory.mktemp("parts") / "video.mp4", COUNT)


def shown(pictures: tuple[bytes, ...]) -> list[int]:
    return [number_of(np.asarray(Image.open(io.BytesIO(picture)))) for picture in pictures]


@pytest.mark.parametrize(("start", "end"), [(0.0, 8.0), (0.0, 0.4), (2.0, 4.0), (2.09, 2.15), (5.2, 8.04), (7.93, 8)])
def test_a_cut_has_the_frames_of_its_time(start: float, end: float, video: Path, tmp_path: Path) -> None:
    target = tmp_path / "cut.mp4"
    count = cut_part(video, start, end, target)
    first = int(start * FPS + 1e-6)
    expected = list(range(first, min(COUNT, ceil(end * FPS - 1e-6))))
    assert [number_of(picture) for picture in pictures_by("av", target)] == expected
    assert count == len(expected)
    assert clip_seconds(target) == pytest.approx(len(expected) / FPS, abs=0.01)
    assert shown(part_pictures(video, start, end, COUNT)) == expected
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
        assert shown(part_pictures(video, end, end + 3.0, COUNT, after=True)) == list(range(count, COUNT))[:38]
    assert part_pictures(video, 8.0, 11.0, 5, after=True) == ()


def test_what_is_no_video_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    with pytest.raises(UnreadableClip):
        cut_part(tmp_path / "text.mp4", 0.0, 1.0, tmp_path / "cut.mp4")
    with pytest.raises(UnreadableClip):
        part_pictures(tmp_path / "text.mp4", 0.0, 1.0, 2)
    assert not (tmp_path / "cut.mp4").exists()
