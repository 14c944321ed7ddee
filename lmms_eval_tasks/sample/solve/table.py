"""Answers about balls and blocks on a table, from what a clip shows."""

from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.sample.scenes.table import PUSHED, first_touch, turned
from lmms_eval_tasks.sample.scenes.wording import read_direction, read_object, read_objects
from lmms_eval_tasks.sample.solve.measure import (
    TrackMotion,
    body_at,
    first_move,
    follow,
    gap_at,
    lies_still,
    require,
    shift,
    shown,
    the_option,
    track_of,
)
from lmms_eval_tasks.sample.solve.rule import choice_rule
from lmms_eval_tasks.sample.world.bodies import TOP_VIEW, Vec, World
from lmms_eval_tasks.sample.world.scene import bar
from lmms_eval_tasks.sample.world.vision import Observation

_SLOWEST = 20.0
_NEAR = 9.0


def see_table(seen: Observation, frame: int) -> World:
    """The table with every object at rest where it is at a frame."""
    rows, columns = seen.structures.mean(axis=1) > 0.5, seen.structures.mean(axis=0) > 0.5
    height, width = seen.structures.shape
    require(bool(rows[: height // 4].any() and columns[: width // 4].any()))
    top, left = _last(rows[: height // 4]), _last(columns[: width // 4])
    bottom, right = height - _last(rows[::-1][: height // 4]), width - _last(columns[::-1][: width // 4])
    rims = (
        bar("top", (left, top - 2), (right, top - 2)),
        bar("bottom", (left, bottom + 2), (right, bottom + 2)),
        bar("left", (left - 2, top), (left - 2, bottom)),
        bar("right", (right + 2, top), (right + 2, bottom)),
    )
    bodies = [body_at(track, frame) for track in seen.tracks.values() if track.seen[frame]]
    return World(TOP_VIEW, tuple(bodies), rims)


def _last(edge: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(np.flatnonzero(edge)[-1] + 1)


def _start(seen: Observation, name: str) -> TrackMotion:
    """How an object moves when the clip begins; NotShown when it lies still."""
    motion = follow(track_of(seen, name), seen.fps, range(seen.frames), TOP_VIEW.table_friction)
    require(motion.speed > _SLOWEST)
    return motion


def anticipation(seen: Observation, question: str, options: Sequence[str]) -> int:
    """What the ball runs into after the clip's end."""
    (mover,) = read_objects(question)
    back = follow(track_of(seen, mover), seen.fps, range(seen.frames - 1, -1, -1), TOP_VIEW.table_friction)
    require(back.speed > _SLOWEST)
    touched = first_touch(see_table(seen, -1), mover, back.velocity, back.place)
    return the_option(options, read_object, touched)


def counterfactual(seen: Observation, question: str, options: Sequence[str]) -> int:
    """What the ball would have run into without the object that the question takes away."""
    removed, mover = read_objects(question)
    require(removed in seen.tracks)
    start = _start(seen, mover)
    touched = first_touch(see_table(seen, 0).without(removed), mover, start.velocity, start.place)
    return the_option(options, read_object, touched)


def descriptive(seen: Observation, question: str, options: Sequence[str]) -> int:
    """What was next to the object, and had moved, when the object began to move."""
    (name,) = read_objects(question)
    target = track_of(seen, name)
    require(lies_still(target, range(3)))
    frame = shown(first_move(target))
    gaps = {
        other.name: min(gap_at(target, other, f) for f in range(frame - 2, frame + 1))
        for other in seen.tracks.values()
        if other.name != name and other.seen[frame - 2 : frame + 1].all()
    }
    require(bool(gaps))
    cause = min(gaps, key=lambda other: gaps[other])
    dx, dy = shift(track_of(seen, cause), max(0, frame - 4), frame)
    require(gaps[cause] < _NEAR and abs(dx) + abs(dy) > 2)
    return the_option(options, read_object, cause)


def hypothetical(seen: Observation, question: str, options: Sequence[str]) -> int:
    """What the ball would have run into, started in the direction that the question names."""
    (mover,) = read_objects(question)
    start = _start(seen, mover)
    quarter_turns = 2 if "opposite" in question else 1
    touched = first_touch(see_table(seen, 0), mover, turned(start.velocity, quarter_turns), start.place)
    return the_option(options, read_object, touched)


def planning(seen: Observation, question: str, options: Sequence[str]) -> int:
    """The direction in which a push makes the ball, from where it ends, hit the object that the question names."""
    mover, goal = read_objects(question)
    track = track_of(seen, mover)
    require(lies_still(track, (-3, -2, -1)) and first_move(track) is not None)
    table = see_table(seen, -1)

    def touched(option: str) -> str | None:
        direction = read_direction(option)
        if direction is None:
            return None
        scale = PUSHED / float(np.hypot(*direction))
        velocity: Vec = (direction[0] * scale, direction[1] * scale)
        return first_touch(table, mover, velocity)

    return the_option(options, touched, goal)


RULES = (
    choice_rule(r"^The clip stops early\. Which object will", anticipation),
    choice_rule(r"^If the .* had not been on the table", counterfactual),
    choice_rule(r"^Which object sets the .* in motion", descriptive),
    choice_rule(r"^If the .* had started with the same speed", hypothetical),
    choice_rule(r"is to hit the .* In which direction", planning),
)
