"""Answers to what would have happened without a collision, from what a clip shows."""

from __future__ import annotations

from collections.abc import Sequence

from lmms_eval_tasks.sample.solve.measure import Rules, first_move, gap_at, lies_still
from lmms_eval_tasks.sample.world.scene import require, required
from lmms_eval_tasks.sample.world.vision import Observation, Track

_TOUCHING = 4.0
_AT_ONCE = 3


def _would_still(seen: Observation, named: Sequence[Track], options: Sequence[str]) -> str:
    """Whether a hit leads to another one; it does not where there was no such hit."""
    require(len(named) == 4)
    hitter, struck, later_hitter, later_struck = named
    require(_set_off_by(seen, later_struck) is later_hitter)
    chain = _what_led_to(seen, later_hitter, later_struck)
    happened = _set_off_by(seen, struck) is hitter
    needed = (hitter.name, struck.name) in chain
    reason = (
        f"the {hitter.name} sets off the chain of hits that brings the {later_hitter.name} to the {later_struck.name}"
        if needed
        else f"the {later_hitter.name} reaches the {later_struck.name} without it"
    )
    return f"Happened: {'yes' if happened else 'no'}\nAnswer: {'no' if needed else 'yes'}, {reason}."


def _what_led_to(seen: Observation, hitter: Track, struck: Track) -> list[tuple[str, str]]:
    """The hits that led to one, and itself, the last first."""
    chain = [(hitter.name, struck.name)]
    while (cause := _set_off_by(seen, hitter)) is not None and len(chain) < len(seen.tracks):
        chain.append((cause.name, hitter.name))
        hitter = cause
    return chain


def _set_off_by(seen: Observation, track: Track) -> Track | None:
    """Return the object that hits an object at rest when it starts to move; None if it moves from the start or never
    does."""
    frame = first_move(track)
    if frame is None or frame <= _AT_ONCE:
        return None
    require(lies_still(track, range(_AT_ONCE)))
    gaps = {
        other.name: min(gap_at(other, track, at) for at in (frame - 1, frame))
        for other in seen.tracks.values()
        if other is not track
    }
    nearest = required(min(gaps, key=lambda name: gaps[name], default=None))
    require(gaps[nearest] < _TOUCHING)
    return seen.tracks[nearest]


RULES: Rules = {r"^Suppose that the .* had not hit the .*\. Would the .* still have hit the": _would_still}
