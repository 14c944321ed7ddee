"""What happens in scenes so small that it can be computed by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from expected import Expected
from pydantic import ValidationError
from small_worlds import body, busy_scenes, described, scene

from lmms_eval_worlds.physics.rollout import FPS, Rollout, _pauses, roll_out
from lmms_eval_worlds.scenes.scene import GRAVITY, Body, Event, Hinge

FIXED: dict[str, Any] = {"moves": "not at all", "scenery": True}


def made(name: str, size: list[float], place: list[float], speed: float = 0.0, **rest: Any) -> Body:
    """A body of a kilogram that moves along x, or is at rest."""
    return body(name, size, place, **{"mass": 1.0, "velocity": [speed, 0.0, 0.0], **rest})


def run(*bodies: Body, seconds: float = 3.0) -> Rollout:
    return roll_out(scene(*bodies, seconds=seconds))


def keys(found: Rollout) -> list[tuple[str, str, str]]:
    return [(event.kind, event.body, event.other) for event in found.events]


def only(found: Rollout, kind: str) -> Event:
    (event,) = (event for event in found.events if event.kind == kind)
    return event


@pytest.mark.parametrize("length", [2, 4])
def test_a_place_has_three_numbers(length: int) -> None:
    assert Hinge(point=[0.0] * 3, axis="x")
    with pytest.raises(ValidationError):
        Hinge(point=[0.0] * length, axis="x")


def test_bodies_of_every_shape_run_the_same_way(expected: Expected) -> None:
    expected.digests({name: described(roll_out(shown)) for name, shown in busy_scenes().items()})


def test_a_fall_lasts_as_long_as_a_free_fall() -> None:
    """It touches the box below it after sqrt(2 h / g)."""
    high = 0.6
    ball = made("red ball", [0.1], [0.0, 0.0, 0.4 + high + 0.1])
    found = run(ball, made("grey box", [0.2, 0.2, 0.2], [0.0, 0.0, 0.2], **FIXED), seconds=1.0)
    hit = only(found, "hits")
    assert (hit.body, hit.other) == ("red ball", "grey box")
    assert hit.time == pytest.approx(np.sqrt(2 * high / GRAVITY), abs=0.01)
    # It falls once it has dropped by its own radius, and starts once it has moved by 3 cm.
    assert only(found, "falls").time == pytest.approx(np.sqrt(2 * 0.1 / GRAVITY), abs=0.03)
    assert only(found, "starts").time == pytest.approx(np.sqrt(2 * 0.03 / GRAVITY), abs=0.03)


@pytest.mark.parametrize("bounce", [0.3, 0.6, 1.0])
def test_a_collision_of_equal_masses_shares_the_speed_as_the_bounce_says(bounce: float) -> None:
    """After it the two move at v (1 - e) / 2 and v (1 + e) / 2: all is exchanged where e = 1."""
    speed = 2.0
    smooth = {"friction": 0.0, "bounce": bounce}
    red = made("red ball", [0.1], [-0.6, 0.0, 0.1], speed, **smooth)
    found = run(red, made("blue ball", [0.1], [0.0, 0.0, 0.1], **smooth), seconds=1.0)
    hit = only(found, "hits")
    assert (hit.body, hit.other) == ("red ball", "blue ball") and hit.time == pytest.approx(0.4 / speed, abs=0.02)
    tolerance = 0.05 * speed if bounce == 1.0 else 0.1 * speed
    red_speed, blue_speed = (np.ptp(found.places[name][-2:, 0]) * FPS for name in ("red ball", "blue ball"))
    assert blue_speed == pytest.approx(speed * (1 + bounce) / 2, abs=tolerance)
    assert red_speed == pytest.approx(speed * (1 - bounce) / 2, abs=tolerance)
    assert red_speed + blue_speed == pytest.approx(speed, rel=0.02)


@pytest.mark.parametrize("friction", [0.1, 0.3, 0.6])
def test_a_box_slides_as_far_as_friction_lets_it(friction: float) -> None:
    """It goes v² / (2 mu g), and stops after v / (mu g)."""
    speed = 1.5
    found = run(made("red box", [0.1, 0.1, 0.1], [-1.0, 0.0, 0.1], speed, friction=friction))
    assert found.places["red box"][-1][0] + 1.0 == pytest.approx(speed**2 / (2 * friction * GRAVITY), rel=0.03)
    assert keys(found) == [("stops", "red box", "")]
    # It counts as still within the last 3 cm, for which it needs sqrt(2 * 0.03 / (mu g)).
    still = speed / (friction * GRAVITY) - np.sqrt(2 * 0.03 / (friction * GRAVITY))
    assert found.events[0].time == pytest.approx(still, abs=1.5 / FPS)


@pytest.mark.parametrize(("friction", "slides"), [(0.2, True), (0.45, True), (0.7, False)])
def test_what_comes_down_on_a_ramp_does_not_fall(friction: float, slides: bool) -> None:
    """At 30 degrees a box slides where its friction is below tan 30 = 0.577, with g (sin 30 - mu cos 30)."""
    slope, over = np.radians(30.0), 0.02 + 0.1
    ramp = made("grey ramp", [0.8, 0.3, 0.02], [0.0, 0.0, 0.5], turn=[0.0, 30.0, 0.0], moves="not at all", friction=0)
    place = [-0.4 * np.cos(slope) + over * np.sin(slope), 0.0, 0.5 + 0.4 * np.sin(slope) + over * np.cos(slope)]
    box = made("red box", [0.1, 0.1, 0.1], place, turn=[0.0, 30.0, 0.0], friction=friction)
    found = run(ramp, box, seconds=0.5)
    assert keys(found) == ([("starts", "red box", "")] if slides else [])
    if slides:
        time = (len(found.poses) - 1) / FPS
        far = GRAVITY * (np.sin(slope) - friction * np.cos(slope)) * time**2 / 2
        moved = float(found.places["red box"][-1][0]) - place[0]
        assert moved == pytest.approx(far * np.cos(slope), rel=0.06)


def test_a_ball_that_drops_into_a_tray_enters_it_and_one_that_leaves_it_does_not() -> None:
    tray = made("grey tray", [0.3, 0.3, 0.08], [0.0, 0.0, 0.08], bounce=0.15, **FIXED)
    found = run(tray, made("red ball", [0.08], [0.0, 0.0, 0.6]), made("blue ball", [0.08], [0.7, 0.0, 0.08]))
    entry = only(found, "enters")
    assert (entry.body, entry.other) == ("red ball", "grey tray") and ("hits", "red ball", "grey tray") in keys(found)
    # Its centre comes below the tray's middle, the tray's half height and its own radius, after this fall.
    assert entry.time == pytest.approx(np.sqrt(2 * (0.6 - 0.24) / GRAVITY), abs=1.5 / FPS)
    low = made("grey tray", [0.3, 0.3, 0.02], [0.0, 0.0, 0.02], **FIXED)
    flying = run(low, made("red ball", [0.05], [-0.8, 0.0, 0.3], 4.0, bounce=0.9), seconds=1.5)
    assert "enters" not in {event.kind for event in flying.events}


def test_a_pendulum_swings_with_its_period() -> None:
    """For small swings of a point mass it is 2 pi sqrt(l / g); a ball's own inertia adds 2 r² / (5 l²) to l."""
    long, radius, raised = 0.8, 0.06, np.radians(8.0)
    place = [-long * np.sin(raised), 0.0, 1.0 - long * np.cos(raised)]
    hinge = Hinge(point=[0.0, 0.0, 1.0], axis="y")
    found = run(made("red ball", [radius], place, moves="about its hinge", hinge=hinge), seconds=4.0)
    x = found.places["red ball"][:, 0]
    before = np.flatnonzero(np.sign(x[:-1]) < np.sign(x[1:]))
    period = np.diff(before + x[before] / (x[before] - x[before + 1])).mean() / FPS
    assert period == pytest.approx(2 * np.pi * np.sqrt(long * (1 + 0.4 * (radius / long) ** 2) / GRAVITY), rel=0.01)
    assert keys(found)[0] == ("starts", "red ball", "")


