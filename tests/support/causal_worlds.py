"""Short scenes of worlds whose causes are known beforehand, and what is known of them by removals alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lmms_eval_tasks.worlds.scenes.scene import Body, EventKey, Facts, Intervention, Scene, World


def ball(colour: str, x: float, y: float = 0.0, velocity: Sequence[float] = (0.0, 0.0), **rest: Any) -> Body:
    """A ball of a radius of 0.12 m that lies on the floor."""
    fields = {"mass": 0.6, "bounce": 0.85, "friction": 0.15, **rest}
    return Body(
        name=f"{colour} ball",
        shape="ball",
        colour=colour,
        size=[0.12],
        place=[x, y, 0.12],
        velocity=[*velocity, 0.0],
        **fields,
    )


def box(colour: str, x: float, wide: float = 0.12, **rest: Any) -> Body:
    fields = {"mass": 0.2, "friction": 0.9, **rest}
    return Body(
        name=f"{colour} box", shape="box", colour=colour, size=[0.05, wide, 0.18], place=[x, 0.0, 0.18], **fields
    )


def scene(*bodies: Body, name: str = "one", seconds: float = 1.5) -> Scene:
    return Scene(id=name, family="test", seed=0, seconds=seconds, depth=1, bodies=list(bodies))


def prototype() -> Scene:
    """The red ball hits the green one, which hits the blue box; without it the red one does that itself."""
    return scene(ball("red", -1.0, velocity=(2.4, 0.0)), ball("green", -0.3), box("blue", 0.4))


def both_at_once() -> Scene:
    """Two balls hit a wide box at the same time; one is enough to push it over."""
    return scene(
        ball("red", -0.7, -0.17, velocity=(2.2, 0.0)),
        ball("green", -0.7, 0.17, velocity=(2.2, 0.0)),
        box("blue", 0.0, wide=0.3),
    )


def one_after_the_other() -> Scene:
    """The red ball hits the blue one away; the green one comes to where that lay half a second later."""
    return scene(
        ball("red", -0.7, velocity=(2.6, 0.0), mass=0.35),
        ball("green", 0.0, 0.95, velocity=(0.0, -1.3)),
        ball("blue", 0.0),
    )


def independent() -> Scene:
    """The red ball hits the blue one; the green ball hits the white one, elsewhere."""
    return scene(
        ball("red", -0.7, -0.4, velocity=(2.0, 0.0)),
        ball("blue", 0.0, -0.4),
        ball("green", 0.7, 0.5, velocity=(-2.0, 0.0)),
        ball("white", 0.0, 0.5),
    )


def known_by_removal(shown: Scene, pairs: Sequence[Sequence[str]] = ()) -> Facts:
    """What is known of a scene with each of its bodies removed, and some pairs."""
    from lmms_eval_tasks.worlds.physics.other_worlds import intervene
    from lmms_eval_tasks.worlds.physics.rollout import roll_out

    rollout = roll_out(shown)
    removed = [[name] for name in shown.actors] + [sorted(pair) for pair in pairs]
    changes = [Intervention(kind="remove", bodies=bodies) for bodies in removed]
    worlds = [World(intervention=change, events=intervene(shown, change).events) for change in changes]
    return Facts(scene=shown, events=rollout.events, worlds=worlds, lost_energy=rollout.lost_energy)


def starts(colour: str, shape: str = "ball") -> EventKey:
    return EventKey("starts", f"{colour} {shape}")
