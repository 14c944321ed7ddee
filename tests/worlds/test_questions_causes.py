"""Questions about cause and effect, answered again from the other worlds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from made_facts import body, made_set, one_scene, world_of
from read_wording import read_body, read_event

from lmms_eval_tasks.api.evidence import read_truth
from lmms_eval_tasks.worlds.questions.askable import Askable
from lmms_eval_tasks.worlds.questions.cause_and_effect import Instance, as_released, cause_sketch, instances_of
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Intervention, Sight, World

pytestmark = pytest.mark.slow
SCENES = 75


def of_task(task: str):
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    found = [(known[one.scene], one) for one in questions if one.task == task]
    assert found
    return found


@pytest.mark.parametrize("task", ["paired", "evidence"])
def test_without_the_right_body_alone_the_event_does_not_happen(task: str) -> None:
    asked = [(facts, one) for facts, one in of_task(task) if one.kind.startswith("cause")]
    assert asked
    for facts, question in asked:
        (key,) = (EventKey(*one) for one in question.about)
        assert facts.says(key)
        still = [world_of(facts, "remove", read_body(option)).says(key) for option in question.options]
        odd = question.kind.startswith("cause not")
        assert still == [(letter == question.answer) is odd for letter in "ABCD"[: len(still)]]
        assert not {key.body, key.other} & set(map(read_body, question.options))


def test_the_right_event_alone_would_have_happened_or_would_not() -> None:
    asked = [(facts, one) for facts, one in of_task("paired") if one.kind.startswith("would")]
    assert {one.kind for _, one in asked} >= {"would after remove", "would not after remove"}
    for facts, question in asked:
        world = world_of(facts, question.intervention, question.changed)
        keys = [read_event(option)[0] for option in question.options]
        wanted = "not" not in question.kind.split()
        assert [world.says(key) is wanted for key in keys] == [
            letter == question.answer for letter in "ABCD"[: len(keys)]
        ]
        assert None not in map(world.says, keys)
        assert all(question.changed not in (key.body, key.other) for key in keys)
        # What happens in the clip itself is another answer, or leaves several.
        assert [facts.says(key) is wanted for key in keys] != [world.says(key) is wanted for key in keys]


def test_pairs_ask_the_same_in_other_words_and_another_order() -> None:
    pairs: dict[str, list] = {}
    for _, question in of_task("paired"):
        pairs.setdefault(question.group_id, []).append(question)
    for one, other in pairs.values():
        assert one.question != other.question
        assert sorted(one.options) == sorted(other.options)
        assert one.answer != other.answer
        assert one.options["ABCD".index(one.answer)] == other.options["ABCD".index(other.answer)]


def test_a_body_that_another_would_have_replaced_is_asked_about_in_neither_way() -> None:
    """Green knocks the box over; without it red would have. Green had a part, and was not needed."""
    knocks = Event(kind="hits", time=1.0, body="green ball", other="blue box")
    instead = Event(kind="hits", time=1.4, body="red ball", other="blue box")
    falls = Event(kind="falls", time=1.6, body="blue box")
    bodies = [body(name) for name in ("red ball", "green ball", "white box", "pink box", "black box", "yellow ball")]
    bodies.append(body("blue box"))

    def without(name: str, *events: Event, unsure: tuple[Event, ...] = ()) -> World:
        return World(
            intervention=Intervention(kind="remove", bodies=[name]),
            events=list(events),
            unsure=[list(event.key) for event in unsure],
        )

    worlds = [without("green ball", instead, falls), without("red ball", knocks, falls), without("yellow ball")]
    worlds += [without("white box", knocks, falls), without("pink box", unsure=(falls,)), without("black box", knocks)]
    scene = Askable(one_scene([knocks, falls], bodies, worlds=worlds))
    rng = np.random.default_rng(0)
    drawn = [cause_sketch(scene, rng, "paired", 2, needed) for _ in range(100) for needed in (True, False)]
    of_fall = [sketch for sketch in drawn if sketch is not None and sketch.about == (falls.key,)]
    assert {sketch.kind for sketch in of_fall} == {"cause of falls", "cause not of falls"}
    options = {(sketch.kind, read_body(one)) for sketch in of_fall for one in sketch.options}
    assert {name for _, name in options} == {"yellow ball", "black box", "white box", "red ball"}
    assert {read_body(sketch.right) for sketch in of_fall if "not" in sketch.kind} == {"white box", "red ball"}


def test_a_link_of_the_chain_that_was_not_needed_is_asked_about_in_neither_way() -> None:
    """Red hits white, which hits the box; without white, red hits it. White was seen to do it, and was not needed."""
    chain = [
        Event(kind="hits", time=0.5, body="red ball", other="white box"),
        Event(kind="starts", time=0.5, body="white box"),
        Event(kind="hits", time=1.0, body="white box", other="pink box"),
        Event(kind="starts", time=1.0, body="pink box"),
        Event(kind="hits", time=1.3, body="pink box", other="blue box"),
        Event(kind="falls", time=1.5, body="blue box"),
    ]
    names = ("red ball", "white box", "pink box", "black box", "yellow ball", "blue box")
    removed = {"red ball": [], "pink box": [], "white box": chain[3:], "black box": chain, "yellow ball": chain}
    worlds = [
        World(intervention=Intervention(kind="remove", bodies=[name]), events=events)
        for name, events in removed.items()
    ]
    scene = Askable(one_scene(chain, [body(name) for name in names], worlds=worlds))
    rng = np.random.default_rng(0)
    drawn = [cause_sketch(scene, rng, "paired", 2, needed) for _ in range(100) for needed in (True, False)]
    of_fall = [sketch for sketch in drawn if sketch is not None and sketch.about == (chain[-1].key,)]
    options = {read_body(one) for sketch in of_fall for one in sketch.options}
    assert options == {"red ball", "pink box", "black box", "yellow ball"}


def test_evidence_is_read_as_cast_bench_reads_it() -> None:
    for facts, question in of_task("evidence"):
        truth = read_truth(question.evidence)
        (key,) = (EventKey(*one) for one in question.about)
        assert {one.name for one in truth} == {question.changed, key.body, *([key.other] if key.kind == "hits" else [])}
        time = next(event.time for event in facts.events if event.key == key)
        for one in truth:
            line = one.timeline()
            assert line.end - line.start >= 1
            assert len(line.boxes) >= 2
            if one.name != question.changed:
                assert line.start <= time <= line.end + 1
            for second, box in line.boxes.items():
                seen = [sight.box for sight in facts.sights if sight.body == one.name and int(sight.time) == second]
                assert list(box) == seen[0]


def test_evidence_lies_around_the_last_act_of_the_cause_and_around_the_effect() -> None:
    events = [
        Event(kind="hits", time=0.4, body="red ball", other="green ball"),
        Event(kind="hits", time=2.6, body="green ball", other="blue box"),
        Event(kind="falls", time=2.9, body="blue box"),
    ]
    names = ("red ball", "green ball", "blue box")
    sights = [
        Sight(body=name, time=step / 4, box=[step, 0.0, step + 9, 9.0], visible=1.0)
        for step in range(16)
        for name in names
    ]
    facts = one_scene(events, [body(name) for name in names], sights=sights)
    found = instances_of(facts, "red ball", EventKey("falls", "blue box"))
    assert found == [
        Instance("red ball", "cause", 0, 1, {0: [0.0, 0.0, 9.0, 9.0], 1: [4.0, 0.0, 13.0, 9.0]}),
        Instance("blue box", "effect", 2, 3, {2: [8.0, 0.0, 17.0, 9.0], 3: [12.0, 0.0, 21.0, 9.0]}),
    ]
    (first, _) = json.loads(as_released(found))
    assert (first["evidence_start_time"], first["evidence_end_time"]) == ("00:00", "00:01")
    hidden = [sight for sight in sights if sight.body != "red ball" or sight.time < 1]
    assert instances_of(facts.model_copy(update={"sights": hidden}), "red ball", EventKey("falls", "blue box")) == []
