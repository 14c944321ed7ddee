"""Short scenes of worlds whose causes are known beforehand, and what a process that renders, or acts as if, does.

As a program it is such a process, which needs no renderer: what it is asked to do draws nothing.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lmms_eval_tasks.worlds.physics import rendering
from lmms_eval_tasks.worlds.physics.filming import SceneClip, encode_frames
from lmms_eval_tasks.worlds.scenes.scene import Body, EventKey, Facts, Intervention, Scene, Sight, Violation, World

LONGEST = 60.0
"""Seconds in which what is waited for has to happen."""


def ball(
    colour: str, x: float, y: float = 0.0, velocity: Sequence[float] = (0.0, 0.0), radius: float = 0.12, **rest: Any
) -> Body:
    """A ball that lies on the floor."""
    fields = {"place": [x, y, radius], "mass": 0.6, "bounce": 0.85, "friction": 0.15, **rest}
    name, velocity = f"{colour} ball", [*velocity, 0.0]
    return Body(name=name, shape="ball", colour=colour, size=[radius], velocity=velocity, **fields)


def box(colour: str, x: float, wide: float = 0.12, **rest: Any) -> Body:
    fields = {"size": [0.05, wide, 0.18], "place": [x, 0.0, 0.18], "mass": 0.2, "friction": 0.9, **rest}
    return Body(name=f"{colour} box", shape="box", colour=colour, **fields)


def wall(place: list[float], size: list[float], name: str = "grey wall") -> Body:
    return Body(name=name, shape="wall", colour="grey", size=size, place=place, moves="not at all", scenery=True)


def scene(*bodies: Body, name: str = "one", seconds: float = 1.5, **rest: Any) -> Scene:
    return Scene(id=name, family="test", seed=0, seconds=seconds, depth=1, bodies=list(bodies), **rest)


def rolling(name: str = "one", seconds: float = 0.5, velocity: float = 1.5) -> Scene:
    """A red ball rolls to a green one at rest, which it hits at about 0.33 s; a white one falls."""
    red, green = ball("red", -0.8, velocity=(velocity, 0.0), radius=0.15), ball("green", 0.0, radius=0.15)
    return scene(red, green, ball("white", 0.0, place=[0.7, 0.3, 1.0], radius=0.1), name=name, seconds=seconds)


def prototype() -> Scene:
    """The red ball hits the green one, which hits the blue box; without it the red one does that itself."""
    return scene(ball("red", -1.0, velocity=(2.4, 0.0)), ball("green", -0.3), box("blue", 0.4))


def both_at_once() -> Scene:
    """Two balls hit a wide box at the same time; one is enough to push it over."""
    red, green = (ball(colour, -0.7, y, velocity=(2.2, 0.0)) for colour, y in (("red", -0.17), ("green", 0.17)))
    return scene(red, green, box("blue", 0.0, wide=0.3))


def one_after_the_other() -> Scene:
    """The red ball hits the blue one away; the green one comes to where that lay half a second later."""
    red = ball("red", -0.7, velocity=(2.6, 0.0), mass=0.35)
    return scene(red, ball("green", 0.0, 0.95, velocity=(0.0, -1.3)), ball("blue", 0.0))


def independent() -> Scene:
    """The red ball hits the blue one; the green ball hits the white one, elsewhere."""
    red, green = ball("red", -0.7, -0.4, velocity=(2.0, 0.0)), ball("green", 0.7, 0.5, velocity=(-2.0, 0.0))
    return scene(red, ball("blue", 0.0, -0.4), green, ball("white", 0.0, 0.5))


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


class Looked(NamedTuple):
    frames: list[Any]
    sights: list[Sight]


def look(asked: tuple[Scene, Violation | None]) -> Looked:
    """Frames and sights of a scene, perhaps of one that breaks a principle, from a process that renders."""
    from lmms_eval_tasks.worlds.physics.pictures import Filmer
    from lmms_eval_tasks.worlds.physics.rollout import roll_out
    from lmms_eval_tasks.worlds.physics.violations import broken_poses

    shown, violation = asked
    poses = broken_poses(shown, violation) if violation else roll_out(shown).poses
    with Filmer(shown) as filmer:
        return Looked(filmer.frames(poses), [] if violation else filmer.sights(poses))


def plain_clip(task: tuple[SceneClip, Path]) -> None:
    """Act as if a clip were rendered: grey frames, and a line in the folder's log for each that is made.

    A clip whose name begins so is made in a special way. ``slow``: once a file ``go`` is there. ``deadly``: the process
    ends. ``once``: it ends the first time. ``wrong``: it cannot be rendered. ``full``: the disk is full.
    """
    clip, path = task
    with (path.parent / "log").open("a") as log:
        log.write(f"{os.getpid()} {clip.name}\n")
    if clip.name.startswith("deadly") or (clip.name.startswith("once") and len(made(path.parent)) < 2):
        os.kill(os.getpid(), signal.SIGKILL)
    if clip.name.startswith("wrong"):
        raise ValueError("Expected a wheel, but it is square.")
    if clip.name.startswith("full"):
        raise OSError("No space left on device")
    if clip.name.startswith("slow"):
        wait_until(lambda: (path.parent / "go").exists())
    from lmms_eval_tasks.api.release import write_file

    write_file(path, encode_frames([np.full((16, 16, 3), 99, np.uint8)] * 2, 12, clip.digest))


class Here:
    """Stands for processes that render: what they are asked is done in this one."""

    def each(self, function: Any, things: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        return ((number, rendering._run(function, thing)) for number, thing in enumerate(things))


def made(folder: Path) -> list[tuple[int, str]]:
    """The process and the name of each clip that was begun in a folder."""
    log = folder / "log"
    lines = log.read_text().splitlines() if log.exists() else []
    return [(int(process), name) for process, name in map(str.split, lines)]


def wait_until(has_happened: Any) -> None:
    end = time.monotonic() + LONGEST
    while not has_happened():
        assert time.monotonic() < end, "what was waited for has not happened"
        time.sleep(0.01)


if __name__ == "__main__":
    rendering._why_not = lambda: ""
    rendering.main()
