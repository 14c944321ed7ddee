"""All questions of a set, balanced over the whole of it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from string import ascii_uppercase
from typing import Any

import numpy as np

from lmms_eval_tasks.worlds.questions import two_clips
from lmms_eval_tasks.worlds.questions.askable import Askable
from lmms_eval_tasks.worlds.questions.balance import Balance, Deck, FrequentAnswers, sample
from lmms_eval_tasks.worlds.questions.cause_and_effect import evidence_slot, paired_slots
from lmms_eval_tasks.worlds.questions.counterfactual import supposition_pairs
from lmms_eval_tasks.worlds.questions.perception import control_slot, perception_slots
from lmms_eval_tasks.worlds.questions.question import Question, Sketch, TaskName, occlusion_of
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Facts

ROUNDS = 3
"""How often a question that would take the set out of balance is tried again, after the others."""
CONTROLS = 4
"""Perception questions that a scene may have about what its questions of cause and effect are about."""
TASKS: tuple[TaskName, ...] = (
    "perception",
    "paired",
    "minimal",
    "counterfactual",
    "evidence",
    "possible",
    "reversal",
)


def questions_of_set(facts: Sequence[Facts], seed: int) -> list[Question]:
    """The questions of a set of scenes, task by task and scene by scene, the members of a group next to each other."""
    if len({one.scene.id for one in facts}) < len(facts):
        raise ValueError("Expected scenes whose ids differ.")
    drawing = _Drawing(facts, seed)
    for draw in (
        drawing.paired,
        drawing.minimal,
        drawing.counterfactual,
        drawing.evidence,
        drawing.possible,
        drawing.reversal,
        drawing.perception,  # last, for it asks about what the others ask about
    ):
        draw()
    place = {one.scene.id: number for number, one in enumerate(facts)}
    return sorted(drawing.questions, key=lambda one: (TASKS.index(one.task), place[one.scene]))


class _Drawing:
    """Questions that have been drawn so far."""

    def __init__(self, facts: Sequence[Facts], seed: int) -> None:
        self.facts = facts
        self.scenes = [Askable(one) for one in facts]
        self.questions: list[Question] = []
        self._seed = seed
        self._numbers: Counter[tuple[str, str]] = Counter()
        self._hidden = {one.scene.id: occlusion_of(one) for one in facts}

    def paired(self) -> None:
        rng, deck = self._start("paired")
        for sketch in self._balanced(lambda one: paired_slots(one, rng), rng):
            places = deck.deal("paired", len(sketch.options), len(sketch.texts))
            self._add_sketch(sketch, deck, places)

    def evidence(self) -> None:
        rng, deck = self._start("evidence")
        for sketch in self._balanced(lambda one: [evidence_slot(one, rng)], rng):
            self._add_sketch(sketch, deck, deck.deal("evidence", len(sketch.options)))

    def perception(self) -> None:
        rng, deck = self._start("perception")
        wanted = self._asked_about()

        def controls(scene: Askable) -> list[list[Sketch]]:
            about = wanted[scene.facts.scene.id]
            return [control_slot(scene, about, rng)] if about else []

        balance, frequent, sketches = Balance(), FrequentAnswers(), list[Sketch]()
        for number in range(CONTROLS):
            # Every scene gets the first one, even if the set is out of balance for a time.
            sketches += self._balanced(controls, rng, balance, frequent, force=number == 0, taken=sketches)
            for sketch in sketches:
                wanted[sketch.facts.scene.id] -= set(sketch.about)
        sketches += self._balanced(lambda one: perception_slots(one, rng), rng, balance, frequent, taken=sketches)
        for sketch in sketches:
            self._add_sketch(sketch, deck, deck.deal("perception", len(sketch.options)))

    def minimal(self) -> None:
        rng, deck = self._start("minimal")
        for scene in self.scenes:
            facts = scene.facts
            for pair in two_clips.clip_pairs(scene, rng):
                (place,) = deck.deal("minimal", 2)
                options = deck.order(pair.here, [pair.there], place)
                clips = (facts.scene.id, pair.twin.scene.id)
                fields = {"same_start": pair.twin.same_start, "about": [list(key) for key in pair.about]}
                if len(pair.about) == 1:
                    fields["outcome"] = list(pair.about[0])
                members = [
                    {
                        "question": pair.text[0],
                        "wording": pair.text[1],
                        "options": options,
                        "answer": ascii_uppercase[options.index(right)],
                        "clip": f"{clip}.mp4",
                        **fields,
                    }
                    for clip, right in zip(clips, (pair.here, pair.there), strict=True)
                ]
                self._add(facts, "minimal", pair.kind, sample(rng, members, 2))

    def counterfactual(self) -> None:
        rng, _ = self._start("counterfactual")
        for pair, number in supposition_pairs(self.scenes, rng):
            members = [
                {
                    "level": one.level,
                    "question": one.text(number),
                    "wording": number,
                    "answer": one.verdict,
                    "intervention": one.kind,
                    "changed": one.changed,
                    "outcome": list(one.key),
                    "about": [list(one.key)],
                    "seen": one.seen,
                    "marked": one.marked,
                }
                for one in pair
            ]
            order = (0, 1) if rng.random() < 0.5 else (1, 0)
            kind = pair[0].key.kind
            if pair[0].facts is pair[1].facts:
                self._add(pair[0].facts, "counterfactual", kind, [members[place] for place in order])
                continue
            for place in order:
                self._add(pair[place].facts, "counterfactual", kind, [members[place]])

    def possible(self) -> None:
        rng, _ = self._start("possible")
        times: Counter[str] = Counter()
        for facts in self.facts:
            seldom = sorted({one.principle for one in facts.violations}, key=lambda one: (times[one], one))
            for violation, (text, number) in two_clips.broken_principles(facts, rng, seldom):
                times[violation.principle] += 1
                both = {
                    "question": text,
                    "wording": number,
                    "options": list(two_clips.POSSIBLE),
                    "principle": violation.principle,
                }
                clips = (facts.scene.id, f"{facts.scene.id}_breaks_{violation.principle}")
                members = [
                    {**both, "answer": ascii_uppercase[place], "clip": f"{clip}.mp4"}
                    for place, clip in enumerate(clips)
                ]
                self._add(facts, "possible", violation.principle, sample(rng, members, 2))

    def reversal(self) -> None:
        rng, deck = self._start("reversal")
        for facts in self.facts:
            arrow = two_clips.arrow_of(facts)
            if not arrow:
                continue
            number = int(rng.integers(len(two_clips.DIRECTION_WORDINGS)))
            (place,) = deck.deal("reversal", 2)
            options = deck.order(two_clips.DIRECTIONS[0], [two_clips.DIRECTIONS[1]], place)
            members = [
                {
                    "question": two_clips.DIRECTION_WORDINGS[number],
                    "wording": number,
                    "options": options,
                    "answer": ascii_uppercase[options.index(right)],
                    "clip": f"{facts.scene.id}{ending}.mp4",
                    "arrow": arrow,
                }
                for right, ending in zip(two_clips.DIRECTIONS, ("", "_backwards"), strict=True)
            ]
            self._add(facts, "reversal", "direction", sample(rng, members, 2))

    def _start(self, task: TaskName) -> tuple[np.random.Generator, Deck]:
        """A generator of a task's own, so that what one task draws changes no other."""
        rng = np.random.default_rng([self._seed, TASKS.index(task)])
        return rng, Deck(rng)

    def _balanced(
        self,
        slots_of: Callable[[Askable], list[list[Sketch]]],
        rng: np.random.Generator,
        balance: Balance | None = None,
        frequent: FrequentAnswers | None = None,
        force: bool = False,
        taken: Iterable[Sketch] = (),
    ) -> list[Sketch]:
        """Of each slot the sketch that keeps the set balanced best; none where all take it out of balance."""
        balance, frequent = balance or Balance(), frequent or FrequentAnswers()
        asked = {_content(sketch) for sketch in taken}
        left = [slot for scene in self.scenes for slot in slots_of(scene) if slot]
        left = [left[int(place)] for place in rng.permutation(len(left))]
        chosen: list[Sketch] = []
        for _ in range(ROUNDS):
            again = []
            for slot in left:
                new = [sketch for sketch in slot if _content(sketch) not in asked]
                place = balance.choose([{**sketch.lean, **frequent.lean(sketch)} for sketch in new], force)
                if place is None:
                    again.append(slot)
                else:
                    chosen.append(new[place])
                    frequent.add(new[place])
                    asked.add(_content(new[place]))
            left = again
        return chosen

    def _asked_about(self) -> dict[str, set[EventKey]]:
        """The events of each scene that questions of cause and effect are about."""
        about: defaultdict[str, set[EventKey]] = defaultdict(set)
        known = {one.facts.scene.id: one for one in self.scenes}
        for question in self.questions:
            for kind, body, other in question.about:
                key = EventKey(kind, body, other)  # type: ignore[arg-type]
                if known[question.scene].says(key) is not None:
                    about[question.scene].add(key)
        return about

    def _add_sketch(self, sketch: Sketch, deck: Deck, places: Sequence[int]) -> None:
        members = []
        for (text, number), place in zip(sketch.texts, places, strict=True):
            members.append(
                {
                    "question": text,
                    "wording": number,
                    "options": deck.order(sketch.right, sketch.wrong, place),
                    "answer": ascii_uppercase[place],
                    "about": [list(key) for key in sketch.about],
                    **sketch.fields,
                }
            )
        self._add(sketch.facts, sketch.task, sketch.kind, members)

    def _add(self, facts: Facts, task: TaskName, kind: str, members: Sequence[Mapping[str, Any]]) -> None:
        scene = facts.scene
        self._numbers[scene.id, task] += 1
        group = f"{scene.id}_{task}_{self._numbers[scene.id, task]}"
        for number, fields in enumerate(members):
            self.questions.append(
                Question(
                    **{
                        "item_id": f"{group}{'abc'[number]}" if len(members) > 1 else group,
                        "group_id": group,
                        "scene": scene.id,
                        "family": scene.family,
                        "task": task,
                        "kind": kind,
                        "clip": f"{scene.id}.mp4",
                        "depth": scene.depth,
                        "bodies": len(scene.actors),
                        "distractors": scene.distractors,
                        "occlusion": self._hidden[scene.id],
                        **fields,
                    }
                )
            )


def _content(sketch: Sketch) -> tuple[str, str, str, frozenset[str]]:
    """Return the content that distinguishes two questions, whatever their wording."""
    return (sketch.facts.scene.id, sketch.kind, sketch.right, frozenset(sketch.wrong))
