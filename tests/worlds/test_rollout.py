"""What happens in scenes so small that it can be computed by hand."""

import numpy as np
import pytest

pytest.importorskip("mujoco")

from lmms_eval_tasks.worlds.physics.rollout import FPS, Rollout, _pauses, roll_out
from lmms_eval_tasks.worlds.scenes.scene import GRAVITY, Body, Event, Hinge, Scene

G = GRAVITY


def _body(name: str, size: list[float], place: list[float], **rest: object) -> Body:
    colour, shape = name.split()
    return Body.model_validate(
        {"name": name, "shape": shape, "colour": colour, "size": size, "place": place, "mass": 1.0, **rest}
    )


def _run(*bodies: Body, seconds: float = 3.0) -> Rollout:
    return roll_out(Scene(id="small", family="none", seed=0, depth=1, seconds=seconds, bodies=list(bodies)))


def _kinds(run: Rollout) -> list[tuple[str, str, str]]:
    return [(event.kind, event.body, event.other) for event in run.events]


def _only(run: Rollout, kind: str) -> Event:
    (event,) = (event for event in run.events if event.kind == kind)
    return event


def _speed(run: Rollout, name: str) -> float:
    """Along x, in metres per second, at the end."""
    path = run.places[name]
    return float(path[-1][0] - path[-2][0]) * FPS


def test_fall_lasts_as_long_as_a_free_fall():
    """It touches the box below it after sqrt(2 h / g)."""
    high = 0.6
    run = _run(
        _body("red ball", [0.1], [0.0, 0.0, 0.4 + high + 0.1]),
        _body("grey box", [0.2, 0.2, 0.2], [0.0, 0.0, 0.2], moves="not at all", scenery=True),
        seconds=1.0,
    )
    hit = _only(run, "hits")
    assert (hit.body, hit.other) == ("red ball", "grey box")
    assert hit.time == pytest.approx(np.sqrt(2 * high / G), abs=0.01)
    # It falls once it has dropped by its own radius, and starts once it has moved by 3 cm.
    assert _only(run, "falls").time == pytest.approx(np.sqrt(2 * 0.1 / G), abs=0.03)
    assert _only(run, "starts").time == pytest.approx(np.sqrt(2 * 0.03 / G), abs=0.03)


@pytest.mark.parametrize("bounce", [0.3, 0.6, 1.0])
def test_collision_of_equal_masses_shares_the_speed_as_the_bounce_says(bounce):
    """After it the two move at v (1 - e) / 2 and v (1 + e) / 2: all is exchanged where e = 1."""
    speed = 2.0
    run = _run(
        _body("red ball", [0.1], [-0.6, 0.0, 0.1], velocity=[speed, 0.0, 0.0], friction=0.0, bounce=bounce),
        _body("blue ball", [0.1], [0.0, 0.0, 0.1], friction=0.0, bounce=bounce),
        seconds=1.0,
    )
    hit = _only(run, "hits")
    assert (hit.body, hit.other) == ("red ball", "blue ball")
    assert hit.time == pytest.approx(0.4 / speed, abs=0.02)
    tolerance = 0.05 * speed if bounce == 1.0 else 0.1 * speed
    assert _speed(run, "blue ball") == pytest.approx(speed * (1 + bounce) / 2, abs=tolerance)
    assert _speed(run, "red ball") == pytest.approx(speed * (1 - bounce) / 2, abs=tolerance)
    assert _speed(run, "red ball") + _speed(run, "blue ball") == pytest.approx(speed, rel=0.02)