def test_bodies_that_touch_at_the_start_do_not_hit_each_other() -> None:
    found = run(
        made("red box", [0.2, 0.2, 0.1], [0.0, 0.0, 0.1]),
        made("blue ball", [0.1], [0.0, 0.0, 0.3]),
        made("green cylinder", [0.1, 0.1], [0.3001, 0.0, 0.1]),
    )
    assert found.events == [] and found.lost_energy == pytest.approx(0.0, abs=1e-3)
    load = made("blue box", [0.08, 0.08, 0.08], [0.0, 0.0, 0.28], friction=0.1)
    column = made("red box", [0.1, 0.1, 0.1], [0.0, 0.0, 0.1], 2.0, friction=0.1)
    drawn_away = keys(run(load, column))
    assert ("falls", "blue box", "") in drawn_away and "hits" not in {kind for kind, *_ in drawn_away}


def test_what_one_may_say_happens_or_does_not_is_unclear() -> None:
    hinge = Hinge(point=[0.0, 0.0, 0.5], axis="y")
    turns = made("red plank", [0.5, 0.1, 0.02], [0.0, 0.0, 0.5], moves="about its hinge", hinge=hinge)
    lies = made("blue box", [0.05, 0.05, 0.05], [0.3, 0.0, 0.57])
    tray = made("grey tray", [0.3, 0.3, 0.06], [2.0, 0.0, 0.06], **FIXED)
    stays = made("green ball", [0.05], [2.0, 0.0, 0.08])
    assert set(run(turns, lies, tray, stays).unclear) >= {
        ("stops", "red plank", ""),
        ("falls", "red plank", ""),
        ("hits", "blue box", "red plank"),
        ("enters", "green ball", "grey tray"),
    }


def test_who_bounces_hits_again_and_who_rolls_on_does_not() -> None:
    floor = made("grey box", [0.4, 0.4, 0.1], [0.0, 0.0, 0.1], **FIXED)
    bouncing = made("red ball", [0.1], [0.0, 0.0, 0.8], bounce=0.9)
    assert run(floor, bouncing).again == [("hits", "grey box", "red ball")]
    waiting = made("blue ball", [0.1], [0.0, 0.0, 0.1], bounce=0.9)
    found = run(waiting, made("red ball", [0.1], [-0.6, 0.0, 0.1], 1.5, bounce=0.9), seconds=2.0)
    assert ("hits", "red ball", "blue ball") in keys(found) and found.again == []


@pytest.mark.parametrize(("rests", "pauses"), [(0.7, True), (0.2, False)])
def test_who_rests_for_a_while_and_moves_on_has_not_simply_come_to_rest(rests: float, pauses: bool) -> None:
    moving = np.linspace(0.0, 1.0, FPS)
    x = np.concatenate([moving, np.ones(round(rests * FPS) + 1), 1.0 + moving[1:], np.full(FPS, 2.0)])
    path = np.stack([x, 0 * x, 0 * x], axis=1)
    assert _pauses(path, moves_at_once=True) is _pauses(path, moves_at_once=False) is pauses
    assert _pauses(path[FPS:], moves_at_once=True) is pauses
    # Neither who waits at first, nor who rests at the end, pauses.
    assert not _pauses(path[FPS:], moves_at_once=False)
    # Nor does who is not seen for long enough to have done either.
    assert not _pauses(path[: round(0.4 * FPS)], moves_at_once=True)
