"""Answers with evidence about chains of events on a slow table, from what a clip shows."""

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from string import ascii_uppercase

import numpy as np

from lmms_eval_tasks.sample.chains import LONGEST, SLOW_TABLE
from lmms_eval_tasks.sample.physics import World
from lmms_eval_tasks.sample.seeing import (
    Motion,
    Unseen,
    first_move,
    follow,
    gap_at,
    lies_still,
    require,
    the_option,
    track_of,
)
from lmms_eval_tasks.sample.solve_table import see_table
from lmms_eval_tasks.sample.solver import CANNOT_TELL, watch
from lmms_eval_tasks.sample.table import first_touch
from lmms_eval_tasks.sample.vision import Track, View
from lmms_eval_tasks.sample.wording import read_objects

_TOUCHING = 4.0
_SLOWEST = 6.0


@dataclass(frozen=True)
class _Span:
    """An object to be looked at from a second to another, both included, and what it proves there."""

    name: str
    start: int
    end: int
    why: str


@dataclass(frozen=True)
class _Found:
    answer: str
    spans: tuple[_Span, ...]


def solve_with_evidence(question: str, options: Sequence[str], clip: Path, *, reverse: bool = False) -> str:
    """Answer a question about a clip, with what proves the answer.

    Args:
        question: text of the question.
        options: texts of the options; the first is A.
        clip: video file.
        reverse: watch the clip backwards.

    Returns:
        JSON in the form of CaST-Bench's answers, boxes in pixels of the clip; or a sentence that it cannot tell.

    Raises:
        decord.DECORDError: the clip cannot be read.
    """
    for pattern, rule in _RULES:
        if pattern.search(question):
            view = watch(clip, reverse=reverse)
            try:
                found = rule(view, read_objects(question))
                letter = ascii_uppercase[the_option(options, _named, found.answer)]
                instances = [_instance(view, span) for span in found.spans]
            except (Unseen, ValueError):
                return CANNOT_TELL
            return json.dumps({"instances": instances, "answer_choice": letter})
    return CANNOT_TELL


def _named(option: str) -> str | None:
    names = read_objects(option)
    return names[0] if len(names) == 1 else None


def _why(view: View, named: Sequence[str]) -> _Found:
    (effect,) = named
    cause, hit = _set_off_by(view, track_of(view, effect))
    return _Found(
        cause.name,
        (
            _Span(cause.name, _second(view, _set_off(view, cause)), hit, f"The {cause.name} runs into the {effect}."),
            _Span(effect, hit, _last(view), f"The {effect} starts to move."),
        ),
    )


def _how(view: View, named: Sequence[str]) -> _Found:
    first, last = named
    middle, passed = _set_off_by(view, track_of(view, last))
    before, hit = _set_off_by(view, middle)
    require(before.name == first)
    return _Found(
        middle.name,
        (
            _Span(first, _second(view, _set_off(view, before)), hit, f"The {first} runs into the {middle.name}."),
            _Span(middle.name, hit, passed, f"The {middle.name} moves on into the {last}."),
            _Span(last, passed, _last(view), f"The {last} starts to move."),
        ),
    )


def _without(view: View, named: Sequence[str]) -> _Found:
    mover, removed = named
    cause, hit = _set_off_by(view, track_of(view, removed))
    require(cause.name == mover)
    motion = _motion(view, cause, range(view.frames))
    goal = first_touch(_table(view, 0).without(removed), mover, motion.velocity, motion.place, LONGEST)
    if goal is None:
        raise Unseen
    return _Found(
        goal,
        (
            _Span(mover, 0, hit, f"The {mover} heads for the {goal} until it runs into the {removed}."),
            _Span(removed, hit, _last(view), f"The {removed} takes the blow."),
            _Span(goal, 0, _last(view), f"The {goal} lies where the {mover} was heading."),
        ),
    )


