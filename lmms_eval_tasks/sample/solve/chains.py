"""Answers with evidence about chains of events on a slow table, from what a clip shows."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from string import ascii_uppercase

from lmms_eval_tasks.sample.scenes.chains import LONGEST, SLOW_TABLE, EvidenceSpan, clock
from lmms_eval_tasks.sample.scenes.table import first_touch
from lmms_eval_tasks.sample.scenes.wording import read_object, read_objects
from lmms_eval_tasks.sample.solve.measure import (
    TrackMotion,
    first_move,
    follow,
    gap_at,
    lies_still,
    place_at,
    require,
    shown,
    the_option,
    track_of,
)
from lmms_eval_tasks.sample.solve.rule import SolverRule
from lmms_eval_tasks.sample.solve.table import see_table
from lmms_eval_tasks.sample.world.bodies import World
from lmms_eval_tasks.sample.world.vision import Observation, Track

_TOUCHING = 4.0
_SLOWEST = 6.0


# The object that answers a question, and what proves it.
_Deduction = tuple[str, tuple[EvidenceSpan, ...]]


def _evidence_rule(pattern: str, deduce: Callable[[Observation, Sequence[str]], _Deduction]) -> SolverRule:
    """A rule that responds with JSON in the form of CaST-Bench's answers, boxes in pixels of the clip."""

    def respond(seen: Observation, question: str, options: Sequence[str]) -> str:
        answer, evidence = deduce(seen, read_objects(question))
        letter = ascii_uppercase[the_option(options, read_object, answer)]
        instances = [_instance(seen, span) for span in evidence]
        return json.dumps({"instances": instances, "answer_choice": letter})

    return SolverRule(re.compile(pattern), respond)


def _why(seen: Observation, named: Sequence[str]) -> _Deduction:
    (effect,) = named
    cause, hit = _set_off_by(seen, track_of(seen, effect))
    start = _second(seen, _set_off(seen, cause))
    return cause.name, (
        EvidenceSpan(cause.name, start, hit, f"The {cause.name} runs into the {effect}."),
        EvidenceSpan(effect, hit, _last(seen), f"The {effect} starts to move."),
    )


def _how(seen: Observation, named: Sequence[str]) -> _Deduction:
    first, last = named
    middle, passed = _set_off_by(seen, track_of(seen, last))
    before, hit = _set_off_by(seen, middle)
    require(before.name == first)
    start = _second(seen, _set_off(seen, before))
    return middle.name, (
        EvidenceSpan(first, start, hit, f"The {first} runs into the {middle.name}."),
        EvidenceSpan(middle.name, hit, passed, f"The {middle.name} moves on into the {last}."),
        EvidenceSpan(last, passed, _last(seen), f"The {last} starts to move."),
    )


def _without(seen: Observation, named: Sequence[str]) -> _Deduction:
    mover, removed = named
    cause, hit = _set_off_by(seen, track_of(seen, removed))
    require(cause.name == mover)
    motion = _motion(seen, cause, range(seen.frames))
    goal = shown(first_touch(_table(seen, 0).without(removed), mover, motion.velocity, motion.place, LONGEST))
    return goal, (
        EvidenceSpan(mover, 0, hit, f"The {mover} heads for the {goal} until it runs into the {removed}."),
        EvidenceSpan(removed, hit, _last(seen), f"The {removed} takes the blow."),
        EvidenceSpan(goal, 0, _last(seen), f"The {goal} lies where the {mover} was heading."),
    )


def _next(seen: Observation, named: Sequence[str]) -> _Deduction:
    (mover,) = named
    back = _motion(seen, track_of(seen, mover), range(seen.frames - 1, -1, -1))
    goal = shown(first_touch(_table(seen, -1), mover, back.velocity, back.place, LONGEST))
    return goal, (
        EvidenceSpan(mover, 0, _last(seen), f"The {mover} heads for the {goal}."),
        EvidenceSpan(goal, 0, _last(seen), f"The {goal} lies where the {mover} is heading."),
    )


def _fixed(seen: Observation, named: Sequence[str]) -> _Deduction:
    resting = [track for track in seen.tracks.values() if lies_still(track, range(seen.frames))]
    near = [
        (gap_at(mover, rest, frame), frame, mover, rest)
        for mover in (track_of(seen, name) for name in named)
        for rest in resting
        for frame in range(seen.frames)
    ]
    require(bool(near))
    gap, frame, mover, rest = min(near, key=lambda one: one[:2])
    require(gap < _TOUCHING)
    hit = _second(seen, frame)
    return rest.name, (
        EvidenceSpan(mover.name, 0, _last(seen), f"The {mover.name} bounces off the {rest.name}."),
        EvidenceSpan(rest.name, hit, _last(seen), f"The {rest.name} does not move when it is hit."),
    )


def _set_off_by(seen: Observation, track: Track) -> tuple[Track, int]:
    """What an object at rest is hit by when it starts to move, and in which second."""
    frame = _set_off(seen, track)
    require(frame > 0)
    around = [
        (min(gap_at(other, track, k) for k in (frame - 1, frame)), other.name)
        for other in seen.tracks.values()
        if other is not track
    ]
    require(bool(around))
    gap, name = min(around)
    require(gap < _TOUCHING)
    return seen.tracks[name], _second(seen, frame)


def _set_off(seen: Observation, track: Track) -> int:
    """The frame in which an object starts to move: 0 if it moves from the start; NotShown where it never does."""
    frame = shown(first_move(track))
    return 0 if frame <= 2 else frame


def _motion(seen: Observation, track: Track, frames: Sequence[int]) -> TrackMotion:
    motion = follow(track, seen.fps, frames, SLOW_TABLE.table_friction)
    require(motion.speed > _SLOWEST)
    return motion


def _table(seen: Observation, frame: int) -> World:
    return replace(see_table(seen, frame), laws=SLOW_TABLE)


def _second(seen: Observation, frame: int) -> int:
    return math.floor(frame / seen.fps)


def _last(seen: Observation) -> int:
    return _second(seen, seen.frames - 1)


def _instance(seen: Observation, span: EvidenceSpan) -> dict[str, object]:
    track = track_of(seen, span.name)
    boxes = {second: _box(track, round(second * seen.fps)) for second in range(span.start, span.end + 1)}
    return {
        "instance_name": span.name,
        "evidences": [
            {
                "evidence_start_time": clock(span.start),
                "evidence_end_time": clock(span.end),
                "evidence_rationale": span.rationale,
                "bboxes_in_time_range": {clock(second): box for second, box in boxes.items()},
            }
        ],
    }


def _box(track: Track, frame: int) -> list[int]:
    """The object's box in whole pixels: its centre and size are known better than the edges of what is seen."""
    x, y = place_at(track, frame)
    return [round(edge) for edge in (x - track.size, y - track.size, x + track.size, y + track.size)]


RULES = (
    _evidence_rule(r"^Why does the .* start to move", _why),
    _evidence_rule(r"^By way of which object does the", _how),
    _evidence_rule(r"^What would the .* have run into first if the", _without),
    _evidence_rule(r"^The clip stops early\. What will the", _next),
    _evidence_rule(r"which object must be fastened to the table", _fixed),
)
