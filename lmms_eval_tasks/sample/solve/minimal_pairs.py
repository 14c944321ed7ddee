"""Answers about minimal pairs, from what a clip shows."""

import math
from collections.abc import Sequence

import numpy as np

from lmms_eval_tasks.sample.scenes.options import read_objects
from lmms_eval_tasks.sample.solve.measure import (
    Rules,
    first_move,
    follow,
    gap_at,
    lies_still,
    place_at,
    runs,
    shift,
    the_option,
    track_of,
)
from lmms_eval_tasks.sample.world.bodies import SIDE_VIEW
from lmms_eval_tasks.sample.world.scene import require, required
from lmms_eval_tasks.sample.world.vision import Observation, Track

_FAR = 20.0
_HOVER = 5


def _containing(options: Sequence[str], word: str) -> int:
    return the_option(options, lambda option: word in option.lower(), True)


def in_or_out(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """Whether the ball ends in the box or began there."""
    (ball,) = named
    level = runs(seen.structures.mean(axis=1) > 0.8)
    require(bool(level) and len(seen.structures) - level[-1][1] < 10)
    ground = level[-1][0]
    sides = runs(seen.structures[ground - 16 : ground - 3].mean(axis=0) > 0.8)
    require(len(sides) == 2)
    inside = [sides[0][1] < place_at(ball, frame)[0] < sides[1][0] for frame in (0, -1)]
    require(inside[0] != inside[1])
    return _containing(options, "into the box" if inside[1] else "out of the box")


def push_direction(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """Return the option for the direction in which the ball went."""
    (ball,) = named
    dx, _ = shift(ball, 0, -1)
    require(abs(dx) > _FAR / 2)
    return _containing(options, "left to right" if dx > 0 else "right to left")


def fall_or_stay(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """Whether the ball ends below the place from which a hand pushed it."""
    (track,) = named
    require(lies_still(track, range(3)))
    require(_arm_near(seen, track, required(first_move(track))))
    last = int(np.flatnonzero(track.seen)[-1])
    drop = shift(track, 0, last)[1]
    require(drop > _FAR or abs(drop) < 3)
    return _containing(options, "falls" if drop > _FAR else "stays")


def _arm_near(seen: Observation, track: Track, frame: int) -> bool:
    for at in range(max(0, frame - 2), min(seen.frames, frame + 2)):
        rows, columns = np.nonzero(seen.arms[at])
        if rows.size and track.seen[at]:
            x, y = place_at(track, at)
            if float(np.hypot(columns + 0.5 - x, rows + 0.5 - y).min()) < track.size + 5:
                return True
    return False


def which_goal(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """The object next to which the pushed one ends, when it began away from it."""
    (thing,) = named

    def reached(option: str) -> bool:
        (name,) = read_objects(option)
        goal = track_of(seen, name)
        before, after = gap_at(thing, goal, 0), gap_at(thing, goal, -1)
        return after < 9 and before > after + 5

    return the_option(options, reached, True)


def closer_or_farther(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """Whether the gap between two objects shrinks or grows."""
    thing, goal = named
    change = gap_at(thing, goal, -1) - gap_at(thing, goal, 0)
    require(abs(change) > 6)
    return _containing(options, "closer" if change < 0 else "farther")


def possible(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """Whether the ball neither appears nor vanishes, nor passes through things, hovers, or rises by itself."""
    (track,) = named
    broken = _comes_or_goes(seen, track) or _passes_through(seen, track) or _hovers(seen, track) or _rises(seen, track)
    return _containing(options, "no," if broken else "yes,")


def _comes_or_goes(seen: Observation, track: Track) -> bool:
    """Whether the ball is first or last seen in mid-picture while the clip goes on."""
    frames, margin = np.flatnonzero(track.seen), 2 * track.size
    inside = (margin < track.centres[:, 0]) & (track.centres[:, 0] < seen.structures.shape[1] - margin)
    return bool((frames[0] > 0 and inside[frames[0]]) or (frames[-1] < seen.frames - 1 and inside[frames[-1]]))


def _passes_through(seen: Observation, track: Track) -> bool:
    """Whether the ball's centre is inside a structure, in a frame or on the way to the next."""
    steps = np.diff(track.centres, axis=0)
    places = np.concatenate([track.centres[:-1] + part * steps for part in (0.0, 0.25, 0.5, 0.75)])
    height, width = seen.structures.shape
    x, y = np.minimum(places[~np.isnan(places).any(axis=1)].astype(int), (width - 1, height - 1)).T
    return bool(seen.structures[y, x].any())


def _hovers(seen: Observation, track: Track) -> bool:
    """Whether for some frames on end the ball neither rests on anything nor speeds up downwards."""
    full = SIDE_VIEW.gravity / seen.fps**2
    free = [bool(track.seen[frame]) and not _supported(seen, track, frame) for frame in range(seen.frames)]
    bends = np.diff(track.centres[:, 1], 2)
    return any(
        all(free[start : start + _HOVER]) and abs(bends[start : start + _HOVER - 2].mean()) < full / 3
        for start in range(seen.frames - _HOVER + 1)
    )


def _supported(seen: Observation, track: Track, frame: int) -> bool:
    x, y = place_at(track, frame)
    rows = slice(int(y + track.size - 1), int(y + track.size + 5))
    columns = slice(max(0, int(x - track.size)), int(x + track.size) + 1)
    return bool(seen.structures[rows, columns].any())


def _rises(seen: Observation, track: Track) -> bool:
    """Whether the ball climbs higher than the speed with which it comes into view could take it."""
    start = follow(track, seen.fps, np.flatnonzero(track.seen)[:6].tolist())
    climb = place_at(track, int(np.flatnonzero(track.seen)[0]))[1] - float(np.nanmin(track.centres[:, 1]))
    return climb > math.hypot(*start.velocity) ** 2 / (2 * SIDE_VIEW.gravity) + 8


def falls_first(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """The ball that leaves its place first, when both begin at rest and end lower."""
    for option in options:
        (name,) = read_objects(option)
        track = track_of(seen, name)
        require(lies_still(track, range(3)) and shift(track, 0, -1)[1] > _FAR)
    return moves_first(seen, named, options)


def moves_first(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> int:
    """The option whose first-named object starts to move before that of the other option."""
    moments = []
    for option in options:
        names = read_objects(option)
        require(bool(names))
        moments.append(required(first_move(track_of(seen, names[0]))))
    require(len(set(moments)) == len(moments))
    return moments.index(min(moments))


RULES: Rules = {
    r"^What does the hand do with": in_or_out,
    r"^In which direction does the hand push": push_direction,
    r"fall off the shelf, or does it stay": fall_or_stay,
    r"^Towards which object does the robot arm": which_goal,
    r"^Does the robot arm push .* closer": closer_or_farther,
    r"really move as it does in this clip": possible,
    r"^Which ball sets the other one in motion": moves_first,
    r"^Which ball falls first": falls_first,
    r"^In which order does the arm push": moves_first,
}
