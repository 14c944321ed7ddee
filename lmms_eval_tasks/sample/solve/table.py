"""Answers about balls and blocks on a table, from what a clip shows."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from lmms_eval_tasks.sample.scenes.chains import LONGEST, SLOW_TABLE
from lmms_eval_tasks.sample.scenes.options import read_direction, read_object
from lmms_eval_tasks.sample.scenes.table import PUSHED, first_touch, rims, turned
from lmms_eval_tasks.sample.solve.measure import (
    Rules,
    body_at,
    first_move,
    follow,
    gap_at,
    lies_still,
    shift,
    the_option,
)
from lmms_eval_tasks.sample.world.bodies import TOP_VIEW, FlatWorld, Laws
from lmms_eval_tasks.sample.world.scene import require, required
from lmms_eval_tasks.sample.world.vision import Observation, Track

_SLOWEST = {TOP_VIEW: 20.0, SLOW_TABLE: 6.0}
"""The least speed (px/s) that counts as motion."""
_NEAR = 9.0


def see_table(seen: Observation, frame: int) -> FlatWorld:
    """The table with every object at rest where it is at a frame."""
    rows, columns = seen.structures.mean(axis=1) > 0.5, seen.structures.mean(axis=0) > 0.5
    height, width = seen.structures.shape
    require(bool(rows[: height // 4].any() and columns[: width // 4].any()))
    top, left = _last(rows[: height // 4]), _last(columns[: width // 4])
    bottom, right = height - _last(rows[::-1][: height // 4]), width - _last(columns[::-1][: width // 4])
    bodies = [body_at(track, frame) for track in seen.tracks.values() if track.seen[frame]]
    return FlatWorld(TOP_VIEW, tuple(bodies), rims(left - 2, top - 2, right + 2, bottom + 2))


def _last(edge: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(np.flatnonzero(edge)[-1] + 1)


def touched_by(
    seen: Observation,
    mover: Track,
    laws: Laws = TOP_VIEW,
    *,
    at_end: bool = False,
    without: Sequence[str] = (),
    quarter_turns: int = 0,
) -> str | None:
    """Return the first object that an object runs into, by its motion when the clip begins, or None if it reaches
    none."""
    frames = range(seen.frames)[::-1] if at_end else range(seen.frames)
    motion = follow(mover, seen.fps, frames, laws.table_friction)
    require(math.hypot(*motion.velocity) > _SLOWEST[laws])
    table = replace(see_table(seen, frames[0]), laws=laws).without(*without)
    return first_touch(table, mover.name, turned(motion.velocity, quarter_turns), motion.place, LONGEST)


def first_touched(
    seen: Observation, named: Sequence[Track], options: Sequence[str], at_end: bool = False, quarter_turns: int = 0
) -> int:
    """Return the option for the first object the last named one runs into, without those named before it; else as
    `touched_by`."""
    *removed, mover = named
    without = [track.name for track in removed]
    touched = touched_by(seen, mover, without=without, at_end=at_end, quarter_turns=quarter_turns)
    return the_option(options, read_object, touched)


def descriptive(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """Return the option for the object next to the named one that had moved when the named one began to move."""
    (target,) = named
    require(lies_still(target, range(3)))
    frame = required(first_move(target))
    gaps = {
        other.name: min(gap_at(target, other, f) for f in range(frame - 2, frame + 1))
        for other in seen.tracks.values()
        if other is not target and other.seen[frame - 2 : frame + 1].all()
    }
    require(bool(gaps))
    cause = min(gaps, key=lambda other: gaps[other])
    dx, dy = shift(seen.tracks[cause], max(0, frame - 4), frame)
    require(gaps[cause] < _NEAR and abs(dx) + abs(dy) > 2)
    return the_option(options, read_object, cause)


def planning(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """The direction in which a push makes the ball, from where it ends, hit the object that the question names."""
    mover, goal = named
    require(lies_still(mover, (-3, -2, -1)) and first_move(mover) is not None)
    table = see_table(seen, -1)

    def touched(option: str) -> str | None:
        direction = read_direction(option)
        if direction is None:
            return None
        scale = PUSHED / float(np.hypot(*direction))
        return first_touch(table, mover.name, (direction[0] * scale, direction[1] * scale))

    return the_option(options, touched, goal.name)


RULES: Rules = {
    r"^The clip stops early\. Which object will": partial(first_touched, at_end=True),
    r"^If the .* had not been on the table": first_touched,
    r"^Which object sets the .* in motion": descriptive,
    r"^If the .* had started with the same speed, but in the opposite": partial(first_touched, quarter_turns=2),
    r"^If the .* had started with the same speed, but a quarter turn": partial(first_touched, quarter_turns=1),
    r"is to hit the .* In which direction": planning,
}
