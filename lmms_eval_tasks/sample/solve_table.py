"""Answers about balls and blocks on a table, from what a clip shows."""

import re
from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.sample.physics import TOP_VIEW, Body, Vec, World
from lmms_eval_tasks.sample.scenes import bar
from lmms_eval_tasks.sample.seeing import (
    Motion,
    body_at,
    first_move,
    follow,
    gap_at,
    lies_still,
    require,
    shift,
    the_option,
    track_of,
)
from lmms_eval_tasks.sample.table import PUSHED, first_touch, turned
from lmms_eval_tasks.sample.vision import View
from lmms_eval_tasks.sample.wording import read_direction, read_objects

_SLOWEST = 20.0
_NEAR = 9.0


def _named(option: str) -> str | None:
    names = read_objects(option)
    return names[0] if len(names) == 1 else None


def see_table(view: View, frame: int) -> World:
    """The table with every object at rest where it is at a frame."""
    rows, columns = view.structures.mean(axis=1) > 0.5, view.structures.mean(axis=0) > 0.5
    height, width = view.structures.shape
    require(bool(rows[: height // 4].any() and columns[: width // 4].any()))
    top, left = _last(rows[: height // 4]), _last(columns[: width // 4])
    bottom, right = height - _last(rows[::-1][: height // 4]), width - _last(columns[::-1][: width // 4])
    rims = (
        bar("top", (left, top - 2), (right, top - 2)),
        bar("bottom", (left, bottom + 2), (right, bottom + 2)),
        bar("left", (left - 2, top), (left - 2, bottom)),
        bar("right", (right + 2, top), (right + 2, bottom)),
    )
    bodies: list[Body] = [body_at(track, frame) for track in view.tracks.values() if track.seen[frame]]
    return World(TOP_VIEW, tuple(bodies), rims)


def _last(edge: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    return float(np.flatnonzero(edge)[-1] + 1)


def _start(view: View, name: str) -> Motion:
    """How an object moves when the clip begins; Unseen when it lies still."""
    motion = follow(track_of(view, name), view.fps, range(view.frames), TOP_VIEW.table_friction)
    require(motion.speed > _SLOWEST)
    return motion


def anticipation(view: View, question: str, options: Sequence[str]) -> int:
    """What the ball runs into after the clip's end."""
    (mover,) = read_objects(question)
    back = follow(track_of(view, mover), view.fps, range(view.frames - 1, -1, -1), TOP_VIEW.table_friction)
    require(back.speed > _SLOWEST)
    touched = first_touch(see_table(view, -1), mover, back.velocity, back.place)
    return the_option(options, _named, touched)


def counterfactual(view: View, question: str, options: Sequence[str]) -> int:
    """What the ball would have run into without the object that the question takes away."""
    removed, mover = read_objects(question)
    require(removed in view.tracks)
    start = _start(view, mover)
    touched = first_touch(see_table(view, 0).without(removed), mover, start.velocity, start.place)
    return the_option(options, _named, touched)


def descriptive(view: View, question: str, options: Sequence[str]) -> int:
    """What was next to the object, and had moved, when the object began to move."""
    (name,) = read_objects(question)
    target = track_of(view, name)
    require(lies_still(target, range(3)))
    moment = first_move(target)
    require(moment is not None)
    frame = moment or 0
    gaps = {
        other.name: min(gap_at(target, other, f) for f in range(frame - 2, frame + 1))
        for other in view.tracks.values()
        if other.name != name and other.seen[frame - 2 : frame + 1].all()
    }
    require(bool(gaps))
    cause = min(gaps, key=lambda other: gaps[other])
    dx, dy = shift(track_of(view, cause), max(0, frame - 4), frame)
    require(gaps[cause] < _NEAR and abs(dx) + abs(dy) > 2)
    return the_option(options, _named, cause)


def hypothetical(view: View, question: str, options: Sequence[str]) -> int:
    """What the ball would have run into, started in the direction that the question names."""
    (mover,) = read_objects(question)
    start = _start(view, mover)
    quarter_turns = 2 if "opposite" in question else 1
    touched = first_touch(see_table(view, 0), mover, turned(start.velocity, quarter_turns), start.place)
    return the_option(options, _named, touched)


def planning(view: View, question: str, options: Sequence[str]) -> int:
    """The direction in which a push makes the ball, from where it ends, hit the object that the question names."""
    mover, goal = read_objects(question)
    track = track_of(view, mover)
    require(lies_still(track, (-3, -2, -1)) and first_move(track) is not None)
    table = see_table(view, -1)

    def touched(option: str) -> str | None:
        direction = read_direction(option)
        if direction is None:
            return None
        scale = PUSHED / float(np.hypot(*direction))
        velocity: Vec = (direction[0] * scale, direction[1] * scale)
        return first_touch(table, mover, velocity)

    return the_option(options, touched, goal)


RULES = (
    (re.compile(r"^The clip stops early\. Which object will"), anticipation),
    (re.compile(r"^If the .* had not been on the table"), counterfactual),
    (re.compile(r"^Which object sets the .* in motion"), descriptive),
    (re.compile(r"^If the .* had started with the same speed"), hypothetical),
    (re.compile(r"is to hit the .* In which direction"), planning),
)
