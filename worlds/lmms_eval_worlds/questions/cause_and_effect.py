"""Actual causes of events, as interventions show them, and questions about them, in pairs or with their evidence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.questions.askable import PHYSICAL, Askable
from lmms_eval_worlds.questions.balance import pick, sample, worded
from lmms_eval_worlds.questions.question import Sketch, TaskName, body_options, event_options
from lmms_eval_worlds.scenes.scene import EventKey, Facts, World, last_to_hit

TOGETHER = 0.1
"""Seconds between the first touches of two bodies that act together."""


class Causes(NamedTuple):
    """Bodies that an event needed, and those without a part in it: sorted names, never those of the event itself."""

    needed: tuple[str, ...]
    without_part: tuple[str, ...]


def causes_of(facts: Facts, key: EventKey) -> Causes:
    """The actual causes of an event among the bodies whose removal was run; where that is unsure, a body is neither."""
    if facts.says(key) is not True:
        raise ValueError(
            f"Expected something that surely happens in {facts.scene.id}, but got {' '.join(key).strip()}."
        )
    removed = [(world.intervention.bodies, world) for world in facts.worlds if world.intervention.kind == "remove"]
    worlds = {names[0]: world for names, world in removed if len(names) == 1 and names[0] not in (key.body, key.other)}
    says = {name: world.says(key) for name, world in worlds.items()}
    # Not needed, since another body would have done the same, or did.
    replaced = _replaced(facts, key, worlds)
    touches = _touches(facts, key)
    for names, world in removed:
        both = len(names) == 2 and all(says.get(name) and name in touches for name in names)
        if both and world.says(key) is False and abs(touches[names[0]] - touches[names[1]]) <= TOGETHER:
            replaced.update(names)
    return Causes(
        tuple(sorted(name for name, still in says.items() if still is False)),
        tuple(sorted(name for name, still in says.items() if still and name not in replaced)),
    )


def _replaced(facts: Facts, key: EventKey, worlds: dict[str, World]) -> set[str]:
    """The body that brings an event about where another one would have done so in its place."""
    doer = last_to_hit(facts.events, key)
    if doer is None or doer not in worlds or not worlds[doer].says(key):
        return set()
    return {doer} if last_to_hit(worlds[doer].events, key) not in (None, doer) else set()


def _touches(facts: Facts, key: EventKey) -> dict[str, float]:
    """Return the time at which each body first touches an event's body, up to the event."""
    return {
        event.other if event.body == key.body else event.body: event.time
        for event in facts.events
        if event.kind == "hits" and key.body in (event.body, event.other) and event.time <= first_time(facts, key)
    }


def first_time(facts: Facts, key: EventKey) -> float:
    return next(event.time for event in facts.events if event.key == key)


SLACK = 0.05
"""Seconds by which a body may seem to move before the hit that moves it: events are looked for only every few steps."""
_SET_OFF = ("starts", "falls")


def answer_of_seen_graph(facts: Facts, body: str | Iterable[str], key: EventKey) -> str:
    """Whether something would still happen had a body been changed, by the graph of what was seen."""
    happens = any(event.key == key for event in facts.events)
    return YES if happens and not reaches(facts, body, key) else NO


def reaches(facts: Facts, body: str | Iterable[str], key: EventKey) -> bool:
    """Whether a path of hits leads from a body, or one of several, to an event that happens, in the order of time: a
    body hits another that starts or falls then or later."""
    times = [event.time for event in facts.events if event.key == key]
    if not times:
        return False
    reached = {body} if isinstance(body, str) else set(body)
    hits = [event for event in facts.events if event.kind == "hits" and event.time <= min(times) + SLACK]
    for hit in sorted(hits, key=lambda one: (one.time, one.body, one.other)):
        if hit.body in reached and any(
            event.kind in _SET_OFF and event.body == hit.other and event.time >= hit.time - SLACK
            for event in facts.events
        ):
            reached.add(hit.other)
    return bool(reached & ({key.body, key.other} if key.kind == "hits" else {key.body}))


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
