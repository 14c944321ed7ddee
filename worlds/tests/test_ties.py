"""What is unsure in a scene, against draws of nearly equal scenes that are made otherwise."""

from __future__ import annotations

import json

import numpy as np
import pytest
from expected import Expected
from small_worlds import ball, both_at_once, box, busy_scenes, prototype, scene

from lmms_eval_worlds.physics.nearly_equal import DRAWS, WITHIN, agreed_order, nearly_equal, numbers, unsure_keys
from lmms_eval_worlds.physics.other_worlds import NEAR_A_TIE, NOTHING_HAPPENS, begin, why_not_begin
from lmms_eval_worlds.physics.rollout import roll_out
from lmms_eval_worlds.scenes.scene import Event, Hinge, Scene


def shaken(shown: Scene, random: np.random.Generator) -> Scene:
    """Balls and boxes on the floor, each number up to a hundredth off, places as much as a hundredth of 0.5 m."""

    def off(value: float) -> float:
        return value * float(random.uniform(0.99, 1.01))

    bodies = []
    for one in shown.bodies:
        size = list(map(off, one.size))
        x, y = (value + float(random.uniform(-0.005, 0.005)) for value in one.place[:2])
        moves = {"size": size, "place": [x, y, size[-1]], "velocity": list(map(off, one.velocity))}
        fields = {"mass": off(one.mass), "friction": off(one.friction), "bounce": off(one.bounce)}
        bodies.append(one.model_copy(update=fields | moves))
    return shown.model_copy(update={"bodies": bodies})


@pytest.mark.parametrize("shown", [prototype(), both_at_once()])
def test_what_is_sure_happens_in_draws_that_are_made_otherwise_too(shown: Scene) -> None:
    settled, random = begin(shown), np.random.default_rng(0)
    loose = {tuple(key) for key in settled.unsure}
    sure = {event.key for event in settled.rollout.events} - loose
    assert {key.kind for key in sure} >= {"hits", "starts", "falls"}
    for _ in range(DRAWS):
        assert {event.key for event in roll_out(shaken(shown, random)).events} - loose == sure


def test_a_scene_near_a_tie_is_thrown_away() -> None:
    """A hundredth decides whether the red ball touches the green one, or the green one the white one."""

    def passing(y: float) -> Scene:
        return scene(ball("red", -0.7, y, velocity=(2.0, 0.0)), ball("green", 0.0), seconds=1.0)

    settled, aside = begin(passing(0.2395)), begin(passing(0.3))
    assert ["hits", "green ball", "red ball"] in settled.unsure and why_not_begin(settled) is not None
    assert aside.unsure == [] and why_not_begin(aside) == NOTHING_HAPPENS
    third = ball("white", 0.7, 0.2395)
    settled = begin(scene(ball("red", -0.6, velocity=(2.6, 0.0)), ball("green", 0.0), third))
    assert ["starts", "white ball", ""] in settled.unsure and ["starts", "green ball", ""] not in settled.unsure
    assert why_not_begin(settled) == NEAR_A_TIE


def test_nearly_equal_scenes_differ_by_a_hundredth_at_most_and_are_the_same_each_time() -> None:
    shown = prototype()
    draws = nearly_equal(shown)
    assert draws == nearly_equal(shown) and len(draws) == DRAWS
    for one in draws:
        for before, after in zip(shown.bodies, one.bodies, strict=True):
            for field in ("mass", "size", "velocity"):
                assert getattr(after, field) == pytest.approx(getattr(before, field), rel=WITHIN)
            assert after.place[2] == pytest.approx(after.size[-1])
            assert np.hypot(*np.subtract(after.place, before.place)[:2]) < 0.7 * WITHIN * 1.5
    for field in ("mass", "friction", "bounce", "size", "place"):
        assert len({str(getattr(one.bodies[0], field)) for one in draws}) == DRAWS
    # What nothing touches may have another form, too.
    assert all(len(set(np.divide(one.bodies[2].size, shown.bodies[2].size).round(9))) == 3 for one in draws)


def test_nearly_equal_scenes_of_bodies_of_every_shape_are_the_same(expected: Expected) -> None:
    """Numbers in billionths, so that a digest does not hang on their last bits."""

    def written(shown: Scene) -> str:
        return str(json.loads(shown.model_dump_json(), parse_float=lambda text: round(float(text), 9)))

    shown = busy_scenes().values()
    expected.digests({one.id: "\n".join(map(written, nearly_equal(one))) for one in shown})


def test_a_body_moves_by_a_hundredth_of_the_way_to_the_next_or_of_a_metre() -> None:
    shown = scene(ball("red", 0.4, 0.3), ball("green", 0.4, -0.3), ball("blue", -2.0, 0.2))
    for number, way in enumerate((0.6, 0.6, 1.0)):
        before = shown.bodies[number].place[:2]
        moved = np.abs([np.subtract(one.bodies[number].place[:2], before) for one in nearly_equal(shown)]).max(axis=0)
        assert (0.7 * WITHIN * way < moved).all() and (moved <= WITHIN * way).all()


def test_bodies_that_touch_and_one_on_a_hinge_keep_their_form() -> None:
    """All their lengths grow by one factor."""
    lower, upper = box("red", 0.5), box("blue", 0.52, place=[0.52, 0.1, 0.54])
    hinge = {"moves": "about its hinge", "hinge": Hinge(point=[-1.0, 0.2, 1.0], axis="y")}
    bob = ball("green", -0.8, 0.2, place=[-0.8, 0.2, 0.4]).model_copy(update=hinge)
    shown, factors = scene(lower, upper, bob), []
    for one in nearly_equal(shown):
        low, high, swings = one.bodies
        factor, other = low.size[0] / lower.size[0], swings.size[0] / bob.size[0]
        for after, before in ((low, lower), (high, upper)):
            assert after.size == pytest.approx([factor * value for value in before.size])
            assert after.place[2] == pytest.approx(factor * before.place[2])
        apart = np.subtract(upper.place, lower.place)
        assert np.subtract(high.place, low.place) == pytest.approx(factor * apart)
        assert swings.hinge is not None and bob.hinge is not None
        arm = np.subtract(bob.place, bob.hinge.point)
        assert np.subtract(swings.place, swings.hinge.point) == pytest.approx(other * arm)
        factors += [factor, other]
    assert len(set(factors)) == len(factors) and all(abs(factor - 1) <= WITHIN for factor in factors)


def test_random_numbers_are_those_of_each_part_by_itself() -> None:
    drawn = [numbers(*parts).random() for parts in (("a", 1), ("a", 1), ("a1",), ("", "a1"), ("a", "", 1))]
    assert drawn[0] == drawn[1] and len(set(drawn)) == 4


def test_unsure_is_what_not_all_runs_have_and_an_order_one_that_all_have() -> None:
    def events(**times: float) -> list[Event]:
        return [Event(kind="starts", body=name, time=time) for name, time in times.items()]

    runs = [events(a=1.0, b=2.0), events(b=1.0, c=2.0)]
    assert unsure_keys(events(a=1.0, b=1.5), runs) == [["starts", "a", ""], ["starts", "c", ""]]
    first = events(a=1.0, b=1.1, c=2.0, d=3.0)
    assert [key.body for key in agreed_order(first, [events(b=1.0, a=1.05, c=2.0)])] == ["a", "c"]
    assert [key.body for key in agreed_order(first, [first])] == ["a", "b", "c", "d"]
    assert agreed_order(events(a=1.0, b=1.0), []) == [("starts", "a", "")]
