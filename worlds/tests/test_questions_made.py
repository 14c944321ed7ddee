"""All questions of a small set of scenes: answered again from what is known of the scenes, and balanced."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, permutations
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from commands import called
from expected import Expected
from invented_facts import exported, made_sights

from lmms_eval_tasks.api import Preparation
from lmms_eval_tasks.api.answers import NO, YES
from lmms_eval_tasks.api.release import as_lines, write_file
from lmms_eval_worlds.benchmark import make_rows, prepare
from lmms_eval_worlds.physics.pictures import events_of_view
from lmms_eval_worlds.questions import wording
from lmms_eval_worlds.questions.askable import Askable
from lmms_eval_worlds.questions.balance import Balance, Deck, SketchChooser
from lmms_eval_worlds.questions.cause_and_effect import answer_of_seen_graph
from lmms_eval_worlds.questions.question import Question, Sketch
from lmms_eval_worlds.questions.question_set import CONTROLS, TASKS, _perception, questions_of_set
from lmms_eval_worlds.questions.two_clips import arrow_of
from lmms_eval_worlds.release import CLIPS, QUESTIONS, question_lines
from lmms_eval_worlds.scenes.scene import EventKey, Facts, World

pytestmark = pytest.mark.slow
CAUSAL = ("paired", "minimal", "counterfactual", "evidence")


class MadeSet(NamedTuple):
    known: dict[str, Facts]
    questions: list[Question]

    def asked(self, task: str, *kinds: str) -> list[tuple[Facts, Question]]:
        """The questions of a task, or of some kinds of it, with what is known of their scenes."""
        of_task = [one for one in self.questions if one.task == task and (not kinds or one.kind.split()[0] in kinds)]
        assert of_task
        return [(self.known[one.scene], one) for one in of_task]

    def grouped(self, task: str) -> list[list[Question]]:
        return [list(members) for _, members in groupby((q for _, q in self.asked(task)), lambda q: q.group_id)]


@pytest.fixture(scope="module")
def made(standard_facts: list[Facts]) -> MadeSet:
    facts = []
    for one in standard_facts:
        sights = made_sights(one.scene)
        events = sorted([*one.events, *events_of_view(sights)], key=lambda event: event.time)
        facts.append(one.model_copy(update={"sights": sights, "events": events}))
    return MadeSet({one.scene.id: one for one in facts}, questions_of_set(facts, seed=3))


def is_right(question: Question) -> list[bool]:
    """Whether each option is the right one."""
    return [letter == question.answer for letter, _ in zip("ABCD", question.options, strict=False)]


def right_option(question: Question) -> str:
    return question.options["ABCD".index(question.answer)]


def world_of(facts: Facts, kind: str, *bodies: str) -> World:
    wanted = (kind, sorted(bodies))
    (found,) = (one for one in facts.worlds if (one.intervention.kind, one.intervention.bodies) == wanted)
    return found


def events_said(facts: Facts, options: Sequence[str]) -> list[tuple[EventKey, bool]]:
    """The event of each option, and whether the option says that it happens."""
    names = [body.name for body in facts.scene.bodies]
    keys = [EventKey(kind, name) for kind in wording.VERBS for name in names if kind not in ("hits", "enters")]
    keys += [EventKey(kind, *pair) for kind in ("hits", "enters") for pair in permutations(names, 2)]
    said = {wording.sentence(wording.happens_not(key)): (key, False) for key in keys}
    said |= {wording.sentence(wording.happens(key)): (key, True) for key in keys}
    return [said[option] for option in options]


def keys_of(facts: Facts, question: Question) -> list[EventKey]:
    return [key for key, _ in events_said(facts, question.options)]


def event_key(parts: Any) -> EventKey:
    """The event that a question is about, as its line has it."""
    return EventKey(*parts)


def bodies_of(question: Question) -> list[str]:
    return [option.removeprefix("The ").removesuffix(".") for option in question.options]


def test_the_same_seed_gives_the_same_questions_to_the_letter(made: MadeSet, expected: Expected) -> None:
    """Of each scene and task there are digests of questions and rows, and one of each kind of question to be read."""
    facts = list(made.known.values())
    assert questions_of_set(facts, 3) == made.questions != questions_of_set(facts, 4)
    asked = {task: [one for one in made.questions if one.task == task] for task in TASKS}
    parts = {f"rows of {task}": as_lines(make_rows(questions)) for task, questions in asked.items()}
    for task, questions in asked.items():
        parts |= {f"{name} {task}": question_lines(found) for name, found in groupby(questions, attrgetter("scene"))}
    expected.digests(parts)
    kinds = {(one.task, one.kind): one for one in reversed(made.questions)}
    lines = [f"{one.task}: {one.question} {' / '.join(one.options)} = {one.answer}" for one in kinds.values()]
    expected("\n".join([*sorted(lines), f"{len(made.questions)} questions"]))
    with pytest.raises(ValueError, match="Expected scenes whose ids differ"):
        questions_of_set([facts[0], facts[0]], 0)


def test_the_same_scenes_have_the_same_facts_and_are_exported_as_the_same_graphs_and_questions(
    made: MadeSet, expected: Expected
) -> None:
    parts: dict[str, str] = {}
    for name, facts in made.known.items():
        rounded = {"lost_energy": round(facts.lost_energy, 6)}
        parts[f"{name} facts"] = facts.model_copy(update=rounded).model_dump_json()
        parts[f"{name} exported"] = exported(facts)
    expected.digests(parts)


def test_of_what_is_seen_one_option_alone_is_right(made: MadeSet) -> None:
    for facts, question in made.asked("perception", "what"):
        says = list(map(facts.says, keys_of(facts, question)))
        assert None not in says and [one is (question.kind == "what") for one in says] == is_right(question)
    for facts, question in made.asked("perception", "first", "last"):
        times = [next(event.time for event in facts.events if event.key == key) for key in keys_of(facts, question)]
        right = times.pop("ABCD".index(question.answer))
        ahead = min(times) - right if question.kind == "first" else right - max(times)
        assert ahead >= 0.4 - 1e-9
    for facts, question in made.asked("perception", "who"):
        ((kind, one, other),), bodies = question.about, bodies_of(question)
        if kind == "hits":
            rest = next(part for part in (one, other) if part not in bodies)
            assert rest in question.question.lower()
            keys = [EventKey("hits", *sorted((name, rest))) for name in bodies]
        else:
            keys = [event_key((kind, name, other)) for name in bodies]
        assert list(map(facts.says, keys)) == is_right(question)


def test_the_right_cause_alone_is_needed_and_the_right_event_alone_would_have_happened_or_not(made: MadeSet) -> None:
    for facts, question in [*made.asked("paired", "cause"), *made.asked("evidence", "cause")]:
        (key,), bodies = map(event_key, question.about), bodies_of(question)
        still = [world_of(facts, "remove", name).says(key) for name in bodies]
        assert facts.says(key) and not {key.body, key.other} & set(bodies)
        assert still == [right is question.kind.startswith("cause not") for right in is_right(question)]
    for facts, question in made.asked("paired", "would"):
        world, keys = world_of(facts, question.intervention, question.changed), keys_of(facts, question)
        wanted = "not" not in question.kind.split()
        assert None not in map(world.says, keys)
        assert all(question.changed not in (key.body, key.other) for key in keys)
        there = [world.says(key) is wanted for key in keys]
        # What happens in the clip itself is another answer, or leaves several.
        assert there == is_right(question) and [facts.says(key) is wanted for key in keys] != there
    # Pairs ask the same in other words and another order.
    for one, other in made.grouped("paired"):
        assert one.question != other.question and one.answer != other.answer
        assert sorted(one.options) == sorted(other.options) and right_option(one) == right_option(other)


def test_a_counterfactual_answer_is_what_the_other_world_says_and_yes_is_as_frequent_as_no(made: MadeSet) -> None:
    questions, sums = made.asked("counterfactual"), Counter[tuple[object, ...]]()
    assert {one.intervention for _, one in questions} >= {"remove", "freeze"}
    for facts, question in questions:
        key, changed = event_key(question.outcome), question.changed.split(" and ")
        says = world_of(facts, question.intervention, *changed).says(key)
        assert says is not None and question.answer == (YES if says else NO) and question.options == []
        assert not {key.body, key.other} & set(changed) and facts.says(key) is not None
        for name in filter(None, (*changed, key.body, key.other)):
            assert f"the {name}" in question.question.replace("The ", "the ")
        assert (question.level == "absent") == (not facts.says(key))
        assert ("still" in question.question.split()) >= (question.level != "absent")
        assert question.seen == answer_of_seen_graph(facts, changed, key)
        assert question.marked == (question.seen != question.answer)
        cell = (question.level, question.intervention, len(changed), question.kind, question.wording)
        sums[cell] += 1 if question.answer == YES else -1
    assert set(sums.values()) == {0} and {key[0] for key in sums} >= {"direct", "chain", "absent"}
    groups = made.grouped("counterfactual")
    pairs = [members for members in groups if len(members) > 1]
    assert len(pairs) > len(groups) / 2
    for members in pairs:
        assert sorted(one.answer for one in members) == [NO, YES]
        assert len({(one.scene, one.level, one.wording) for one in members}) == 1


def test_each_clip_of_a_pair_is_asked_about_by_what_it_shows(made: MadeSet) -> None:
    def clip_pairs(task: str) -> list[tuple[Facts, Question, Question]]:
        """Pairs with the scene's own clip first, though it stands first in about half of them."""
        pairs = made.grouped(task)
        firsts = [one.clip == f"{one.scene}.mp4" for one, _ in pairs]
        assert 0.2 < sum(firsts) / len(firsts) < 0.8
        found = []
        for pair in pairs:
            own, other = sorted(pair, key=lambda one: one.clip != f"{one.scene}.mp4")
            found.append((made.known[own.scene], own, other))
        return found

    for facts, *pair in clip_pairs("minimal"):
        name = facts.scene.id
        assert facts.twin is not None
        clips = {f"{name}.mp4": facts.events, f"{name}_twin.mp4": facts.twin.events}
        assert {one.clip for one in pair} == set(clips)
        assert len({(one.question, tuple(one.options), one.same_start) for one in pair}) == 1
        for one in pair:
            keys = {event.key for event in clips[one.clip]}
            said = events_said(facts, one.options)
            assert [(key in keys) == affirmed for key, affirmed in said] == is_right(one)
    for facts, possible, broken in clip_pairs("possible"):
        assert (possible.answer, broken.answer) == ("A", "B") and possible.options == broken.options == ["Yes.", "No."]
        assert broken.clip == f"{broken.scene}_breaks_{broken.principle}.mp4"
        assert broken.principle in {one.principle for one in facts.violations}
    arrows = {}
    for _, forward, backward in clip_pairs("reversal"):
        assert backward.clip == f"{backward.scene}_backwards.mp4" and forward.options == backward.options
        assert (right_option(forward), right_option(backward)) == ("It runs forward.", "It runs backward.")
        arrows[forward.scene] = forward.arrow
    assert arrows == {name: arrow_of(one) for name, one in made.known.items() if arrow_of(one)}


