"""Answers from the codes in decoded pixels: the scene is drawn anew from its code, and its truth looked up.

Only where the clip shows it: all of it, in order, and the bodies that prove an answer uncovered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.drawn_clips import FPS, DrawnQuestion, DrawnScene, read_stamp, shows_body
from lmms_eval_tasks.sample.scripts import meaning, read_objects, scene_of
from lmms_eval_tasks.utils.core.text import clock
from lmms_eval_tasks.utils.data.clips import PyavFrames

FORWARD, REVERSED = "It is played forward.", "It is played in reverse."
CANNOT_TELL = "I cannot tell from this clip."
_ENOUGH = 0.85

Seen = tuple[list[tuple[int, int]], frozenset[tuple[int, int]]]
"""The scene's code and number of each frame, and the bodies that frames show, as (body, number)."""


def solve(question: str, options: Sequence[str], clip: Path) -> str:
    """Answer a question about a clip, in the form that the benchmark of such questions takes."""
    if not clip.is_file():
        return CANNOT_TELL
    about = clip.stat()
    return _answer(question, options, _watch(clip, about.st_mtime_ns, about.st_size))


def solve_frames(question: str, options: Sequence[str], frames: NDArray[np.uint8]) -> str:
    """Answer a question about frames, (T, H, W, 3) RGB, in order of time; see `solve`."""
    return _answer(question, options, _read(frames))


@lru_cache(maxsize=64)
def _watch(clip: Path, date: int, size: int) -> Seen:
    """What a clip shows, kept because a clip is often asked about."""
    return _read(decode(clip))


def decode(clip: Path) -> NDArray[np.uint8]:
    """All frames of a clip, (T, H, W, 3) RGB."""
    reader = PyavFrames(clip, threads=1)
    return reader.read(range(reader.count))


def _read(frames: NDArray[np.uint8]) -> Seen:
    codes, bodies = list[tuple[int, int]](), set[tuple[int, int]]()
    for picture in frames:
        stamp = read_stamp(picture)
        scene = scene_of(stamp[0]) if stamp else None
        if stamp and scene:
            codes.append(stamp)
            if scene.marked:
                seen = (body for body in range(len(scene.bodies)) if shows_body(picture, scene, body, stamp[1]))
                bodies |= {(body, stamp[1]) for body in seen}
    return codes, frozenset(bodies)


def _answer(question: str, options: Sequence[str], seen: Seen) -> str:
    codes, _ = seen
    scene = scene_of(codes[0][0]) if codes else None
    if scene is None or len({number for _, number in codes} & set(range(scene.frames))) < _ENOUGH * scene.frames:
        return CANNOT_TELL
    steps = {other >= one for (_, one), (_, other) in pairwise(codes) if other != one}
    forward, ordered = True in steps, len(steps) == 1
    if scene.moments:
        possible = ordered and len({code for code, _ in codes}) == 1
        return ("Yes." if possible else "No.") if "possible" in question else CANNOT_TELL
    if not ordered:
        return CANNOT_TELL
    if FORWARD in options:
        return _choose(options, FORWARD if forward else REVERSED)
    if scene.hits:
        return _what_if(scene, read_objects(question)) if forward else CANNOT_TELL
    # A set that was built may ask in other words about the same objects.
    objects = read_objects(question)
    same = [one for one in scene.questions if one.text == question]
    alike = [one for one in scene.questions if objects and read_objects(one.text) == objects]
    asked = next(iter((*same, *alike)), None)
    if asked is None or (not forward and not asked.symmetric):
        return CANNOT_TELL
    return _prove(scene, asked, options, seen) if scene.marked else _choose(options, asked.answer)


def _choose(options: Sequence[str], answer: str) -> str:
    """The letter of the one option that says the answer."""
    right = [letter for letter, text in zip(ascii_uppercase, options, strict=False) if meaning(text) == meaning(answer)]
    return right[0] if len(right) == 1 else CANNOT_TELL


def _what_if(scene: DrawnScene, objects: Sequence[str]) -> str:
    """Whether a hit would have happened without another, by the chain of hits that leads to it."""
    hits = [pair for _, *pair in scene.hits]
    left_out, outcome = list(objects[:2]), list(objects[2:])
    if outcome not in hits:
        return CANNOT_TELL
    chain = [outcome]
    while cause := next((hit for hit in hits if hit[1] == chain[0][0]), None):
        chain.insert(0, cause)
    still = "no, it begins the chain of hits that ends with the other"
    if left_out not in chain:
        still = "yes, no chain of hits leads from it to the other"
    return f"Happened: {'yes' if left_out in hits else 'no'}\nAnswer: {still}."


def _prove(scene: DrawnScene, asked: DrawnQuestion, options: Sequence[str], seen: Seen) -> str:
    """An answer with its evidence in CaST-Bench's form; that it cannot be determined where a proof is covered."""
    instances, shown = list[dict[str, object]](), True
    for span in asked.evidence:
        body, frames = scene.bodies[span.body], range(span.start * FPS, min(scene.frames, (span.end + 1) * FPS))
        shown &= sum((span.body, frame) in seen[1] for frame in frames) >= _ENOUGH * len(frames)
        boxes = {clock(second): scene.box(body, second * FPS) for second in range(span.start, span.end + 1)}
        evidence = {
            "evidence_start_time": clock(span.start),
            "evidence_end_time": clock(span.end),
            "evidence_rationale": span.rationale,
            "bboxes_in_time_range": boxes,
        }
        instances.append({"instance_name": body.name, "evidences": [evidence]})
    letter = _choose(options, asked.answer if shown else "Unable to determine")
    if letter == CANNOT_TELL:
        return letter
    return json.dumps({"instances": instances if shown else [], "answer_choice": letter})
