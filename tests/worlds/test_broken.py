"""Scenes that break a principle: as the others until its time, visibly not so from then on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_worlds import ball, differences, rolling, scene, vanishing, wall

from lmms_eval_tasks.worlds.physics.processes import Renderers
from lmms_eval_tasks.worlds.scenes.scene import Hinge, Violation

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from lmms_eval_tasks.worlds.physics.rollout import FPS, roll_out
from lmms_eval_tasks.worlds.physics.violations import GONE, breaks_visibly, broken_poses

SCENE = rolling(seconds=1.0)
PLACES = {"red ball": 0, "green ball": 7, "white ball": 14}
"""Where the three coordinates of a body begin in a pose: a free body has seven numbers."""
HIT = next(event.time for event in roll_out(SCENE).events if event.kind == "hits")
VIOLATIONS = {
    "vanishes": Violation(principle="permanence", body="red ball", time=0.2),
    "jumps": Violation(principle="continuity", body="red ball", time=0.2),
    "goes through": Violation(principle="solidity", body="red ball", other="green ball", time=HIT),
    "hangs": Violation(principle="gravity", body="white ball", time=0.2),
    "stops": Violation(principle="inertia", body="red ball", time=0.2),
    "starts": Violation(principle="inertia", body="green ball", time=0.1),
}


def path(poses: Any, body: str) -> Any:
    start = PLACES[body]
    return poses[:, start : start + 3]


def broken(how: str, body: str) -> Any:
    return path(broken_poses(SCENE, VIOLATIONS[how]), body)


def frame_after(time: float) -> int:
    return int(np.ceil(time * FPS))


@pytest.mark.parametrize("how", VIOLATIONS)
def test_nothing_differs_until_its_time_and_something_does_afterwards(how: str) -> None:
    possible, impossible = roll_out(SCENE).poses, broken_poses(SCENE, VIOLATIONS[how])
    due = frame_after(VIOLATIONS[how].time)
    assert np.array_equal(possible[:due], impossible[:due])
    assert np.abs(possible[due + 2 :] - impossible[due + 2 :]).max(axis=1).min() > 0.02


@pytest.mark.parametrize("how", VIOLATIONS)
def test_the_same_scene_breaks_it_in_the_same_way_each_time(how: str) -> None:
    assert np.array_equal(*(broken_poses(SCENE, VIOLATIONS[how]) for _ in range(2)))


def test_what_vanishes_is_gone_and_hits_nothing() -> None:
    due = frame_after(0.2)
    assert np.allclose(broken("vanishes", "red ball")[due:, 2], GONE, atol=1e-3)
    assert np.abs(np.diff(broken("vanishes", "green ball"), axis=0)).max() < 1e-3


def test_what_jumps_is_elsewhere_at_once_and_goes_on() -> None:
    before, after = broken("jumps", "red ball")[frame_after(0.2) - 1 :][:2]
    assert np.linalg.norm(after - before) > 0.4
    due = frame_after(0.2)
    onward, usual = (
        np.diff(places[due : due + 2], axis=0)
        for places in (broken("jumps", "red ball"), path(roll_out(SCENE).poses, "red ball"))
    )
    assert np.allclose(onward, usual, atol=0.002)


def test_what_goes_through_another_leaves_it_where_it_is() -> None:
    red, green = (broken("goes through", body) for body in ("red ball", "green ball"))
    assert np.linalg.norm(green - green[0], axis=1).max() < 0.002
    assert np.linalg.norm(red - green, axis=1).min() < 0.1 and red[-1, 0] > green[-1, 0] + 0.1
    assert np.abs(red[:, 2] - 0.15).max() < 0.002  # it still rolls on the floor


def test_what_hangs_stays_at_its_height() -> None:
    heights = broken("hangs", "white ball")[frame_after(0.2) :, 2]
    assert np.ptp(heights) < 0.01 and heights[0] > 0.6


def test_what_stops_stays_and_what_starts_goes_far_enough_to_be_seen() -> None:
    stopped = broken("stops", "red ball")[frame_after(0.2) :]
    assert np.ptp(stopped, axis=0).max() < 0.01
    started = broken("starts", "green ball")
    before_it_is_hit = started[frame_after(HIT) - 1]
    assert np.linalg.norm(before_it_is_hit - started[0]) > 0.15


SWINGING = scene(
    ball("red", [-0.5, 0.0, 0.5]).model_copy(
        update={"moves": "about its hinge", "hinge": Hinge(point=[0.0, 0.0, 1.2], axis="y")}
    )
)


def test_what_turns_about_a_hinge_can_vanish_and_nothing_else() -> None:
    gone = broken_poses(SWINGING, Violation(principle="permanence", body="red ball", time=0.25))
    assert np.isnan(gone[3:]).all() and np.array_equal(gone[:3], roll_out(SWINGING).poses[:3])
    with pytest.raises(ValueError, match="that moves freely"):
        broken_poses(SWINGING, Violation(principle="inertia", body="red ball", time=0.25))


@pytest.mark.parametrize("how", VIOLATIONS)
def test_what_breaks_a_principle_is_known_to_be_visible(how: str) -> None:
    assert breaks_visibly(SCENE, VIOLATIONS[how], roll_out(SCENE).poses)


@pytest.mark.parametrize(
    "violation",
    [
        Violation(principle="gravity", body="white ball", time=0.7),  # it lies on the floor by then
        Violation(principle="solidity", body="red ball", other="white ball", time=0.1),  # they do not meet
        Violation(principle="gravity", body="blue ball", time=0.1),  # it is not there
        Violation(principle="permanence", body="red ball", time=2.0),  # the clip has ended
    ],
)
def test_what_breaks_nothing_is_known_not_to_be_visible(violation: Violation) -> None:
    assert not breaks_visibly(SCENE, violation, roll_out(SCENE).poses)


def test_nothing_jumps_into_another_body_or_out_of_the_picture() -> None:
    red = ball("red", [0.0, 0.0, 0.15])
    walls = [wall([x, 0.0, 0.2], [0.3, 0.7, 0.2]).model_copy(update={"name": f"grey wall {x}"}) for x in (-0.6, 0.6)]
    jumps = Violation(principle="continuity", body="red ball", time=0.1)
    moved = broken_poses(scene(red, *walls), jumps)[2:, :2] - np.zeros(2)
    assert np.abs(moved[:, 0]).max() < 0.15 and np.abs(moved[:, 1]).min() > 0.4
    behind = [wall([0.0, y, 0.4], [1.5, 0.4, 0.4]).model_copy(update={"name": f"wall {y}"}) for y in (-0.56, 0.56)]
    with pytest.raises(ValueError, match="room for red ball of scene one to jump to"):
        broken_poses(scene(red, *walls, *behind), jumps)


@pytest.mark.parametrize(
    ("violation", "message"),
    [
        (Violation(principle="gravity", body="blue ball", time=0.1), "that moves freely, but got 'blue ball'"),
        (Violation(principle="solidity", body="red ball", time=0.1), "to go through, but got ''"),
    ],
)
def test_what_cannot_be_broken_is_refused(violation: Violation, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        broken_poses(SCENE, violation)


def test_every_principle_is_seen_to_be_broken(rendering_process: Renderers) -> None:
    asked = [(SCENE, each, (frame_after(each.time) - 1, frame_after(each.time) + 2)) for each in VIOLATIONS.values()]
    for number, answer in rendering_process.each(differences, asked):
        how = list(VIOLATIONS)[number]
        assert not answer.refused, (how, answer.refused)
        before, after = answer.result
        assert before == 0.0 and after > 40.0, how


def test_what_vanishes_with_its_hinge_is_not_drawn_and_nor_is_its_rod(rendering_process: Renderers) -> None:
    (vanished,) = rendering_process.each(vanishing, [SWINGING])
    seen, empty = vanished[1].result
    assert np.array_equal(seen, empty)