def test_every_scene_has_questions_once_in_the_order_of_tasks_and_groups(made: MadeSet) -> None:
    known, questions = made
    assert len(questions) >= 12 * len(known) and {one.scene for one in questions} == set(known)
    assert len({one.item_id for one in questions}) == len(questions)
    assert [name for name, _ in groupby(one.task for one in questions)] == list(TASKS)
    groups = [name for name, _ in groupby(one.group_id for one in questions)]
    assert len(set(groups)) == len(groups)
    asked_once = Counter(
        (one.task, one.clip, one.question, tuple(sorted(one.options)), one.principle, one.level) for one in questions
    )
    assert max(asked_once.values()) == 1
    unsure = {(name, *key) for name, one in known.items() for key in one.unsure}
    assert unsure and not unsure & {(one.scene, *key) for one in questions for key in one.about}
    # Causal questions have a control about the same events.
    seen = {(one.scene, tuple(key)) for one in questions if one.task == "perception" for key in one.about}
    causal = [one for one in questions if one.task in CAUSAL]
    controlled = [one for one in causal if any((one.scene, tuple(key)) in seen for key in one.about)]
    assert {one.scene for one in controlled} == {one.scene for one in causal}
    assert len(controlled) > 0.5 * len(causal)
    # Strata are of the scene.
    for one in questions:
        facts = known[one.scene]
        scene, kinds = facts.scene, {event.kind for event in facts.events}
        assert (one.depth, one.distractors, one.bodies) == (scene.depth, scene.distractors, len(scene.actors))
        hidden = "leaves view" in kinds or any(sight.visible < 0.5 for sight in facts.sights)
        assert one.occlusion == ("some" if hidden else "none")


