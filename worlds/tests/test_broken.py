"""Scenes that break a principle: as the others until its time, visibly not so from then on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expected import Expected
from small_worlds import Look, ball, busy_scenes, in_millimetres, rolling, scene, wall

from lmms_eval_worlds.physics.rollout import FPS, roll_out
from lmms_eval_worlds.physics.violations import (
    GONE,
    breaks_visibly,
    broken_poses,
    choose_violations,
    suitable_violations,
)
from lmms_eval_worlds.scenes.scene import Camera, Hinge, Violation

SCENE = rolling(seconds=1.0)
POSSIBLE = roll_out(SCENE)
HIT = next(event.time for event in POSSIBLE.events if event.kind == "hits")
VIOLATIONS = {
    "vanishes": Violation(principle="permanence", body="red ball", time=0.2),
    "jumps": Violation(principle="continuity", body="red ball", time=0.2),
    "goes through": Violation(principle="solidity", body="red ball", other="green ball", time=HIT),
    "hangs": Violation(principle="gravity", body="white ball", time=0.2),
    "stops": Violation(principle="inertia", body="red ball", time=0.2),
    "starts": Violation(principle="inertia", body="green ball", time=0.1),
}
SWINGING = scene(
    ball("red", 0.0, place=[-0.5, 0.0, 0.5], moves="about its hinge", hinge=Hinge(point=[0.0, 0.0, 1.2], axis="y")),
    seconds=0.5,
)


def path(poses: Any, body: str) -> Any:
    """The places of a body: in a pose a free body has seven numbers."""
    start = 7 * ["red ball", "green ball", "white ball"].index(body)
    return poses[:, start : start + 3]


def broken(how: str, body: str) -> Any:
    return path(broken_poses(SCENE, VIOLATIONS[how]), body)


def frame_after(time: float) -> int:
    return int(np.ceil(time * FPS))


@pytest.mark.parametrize("how", VIOLATIONS)
def test_nothing_differs_until_its_time_and_something_does_afterwards(how: str) -> None:
    impossible, again = (broken_poses(SCENE, VIOLATIONS[how]) for _ in range(2))
    due = frame_after(VIOLATIONS[how].time)
    assert np.array_equal(POSSIBLE.poses[:due], impossible[:due])
    assert np.abs(POSSIBLE.poses[due + 2 :] - impossible[due + 2 :]).max(axis=1).min() > 0.02
    assert np.array_equal(impossible, again) and breaks_visibly(SCENE, VIOLATIONS[how], POSSIBLE.poses)


def test_each_principle_is_broken_in_its_own_way() -> None:
    due = frame_after(0.2)
    # What vanishes is gone and hits nothing.
    assert np.allclose(broken("vanishes", "red ball")[due:, 2], GONE, atol=1e-3)
    assert np.abs(np.diff(broken("vanishes", "green ball"), axis=0)).max() < 1e-3
    # What jumps is elsewhere at once and goes on.
    jumps, usual = broken("jumps", "red ball"), path(POSSIBLE.poses, "red ball")
    assert np.linalg.norm(jumps[due] - jumps[due - 1]) > 0.4
    assert np.allclose(jumps[due + 1] - jumps[due], usual[due + 1] - usual[due], atol=0.002)
    # What goes through another leaves it where it is, and still rolls on the floor.
    red, green = (broken("goes through", body) for body in ("red ball", "green ball"))
    assert np.linalg.norm(green - green[0], axis=1).max() < 0.002
    assert np.linalg.norm(red - green, axis=1).min() < 0.1 and red[-1, 0] > green[-1, 0] + 0.1
    assert np.abs(red[:, 2] - 0.15).max() < 0.002
    # What hangs stays at its height, what stops stays, and what starts goes far enough to be seen before it is hit.
    heights = broken("hangs", "white ball")[due:, 2]
    assert np.ptp(heights) < 0.01 and heights[0] > 0.6
    assert np.ptp(broken("stops", "red ball")[due:], axis=0).max() < 0.01
    started = broken("starts", "green ball")
    assert np.linalg.norm(started[frame_after(HIT) - 1] - started[0]) > 0.15


BESIDE = [wall([x, 0.0, 0.2], [0.3, 0.7, 0.2], f"grey wall {x}") for x in (-0.6, 0.6)]
BUSY = (
    *(("tumbling", principle, "red box", 0.15) for principle in ("permanence", "continuity", "gravity", "inertia")),
    *(("tumbling", principle, "white ball", 0.55) for principle in ("permanence", "continuity", "inertia")),
    ("tumbling", "inertia", "blue cylinder", 0.15),
    ("tumbling", "solidity", "red box", 0.7),
    ("hinged", "permanence", "orange plank", 0.15),
    ("hinged", "continuity", "red box", 0.55),
    ("hinged", "gravity", "blue ball", 0.15),
    ("hinged", "solidity", "green ball", 0.5),
    ("heap", "solidity", "white ball", 0.34),
    ("heap", "inertia", "green cylinder", 0.25),
)
"""A scene, the principle that is broken in it, the body that breaks it, and when."""
THROUGH = {"red box": "blue cylinder", "green ball": "white cylinder", "white ball": "brown tray"}


@pytest.mark.slow
def test_bodies_of_every_shape_break_principles_the_same_way(expected: Expected) -> None:
    between = scene(ball("red", 0.0, radius=0.15), *BESIDE, seconds=0.5)
    jumps = Violation(principle="continuity", body="red ball", time=0.1)
    parts = {how: str(in_millimetres(broken_poses(SCENE, violation))) for how, violation in VIOLATIONS.items()}
    held = Violation(principle="inertia", body="white ball", time=0.2)
    parts["stops in its fall"] = str(in_millimetres(broken_poses(SCENE, held)))
    parts["jumps between walls"] = str(in_millimetres(broken_poses(between, jumps)))
    # What is in the picture depends on how far a camera has travelled.
    for near in (0.0, 0.6):
        passed = scene(ball("red", 0.9, -near), seconds=0.5, camera=Camera(travel=2.0))
        parts[f"jumps before a camera that travels, {near} m nearer"] = str(in_millimetres(broken_poses(passed, jumps)))
    for name, principle, body, time in BUSY:
        fields = {"principle": principle, "body": body, "time": time}
        fields |= {"other": THROUGH[body]} if principle == "solidity" else {}
        violation = Violation.model_validate(fields)
        try:
            found = str(in_millimetres(broken_poses(busy_scenes()[name], violation)))
        except ValueError as error:
            found = str(error)
        parts[f"{name}: {principle} of the {body} from {time} s"] = found
    expected.digests(parts)


@pytest.mark.slow
def test_what_suits_bodies_of_every_shape_is_found_and_is_the_same(expected: Expected) -> None:
    lines: list[str] = []
    # What falls into the picture is not in sight when it begins to fall.
    falls_in = scene(ball("red", 0.0, place=[0.0, 0.0, 1.9]), seconds=2.0)
    for name, shown in {**busy_scenes(), "falls in": falls_in}.items():
        found = sorted(suitable_violations(shown, roll_out(shown)), key=lambda one: one.principle)
        lines += [f"{name}: {one.principle} of {one.body} {one.other} {one.time}" for one in found]
    expected("\n".join(lines))


def test_what_cannot_be_broken_is_refused_and_what_would_not_show_is_known() -> None:
    """What turns about a hinge can vanish and nothing else."""
    gone = broken_poses(SWINGING, Violation(principle="permanence", body="red ball", time=0.25))
    assert np.isnan(gone[3:]).all() and np.array_equal(gone[:3], roll_out(SWINGING).poses[:3])
    for shown, violation, message in (
        (SWINGING, Violation(principle="inertia", body="red ball", time=0.25), "that moves freely"),
        (SCENE, Violation(principle="gravity", body="blue ball", time=0.1), "that moves freely, but got 'blue ball'"),
        (SCENE, Violation(principle="solidity", body="red ball", time=0.1), "to go through, but got ''"),
    ):
        with pytest.raises(ValueError, match=message):
            broken_poses(shown, violation)
    for unseen in (
        Violation(principle="gravity", body="white ball", time=0.7),  # it lies on the floor by then
        Violation(principle="solidity", body="red ball", other="white ball", time=0.1),  # they do not meet
        Violation(principle="gravity", body="blue ball", time=0.1),  # it is not there
        Violation(principle="permanence", body="red ball", time=2.0),  # the clip has ended
    ):
        assert not breaks_visibly(SCENE, unseen, POSSIBLE.poses)


def test_nothing_jumps_into_another_body_or_out_of_the_picture() -> None:
    red, jumps = ball("red", 0.0, radius=0.15), Violation(principle="continuity", body="red ball", time=0.1)
    moved = broken_poses(scene(red, *BESIDE, seconds=0.5), jumps)[2:, :2]
    assert np.abs(moved[:, 0]).max() < 0.15 and np.abs(moved[:, 1]).min() > 0.4
    behind = [wall([0.0, y, 0.4], [1.5, 0.4, 0.4], f"grey wall {y}") for y in (-0.56, 0.56)]
    with pytest.raises(ValueError, match="room for red ball of scene one to jump to"):
        broken_poses(scene(red, *BESIDE, *behind, seconds=0.5), jumps)


def test_principles_suit_bodies_in_view_and_are_broken_equally_often() -> None:
    shown = scene(ball("red", -1.0, velocity=(1.4, 0.0)), ball("green", 0.5), seconds=2.5)
    rollout = roll_out(shown)
    found = suitable_violations(shown, rollout)
    assert {violation.principle for violation in found} == {"permanence", "continuity", "solidity", "inertia"}
    assert all(breaks_visibly(shown, violation, rollout.poses) for violation in found)
    aside = shown.camera.model_copy(update={"target": [0.0, -6.0, 0.5]})
    assert suitable_violations(shown.model_copy(update={"camera": aside}), rollout) == []
    # Also where scenes differ in what suits them.
    often = [Violation(principle=name, body="a", time=1.0) for name in ("permanence", "continuity", "inertia")]
    rare = Violation(principle="gravity", body="a", time=1.0)
    chosen = choose_violations([often, [*often, rare], often, [*often, rare]] * 3)
    principles = [violation.principle for violations in chosen for violation in violations]
    assert set(map(len, chosen)) == {2} and {principles.count(name) for name in set(principles)} == {6}


@pytest.mark.slow
@pytest.mark.nightly
def test_every_principle_is_seen_to_be_broken_and_what_vanishes_takes_its_rod_with_it(look: Look) -> None:
    vanishes = Violation(principle="permanence", body="red ball", time=0.1)
    empty = scene(ball("blue", 0.0, -30.0), seconds=0.5)
    asked = [(SCENE, None), *((SCENE, one) for one in VIOLATIONS.values()), (SWINGING, vanishes), (empty, None)]
    possible, *impossible, gone, nothing = (looked.frames for looked in look(asked))
    for (how, violation), frames in zip(VIOLATIONS.items(), impossible, strict=True):
        due = frame_after(violation.time)
        before, after = (np.abs(frames[k].astype(int) - possible[k]).max() for k in (due - 1, due + 2))
        assert before == 0 and after > 40, how
    assert np.array_equal(gone[-1], nothing[-1])
