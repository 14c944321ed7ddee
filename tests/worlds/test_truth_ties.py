"""What is unsure in a scene, against draws of nearly equal scenes that are made otherwise."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mujoco", reason="the extra worlds is not installed")

from causal_worlds import ball, both_at_once, box, prototype, scene

from lmms_eval_tasks.worlds.new_scenes import draw_scene
from lmms_eval_tasks.worlds.physics.mechanics import build_model, start
from lmms_eval_tasks.worlds.physics.nearly_equal import DRAWS, WITHIN, agreed_order, nearly_equal, unsure_keys
from lmms_eval_tasks.worlds.physics.other_worlds import NEAR_A_TIE, NOTHING_HAPPENS, begin, why_not_begin
from lmms_eval_tasks.worlds.physics.rollout import roll_out
from lmms_eval_tasks.worlds.scenes.families import families
from lmms_eval_tasks.worlds.scenes.scene import Event, Scene


def grazing(seconds: float = 1.0) -> Scene:
    """The red ball passes the green one so closely that a hundredth decides whether it touches it."""
    return scene(ball("red", -0.7, 0.2395, velocity=(2.0, 0.0)), ball("green", 0.0), seconds=seconds)


def shaken(shown: Scene, random: np.random.Generator) -> Scene:
    """Balls and boxes on the floor, each number up to a hundredth off, places as much as a hundredth of 0.5 m."""

    def off(value: float) -> float:
        return value * float(random.uniform(0.99, 1.01))

    bodies = []
    for body in shown.bodies:
        size = [off(value) for value in body.size]
        x, y = (value + float(random.uniform(-0.005, 0.005)) for value in body.place[:2])
        fields = {
            "size": size,
            "place": [x, y, size[-1]],
            "velocity": [off(value) for value in body.velocity],
            "mass": off(body.mass),
            "friction": off(body.friction),
            "bounce": off(body.bounce),
        }
        bodies.append(body.model_copy(update=fields))
    return shown.model_copy(update={"bodies": bodies})


@pytest.mark.parametrize("shown", [prototype(), both_at_once()])
def test_what_is_sure_happens_in_draws_that_are_made_otherwise_too(shown: Scene) -> None:
    settled = begin(shown)
    random = np.random.default_rng(0)
    loose = {tuple(key) for key in settled.unsure}
    sure = {event.key for event in settled.rollout.events} - loose
    assert {key.kind for key in sure} >= {"hits", "starts", "falls"}
    for _ in range(DRAWS):
        found = {event.key for event in roll_out(shaken(shown, random)).events}
        assert found - loose == sure


def test_a_ball_that_nearly_misses_is_unsure_and_its_scene_thrown_away() -> None:
    settled = begin(grazing())
    assert ["hits", "green ball", "red ball"] in settled.unsure
    assert why_not_begin(settled) is not None
    aside = begin(scene(ball("red", -0.7, 0.3, velocity=(2.0, 0.0)), ball("green", 0.0), seconds=1.0))
    assert aside.unsure == []
    assert why_not_begin(aside) == NOTHING_HAPPENS


def test_a_scene_is_near_a_tie_where_it_is_unsure_whether_a_body_starts() -> None:
    """The red ball starts the green one, which then may or may not touch the white one."""
    third = ball("white", 0.7, 0.2395)
    settled = begin(scene(ball("red", -0.6, velocity=(2.6, 0.0)), ball("green", 0.0), third))
    unsure = {tuple(key) for key in settled.unsure}
    assert ("starts", "white ball", "") in unsure
    assert ("starts", "green ball", "") not in unsure
    assert why_not_begin(settled) == NEAR_A_TIE


def test_nearly_equal_scenes_differ_by_a_hundredth_at_most_and_are_the_same_each_time() -> None:
    shown = prototype()
    draws = nearly_equal(shown)
    assert draws == nearly_equal(shown)
    assert len(draws) == DRAWS
    for one in draws:
        for before, after in zip(shown.bodies, one.bodies, strict=True):
            assert after.mass == pytest.approx(before.mass, rel=WITHIN)
            assert after.size == pytest.approx(before.size, rel=WITHIN)
            assert after.velocity == pytest.approx(before.velocity, rel=WITHIN)
            assert after.place[2] == pytest.approx(after.size[-1])
            assert np.hypot(*np.subtract(after.place, before.place)[:2]) < 0.7 * WITHIN * 1.5
    for field in ("mass", "friction", "bounce", "size", "place"):
        assert len({str(getattr(one.bodies[0], field)) for one in draws}) == DRAWS


def deepest(shown: Scene) -> float:
    """By how many metres bodies are in each other, or in the floor, at the start; 0 where none are."""
    model = build_model(shown)
    data = start(model, shown)
    return max([0.0, *(-data.contact.dist).tolist()])


@pytest.mark.parametrize("family", families())
def test_no_nearly_equal_scene_of_a_family_starts_with_a_body_deeper_in_another(family: str) -> None:
    for number in range(3):
        shown = draw_scene(family, 1, number)
        before = deepest(shown)
        assert max(map(deepest, nearly_equal(shown))) <= before * 1.05 + 1e-4


def test_what_rests_on_something_still_does_in_nearly_equal_scenes() -> None:
    """A box on a plank on two boxes: nothing starts, falls or hits in any draw."""
    feet = [box("red", -0.3, friction=0.5), box("green", 0.3, friction=0.5)]
    plank = feet[0].model_copy(
        update={"name": "white plank", "size": [0.4, 0.1, 0.02], "place": [0.0, 0.0, 0.38], "colour": "white"}
    )
    load = feet[0].model_copy(update={"name": "blue box", "size": [0.06] * 3, "place": [0.1, 0.0, 0.46]})
    shown = scene(*feet, plank, load, seconds=0.5)
    for one in nearly_equal(shown):
        assert roll_out(one).events == []


def events(*named: tuple[str, float]) -> list[Event]:
    return [Event(kind="starts", body=name, time=time) for name, time in named]


def test_unsure_is_what_not_all_runs_have() -> None:
    runs = [events(("a", 1.0), ("b", 2.0)), events(("b", 1.0), ("c", 2.0))]
    assert unsure_keys(events(("a", 1.0), ("b", 1.5)), runs) == [["starts", "a", ""], ["starts", "c", ""]]


def test_an_order_is_one_that_all_runs_have() -> None:
    first = events(("a", 1.0), ("b", 1.1), ("c", 2.0), ("d", 3.0))
    other = events(("b", 1.0), ("a", 1.05), ("c", 2.0))
    assert [key.body for key in agreed_order(first, [other])] == ["a", "c"]
    assert [key.body for key in agreed_order(first, [first])] == ["a", "b", "c", "d"]
    assert agreed_order(events(("a", 1.0), ("b", 1.0)), []) == [("starts", "a", "")]
