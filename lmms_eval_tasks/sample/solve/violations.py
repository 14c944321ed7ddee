"""Whether what a clip shows is possible: whether each object moves on as it began, and stays what it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.solve.measure import Rules, runs
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.scene import require
from lmms_eval_tasks.sample.world.vision import Mask, Observation, Track, standing

POSSIBLE, IMPOSSIBLE = "Yes.", "No."
_FEWEST = 3
_OFF = 3.0
_RIM = 2.0
_RISE = 10
_FARTHEST = 20


def judge(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> str:
    """Whether nothing comes, goes, changes, jumps or passes through a post behind the boards of a clip."""
    # Less than a second shows what is there, not what becomes of it.
    require(seen.frames > FPS and bool(seen.tones.any()))
    seen = _steadied(seen)
    return IMPOSSIBLE if any(_broken(seen, track) for track in seen.tracks.values()) else POSSIBLE


def _steadied(seen: Observation) -> Observation:
    """Return the observation as seen by a camera that keeps its first position, undoing shifts to the left and the
    right."""
    columns = seen.tones.sum(axis=1, dtype=np.int64)
    shifts = range(-_FARTHEST, _FARTHEST + 1)
    off = [np.abs(np.roll(columns, -shift, axis=1) - columns[0]).sum(axis=1) for shift in shifts]
    found = np.argmin(off, axis=0) - _FARTHEST
    if not found.any():
        return seen
    tones = np.stack([np.roll(tone, -shift, axis=1) for tone, shift in zip(seen.tones, found, strict=True)])
    tracks = {
        name: replace(track, centres=track.centres - np.stack([found, np.zeros_like(found)], axis=1))
        for name, track in seen.tracks.items()
    }
    return replace(seen, structures=standing(tones), tones=tones, tracks=tracks)


def _broken(seen: Observation, track: Track) -> bool:
    frames = np.arange(seen.frames)
    row = int(np.nanmedian(track.centres[:, 1]))
    boards = runs(seen.structures[row])
    clear = track.seen & _in_the_open(seen, track, track.centres[:, 0], boards)
    if clear.sum() < _FEWEST:
        return False
    x = track.centres[clear, 0]
    if posts := [post for board in boards for post in [_post_behind(seen, row, board)] if post is not None]:
        return any(bool((x < post).any() and (x > post).any()) for post in posts)
    shapes = {bool(track.square[slice(*stretch)].mean() > 0.5) for stretch in runs(clear) if np.ptp(stretch) >= _FEWEST}
    if len(shapes) > 1:
        return True
    speed, start = np.polyfit(frames[clear], x, 1)
    expected = start + speed * frames
    if np.abs(expected[clear] - x).max() > _OFF:
        return True
    missed = _in_the_open(seen, track, expected, boards) & ~track.seen
    return bool(missed.sum() >= _FEWEST)


def _in_the_open(seen: Observation, track: Track, x: NDArray[np.float64], boards: Sequence[tuple[int, int]]) -> Mask:
    """Return a mask of the positions at which an object is seen whole: inside the picture and clear of all boards."""
    reach, width = track.size + _RIM, seen.structures.shape[1]
    inside: Mask = (x > reach) & (x < width - reach)
    for left, right in boards:
        inside &= (x + reach < left) | (x - reach > right)
    return inside


def _post_behind(seen: Observation, row: int, board: tuple[int, int]) -> float | None:
    """The middle of what stands out above a board, None where nothing does."""
    above = seen.structures[: row + 1, slice(*board)][::-1]
    heights = np.where(above.all(axis=0), len(above), np.argmin(above, axis=0))
    tall = np.flatnonzero(heights > np.median(heights) + _RISE)
    return board[0] + float(tall.mean()) + 0.5 if tall.size else None


RULES: Rules = {r"physically possible": judge}
