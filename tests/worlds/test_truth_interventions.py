"""What happens where something is otherwise."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from causal_worlds import ball, box, independent, prototype, scene, starts

from lmms_eval_tasks.worlds.physics.other_worlds import HELD, intervene
from lmms_eval_tasks.worlds.physics.rollout import FPS, Rollout, roll_out
from lmms_eval_tasks.worlds.scenes.scene import EventKey, Intervention, Scene

RED, GREEN, BLUE = "red ball", "green ball", "blue box"


def changed(shown: Scene, kind: str, *bodies: str) -> Rollout:
    return intervene(shown, Intervention.model_validate({"kind": kind, "bodies": sorted(bodies)}))


def happens(rollout: Rollout) -> set[EventKey]:
    return {event.key for event in rollout.events}


def test_without_the_green_ball_the_red_one_hits_the_box_itself() -> None:
    """As in the measurement with which this began."""
    hit = EventKey("hits", BLUE, RED)
    assert hit not in happens(roll_out(prototype()))
    without = changed(prototype(), "remove", GREEN)
    assert hit in happens(without)
    assert starts("blue", "box") in happens(without)
    assert happens(changed(prototype(), "remove", RED)) == set()


def test_what_is_removed_is_in_no_event_and_nothing_else_differs_before_it_would_have_acted() -> None:
    without = changed(independent(), "remove", "red ball")
    assert not any("red ball" in (event.body, event.other) for event in without.events)
    assert "red ball" not in without.places
    for name in ("green ball", "white ball"):
        assert np.allclose(without.places[name], roll_out(independent()).places[name], atol=1e-6)


def test_what_is_frozen_stays_where_it_is_and_stops_what_comes() -> None:
    frozen = changed(prototype(), "freeze", GREEN)
    assert EventKey("hits", GREEN, RED) in happens(frozen)
    assert starts("blue", "box") not in happens(frozen)
    assert frozen.places[RED][:, 0].max() < -0.3 - 2 * 0.12 + 0.005


def test_a_frozen_body_has_no_velocity() -> None:
    assert happens(changed(prototype(), "freeze", RED)) == set()


def test_what_is_delayed_moves_as_it_would_have_only_later() -> None:
    shown = scene(ball("red", -0.8, velocity=(1.5, 0.0)), seconds=1.6)
    at_once, delayed = roll_out(shown).places[RED], changed(shown, "delay", RED).places[RED]
    held = int(HELD * FPS)
    assert np.ptp(delayed[: held + 1], axis=0).max() < 1e-6
    # Frames are 1/12 s apart, and 0.6 s is 7.2 of them: the path is compared at times between two.
    times = np.arange(len(at_once)) / FPS
    later = times[times > HELD]
    expected = np.interp(later - HELD, times, at_once[:, 0])
    assert delayed[times > HELD, 0] == pytest.approx(expected, abs=0.01)


def test_a_hit_by_a_delayed_body_comes_later_by_that_time() -> None:
    first, later = (
        next(event.time for event in run.events if event.key == EventKey("hits", GREEN, RED))
        for run in (roll_out(prototype()), changed(prototype(), "delay", RED))
    )
    assert later - first == pytest.approx(HELD, abs=0.02)


def test_what_hits_a_held_body_bounces_off_as_off_a_frozen_one() -> None:
    shown = scene(ball("red", -0.6, velocity=(2.0, 0.0)), ball("green", 0.0), seconds=0.5)
    held, frozen = changed(shown, "delay", GREEN), changed(shown, "freeze", GREEN)
    assert np.allclose(held.places[RED], frozen.places[RED], atol=0.02)
    assert np.ptp(held.places[GREEN], axis=0).max() < 1e-6


def test_a_body_in_the_air_is_held_there_and_then_falls() -> None:
    high = ball("red", 0.0).model_copy(update={"place": [0.0, 0.0, 1.0]})
    path = changed(scene(high, box("blue", 0.8)), "delay", RED).places[RED][:, 2]
    assert path[int(HELD * FPS)] == pytest.approx(1.0, abs=1e-6)
    assert path[-1] < 0.3


def test_bodies_that_are_not_there_and_scenes_without_any_are_refused() -> None:
    with pytest.raises(ValueError, match="Expected bodies of the scene one, but got pink ball"):
        changed(prototype(), "remove", "pink ball")
    with pytest.raises(ValueError, match="all are removed"):
        changed(prototype(), "remove", RED, GREEN, BLUE)
