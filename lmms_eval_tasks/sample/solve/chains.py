"""Answers with evidence about chains of events on a slow table, from what a clip shows."""

import json
import math
from collections.abc import Callable, Sequence
from string import ascii_uppercase

from lmms_eval_tasks.sample.scenes.chains import SLOW_TABLE, EvidenceSpan, clock
from lmms_eval_tasks.sample.scenes.options import read_object
from lmms_eval_tasks.sample.solve.measure import (
    Rules,
    first_move,
    gap_at,
    lies_still,
    place_at,
    the_option,
    track_of,
)
from lmms_eval_tasks.sample.solve.table import touched_by
from lmms_eval_tasks.sample.world.scene import require, required
from lmms_eval_tasks.sample.world.vision import Observation, Track

_TOUCHING = 4.0

Proof = tuple[str, tuple[EvidenceSpan, ...]]
"""The object that answers a question, and what proves it."""


def _with_evidence(
    prove: Callable[[Observation, Sequence[Track]], Proof],
) -> Callable[[Observation, Sequence[Track], Sequence[str]], str]:
    """Return a solver that responds with JSON in the form of CaST-Bench's answers, with boxes in pixels of the clip."""

    def respond(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> str:
        answer, evidence = prove(seen, named)
        letter = ascii_uppercase[the_option(options, read_object, answer)]
        instances = [_instance(seen, span) for span in evidence]
        return json.dumps({"instances": instances, "answer_choice": letter})

    return respond


def _why(seen: Observation, named: Sequence[Track]) -> Proof:
    (effect,) = named
    cause, hit = _set_off_by(seen, effect)
    start = _second(seen, _set_off(cause))
    return cause.name, (
        EvidenceSpan(cause.name, start, hit, f"The {cause.name} runs into the {effect.name}."),
        EvidenceSpan(effect.name, hit, _last(seen), f"The {effect.name} starts to move."),
    )


def _how(seen: Observation, named: Sequence[Track]) -> Proof:
    first, last = named
    middle, passed = _set_off_by(seen, last)
    before, hit = _set_off_by(seen, middle)
    require(before is first)
    start = _second(seen, _set_off(first))
    return middle.name, (
        EvidenceSpan(first.name, start, hit, f"The {first.name} runs into the {middle.name}."),
        EvidenceSpan(middle.name, hit, passed, f"The {middle.name} moves on into the {last.name}."),
        EvidenceSpan(last.name, passed, _last(seen), f"The {last.name} starts to move."),
    )


def _without(seen: Observation, named: Sequence[Track]) -> Proof:
    cause, removed = named
    hit_by, hit = _set_off_by(seen, removed)
    require(hit_by is cause)
    mover, guard = cause.name, removed.name
    goal = required(touched_by(seen, cause, SLOW_TABLE, without=[guard]))
    return goal, (
        EvidenceSpan(mover, 0, hit, f"The {mover} heads for the {goal} until it runs into the {guard}."),
        EvidenceSpan(guard, hit, _last(seen), f"The {guard} takes the blow."),
        EvidenceSpan(goal, 0, _last(seen), f"The {goal} lies where the {mover} was heading."),
    )


def _next(seen: Observation, named: Sequence[Track]) -> Proof:
    (mover,) = named
    goal = required(touched_by(seen, mover, SLOW_TABLE, at_end=True))
    return goal, (
        EvidenceSpan(mover.name, 0, _last(seen), f"The {mover.name} heads for the {goal}."),
        EvidenceSpan(goal, 0, _last(seen), f"The {goal} lies where the {mover.name} is heading."),
    )


def _fixed(seen: Observation, named: Sequence[Track]) -> Proof:
    resting = [track for track in seen.tracks.values() if lies_still(track, range(seen.frames))]
    near = [
        (gap_at(mover, rest, frame), frame, mover, rest)
        for mover in named
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
    """Return the object that hits an object at rest when it starts to move, and the second of the hit."""
    frame = _set_off(track)
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


def _set_off(track: Track) -> int:
    """The frame in which an object starts to move: 0 if it moves from the start; Rejected where it never does."""
    frame = required(first_move(track))
    return 0 if frame <= 2 else frame


def _second(seen: Observation, frame: int) -> int:
    return math.floor(frame / seen.fps)


def _last(seen: Observation) -> int:
    return _second(seen, seen.frames - 1)


def _instance(seen: Observation, span: EvidenceSpan) -> dict[str, object]:
    track = track_of(seen, span.name)
    size = track.size
    boxes = {}
    for second in range(span.start, span.end + 1):
        # The centre and the size are known better than the edges of what is seen.
        x, y = place_at(track, round(second * seen.fps))
        boxes[clock(second)] = [round(edge) for edge in (x - size, y - size, x + size, y + size)]
    return {
        "instance_name": span.name,
        "evidences": [
            {
                "evidence_start_time": clock(span.start),
                "evidence_end_time": clock(span.end),
                "evidence_rationale": span.rationale,
                "bboxes_in_time_range": boxes,
            }
        ],
    }


RULES: Rules = {
    r"^Why does the .* start to move": _with_evidence(_why),
    r"^By way of which object does the": _with_evidence(_how),
    r"^What would the .* have run into first if the": _with_evidence(_without),
    r"^The clip stops early\. What will the": _with_evidence(_next),
    r"which object must be fastened to the table": _with_evidence(_fixed),
}
