"""All questions of a set, balanced over the whole of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import get_args

import numpy as np

from lmms_eval_worlds.questions import two_clips
from lmms_eval_worlds.questions.askable import Askable
from lmms_eval_worlds.questions.balance import Deck, SketchChooser
from lmms_eval_worlds.questions.cause_and_effect import evidence_slot, paired_slots
from lmms_eval_worlds.questions.counterfactual import supposition_groups
from lmms_eval_worlds.questions.perception import control_slot, perception_slots
from lmms_eval_worlds.questions.question import Question, QuestionGroup, Sketch, TaskName, occlusion_of
from lmms_eval_worlds.scenes.scene import EventKey, Facts

CONTROLS = 4
"""Perception questions that a scene may have about what its questions of cause and effect are about."""
TASKS: tuple[TaskName, ...] = get_args(TaskName)


def questions_of_set(facts: Sequence[Facts], seed: int) -> list[Question]:
    """The questions of a set of scenes, task by task and scene by scene, the members of a group next to each other."""
    if len({one.scene.id for one in facts}) < len(facts):
        raise ValueError("Expected scenes whose ids differ.")
    scenes = [Askable(one) for one in facts]

    def draw(task: TaskName, groups_of: DrawGroups) -> list[QuestionGroup]:
        # A generator of a task's own, so that what one task draws changes no other.
        rng = np.random.default_rng([seed, TASKS.index(task)])
        return list(groups_of(scenes, rng, Deck(rng)))

    groups = [group for task, groups_of in CAUSAL.items() for group in draw(task, groups_of)]
    groups += draw("perception", partial(_perception, wanted=_asked_about(scenes, groups)))
    place = {one.scene.id: number for number, one in enumerate(facts)}
    groups.sort(key=lambda one: (TASKS.index(one.task), place[one.facts.scene.id]))
    return _numbered(groups)


DrawGroups = Callable[[Sequence[Askable], np.random.Generator, Deck], Iterable[QuestionGroup]]


def _chosen(slots_of: Callable[[Askable, np.random.Generator], Iterable[Sequence[Sketch]]]) -> DrawGroups:
    def groups_of(scenes: Sequence[Askable], rng: np.random.Generator, deck: Deck) -> list[QuestionGroup]:
        sketches = SketchChooser(rng).choose([slot for scene in scenes for slot in slots_of(scene, rng)])
        return [deck.group(sketch) for sketch in sketches]

    return groups_of


CAUSAL: Mapping[TaskName, DrawGroups] = {
    "paired": _chosen(paired_slots),
    "minimal": two_clips.minimal_pairs,
    "counterfactual": supposition_groups,
    "evidence": _chosen(lambda scene, rng: [evidence_slot(scene, rng)]),
    "possible": two_clips.broken_principles,
    "reversal": two_clips.reversals,
}


def _perception(
    scenes: Sequence[Askable], rng: np.random.Generator, deck: Deck, wanted: Mapping[str, set[EventKey]]
) -> list[QuestionGroup]:
    """Questions about what those of the other tasks are about, and then about anything."""
    chooser, sketches = SketchChooser(rng), list[Sketch]()
    for number in range(CONTROLS):
        controls = [control_slot(scene, about, rng) for scene in scenes if (about := wanted[scene.facts.scene.id])]
        # Every scene gets the first one, even if the set is out of balance for a time.
        sketches += chooser.choose(controls, force=number == 0)
        for sketch in sketches:
            wanted[sketch.facts.scene.id].difference_update(sketch.about)
    sketches += chooser.choose([slot for scene in scenes for slot in perception_slots(scene, rng)])
    return [deck.group(sketch) for sketch in sketches]


def _asked_about(scenes: Sequence[Askable], groups: Iterable[QuestionGroup]) -> Mapping[str, set[EventKey]]:
    """The events of each scene that questions are about and of which it is sure whether they happen."""
    about: defaultdict[str, set[EventKey]] = defaultdict(set)
    known = {one.facts.scene.id: one for one in scenes}
    for group in groups:
        name = group.facts.scene.id
        for member in group.members:
            keys = [EventKey(*key) for key in member.get("about", ())]
            about[name].update(key for key in keys if known[name].says(key) is not None)
    return about


def _numbered(groups: Iterable[QuestionGroup]) -> list[Question]:
    questions = []
    numbers: Counter[tuple[str, str]] = Counter()
    for facts, task, kind, members in groups:
        scene, occlusion = facts.scene, occlusion_of(facts)
        numbers[scene.id, task] += 1
        group_id = f"{scene.id}_{task}_{numbers[scene.id, task]}"
        for number, fields in enumerate(members):
            shared = {
                "item_id": f"{group_id}{'abc'[number]}" if len(members) > 1 else group_id,
                "group_id": group_id,
                "scene": scene.id,
                "family": scene.family,
                "task": task,
                "kind": kind,
                "clip": f"{scene.id}.mp4",
                "depth": scene.depth,
                "bodies": len(scene.actors),
                "distractors": scene.distractors,
                "occlusion": occlusion,
            }
            questions.append(Question(**{**shared, **fields}))
    return questions