@pytest.mark.parametrize("friction", [0.1, 0.3, 0.6])
def test_box_slides_as_far_as_friction_lets_it(friction):
    """It goes v² / (2 mu g), and stops after v / (mu g)."""
    speed = 1.5
    box = _body("red box", [0.1, 0.1, 0.1], [-1.0, 0.0, 0.1], velocity=[speed, 0.0, 0.0], friction=friction)
    run = _run(box)
    far = speed**2 / (2 * friction * G)
    assert run.places["red box"][-1][0] + 1.0 == pytest.approx(far, rel=0.03)
    assert _kinds(run) == [("stops", "red box", "")]
    # It counts as still within the last 3 cm, for which it needs sqrt(2 * 0.03 / (mu g)).
    still = speed / (friction * G) - np.sqrt(2 * 0.03 / (friction * G))
    assert run.events[0].time == pytest.approx(still, abs=1.5 / FPS)


def test_box_that_is_pushed_high_up_tips_over():
    tall = _body("red box", [0.04, 0.1, 0.2], [0.0, 0.0, 0.2], mass=0.2, friction=0.9)
    pusher = _body("blue ball", [0.15], [-0.6, 0.0, 0.15], velocity=[1.5, 0.0, 0.0])
    assert ("falls", "red box", "") in _kinds(_run(tall, pusher))
    assert ("falls", "red box", "") not in _kinds(_run(tall))


def test_what_comes_down_on_a_ramp_does_not_fall():
    """At 30 degrees a box slides where its friction is below tan 30 = 0.577, with g (sin 30 - mu cos 30)."""
    slope = np.radians(30.0)
    ramp = _body("grey ramp", [0.8, 0.3, 0.02], [0.0, 0.0, 0.5], turn=[0.0, 30.0, 0.0], moves="not at all", friction=0)
    over = 0.02 + 0.1
    place = [-0.4 * np.cos(slope) + over * np.sin(slope), 0.0, 0.5 + 0.4 * np.sin(slope) + over * np.cos(slope)]
    for friction, slides in ((0.2, True), (0.45, True), (0.7, False)):
        box = _body("red box", [0.1, 0.1, 0.1], place, turn=[0.0, 30.0, 0.0], friction=friction)
        run = _run(ramp, box, seconds=0.5)
        assert _kinds(run) == ([("starts", "red box", "")] if slides else [])
        if slides:
            end = float(run.places["red box"][-1][0]) - place[0]
            time = (len(run.poses) - 1) / FPS
            far = G * (np.sin(slope) - friction * np.cos(slope)) * time**2 / 2
            assert end == pytest.approx(far * np.cos(slope), rel=0.06)


def test_ball_that_drops_into_a_tray_enters_it():
    tray = _body("grey tray", [0.3, 0.3, 0.08], [0.0, 0.0, 0.08], moves="not at all", scenery=True, bounce=0.15)
    run = _run(tray, _body("red ball", [0.08], [0.0, 0.0, 0.6]), _body("blue ball", [0.08], [0.7, 0.0, 0.08]))
    entry = _only(run, "enters")
    assert (entry.body, entry.other) == ("red ball", "grey tray")
    # Its centre comes below the tray's middle, the tray's half height and its own radius, after this fall.
    assert entry.time == pytest.approx(np.sqrt(2 * (0.6 - 0.24) / G), abs=1.5 / FPS)
    assert ("hits", "red ball", "grey tray") in _kinds(run)


def test_body_that_leaves_a_tray_has_not_entered_it():
    tray = _body("grey tray", [0.3, 0.3, 0.02], [0.0, 0.0, 0.02], moves="not at all", scenery=True)
    flying = _body("red ball", [0.05], [-0.8, 0.0, 0.3], velocity=[4.0, 0.0, 0.0], bounce=0.9)
    assert not [event for event in _run(tray, flying, seconds=1.5).events if event.kind == "enters"]


