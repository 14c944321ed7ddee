"""Short scenes of worlds, and what a process that renders, or acts as if, does with them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from lmms_eval_tasks.worlds.physics.filming import SceneClip, encode_frames
from lmms_eval_tasks.worlds.scenes.scene import Body, Camera, Scene, Sight, Violation

LONGEST = 60.0
"""Seconds in which what is waited for has to happen."""


def ball(colour: str, place: list[float], velocity: float = 0.0, radius: float = 0.15) -> Body:
    start = [velocity, 0.0, 0.0]
    return Body(name=f"{colour} ball", shape="ball", colour=colour, size=[radius], place=place, velocity=start)


def wall(place: list[float], size: list[float]) -> Body:
    return Body(name="grey wall", shape="wall", colour="grey", size=size, place=place, moves="not at all", scenery=True)


def scene(*bodies: Body, name: str = "one", seconds: float = 0.5, camera: Camera | None = None) -> Scene:
    return Scene(
        id=name, family="test", seed=0, seconds=seconds, depth=1, bodies=list(bodies), camera=camera or Camera()
    )


def rolling(name: str = "one", seconds: float = 0.5, velocity: float = 1.5) -> Scene:
    """A red ball rolls to a green one at rest, which it hits at about 0.33 s; a white one falls."""
    bodies = (
        ball("red", [-0.8, 0.0, 0.15], velocity),
        ball("green", [0.0, 0.0, 0.15]),
        ball("white", [0.7, 0.3, 1.0], radius=0.1),
    )
    return scene(*bodies, name=name, seconds=seconds)


class Looked(NamedTuple):
    frames: list[Any]
    sights: list[Sight]


def look(shown: Scene) -> Looked:
    """Frames and sights of a scene, from a process that renders."""
    from lmms_eval_tasks.worlds.physics.pictures import Filmer
    from lmms_eval_tasks.worlds.physics.rollout import roll_out

    poses = roll_out(shown).poses
    with Filmer(shown) as filmer:
        return Looked(filmer.frames(poses), filmer.sights(poses))


def differences(asked: tuple[Scene, Violation, tuple[int, ...]]) -> list[float]:
    """For some frames the largest difference of a pixel, of 255, between a scene and one that breaks a principle."""
    from lmms_eval_tasks.worlds.physics.pictures import Filmer
    from lmms_eval_tasks.worlds.physics.rollout import roll_out
    from lmms_eval_tasks.worlds.physics.violations import broken_poses

    shown, violation, frames = asked
    with Filmer(shown) as filmer:
        possible = filmer.frames(roll_out(shown).poses[list(frames)])
        impossible = filmer.frames(broken_poses(shown, violation)[list(frames)])
    return [float(np.abs(one.astype(int) - two).max()) for one, two in zip(possible, impossible, strict=True)]


def vanishing(shown: Scene) -> tuple[Any, Any]:
    """The last picture of a scene whose first body vanishes, and that of a scene that never had it in view."""
    from lmms_eval_tasks.worlds.physics.pictures import Filmer
    from lmms_eval_tasks.worlds.physics.violations import broken_poses

    violation = Violation(principle="permanence", body=shown.bodies[0].name, time=0.1)
    far = ball("blue", [0.0, -30.0, 0.15])
    empty = shown.model_copy(update={"bodies": [far]})
    with Filmer(shown) as filmer:
        seen = filmer.frames(broken_poses(shown, violation)[-1:])[0]
    with Filmer(empty) as filmer:
        return seen, filmer.frames(np.array([[0.0, -30.0, 0.15, 1.0, 0.0, 0.0, 0.0]]))[0]


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
