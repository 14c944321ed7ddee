"""Which bodies touch each other at the start."""

from __future__ import annotations

import pytest
from made_facts import body, one_scene

from lmms_eval_tasks.worlds.questions.askable import Askable, touching_at_start
from lmms_eval_tasks.worlds.scenes.scene import Event, EventKey


def placed(name: str, x: float, z: float, size: list[float], **fields: object):
    return body(name, place=[x, 0.0, z], size=size, **fields)


LOWER = placed("red box", 0.0, 0.1, [0.1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("upper", "touches"),
    [
        (placed("blue box", 0.0, 0.3, [0.1, 0.1, 0.1]), True),
        (placed("blue box", 0.0, 0.35, [0.1, 0.1, 0.1]), False),
        (placed("blue ball", 0.15, 0.28, [0.08]), True),
        (placed("blue ball", 0.3, 0.28, [0.08]), False),
        (placed("blue cylinder", 0.0, 0.4, [0.05, 0.2]), True),
        (placed("blue cylinder", 0.0, 0.45, [0.05, 0.2]), False),
        # A thin board that lies is 0.6 long, and one that stands is 0.6 high.
        (placed("blue plank", 0.35, 0.1, [0.3, 0.1, 0.02]), True),
        (placed("blue plank", 0.35, 0.3, [0.3, 0.1, 0.02], turn=[0.0, 90.0, 0.0]), False),
        (placed("blue plank", 0.0, 0.5, [0.3, 0.1, 0.02], turn=[0.0, 90.0, 0.0]), True),
        (placed("blue box", 0.0, 0.3, [0.1, 0.1, 0.1], scenery=True), False),
    ],
)
def test_bodies_touch_where_their_boxes_do(upper, touches: bool) -> None:
    scene = one_scene([], [LOWER, upper]).scene
    assert touching_at_start(scene) == ([{"red box", upper.name}] if touches else [])


def test_what_holds_a_body_touches_it_though_nothing_hits() -> None:
    upper = placed("blue box", 0.0, 0.3, [0.1, 0.1, 0.1])
    away = placed("white box", 1.0, 0.1, [0.1, 0.1, 0.1])
    falls = Event(kind="falls", time=1.0, body="blue box")
    scene = Askable(one_scene([falls], [LOWER, upper, away]))
    assert scene.touches(["red box"], EventKey("falls", "blue box"))
    assert not scene.touches(["white box"], EventKey("falls", "blue box"))