def test_pendulum_swings_with_its_period():
    """For small swings of a point mass it is 2 pi sqrt(l / g); a ball's own inertia adds 2 r² / (5 l²) to l."""
    long, radius = 0.8, 0.06
    raised = np.radians(8.0)
    place = [-long * np.sin(raised), 0.0, 1.0 - long * np.cos(raised)]
    hinge = Hinge(point=[0.0, 0.0, 1.0], axis="y")
    run = _run(_body("red ball", [radius], place, moves="about its hinge", hinge=hinge), seconds=4.0)
    x = run.places["red ball"][:, 0]
    crossings = [
        index + x[index] / (x[index] - x[index + 1]) for index in np.flatnonzero(np.sign(x[:-1]) < np.sign(x[1:]))
    ]
    period = np.diff(crossings).mean() / FPS
    assert period == pytest.approx(2 * np.pi * np.sqrt(long * (1 + 0.4 * (radius / long) ** 2) / G), rel=0.01)
    assert _kinds(run)[0] == ("starts", "red ball", "")


def test_seesaw_tips_to_the_heavier_side_and_what_it_carries_does_not_fall():
    hinge = Hinge(point=[0.0, 0.0, 0.17], axis="y")
    plank = _body("red plank", [0.6, 0.1, 0.02], [0, 0, 0.17], moves="about its hinge", hinge=hinge, friction=0.9)
    light = _body("blue box", [0.08, 0.08, 0.08], [-0.4, 0.0, 0.27], mass=0.2, friction=0.9)
    heavy = _body("green box", [0.08, 0.08, 0.08], [0.4, 0.0, 0.27], mass=0.6, friction=0.9)
    run = _run(plank, light, heavy)
    assert run.places["blue box"][-1][2] > 0.3 and run.places["green box"][-1][2] < 0.2
    assert {kind for kind in _kinds(run) if kind[0] != "stops"} == {
        ("starts", "red plank", ""),
        ("starts", "blue box", ""),
        ("starts", "green box", ""),
    }


def test_hinged_plank_that_rests_on_the_floor_stays_at_rest():
    """Its middle cannot move, so that MuJoCo would take its contacts to be rigid and throw about what lies on it."""
    tilt = np.arcsin(0.15 / 0.6) * 0.98
    hinge = Hinge(point=[0.0, 0.0, 0.17], axis="y")
    turn = [0.0, -float(np.degrees(tilt)), 0.0]
    plank = _body("red plank", [0.6, 0.1, 0.02], [0, 0, 0.17], turn=turn, moves="about its hinge", hinge=hinge)
    along, over = -0.46, 0.02 + 0.085
    place = [along * np.cos(tilt) - over * np.sin(tilt), 0.0, 0.17 + along * np.sin(tilt) + over * np.cos(tilt)]
    load = _body("blue box", [0.085, 0.085, 0.085], place, turn=turn, mass=0.35, friction=0.9)
    assert _kinds(_run(plank, load)) == []


def test_bodies_at_rest_give_no_events_though_they_touch():
    run = _run(
        _body("red box", [0.2, 0.2, 0.1], [0.0, 0.0, 0.1]),
        _body("blue ball", [0.1], [0.0, 0.0, 0.3]),
        _body("green cylinder", [0.1, 0.1], [0.3001, 0.0, 0.1]),
    )
    assert run.events == []
    assert run.lost_energy == pytest.approx(0.0, abs=1e-3)


def test_two_that_touch_at_the_start_do_not_hit_each_other():
    load = _body("blue box", [0.08, 0.08, 0.08], [0.0, 0.0, 0.28], friction=0.1)
    column = _body("red box", [0.1, 0.1, 0.1], [0.0, 0.0, 0.1], velocity=[2.0, 0.0, 0.0], friction=0.1)
    kinds = _kinds(_run(load, column))
    assert ("falls", "blue box", "") in kinds
    assert not [kind for kind in kinds if kind[0] == "hits"]


def test_what_one_may_say_happens_or_does_not_is_unclear():
    hinge = Hinge(point=[0.0, 0.0, 0.5], axis="y")
    turns = _body("red plank", [0.5, 0.1, 0.02], [0.0, 0.0, 0.5], moves="about its hinge", hinge=hinge)
    lies = _body("blue box", [0.05, 0.05, 0.05], [0.3, 0.0, 0.57])
    tray = _body("grey tray", [0.3, 0.3, 0.06], [2.0, 0.0, 0.06], moves="not at all", scenery=True)
    stays = _body("green ball", [0.05], [2.0, 0.0, 0.08])
    unclear = set(_run(turns, lies, tray, stays).unclear)
    assert {
        ("stops", "red plank", ""),
        ("falls", "red plank", ""),
        ("hits", "blue box", "red plank"),
        ("enters", "green ball", "grey tray"),
    } <= unclear


