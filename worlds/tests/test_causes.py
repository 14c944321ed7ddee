"""Causes of events, in scenes in which they are known beforehand, and what happens where something is otherwise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from expected import Expected
from small_worlds import ball, both_at_once, busy_scenes, described, prototype, scene

from lmms_eval_worlds.physics import other_worlds
from lmms_eval_worlds.physics.other_worlds import HELD, first_movers, intervene, pairs_to_remove, singles
from lmms_eval_worlds.physics.rollout import FPS, Rollout, roll_out
from lmms_eval_worlds.questions.cause_and_effect import causes_of
from lmms_eval_worlds.scenes.scene import Event, EventKey, Facts, Intervention, Scene, World, last_to_hit

RED, GREEN, BLUE, WHITE, BOX = "red ball", "green ball", "blue ball", "white ball", "blue box"
FALLS, STARTS, BLUE_STARTS = EventKey("falls", BOX), EventKey("starts", BOX), EventKey("starts", BLUE)


def independent() -> Scene:
    """The red ball hits the blue one; the green ball hits the white one, elsewhere."""
    red, green = ball("red", -0.7, -0.4, velocity=(2.0, 0.0)), ball("green", 0.7, 0.5, velocity=(-2.0, 0.0))
    return scene(red, ball("blue", 0.0, -0.4), green, ball("white", 0.0, 0.5))


def one_after_the_other() -> Scene:
    """The red ball hits the blue one away; the green one comes to where that lay half a second later."""
    red = ball("red", -0.7, velocity=(2.6, 0.0), mass=0.35)
    return scene(red, ball("green", 0.0, 0.95, velocity=(0.0, -1.3)), ball("blue", 0.0))


def changed(shown: Scene, kind: str, *bodies: str) -> Rollout:
    return intervene(shown, Intervention.model_validate({"kind": kind, "bodies": sorted(bodies)}))


def known_by_removal(shown: Scene, *pairs: Sequence[str]) -> Facts:
    """What is known of a scene with each of its bodies removed, and some pairs."""
    changes = [Intervention(kind="remove", bodies=list(one)) for one in (*((name,) for name in shown.actors), *pairs)]
    worlds = [World(intervention=one, events=intervene(shown, one).events) for one in changes]
    return Facts(scene=shown, events=roll_out(shown).events, worlds=worlds, lost_energy=0.0)


@pytest.fixture(scope="module")
def apart() -> Facts:
    return known_by_removal(independent())


def test_who_is_needed_who_had_a_part_and_who_had_none(apart: Facts) -> None:
    """A body in the middle of a row is a cause that another would have replaced; of two that come at once either is
    enough; of one after the other the first is the cause; and what happens elsewhere is none."""
    pair = (GREEN, RED)
    row, at_once = known_by_removal(prototype()), known_by_removal(both_at_once(), pair)
    in_turn = known_by_removal(one_after_the_other(), pair)
    for facts, key, found in (
        (row, STARTS, ((RED,), ())),
        (at_once, STARTS, ((), ())),
        (at_once, FALLS, ((), ())),
        (in_turn, BLUE_STARTS, ((), (GREEN,))),
        (apart, BLUE_STARTS, ((RED,), (GREEN, WHITE))),
    ):
        assert causes_of(facts, key) == found
    # Pairs are removed where no single removal prevents.
    for facts, pairs in ((row, []), (apart, []), (at_once, [[*pair]]), (in_turn, [[*pair]])):
        singly = facts.worlds[: len(facts.scene.actors)]
        assert [one.bodies for one in pairs_to_remove(facts.events, [], singly)] == pairs
        unsure = [list(event.key) for event in facts.events]
        assert pairs_to_remove(facts.events, unsure, singly) == []
    assert first_movers(apart.scene, apart.events) == [RED, GREEN]


def test_what_is_unsure_is_neither_cause_nor_none_and_what_does_not_happen_has_no_causes(apart: Facts) -> None:
    loose = [list(BLUE_STARTS)]
    worlds = [
        world.model_copy(update={"unsure": loose}) if world.intervention.bodies == [GREEN] else world
        for world in apart.worlds
    ]
    assert causes_of(apart.model_copy(update={"worlds": worlds}), BLUE_STARTS) == ((RED,), (WHITE,))
    with pytest.raises(ValueError, match="Expected something that surely happens in one, but got falls blue ball"):
        causes_of(apart, EventKey("falls", BLUE))
    with pytest.raises(ValueError, match="starts blue ball"):
        causes_of(apart.model_copy(update={"unsure": loose}), BLUE_STARTS)


def test_what_a_falling_body_knocks_over_is_not_what_makes_it_fall() -> None:
    """A domino has hit the next one before it has tipped over."""
    events = [
        Event(kind="hits", time=0.5, body=RED, other=GREEN),
        Event(kind="starts", time=0.55, body=GREEN),
        Event(kind="hits", time=0.8, body=GREEN, other=BLUE),
        Event(kind="starts", time=0.85, body=BLUE),
        Event(kind="falls", time=0.9, body=GREEN),
    ]
    assert last_to_hit(events, EventKey("falls", GREEN)) == RED
    # What it hits and does not move may turn it aside.
    assert last_to_hit([*events[:3], *events[4:]], EventKey("falls", GREEN)) == BLUE


def test_only_what_moves_at_once_is_delayed() -> None:
    """The red ball rests until something sets it off; "if it had set off later" would not say when."""
    shown = independent()
    held = [shown.bodies[0].model_copy(update={"velocity": [0.0, 0.0, 0.0]}), *shown.bodies[1:]]
    starts_alone = Event(kind="starts", time=0.3, body=RED)
    _, later = singles(shown.model_copy(update={"bodies": held}), [starts_alone])
    assert [(one.kind, one.bodies) for one in later] == [("freeze", [GREEN]), ("freeze", [RED]), ("delay", [GREEN])]


def test_few_twins_are_run_none_that_differs_in_several_fields_or_cannot_be_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(other: Scene) -> Rollout:
        tried.append(other.bodies[0].mass)
        raise ValueError("it cannot be run")

    shown, tried = prototype(), list[float]()
    settled: Any = None
    twins = [shown.bodies[0].model_copy(update={"mass": 1.0 + number}) for number in range(5)]
    twins[1] = twins[1].model_copy(update={"bounce": 0.0})
    monkeypatch.setattr(other_worlds, "roll_out", run)
    monkeypatch.setattr(other_worlds, "_candidates", lambda shown: twins)
    assert other_worlds._twin(shown, settled) is None and tried == [1.0, 3.0, 4.0]


def happens(rollout: Rollout) -> set[EventKey]:
    return {event.key for event in rollout.events}


@pytest.mark.slow
def test_other_worlds_of_bodies_of_every_shape_run_the_same_way(expected: Expected) -> None:
    parts: dict[str, str] = {}
    turns = Intervention(kind="delay", bodies=["orange plank"])
    for name, shown in busy_scenes().items():
        removed, later = singles(shown, roll_out(shown).events)
        for change in [*removed[:1], *later, *([turns] if name == "hinged" else [])]:
            parts[f"{name}: {change.kind} {' and '.join(change.bodies)}"] = described(intervene(shown, change))
    expected.digests(parts)


def test_without_the_green_ball_the_red_one_hits_the_box_itself() -> None:
    hit = EventKey("hits", BOX, RED)
    assert hit not in happens(roll_out(prototype()))
    assert {hit, STARTS} <= happens(changed(prototype(), "remove", GREEN))
    assert happens(changed(prototype(), "remove", RED)) == happens(changed(prototype(), "freeze", RED)) == set()
    frozen = changed(prototype(), "freeze", GREEN)
    assert EventKey("hits", GREEN, RED) in happens(frozen) and STARTS not in happens(frozen)
    assert frozen.places[RED][:, 0].max() < -0.3 - 2 * 0.12 + 0.005
    with pytest.raises(ValueError, match="Expected bodies of the scene one, but got pink ball"):
        changed(prototype(), "remove", "pink ball")
    with pytest.raises(ValueError, match="all are removed"):
        changed(prototype(), "remove", RED, GREEN, BOX)


def test_what_is_delayed_moves_as_it_would_have_only_later() -> None:
    shown = scene(ball("red", -0.8, velocity=(1.5, 0.0)), seconds=1.6)
    at_once, delayed = roll_out(shown).places[RED], changed(shown, "delay", RED).places[RED]
    assert np.ptp(delayed[: int(HELD * FPS) + 1], axis=0).max() < 1e-6
    # Frames are 1/12 s apart, and 0.6 s is 7.2 of them: the path is compared at times between two.
    times = np.arange(len(at_once)) / FPS
    later = np.interp(times[times > HELD] - HELD, times, at_once[:, 0])
    assert delayed[times > HELD, 0] == pytest.approx(later, abs=0.01)
    first, second = (
        next(event.time for event in run.events if event.key == EventKey("hits", GREEN, RED))
        for run in (roll_out(prototype()), changed(prototype(), "delay", RED))
    )
    assert second - first == pytest.approx(HELD, abs=0.02)
