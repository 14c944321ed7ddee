"""Causes of events, in scenes in which they are known beforehand, and what happens where something is otherwise."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from small_worlds import (
    ball,
    both_at_once,
    box,
    independent,
    known_by_removal,
    one_after_the_other,
    prototype,
    scene,
    starts,
)

from lmms_eval_tasks.worlds.physics.other_worlds import HELD, first_movers, intervene, pairs_to_remove, singles
from lmms_eval_tasks.worlds.physics.rollout import FPS, Rollout, roll_out
from lmms_eval_tasks.worlds.questions.causes import causes_of
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey, Facts, Intervention, Scene, last_to_hit

RED, GREEN, BLUE, BOX = "red ball", "green ball", "blue ball", "blue box"


@pytest.fixture(scope="module")
def apart() -> Facts:
    return known_by_removal(independent())


def test_who_is_needed_who_had_a_part_and_who_had_none(apart: Facts) -> None:
    """A body in the middle of a row is a cause that another would have replaced; of two that come at once either is
    enough; of one after the other the first is the cause; and what happens elsewhere is none."""
    row, at_once = known_by_removal(prototype()), known_by_removal(both_at_once(), [(RED, GREEN)])
    in_turn = known_by_removal(one_after_the_other(), [(RED, GREEN)])
    found = [
        causes_of(facts, key)
        for facts, key in (
            (row, starts("blue", "box")), (at_once, starts("blue", "box")), (at_once, EventKey("falls", BOX)),
            (in_turn, starts("blue")), (apart, starts("blue")),
        )
    ]  # fmt: skip
    assert [(one.but_for, one.together, one.preempting, one.without_part) for one in found] == [
        ((RED,), (), ((GREEN, RED),), ()),
        ((), ((GREEN, RED),), (), ()),
        ((), ((GREEN, RED),), (), ()),
        ((), (), ((RED, GREEN),), (GREEN,)),
        ((RED,), (), (), (GREEN, "white ball")),
    ]
    # Pairs are removed where no single removal prevents.
    for shown, pairs in ((both_at_once(), [[GREEN, RED]]), (one_after_the_other(), [[GREEN, RED]])):
        facts = known_by_removal(shown)
        assert [one.bodies for one in pairs_to_remove(facts.events, [], facts.worlds)] == pairs
    for facts in (row, apart):
        assert pairs_to_remove(facts.events, [], facts.worlds) == []
    assert first_movers(apart.scene, apart.events) == [RED, GREEN]


def test_what_is_unsure_is_neither_cause_nor_none_and_what_does_not_happen_has_no_causes(apart: Facts) -> None:
    loose = [list(starts("blue"))]
    worlds = [
        world.model_copy(update={"unsure": loose}) if world.intervention.bodies == [GREEN] else world
        for world in apart.worlds
    ]
    causes = causes_of(apart.model_copy(update={"worlds": worlds}), starts("blue"))
    assert causes.unsure == (GREEN,) and GREEN not in causes.without_part
    with pytest.raises(ValueError, match="Expected something that surely happens in one, but got falls blue ball"):
        causes_of(apart, EventKey("falls", BLUE))
    with pytest.raises(ValueError, match="starts blue ball"):
        causes_of(apart.model_copy(update={"unsure": loose}), starts("blue"))


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
    """The box rests until the ball that carries it is hit away; "if it had set off later" would not say when."""
    shown = independent()
    held = [shown.bodies[0].model_copy(update={"velocity": [0.0, 0.0, 0.0]}), *shown.bodies[1:]]
    starts_alone = Event(kind="starts", time=0.3, body=RED)
    _, later = singles(shown.model_copy(update={"bodies": held}), [starts_alone])
    assert [(one.kind, one.bodies) for one in later] == [("freeze", [GREEN]), ("freeze", [RED]), ("delay", [GREEN])]


def changed(shown: Scene, kind: str, *bodies: str) -> Rollout:
    return intervene(shown, Intervention.model_validate({"kind": kind, "bodies": sorted(bodies)}))


def happens(rollout: Rollout) -> set[EventKey]:
    return {event.key for event in rollout.events}


def test_without_the_green_ball_the_red_one_hits_the_box_itself() -> None:
    """As in the measurement with which this began."""
    hit = EventKey("hits", BOX, RED)
    assert hit not in happens(roll_out(prototype()))
    assert {hit, starts("blue", "box")} <= happens(changed(prototype(), "remove", GREEN))
    assert happens(changed(prototype(), "remove", RED)) == happens(changed(prototype(), "freeze", RED)) == set()
    frozen = changed(prototype(), "freeze", GREEN)
    assert EventKey("hits", GREEN, RED) in happens(frozen) and starts("blue", "box") not in happens(frozen)
    assert frozen.places[RED][:, 0].max() < -0.3 - 2 * 0.12 + 0.005
    with pytest.raises(ValueError, match="Expected bodies of the scene one, but got pink ball"):
        changed(prototype(), "remove", "pink ball")
    with pytest.raises(ValueError, match="all are removed"):
        changed(prototype(), "remove", RED, GREEN, BOX)


def test_what_is_removed_is_in_no_event_and_nothing_else_differs_before_it_would_have_acted() -> None:
    without, whole = changed(independent(), "remove", RED), roll_out(independent())
    assert RED not in without.places and not any(RED in (event.body, event.other) for event in without.events)
    for name in (GREEN, "white ball"):
        assert np.allclose(without.places[name], whole.places[name], atol=1e-6)


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


def test_what_is_held_stays_there_also_in_the_air_and_what_hits_it_bounces_off() -> None:
    shown = scene(ball("red", -0.6, velocity=(2.0, 0.0)), ball("green", 0.0), seconds=0.5)
    held, frozen = changed(shown, "delay", GREEN), changed(shown, "freeze", GREEN)
    assert np.allclose(held.places[RED], frozen.places[RED], atol=0.02)
    assert np.ptp(held.places[GREEN], axis=0).max() < 1e-6
    high = ball("red", 0.0).model_copy(update={"place": [0.0, 0.0, 1.0]})
    path = changed(scene(high, box("blue", 0.8)), "delay", RED).places[RED][:, 2]
    assert path[int(HELD * FPS)] == pytest.approx(1.0, abs=1e-6) and path[-1] < 0.3
