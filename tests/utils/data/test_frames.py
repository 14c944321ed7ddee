"""Frames by decord, and the same ones by PyAV."""

from __future__ import annotations

import sys
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from numpy.typing import NDArray

from lmms_eval_tasks.utils.data.frames import DecordFrames, PyavFrames, open_frames
from lmms_eval_tasks.utils.data.release import UnreadableClip

FRAMES = 40


def write(path: Path, codec: str = "libx264", **options: str) -> Path:
    """A clip of 40 frames at 12.5 per second, each of its own brightness, with B-frames and several key frames."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=Fraction(25, 2), options=options)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        stream.codec_context.gop_size = 12
        for number in range(FRAMES):
            picture: NDArray[np.uint8] = np.full((48, 64, 3), 10 + 6 * number, dtype=np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode(None))
    return path


@pytest.fixture(scope="module", params=["b-frames.mp4", "no-b-frames.mkv", "mpeg4.mp4"])
def clip(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("clips") / request.param
    if path.stem == "mpeg4":
        return write(path, "mpeg4")
    return write(path, bf="2" if path.stem == "b-frames" else "0")


def test_both_readers_give_the_same_frames(clip: Path) -> None:
    ours, theirs = PyavFrames(clip), DecordFrames(clip)
    assert ours.count == theirs.count == FRAMES
    assert ours.fps == pytest.approx(theirs.fps) == 12.5
    for positions in (range(FRAMES), [0], [39], [5, 5, 30], [30, 5], [11, 12, 13], [24, 36, 1]):
        one, other = ours.read(positions), theirs.read(positions)
        assert one.shape == other.shape == (len(positions), 48, 64, 3)
        assert np.abs(one.astype(int) - other).max() <= 3
        brightness = one.reshape(len(positions), -1).mean(axis=1)
        assert np.abs((brightness - 10) / 6 - list(positions)).max() <= 1


def test_frames_that_are_not_there_and_files_that_are_no_videos(clip: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.mp4"
    text.write_text("no video")
    for reader in (PyavFrames, DecordFrames):
        with pytest.raises(UnreadableClip, match="cannot be decoded"):
            reader(clip).read([FRAMES])
        with pytest.raises(UnreadableClip, match="cannot be opened"):
            reader(text)


def test_pyav_stands_in_for_decord(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(open_frames(clip), DecordFrames)
    monkeypatch.setitem(sys.modules, "decord", None)
    assert isinstance(open_frames(clip), PyavFrames)


def test_our_models_read_clips_without_decord(clip: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lmms_eval_tasks.models.video_diffusion.encoding import ClipFile
    from lmms_eval_tasks.sample.world.vision import decode

    with_decord, pictures = decode(clip), ClipFile(clip).read([0, 0.5, 20, 39], 48, 64)
    monkeypatch.setitem(sys.modules, "decord", None)
    without, others = decode(clip), ClipFile(clip).read([0, 0.5, 20, 39], 48, 64)
    assert without[0].shape == with_decord[0].shape and without[1] == with_decord[1]
    assert np.abs(without[0].astype(int) - with_decord[0]).max() <= 3
    assert (pictures.int() - others.int()).abs().max() <= 3
