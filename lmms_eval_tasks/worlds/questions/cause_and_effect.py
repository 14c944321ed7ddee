"""Questions on cause and effect: pairs in two wordings and orders of options, and causes with their evidence in the
form of CaST-Bench's release.
"""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np

from lmms_eval_tasks.worlds.questions import wording
from lmms_eval_tasks.worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_tasks.worlds.questions.balance import pick, sample, worded
from lmms_eval_tasks.worlds.questions.causes import causes_of, first_time, reaches
from lmms_eval_tasks.worlds.questions.question import Sketch, TaskName, body_options, event_options
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts

TRIES = 12
FEWEST_WRONG, MOST_WRONG = 2, 3
CHANGED: tuple[str, ...] = ("remove", "freeze")
"""Changes after which one can ask what would have happened."""

CAUSE = (
    "Why {why}? Without one of these, that would not have happened. Which one?",
    "Which of these was needed for {to_do}?",
    "Only one of these was necessary for {to_do}. Which one?",
    "Without one of these, {would_not_have}. Which one?",
)
NO_CAUSE = (
    "Which of these was not needed for {to_do}?",
    "All but one of these were necessary for {to_do}. Which one was not?",
    "Without one of these, {would_still_have}. Which one?",
    "Without which of these {would_it_still_have}?",
)
WOULD = (
    "{Change}, which of these would have happened?",
    "What would have taken place {change}?",
    "Think of how things would have gone {change}. Which of these would have happened?",
)
WOULD_NOT = (
    "{Change}, which of these would not have happened?",
    "What would not have taken place {change}?",
    "Think of how things would have gone {change}. Which of these would not have happened?",
)


def paired_slots(scene: Askable, rng: np.random.Generator) -> list[list[Sketch]]:
    """Sketches of a scene's pairs: of each list, one is to be asked, in two wordings."""
    causes = [cause_sketch(scene, rng, "paired", 2, needed=bool(number % 2)) for number in range(3 * TRIES)]
    changes = [_change(scene, rng) for _ in range(3 * TRIES)]
    return [[one for one in slot if one is not None] for slot in (causes, changes, changes)]


def cause_sketch(
    scene: Askable, rng: np.random.Generator, task: TaskName, wordings: int, needed: bool = True
) -> Sketch | None:
    """The one body of several without which an event would not have happened; None where a draw gives none."""
    events = [event.key for event in scene.happened(PHYSICAL)]
    if not events:
        return None
    key = pick(rng, events)
    causes = causes_of(scene.facts, key)
    needed_ones = [body for body in causes.needed if body in scene.actors]
    without_part = [
        body for body in causes.without_part if body in scene.actors and not reaches(scene.facts, body, key)
    ]
    rights, wrongs = (needed_ones, without_part) if needed else (without_part, needed_ones)
    if not rights or len(wrongs) < FEWEST_WRONG:
        return None
    right = pick(rng, rights)
    shape = scene.facts.scene.body(right).shape
    alike = [body for body in wrongs if scene.facts.scene.body(body).shape == shape]
    # Where balls are the causes, the shape would say which option is right; so often all have the same one.
    wrong = sample(rng, alike if len(alike) >= FEWEST_WRONG and rng.random() < 0.5 else wrongs, MOST_WRONG)
    phrases = {
        "why": wording.did(key),
        "to_do": wording.to_do(key),
        "would_not_have": wording.it_would_not_have(key),
        "would_still_have": wording.it_would_still_have(key),
        "would_it_still_have": wording.would_still_have(key),
    }
    return Sketch(
        scene.facts,
        task,
        f"cause of {key.kind}" if needed else f"cause not of {key.kind}",
        worded(rng, CAUSE if needed else NO_CAUSE, wordings, **phrases),
        body_options(scene.facts, (right, *wrong)),
        (key,),
        {"intervention": "remove", "changed": right, "outcome": list(key)},
    )


