import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from lmms_eval_tasks.sample.world.bodies import (
    SIDE_VIEW,
    SIDE_VIEW_ROUGH,
    TOP_VIEW,
    FlatBody,
    FlatWorld,
    Wall,
    gap_between,
    scripted,
)
from lmms_eval_tasks.sample.world.physics import simulate

FLOOR = Wall("floor", (-50.0, 138.0), (300.0, 138.0), 3.0)


def ball(name="ball", at=(50.0, 50.0), velocity=(0.0, 0.0), size=6.0, **more) -> FlatBody:
    return FlatBody(name, "ball", size, at, velocity, **more)


def test_free_fall_follows_the_law():
    path = simulate(FlatWorld(SIDE_VIEW, (ball(velocity=(30.0, 0.0)),)), 0.7).path("ball")
    times = np.arange(len(path)) / 12
    assert path[:, 0] == pytest.approx(50 + 30 * times)
    assert path[:, 1] == pytest.approx(50 + 50 * times**2, abs=0.4)


def test_a_ball_comes_to_rest_on_the_floor():
    trajectory = simulate(FlatWorld(SIDE_VIEW_ROUGH, (ball(velocity=(20.0, 0.0)),), (FLOOR,)), 4.0)
    assert trajectory.path("ball")[-1][1] == pytest.approx(135 - 6, abs=0.1)
    assert trajectory.speed("ball")[-1] < 3
    assert trajectory.first_contact("ball").partner("ball") == "floor"


def test_friction_stops_a_ball_after_v_squared_over_two_a():
    trajectory = simulate(FlatWorld(TOP_VIEW, (ball(velocity=(60.0, 0.0)),)), 3.0)
    assert trajectory.path("ball")[-1] == pytest.approx((50 + 60**2 / (2 * TOP_VIEW.table_friction), 50), abs=0.5)
    assert trajectory.speed("ball")[-1] == 0


@settings(max_examples=30, deadline=None)
@given(
    speed=st.floats(40, 120),
    offset=st.floats(-9, 9),
    sizes=st.tuples(st.floats(5, 9), st.floats(5, 9)),
)
def test_collisions_keep_momentum_and_never_add_energy(speed, offset, sizes):
    laws = replace(TOP_VIEW, table_friction=0.0)
    one, other = ball("one", (50.0, 50.0), (speed, 0.0), sizes[0]), ball("other", (80.0, 50.0 + offset), size=sizes[1])
    trajectory = simulate(FlatWorld(laws, (one, other)), 1.5)
    mass = np.array([size**2 for size in sizes])
    before, after = ((mass[:, None] * trajectory.velocities[frame]).sum(axis=0) for frame in (0, -1))
    energy = [(mass[:, None] * trajectory.velocities[frame] ** 2).sum() for frame in (0, -1)]
    assert trajectory.first_contact("one", {"other"}) is not None
    assert after == pytest.approx(before, rel=1e-9, abs=1e-6)
    assert energy[1] <= energy[0] * (1 + 1e-9)


@given(
    shapes=st.tuples(st.sampled_from(["ball", "block"]), st.sampled_from(["ball", "block"])),
    at=st.tuples(st.floats(-60, 60), st.floats(-60, 60)),
)
def test_gap_is_the_same_from_both_sides_and_its_normal_is_a_unit_vector(shapes, at):
    # Squares of such offsets are too small for a float; pixels never come that near.
    assume(all(offset == 0.0 or abs(offset) > 1e-100 for offset in at))
    a, b = FlatBody("a", shapes[0], 6.0, at), FlatBody("b", shapes[1], 7.0, (0.0, 0.0))
    gap, (nx, ny) = gap_between(a, at, b, (0.0, 0.0))
    assert gap_between(b, (0.0, 0.0), a, at)[0] == pytest.approx(gap)
    assert math.hypot(nx, ny) == pytest.approx(1.0)


def test_gap_of_a_ball_and_a_block_is_measured_to_the_nearest_corner():
    disc, square = FlatBody("a", "ball", 5.0, (0.0, 0.0)), FlatBody("b", "block", 6.0, (0.0, 0.0))
    assert gap_between(disc, (10.0, 11.0), square, (0.0, 0.0))[0] == pytest.approx(math.hypot(4, 5) - 5)


def test_a_scripted_body_waits_and_then_falls():
    held = ball(path=((0.0, 50.0, 50.0), (1.0, 50.0, 50.0)))
    path = simulate(FlatWorld(SIDE_VIEW, (held,), (FLOOR,)), 2.0).path("ball")
    assert np.ptp(path[:13], axis=0).max() < 0.5 and path[-1][1] > 80


def test_a_body_is_free_before_and_after_its_script():
    lifted = ball(at=(50.0, 129.0), velocity=(24.0, 0.0), path=((0.5, 62.0, 129.0), (1.0, 90.0, 100.0)))
    path = simulate(FlatWorld(SIDE_VIEW, (lifted,), (FLOOR,)), 2.0).path("ball")
    assert path[3] == pytest.approx((56, 129), abs=0.1) and path[9] == pytest.approx((76, 114.5))
    assert path[-1][0] == pytest.approx(90) and path[-1][1] > 120


def test_nothing_stops_a_hand():
    hand = scripted("hand", "ball", 6.0, ((0.0, 20.0, 50.0), (1.0, 100.0, 50.0)))
    runs = simulate(FlatWorld(TOP_VIEW, (hand, ball("thing", (60.0, 50.0)))), 2.0)
    assert runs.place("hand", 6) == pytest.approx((60, 50)) and runs.place("hand") == pytest.approx((100, 50))
    assert runs.displacement("thing")[0] > 40


def test_laws_can_be_broken_on_purpose():
    post = Wall("post", (90.0, 0.0), (90.0, 140.0), 3.0)
    rolling = ball(at=(50.0, 129.0), velocity=(60.0, 0.0))
    ghost = replace(rolling, passes_through=frozenset({"post"}))
    stopped, passed = (simulate(FlatWorld(SIDE_VIEW, (body,), (FLOOR, post)), 1.5) for body in (rolling, ghost))
    assert stopped.path("ball")[:, 0].max() < 90 < passed.path("ball")[-1][0]
    floating = simulate(FlatWorld(replace(SIDE_VIEW, gravity=0.0), (ball(),)), 1.0)
    assert np.ptp(floating.path("ball"), axis=0).max() == 0


def test_the_same_world_gives_the_same_bits():
    world = FlatWorld(
        TOP_VIEW, (ball("a", velocity=(80.0, 20.0)), ball("b", (90.0, 62.0)), FlatBody("c", "block", 7, (120, 70)))
    )
    assert simulate(world, 2.0).positions.tobytes() == simulate(world, 2.0).positions.tobytes()


def test_a_run_can_stop_at_the_first_touch():
    world = FlatWorld(TOP_VIEW, (ball("a", velocity=(80.0, 0.0)), ball("b", (90.0, 50.0))))
    stopped, whole = simulate(world, 3.0, stop_at_contact_of="a"), simulate(world, 3.0)
    assert len(stopped.positions) < len(whole.positions) and stopped.contacts == whole.contacts[:1]


def test_unknown_body():
    with pytest.raises(KeyError):
        FlatWorld(TOP_VIEW, ()).body("nobody")
