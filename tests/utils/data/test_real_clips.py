"""Public clips under free licences: every reader gives the frames that FFmpeg gives, by number and by time.

They lie in the folder `evidence` beside ORACLES: `clips/`, of decord, torchcodec and mmaction2.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from by_day import first_by_day
from numbered_clips import pictures_by
from numpy.typing import NDArray
from oracles import evidence_path
from PIL import Image

from lmms_eval_tasks.cast_bench.release import frame_size
from lmms_eval_tasks.host.model.readers import StandIn
from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.clips import FrameStream, PyavFrames, clip_seconds, is_readable
from lmms_eval_tasks.utils.data.made import show_frame, show_reversed, show_shuffled

if not shutil.which("ffmpeg") or not shutil.which("ffprobe"):
    pytest.skip("ffmpeg and ffprobe are not installed", allow_module_level=True)

CLIPS = {
    # The stream that holds the film, the number of its frames, and its size as it is shown.
    "flipping_a_pancake.mkv": (0, 310, (426, 240)),
    "nasa_13013.mp4": (3, 390, (480, 270)),  # both of its films are marked as default, and this one is longer
    "nasa_13013_rotated.mp4": (0, 17, (270, 480)),
    "av1_video.mkv": (0, 125, (640, 360)),
    "h265_10bits.mp4": (0, 30, (200, 200)),
    "bt709_full_range.mp4": (0, 30, (1280, 720)),
    "demo.mp4": (0, 280, (340, 256)),
}
NOT_BY_DECORD = ("av1_video.mkv",)
"""decord cannot open these."""
CLOSE = 16
"""Mean levels by which colours may differ: FFmpeg takes those that a clip names, our readers BT.601, as decord does."""
CODED = 4
"""Mean levels that are lost where a view codes a clip anew."""


def run(program: str, *words: str) -> bytes:
    return subprocess.run([program, "-v", "error", *words], capture_output=True, check=True).stdout


def digests(name: str) -> list[str]:
    """A digest of each frame that FFmpeg decodes of a clip's film, as it is stored."""
    stream, count, _ = CLIPS[name]
    decode = ["-noautorotate", "-i", str(evidence_path("clips", name)), "-map", f"0:{stream}", "-vsync", "passthrough"]
    content = run("ffmpeg", *decode, "-f", "rawvideo", "-")
    size = len(content) // count
    assert size * count == len(content)
    return [hashlib.sha256(content[start : start + size]).hexdigest() for start in range(0, len(content), size)]


def digest(frame: Any) -> str:
    content = hashlib.sha256()
    for plane, component in zip(frame.planes, frame.format.components, strict=True):
        row = component.width * (2 if component.bits > 8 else 1)
        content.update(np.frombuffer(plane, np.uint8).reshape(component.height, -1)[:, :row].tobytes())
    return content.hexdigest()


def upright(name: str) -> NDArray[np.uint8]:
    """The frames as FFmpeg shows them, (T, H, W, 3) RGB."""
    stream, count, (width, height) = CLIPS[name]
    decode = ["-i", str(evidence_path("clips", name)), "-map", f"0:{stream}", "-vsync", "passthrough"]
    content = run("ffmpeg", *decode, "-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    return np.frombuffer(content, np.uint8).reshape(count, height, width, 3)


def times(name: str) -> list[float]:
    """The seconds at which each frame is shown, from where the clip begins."""
    asked = "frame=best_effort_timestamp_time:format=start_time"
    select = ["-select_streams", str(CLIPS[name][0]), "-show_entries", asked, "-of", "json"]
    facts = json.loads(run("ffprobe", *select, str(evidence_path("clips", name))))
    begins = max(0.0, float(facts["format"]["start_time"]))
    return [float(frame["best_effort_timestamp_time"]) - begins for frame in facts["frames"]]


@pytest.mark.parametrize("name", first_by_day(sorted(CLIPS, key=lambda name: CLIPS[name][1]), 3))
@pytest.mark.slow
def test_all_readers_give_the_frames_that_ffmpeg_gives(name: str) -> None:
    clip, expected, shown_at = evidence_path("clips", name), digests(name), times(name)
    reader, every = PyavFrames(clip), list(range(len(expected)))
    assert reader.count == len(expected) == len(shown_at)
    assert len(set(expected)) > 0.9 * len(expected), "most frames are told apart"
    assert [digest(reader.frame(number)) for number in every] == expected
    some = [len(every) * part // 7 for part in (6, 1, 3, 0, 5)]
    assert [digest(reader.frame(number)) for number in some] == [expected[number] for number in some]
    assert [reader.number_at(time) for time in shown_at] == every
    assert shown_at[-1] <= reader.seconds == clip_seconds(clip)
    with FrameStream(clip) as stream:
        assert [digest(frame) for frame in stream.frames(as_stored=True)] == expected
    assert is_readable(clip, whole=True)
    assert frame_size(clip) == dict(zip(("width", "height"), CLIPS[name][2], strict=True))
    pictures, wanted = reader.read(every), upright(name)
    assert pictures.shape == wanted.shape
    assert all(np.abs(one.astype(int) - other).mean() < CLOSE for one, other in zip(pictures, wanted, strict=True))
    shown, facts, _ = StandIn()({"video": str(clip), "nframes": 8})
    assert np.array_equal(shown.permute(0, 2, 3, 1).numpy(), pictures[facts["frames_indices"]])
    if name not in NOT_BY_DECORD:
        assert np.array_equal(pictures_by("decord", clip), pictures)


@pytest.mark.parametrize(
    "name", first_by_day(["nasa_13013_rotated.mp4", "h265_10bits.mp4", "av1_video.mkv", "bt709_full_range.mp4"], 2)
)
def test_views_show_the_frames_of_a_real_clip_in_their_order(name: str, tmp_path: Path) -> None:
    reader, store = PyavFrames(evidence_path("clips", name)), ClipStore(tmp_path / "made", 1 << 30)
    every = list(range(reader.count))
    pictures = reader.read(every)
    for show in (show_reversed, show_shuffled):
        made = show(evidence_path("clips", name), store)
        assert sorted(made.frames) == every and (list(made.frames) == every[::-1]) == (show is show_reversed)
        coded = PyavFrames(made.path)
        for one, number in zip(coded.read(range(coded.count)), made.frames, strict=True):
            assert np.abs(one.astype(int) - pictures[number]).mean() < CODED, number
    centre = show_frame(evidence_path("clips", name), "centre", store)
    picture = np.asarray(Image.open(centre.path).convert("RGB")).astype(int)
    assert np.abs(picture - pictures[centre.frames[0]]).mean() < CLOSE
    assert abs(centre.frames[0] - reader.count / 2) <= 1