def _change(scene: Askable, rng: np.random.Generator) -> Sketch | None:
    """Draw a question on an event that would, or would not, have happened with one body changed; never one the clip
    alone shows."""
    worlds = [
        (world, says)
        for world, says in scene.worlds
        if world.intervention.kind in CHANGED and len(world.intervention.bodies) == 1
    ]
    if not worlds:
        return None
    world, says = pick(rng, worlds)
    (body,) = world.intervention.bodies
    yes, no = scene.outcomes(world, says)
    positive = bool(rng.random() < 0.5)
    rights, wrongs = (yes, no) if positive else (no, yes)
    if not rights or len(wrongs) < FEWEST_WRONG:
        return None
    seen = {event.key for event in scene.happened(PHYSICAL)}
    # What the change does not touch is most of what there is; ask of what it touches as often.
    touched = [key for key in rights if (key in seen) != positive]
    right = pick(rng, touched if touched and rng.random() < 0.6 else rights)
    drawn = sample(rng, wrongs, len(wrongs))
    if rng.random() < 0.6:
        drawn = tuple(sorted(drawn, key=lambda key: (key in seen) != positive))
    wrong = drawn[:MOST_WRONG]
    if (right in seen) == positive and all((key in seen) != positive for key in wrong):
        return None  # who knows what the clip shows would answer it, whatever is changed
    about, kind = (right, *wrong), world.intervention.kind
    options = event_options(scene.facts, about)
    for key, option in zip(about, options, strict=True):
        options[option] += ("~seen",) if key in seen else ()
    changed = wording.change(kind, body, int(rng.integers(len(wording.CHANGES[kind]))))
    named = {"change": changed, "Change": wording.sentence(changed, "")}
    return Sketch(
        scene.facts,
        "paired",
        f"would after {kind}" if positive else f"would not after {kind}",
        worded(rng, WOULD if positive else WOULD_NOT, 2, **named),
        options,
        about,
        {"intervention": kind, "changed": body, "outcome": list(right)},
    )


AROUND = 0.5
"""Seconds before and after an event that are its evidence."""
VISIBLE = 0.1
"""Share of a body that must be seen for its box to count: less is a matter of what renders."""
FEWEST_SECONDS = 2
"""Whole seconds that an instance must be seen in: the evaluator matches none that shares fewer."""


def evidence_slot(scene: Askable, rng: np.random.Generator) -> list[Sketch]:
    """Sketches of a scene's question, each with its evidence; none where the bodies are not seen long enough."""
    drawn = [cause_sketch(scene, rng, "evidence", 1) for _ in range(2 * TRIES)]
    return [
        replace(sketch, fields={**sketch.fields, "evidence": json.dumps(entries)})
        for sketch in drawn
        if sketch is not None and (entries := evidence_of(scene.facts, sketch.fields["changed"], sketch.about[0]))
    ]


def evidence_of(facts: Facts, cause: str, effect: EventKey) -> list[dict[str, Any]]:
    """The cause around the time when it last acts, and the bodies of the effect around the time of the effect, in the
    form of CaST-Bench's release, which `api.evidence.read_truth` reads; nothing where one is not seen long enough."""
    time = first_time(facts, effect)
    acts = [
        event.time
        for event in facts.events
        if event.kind == "hits" and cause in (event.body, event.other) and event.time <= time
    ]
    bodies = [effect.body, *([effect.other] if effect.kind == "hits" else [])]
    wanted = [(cause, "cause", max(acts, default=time)), *((body, "effect", time) for body in bodies)]
    found = [_entry(facts, *one) for one in wanted]
    return [one for one in found if one] if all(found) else []


def _entry(facts: Facts, body: str, role: str, time: float) -> dict[str, Any] | None:
    last = math.ceil(facts.scene.seconds) - 1
    start, end = max(0, math.floor(time - AROUND)), min(last, math.floor(time + AROUND))
    while end - start + 1 < FEWEST_SECONDS:
        start, end = (start, end + 1) if end < last else (start - 1, end)
    # Of each second the box where the body is first seen.
    boxes: dict[int, list[float]] = {}
    for sight in sorted(facts.sights, key=lambda one: one.time):
        if sight.body == body and sight.visible >= VISIBLE and start <= sight.time < end + 1:
            boxes.setdefault(math.floor(sight.time), sight.box)
    if start < 0 or len(boxes) < FEWEST_SECONDS:
        return None
    return {
        "evidence_start_time": f"{start // 60:02d}:{start % 60:02d}",
        "evidence_end_time": f"{end // 60:02d}:{end % 60:02d}",
        "evidence_instance_id": body,
        "evidence_rationale": f"The {body} is the {role}.",
        "bboxes_in_range": {str(second): box for second, box in boxes.items()},
    }