def _next(view: View, named: Sequence[str]) -> _Found:
    (mover,) = named
    back = _motion(view, track_of(view, mover), range(view.frames - 1, -1, -1))
    goal = first_touch(_table(view, -1), mover, back.velocity, back.place, LONGEST)
    if goal is None:
        raise Unseen
    return _Found(
        goal,
        (
            _Span(mover, 0, _last(view), f"The {mover} heads for the {goal}."),
            _Span(goal, 0, _last(view), f"The {goal} lies where the {mover} is heading."),
        ),
    )


def _fixed(view: View, named: Sequence[str]) -> _Found:
    resting = [track for track in view.tracks.values() if lies_still(track, range(view.frames))]
    near = [
        (gap_at(mover, rest, frame), frame, mover, rest)
        for mover in (track_of(view, name) for name in named)
        for rest in resting
        for frame in range(view.frames)
    ]
    require(bool(near))
    gap, frame, mover, rest = min(near, key=lambda one: one[:2])
    require(gap < _TOUCHING)
    hit = _second(view, frame)
    return _Found(
        rest.name,
        (
            _Span(mover.name, 0, _last(view), f"The {mover.name} bounces off the {rest.name}."),
            _Span(rest.name, hit, _last(view), f"The {rest.name} does not move when it is hit."),
        ),
    )


_RULES: tuple[tuple[re.Pattern[str], Callable[[View, Sequence[str]], _Found]], ...] = (
    (re.compile(r"^Why does the .* start to move"), _why),
    (re.compile(r"^By way of which object does the"), _how),
    (re.compile(r"^What would the .* have run into first if the"), _without),
    (re.compile(r"^The clip stops early\. What will the"), _next),
    (re.compile(r"which object must be fastened to the table"), _fixed),
)


def _set_off_by(view: View, track: Track) -> tuple[Track, int]:
    """What an object at rest is hit by when it starts to move, and in which second."""
    frame = _set_off(view, track)
    require(frame > 0)
    around = [
        (min(gap_at(other, track, k) for k in (frame - 1, frame)), other.name)
        for other in view.tracks.values()
        if other is not track
    ]
    require(bool(around))
    gap, name = min(around)
    require(gap < _TOUCHING)
    return view.tracks[name], _second(view, frame)


def _set_off(view: View, track: Track) -> int:
    """The frame in which an object starts to move: 0 if it moves from the start; Unseen where it never does."""
    frame = first_move(track)
    if frame is None:
        raise Unseen
    return 0 if frame <= 2 else frame


def _motion(view: View, track: Track, frames: Sequence[int]) -> Motion:
    motion = follow(track, view.fps, frames, SLOW_TABLE.table_friction)
    require(motion.speed > _SLOWEST)
    return motion


def _table(view: View, frame: int) -> World:
    return replace(see_table(view, frame), laws=SLOW_TABLE)


def _second(view: View, frame: int) -> int:
    return math.floor(frame / view.fps)


def _last(view: View) -> int:
    return _second(view, view.frames - 1)


def _instance(view: View, span: _Span) -> dict[str, object]:
    track = track_of(view, span.name)
    boxes = {second: _box(track, round(second * view.fps)) for second in range(span.start, span.end + 1)}
    return {
        "instance_name": span.name,
        "evidences": [
            {
                "evidence_start_time": _clock(span.start),
                "evidence_end_time": _clock(span.end),
                "evidence_rationale": span.why,
                "bboxes_in_time_range": {_clock(second): box for second, box in boxes.items()},
            }
        ],
    }


def _box(track: Track, frame: int) -> list[int]:
    """The object's box in whole pixels: its centre and size are known better than the edges of what is seen."""
    x, y = track.centres[frame]
    require(not np.isnan(x))
    return [round(float(edge)) for edge in (x - track.size, y - track.size, x + track.size, y + track.size)]


def _clock(second: int) -> str:
    return f"{second // 60:02d}:{second % 60:02d}"