def rules_above_chance(questions: Sequence[Question], folder: Path) -> list[str]:
    """The rules of `lmms-eval-tasks bias` that choose right options more often than guessing."""
    (folder / CLIPS).mkdir(parents=True)
    write_file(folder / QUESTIONS, question_lines(questions))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LMMS_EVAL_TASKS_HOME", str(folder / "home"))
        prepare(Preparation(), source=folder)
        (table,) = json.loads(called("bias", "worlds", "--format", "json"))["tables"]
    single = table["columns"].index("single accuracy")
    assert len(table["rows"]) >= 8
    return [row[0] for row in table["rows"] if row[single].get("mark") == "above"]


def test_letters_are_balanced_and_no_rule_of_bias_is_above_chance(made: MadeSet, tmp_path: Path) -> None:
    letters: defaultdict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    asked: defaultdict[str, list[Question]] = defaultdict(list)
    for one in made.questions:
        letters[one.task, len(one.options)][one.answer] += 1
        if one.options:
            asked[one.task].append(one)
    for (_, options), counts in letters.items():
        times = [counts[letter] for letter in ("ABCD"[:options] or (YES, NO))]
        assert max(times) - min(times) <= 4 and sum(times) == counts.total()
    for task, questions in asked.items():
        assert rules_above_chance(questions, tmp_path / task) == [], task
    # A set in which the longest option is right is noticed.
    longest = [
        one.model_copy(update={"options": sorted(one.options, key=len), "answer": "ABCD"[len(one.options) - 1]})
        for one in asked["perception"]
    ]
    assert "longest option" in rules_above_chance(longest, tmp_path / "longest")


def test_where_nothing_keeps_the_balance_every_scene_has_one_control_and_no_more(
    made: MadeSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted: dict[str, set[EventKey]] = {name: set() for name in made.known}
    for question in made.questions:
        if question.task in CAUSAL:
            known = {EventKey(*key) for key in question.about}  # type: ignore[arg-type]
            wanted[question.scene] |= {key for key in known if made.known[question.scene].says(key) is not None}
    choose, rounds = SketchChooser.choose, list[int]()

    def note(chooser: SketchChooser, slots: Iterable[Sequence[Sketch]], force: bool = False) -> list[Sketch]:
        chosen = choose(chooser, slots, force)
        rounds.append(len(chosen))
        return chosen

    monkeypatch.setattr(SketchChooser, "choose", note)
    monkeypatch.setattr(Balance, "_cost", lambda self, lean: (1.0, 0.0))
    rng = np.random.default_rng(0)
    groups = _perception(list(map(Askable, made.known.values())), rng, Deck(rng), wanted)
    assert Counter(group.facts.scene.id for group in groups) == dict.fromkeys(made.known, 1)
    # It is the first thing that is chosen.
    assert rounds == [len(made.known), *[0] * CONTROLS]
