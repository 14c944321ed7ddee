"""What the solver measures in what a clip shows; Rejected is raised where the clip does not show it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lmms_eval_tasks.sample.world.bodies import FlatBody, Vec, gap_between
from lmms_eval_tasks.sample.world.scene import require
from lmms_eval_tasks.sample.world.vision import Observation, Track

_MOVED = 1.2
_STILL = 0.8
_AGREEMENT = 0.9

Rules = Mapping[str, Callable[[Observation, Sequence[Track], Sequence[str]], int | str]]
"""How questions are answered: a pattern found in every question of a kind, and in no other, to what answers them.

It is called with what the clip shows, the objects that the question names and the options, and gives the position of an
option (from 0), or a whole response. It raises Rejected, or ValueError, where the clip does not show what is asked.
"""


@dataclass(frozen=True)
class TrackMotion:
    """Place (px) and velocity (px/s) at a frame."""

    place: Vec
    velocity: Vec


def track_of(seen: Observation, name: str) -> Track:
    """The object of that name; Rejected when there is none."""
    require(name in seen.tracks)
    return seen.tracks[name]


def place_at(track: Track, frame: int) -> Vec:
    """Return the position of an object at a frame (negative: from the end); Rejected if it is hidden then."""
    x, y = track.centres[frame]
    require(not np.isnan(x))
    return float(x), float(y)


def body_at(track: Track, frame: int) -> FlatBody:
    """The object as a resting body where it is at a frame; Rejected when it is hidden then."""
    return FlatBody(track.name, track.shape, track.size, place_at(track, frame))


def gap_at(one: Track, other: Track, frame: int) -> float:
    """Free distance in px between two objects at a frame."""
    a, b = body_at(one, frame), body_at(other, frame)
    return gap_between(a, a.position, b, b.position)[0]


def shift(track: Track, start: int, end: int) -> Vec:
    """Return the displacement of an object between two frames, in px."""
    (x1, y1), (x2, y2) = place_at(track, start), place_at(track, end)
    return x2 - x1, y2 - y1


def first_move(track: Track) -> int | None:
    """The first frame in which an object has left the place where it lay, None when it never does."""
    away = np.hypot(*(track.centres - np.array(place_at(track, 0))).T)
    moved = np.flatnonzero(away > _MOVED)
    return int(moved[0]) if moved.size else None


def lies_still(track: Track, frames: Sequence[int]) -> bool:
    """Whether an object keeps its place over the given frames."""
    places = np.array([place_at(track, frame) for frame in frames])
    return bool((np.ptp(places, axis=0) < _STILL).all())


def follow(track: Track, fps: float, frames: Sequence[int], brake: float = 0.0) -> TrackMotion:
    """Motion at the first of `frames` from as many of them as one uninterrupted motion explains."""
    require(len(frames) >= 3)
    times = (np.array(frames) - frames[0]) / fps
    places = np.array([track.centres[frame] for frame in frames])
    require(not np.isnan(places[:3]).any())
    motion, _ = _fit(times[:3], places[:3], brake)
    for count in range(4, len(frames) + 1):
        if np.isnan(places[count - 1]).any():
            break
        longer, error = _fit(times[:count], places[:count], brake)
        if error > _AGREEMENT:
            break
        motion = longer
    return motion


def _fit(times: NDArray[np.float64], places: NDArray[np.float64], brake: float) -> tuple[TrackMotion, float]:
    terms = np.stack([np.ones(len(times)), times], axis=1)
    bend: NDArray[np.float64] = np.zeros_like(places)
    solution: NDArray[np.float64] = np.zeros((2, 2))
    for _ in range(3 if brake else 1):
        solution = np.asarray(np.linalg.lstsq(terms, places - bend, rcond=None)[0], dtype=np.float64)
        speed = float(np.hypot(*solution[1]))
        if brake and speed > 0:
            bend = -0.5 * brake * np.outer(times**2, solution[1] / speed)
    error = float(np.abs(terms @ solution + bend - places).max())
    (x, y), (vx, vy) = solution
    return TrackMotion((float(x), float(y)), (float(vx), float(vy))), error


def runs(mask: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First place of each run of true values in a row of them, and the place after its last."""
    return [(window.start, window.stop) for (window,) in ndimage.find_objects(ndimage.label(mask)[0])]


def the_option(options: Sequence[str], read: Callable[[str], object], meant: object) -> int:
    """Position of the one option that reads as `meant`; Rejected when none or several do."""
    hits = [number for number, option in enumerate(options) if read(option) == meant]
    require(len(hits) == 1)
    return hits[0]
