"""Frames read in another order are those that a made clip of that order has, at the same places."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from numbered_clips import cut_off, lay_on_its_side, number_of, write_numbered

from lmms_eval_tasks.utils.data.clip_store import ClipStore
from lmms_eval_tasks.utils.data.frames import FrameOrder, PyavFrames, ReorderedClip, source_of
from lmms_eval_tasks.utils.data.made import show_reversed, show_shuffled
from lmms_eval_tasks.utils.data.release import UnreadableClip

MAKERS = {FrameOrder.REVERSED: show_reversed, FrameOrder.SHUFFLED: show_shuffled}
KINDS = {
    "plain": {},
    "one frame": {"count": 1},
    "frames of different length": {"times": [0, 4, 8, 30, 34, 38, 90, 94, 98, 102, 106, 130]},
    "open groups": {"options": {"bf": "2", "x264-params": "open-gop=1"}},
    "odd sides": {"size": (81, 49), "pixels": "yuv444p"},
}


@pytest.mark.parametrize("order", FrameOrder)
@pytest.mark.parametrize("kind", [*KINDS, "cut off", "on its side"])
def test_frames_are_those_of_the_made_clip(kind: str, order: FrameOrder, tmp_path: Path) -> None:
    chosen = {"count": 12, **KINDS.get(kind, {})}
    clip = write_numbered(tmp_path / "clip.mp4", **chosen)  # type: ignore[arg-type]
    if kind == "cut off":
        cut_off(clip, 4)
    if kind == "on its side":
        lay_on_its_side(clip)
    made = MAKERS[order](clip, ClipStore(tmp_path / "made", 1 << 30))
    theirs, ours = PyavFrames(made.path), PyavFrames(ReorderedClip(clip, order))
    assert (ours.count, ours.fps) == (theirs.count, PyavFrames(clip).fps)
    if "times" not in chosen:  # their average hangs on how long the last frame is taken to be shown
        assert ours.fps == pytest.approx(theirs.fps)
    places = sorted({0, ours.count // 3, ours.count - 1})
    pictures = ours.read(places)
    assert np.abs(pictures.astype(int) - theirs.read(places)).mean() < 4, "but for what coding has lost"
    assert (pictures == PyavFrames(clip).read([made.frames[place] for place in places])).all()
    if kind != "on its side":
        first = 4 if kind == "cut off" else 0
        assert [number_of(picture) - first for picture in pictures] == [made.frames[place] for place in places]


def test_a_clip_and_an_order_are_no_path_and_equal_nothing_else(tmp_path: Path) -> None:
    clip = write_numbered(tmp_path / "clip.mp4", 3)
    shown = {ReorderedClip(path, order) for path in (clip, tmp_path / "other.mp4") for order in FrameOrder}
    assert len({*shown, str(clip)}) == 5 and not any(Path(one).exists() for one in shown)
    one = ReorderedClip(clip, FrameOrder.SHUFFLED)
    for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one)):
        assert same == one and source_of(same) == (clip, "shuffled")
    assert source_of(str(clip)) == source_of(clip) == (clip, "")


def test_what_cannot_be_opened_is_unreadable(tmp_path: Path) -> None:
    (tmp_path / "text.mp4").write_text("no video")
    for name in ("text.mp4", "none.mp4"):
        with pytest.raises(UnreadableClip, match=name):
            PyavFrames(ReorderedClip(tmp_path / name, FrameOrder.REVERSED))
