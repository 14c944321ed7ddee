"""Questions about what is seen, answered again from the events."""

from __future__ import annotations

import numpy as np
import pytest
from made_facts import body, made_set, one_scene
from read_wording import read_body, read_event

from lmms_eval_tasks.worlds.questions.askable import VIEWED, Askable
from lmms_eval_tasks.worlds.questions.perception import _order
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Sight

pytestmark = pytest.mark.slow
SCENES = 75


def perception(*kinds: str):
    facts, questions = made_set(SCENES)
    known = {one.scene.id: one for one in facts}
    found = [one for one in questions if one.task == "perception" and one.kind.split()[0] in kinds]
    assert found
    return [(known[one.scene], one) for one in found]


def test_one_option_alone_happens() -> None:
    for facts, question in perception("what"):
        says = [facts.says(read_event(option)[0]) for option in question.options]
        wanted = question.kind == "what"
        assert [one is wanted for one in says] == [place == "ABCD".index(question.answer) for place in range(len(says))]
        assert None not in says


def test_the_right_event_is_first_or_last_by_some_time() -> None:
    for facts, question in perception("first", "last"):
        times = [
            next(event.time for event in facts.events if event.key == read_event(option)[0])
            for option in question.options
        ]
        right = times.pop("ABCD".index(question.answer))
        if question.kind == "first":
            assert right <= min(times) - 0.4 + 1e-9
        else:
            assert right >= max(times) + 0.4 - 1e-9


def test_it_happens_to_one_body_alone() -> None:
    for facts, question in perception("who"):
        ((kind, one, other),) = question.about
        bodies = [read_body(option) for option in question.options]
        rest = next((part for part in (one, other) if part not in bodies), "") if kind == "hits" else other
        if kind == "hits":
            assert rest in question.question or rest in question.question.lower()
        keys = [
            EventKey("hits", *sorted((name, rest))) if kind == "hits" else EventKey(kind, name, other)
            for name in bodies
        ]
        assert [facts.says(key) for key in keys] == [
            place == "ABCD".index(question.answer) for place in range(len(keys))
        ]


def test_scenes_with_questions_of_cause_have_a_control_about_the_same_events() -> None:
    _, questions = made_set(SCENES)
    seen = {(one.scene, tuple(key)) for one in questions if one.task == "perception" for key in one.about}
    caused = {one.scene: [] for one in questions if one.task in ("paired", "minimal", "counterfactual", "evidence")}
    for one in questions:
        if one.scene in caused and one.task != "perception":
            caused[one.scene] += [(one.scene, tuple(key)) for key in one.about]
    assert caused
    assert all(seen.intersection(about) for about in caused.values())
    asked = [one for one in questions if one.task in ("paired", "minimal", "counterfactual", "evidence")]
    controlled = [one for one in asked if any((one.scene, tuple(key)) in seen for key in one.about)]
    assert len(controlled) > 0.6 * len(asked)


def test_what_the_bodies_cannot_do_is_no_wrong_option() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("white wall", moves="not at all")]
    scene = Askable(one_scene([Event(kind="hits", time=1.0, body="red ball", other="blue box")], bodies))
    assert scene.absent() == [
        EventKey("hits", "red ball", "white wall"),
        EventKey("hits", "blue box", "white wall"),
        EventKey("stops", "red ball"),
        EventKey("falls", "red ball"),
        EventKey("starts", "blue box"),
        EventKey("falls", "blue box"),
    ]


def test_only_what_is_clearly_seen_all_the_time_is_never_out_of_sight() -> None:
    bodies = [body("red ball"), body("blue box"), body("pink box")]
    sights = [
        Sight(body=name, time=time, box=[0.0, 0.0, 9.0, 9.0], visible=0.4 if name == "blue box" else 0.9)
        for time in (0.0, 0.25)
        for name in ("red ball", "blue box", *(["pink box"] if time else []))
    ]
    assert Askable(one_scene([], bodies, sights=sights)).absent(VIEWED) == [
        EventKey("leaves view", "red ball"),
        EventKey("comes into view", "red ball"),
    ]
    assert Askable(one_scene([], bodies)).absent(VIEWED) == []


def test_nothing_unsure_and_no_scenery_is_asked_about() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("grey wall", scenery=True, moves="not at all")]
    events = [
        Event(kind="hits", time=0.5, body="red ball", other="grey wall"),
        Event(kind="hits", time=1.0, body="red ball", other="blue box"),
        Event(kind="falls", time=1.5, body="blue box"),
    ]
    scene = Askable(one_scene(events, bodies, unsure=[["falls", "blue box", ""], ["starts", "blue box", ""]]))
    assert [event.key for event in scene.happened()] == [EventKey("hits", "blue box", "red ball")]
    assert scene.absent() == [EventKey("stops", "red ball"), EventKey("falls", "red ball")]


def test_a_body_that_is_never_seen_is_in_no_question() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("green ball"), body("white ball")]
    hidden = Event(kind="hits", time=1.0, body="red ball", other="white ball")
    seen = Event(kind="hits", time=2.0, body="red ball", other="blue box")
    sights = [
        Sight(body=name, time=time, box=[0.0, 0.0, 9.0, 9.0], visible=share)
        for time in (0.0, 0.25)
        for name, share in (("red ball", 1.0), ("blue box", 0.6), ("green ball", time * 3), ("white ball", 0.2))
    ]
    scene = Askable(one_scene([hidden, seen], bodies, sights=sights))
    assert scene.actors == ("red ball", "blue box", "green ball")
    assert scene.seen_at_start == ("red ball", "blue box")
    assert scene.happened() == [seen]
    assert all("white ball" not in (key.body, key.other) for key in scene.absent())


def test_what_happens_again_is_not_said_to_be_last() -> None:
    bodies = [body("red ball", 1.0), body("blue box"), body("green ball")]
    first = Event(kind="hits", time=1.0, body="red ball", other="blue box")
    second = Event(kind="hits", time=2.0, body="red ball", other="green ball")
    asked = {}
    for name, again in (("once", []), ("again", [list(first.key)])):
        scene = Askable(one_scene([first, second], bodies, again=again))
        drawn = [_order(scene, np.random.default_rng(seed)) for seed in range(40)]
        asked[name] = {sketch.kind for sketch in drawn if sketch is not None}
    assert asked == {"once": {"first", "last"}, "again": {"first"}}