def test_a_body_that_ends_leaning_has_fallen_for_some():
    """Beside a wall that holds it at about 30 degrees: neither that it falls nor that it does not is asked."""
    tall, gap = 0.2, 0.2
    wall = _body("grey wall", [0.05, 0.3, 0.4], [0.05 + 0.04 + gap, 0.0, 0.4], moves="not at all", scenery=True)
    pushed = _body("blue box", [0.04, 0.1, tall], [0.0, 0.0, tall], friction=1.5, velocity=[0.0, 0.0, 0.0])
    pusher = _body("red ball", [0.06], [-0.5, 0.0, 0.34], velocity=[3.0, 0.0, 1.2], bounce=0.1)
    run = _run(wall, pushed, pusher, seconds=2.0)
    assert ("falls", "blue box", "") not in _kinds(run) and ("starts", "blue box", "") in _kinds(run)
    assert ("falls", "blue box", "") in run.unclear
    assert ("falls", "blue box", "") not in _run(wall, pushed, seconds=1.0).unclear


def test_who_bounces_hits_again_and_who_rolls_on_does_not():
    floor = _body("grey box", [0.4, 0.4, 0.1], [0.0, 0.0, 0.1], moves="not at all", scenery=True)
    bouncing = _body("red ball", [0.1], [0.0, 0.0, 0.8], bounce=0.9)
    assert _run(floor, bouncing).again == [("hits", "grey box", "red ball")]
    waiting = _body("blue ball", [0.1], [0.0, 0.0, 0.1], bounce=0.9)
    coming = _body("red ball", [0.1], [-0.6, 0.0, 0.1], velocity=[1.5, 0.0, 0.0], bounce=0.9)
    run = _run(waiting, coming, seconds=2.0)
    assert ("hits", "red ball", "blue ball") in _kinds(run) and run.again == []


@pytest.mark.parametrize(("rests", "expected"), [(0.7, True), (0.2, False)])
def test_who_rests_for_a_while_and_moves_on_has_not_simply_come_to_rest(rests, expected):
    moving = np.linspace(0.0, 1.0, FPS)
    resting = np.ones(round(rests * FPS) + 1)
    x = np.concatenate([moving, resting, 1.0 + moving[1:], np.full(FPS, 2.0)])
    path = np.stack([x, 0 * x, 0 * x], axis=1)
    assert _pauses(path, moves_at_once=True) is expected
    # Neither who waits at first, nor who rests at the end, pauses.
    assert not _pauses(path[FPS:], moves_at_once=False)


def test_two_runs_give_the_same_bytes():
    bodies = [
        _body("red ball", [0.1], [-0.9, 0.02, 0.1], velocity=[2.5, 0.0, 0.0], bounce=0.8),
        _body("blue box", [0.05, 0.1, 0.12], [0.0, 0.0, 0.12]),
        _body("green ball", [0.1], [0.4, 0.05, 0.1]),
    ]
    one, other = _run(*bodies), _run(*bodies)
    assert one.events == other.events and one.events
    assert one.poses.tobytes() == other.poses.tobytes()


def test_change_is_called_before_each_step():
    """A ball that is held by it stays in the air."""
    scene = Scene(
        id="held", family="none", seed=0, depth=1, seconds=1.0, bodies=[_body("red ball", [0.1], [0.0, 0.0, 0.8])]
    )

    def hold(model: object, data: object) -> None:
        data.qvel[:] = 0.0  # type: ignore[attr-defined]

    assert [event.kind for event in roll_out(scene).events][:2] == ["starts", "falls"]
    assert roll_out(scene, hold).events == []
