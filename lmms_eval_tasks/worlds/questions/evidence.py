"""Causes with their evidence: where and when cause and effect are seen, as CaST-Bench releases it."""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np

from lmms_eval_tasks.worlds.engine.facts import EventKey, Facts
from lmms_eval_tasks.worlds.questions.askable import Askable
from lmms_eval_tasks.worlds.questions.paired import TRIES, cause_sketch
from lmms_eval_tasks.worlds.questions.sketch import Sketch

AROUND = 0.5
"""Seconds before and after an event that are its evidence."""
VISIBLE = 0.1
"""Share of a body that must be seen for its box to count: less is a matter of what renders."""
FEWEST_SECONDS = 2
"""Whole seconds that an instance must be seen in: the evaluator matches none that shares fewer."""


class Instance(NamedTuple):
    """A body with its evidence."""

    body: str
    role: str
    start: int
    end: int
    boxes: dict[int, list[float]]


def evidence_slot(scene: Askable, rng: np.random.Generator) -> list[Sketch]:
    """Sketches of a scene's question, each with its evidence; none where the bodies are not seen long enough."""
    drawn = []
    for _ in range(2 * TRIES):
        sketch = cause_sketch(scene, rng, "evidence", 1)
        if sketch is None:
            continue
        instances = instances_of(scene.facts, sketch.fields["changed"], sketch.about[0])
        if instances:
            fields = {**sketch.fields, "evidence": as_released(instances)}
            drawn.append(Sketch(**{**vars(sketch), "fields": fields}))
    return drawn


def instances_of(facts: Facts, cause: str, effect: EventKey) -> list[Instance]:
    """The cause around the time when it last acts, and the bodies of the effect around the time of the effect."""
    time = next(event.time for event in facts.events if event.key == effect)
    acts = [
        event.time
        for event in facts.events
        if event.kind == "hits" and cause in (event.body, event.other) and event.time <= time
    ]
    bodies = [effect.body, *([effect.other] if effect.kind == "hits" else [])]
    wanted = [(cause, "cause", max(acts, default=time)), *((body, "effect", time) for body in bodies)]
    found = [_instance(facts, *one) for one in wanted]
    return [one for one in found if one] if all(found) else []


def as_released(instances: list[Instance]) -> str:
    """JSON of instances in the form of CaST-Bench's release, which `api.evidence.read_truth` reads."""
    entries: list[dict[str, Any]] = [
        {
            "evidence_start_time": _clock(one.start),
            "evidence_end_time": _clock(one.end),
            "evidence_instance_id": one.body,
            "evidence_rationale": f"The {one.body} is the {one.role}.",
            "bboxes_in_range": {str(second): box for second, box in one.boxes.items()},
        }
        for one in instances
    ]
    return json.dumps(entries)


def _instance(facts: Facts, body: str, role: str, time: float) -> Instance | None:
    last = math.ceil(facts.scene.seconds) - 1
    start, end = max(0, math.floor(time - AROUND)), min(last, math.floor(time + AROUND))
    while end - start + 1 < FEWEST_SECONDS:
        start, end = (start, end + 1) if end < last else (start - 1, end)
    boxes = {second: box for second in range(start, end + 1) if (box := _box(facts, body, second))}
    return Instance(body, role, start, end, boxes) if start >= 0 and len(boxes) >= FEWEST_SECONDS else None


def _box(facts: Facts, body: str, second: int) -> list[float] | None:
    """Return the box of a body where it is first seen in a second."""
    seen = [
        one for one in facts.sights if one.body == body and one.visible >= VISIBLE and second <= one.time < second + 1
    ]
    return min(seen, key=lambda one: one.time).box if seen else None


def _clock(second: int) -> str:
    return f"{second // 60:02d}:{second % 60:02d}"
