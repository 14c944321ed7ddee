"""Clips that are made of a source's own files."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from mvp_downloads import episode, write_records, write_scene, write_webm
from numpy.typing import NDArray

from lmms_eval_tasks.mvp.raw_downloads import episode_clip, frame_of, index_records, picture_clip, webm_clip
from lmms_eval_tasks.utils.data.pictures import FrameCoder
from lmms_eval_tasks.utils.data.prepare import place_clip
from lmms_eval_tasks.utils.data.release import Clip, DamagedSource


def decoded(path: Path) -> tuple[list[NDArray[np.uint8]], list[Fraction]]:
    """The pictures of a clip, RGB, and the seconds at which they are shown."""
    with av.open(str(path)) as container:
        frames = list(container.decode(video=0))
        times = [frame.pts * frame.time_base for frame in frames if frame.pts is not None and frame.time_base]
        return [frame.to_ndarray(format="rgb24") for frame in frames], times


def made(tmp_path: Path, clip: Clip) -> Path:
    place_clip(clip, tmp_path / "made.mp4", [tmp_path / "earlier.mp4"])
    return tmp_path / "made.mp4"


def test_a_webm_keeps_its_pictures_and_times(tmp_path: Path) -> None:
    source = write_webm(tmp_path / "1.webm", 1, size=(43, 24))
    # What lies behind a film is no part of it.
    source.write_bytes(source.read_bytes() + bytes(5_000))
    pictures, times = decoded(made(tmp_path, webm_clip(source)))
    original, at = decoded(source)
    assert len(pictures) == len(original) == 9 and pictures[0].shape == (24, 43, 3)
    assert np.abs(np.int16(pictures) - np.int16(original)).mean() < 3
    assert times == [time - at[0] for time in at]


def test_scenes_have_a_hundred_pictures_at_24_a_second(tmp_path: Path) -> None:
    pictures, times = decoded(made(tmp_path, picture_clip(write_scene(tmp_path / "scene", 60))))
    assert times == [Fraction(number, 24) for number in range(100)]
    for number, picture in enumerate(pictures, 1):
        assert np.abs(picture.reshape(-1, 3).mean(axis=0) - (60 + number, 60, 40)).max() < 4


def test_episodes_have_their_pictures_at_5_a_second(tmp_path: Path) -> None:
    (record,) = index_records(write_records(tmp_path / "x", [episode([10, 120, 250])]))
    pictures, times = decoded(made(tmp_path, episode_clip(0, record)))
    assert times == [Fraction(number, 5) for number in range(3)]
    assert [round(float(picture.mean()), -1) for picture in pictures] == [10, 120, 250]


@pytest.mark.parametrize("size", [(2, 2), (16, 32), (15, 32), (16, 31)])
def test_colours_are_those_of_the_picture(size: tuple[int, int]) -> None:
    for colour in ((255, 0, 0), (0, 255, 0), (0, 0, 255), (0, 0, 0), (255, 255, 255), (200, 120, 30)):
        shown = frame_of(np.full((*size, 3), colour, dtype=np.uint8)).to_ndarray(format="rgb24")
        assert shown.shape == (*size, 3) and np.abs(np.int16(shown) - colour).max() <= 4


def test_a_clip_is_made_once_and_again_where_its_source_is_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write_webm(tmp_path / "1.webm", 1)
    first = made(tmp_path, webm_clip(source)).read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(FrameCoder, "__enter__", lambda coder: pytest.fail("made again"))
        assert made(tmp_path, webm_clip(source)).read_bytes() == first
        (tmp_path / "made.mp4").rename(tmp_path / "earlier.mp4")
        assert made(tmp_path, webm_clip(source)).read_bytes() == first
    (tmp_path / "made.mp4").write_bytes(first[:-50])
    (tmp_path / "earlier.mp4").unlink()
    assert made(tmp_path, webm_clip(source)).read_bytes() == first
    write_webm(source, 90, frames=7)
    assert len(decoded(made(tmp_path, webm_clip(source)))[0]) == 7


def damage(tmp_path: Path, clip: Clip) -> str:
    with pytest.raises(DamagedSource) as caught:
        made(tmp_path, clip)
    assert not (tmp_path / "made.mp4").exists() and not list(tmp_path.glob(".*"))
    assert caught.value.remedy == "get it again, or delete it to go on without this clip."
    return str(caught.value).replace(str(tmp_path), "~")


def test_a_damaged_source_is_named(tmp_path: Path) -> None:
    path = write_webm(tmp_path / "1.webm", 1, frames=24)
    whole = path.read_bytes()
    path.write_bytes(b"no video")
    assert damage(tmp_path, webm_clip(path)) == "ssv2: Expected ~/1.webm to be a video, but it cannot be opened."
    # Behind its header nothing: the film is as long as it was, and of zeros, as an unfinished download is.
    path.write_bytes(whole[: len(whole) // 2].ljust(len(whole), b"\0"))
    assert damage(tmp_path, webm_clip(path)) == "ssv2: Expected ~/1.webm to last 2.00 seconds, but it was cut off."
    scene = write_scene(tmp_path / "scene", 60)
    (scene / "scene_050.png").write_bytes(b"")
    assert damage(tmp_path, picture_clip(scene)) == (
        "~/scene: Expected scene_050.png to be a picture, but it cannot be decoded."
    )
    (record,) = index_records(write_records(tmp_path / "x", [episode([1, 2], steps=3)]))
    assert damage(tmp_path, episode_clip(8, record)) == (
        "~/x, episode 8: Expected one picture for each of 3 steps, but got 2."
    )


@pytest.mark.parametrize("form", ["plain", "sound", "live"])
@pytest.mark.parametrize("share", [0.42, 0.8, 0.97])
def test_a_webm_that_was_cut_short_is_not_taken_for_a_shorter_one(form: str, share: float, tmp_path: Path) -> None:
    path = write_webm(tmp_path / "1.webm", 1, frames=36, sound=form == "sound", live=form == "live")
    assert len(decoded(made(tmp_path, webm_clip(path)))[0]) == 36
    (tmp_path / "made.mp4").unlink()
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    assert re.fullmatch(
        r"ssv2: Expected ~/1\.webm to hold all that it says it holds, but it was cut off: it lacks at least [\d,]+ of "
        r"its bytes\.",
        damage(tmp_path, webm_clip(path)),
    )
