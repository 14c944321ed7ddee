"""Short scenes of worlds whose causes are known beforehand, and what a process that renders, or acts as if, does."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.api.release import write_file
from lmms_eval_worlds.physics.filming import SceneClip, encode_frames
from lmms_eval_worlds.scenes.scene import Body, Camera, Hinge, Scene, Sight, Violation

if TYPE_CHECKING:
    from lmms_eval_worlds.physics.rollout import Rollout

LONGEST = 60.0
"""Seconds in which what is waited for has to happen."""


def body(name: str, size: Sequence[float] = (0.1,), place: Sequence[float] = (0.0, 0.0, 0.1), **rest: Any) -> Body:
    """A body whose name begins with its colour and its shape."""
    colour, shape, *_ = name.split()
    where = {"size": list(size), "place": list(place)}
    return Body.model_validate({"name": name, "shape": shape, "colour": colour, **where, **rest})


def ball(
    colour: str, x: float, y: float = 0.0, velocity: Sequence[float] = (0.0, 0.0), radius: float = 0.12, **rest: Any
) -> Body:
    """A ball that lies on the floor."""
    fields = {"place": [x, y, radius], "mass": 0.6, "bounce": 0.85, "friction": 0.15, **rest}
    return body(f"{colour} ball", [radius], velocity=[*velocity, 0.0], **fields)


def box(colour: str, x: float, wide: float = 0.12, **rest: Any) -> Body:
    fields = {"size": [0.05, wide, 0.18], "place": [x, 0.0, 0.18], "mass": 0.2, "friction": 0.9, **rest}
    return body(f"{colour} box", **fields)


def wall(place: list[float], size: list[float], name: str = "grey wall") -> Body:
    return body(name, size, place, moves="not at all", scenery=True)


def scene(*bodies: Body, name: str = "one", seconds: float = 1.5, **rest: Any) -> Scene:
    return Scene(id=name, family="test", seed=0, seconds=seconds, depth=1, bodies=list(bodies), **rest)


def rolling(name: str = "one", seconds: float = 0.5, velocity: float = 1.5) -> Scene:
    """A red ball rolls to a green one at rest, which it hits at about 0.33 s; a white one falls."""
    red, green = ball("red", -0.8, velocity=(velocity, 0.0), radius=0.15), ball("green", 0.0, radius=0.15)
    return scene(red, green, ball("white", 0.0, place=[0.7, 0.3, 1.0], radius=0.1), name=name, seconds=seconds)


def prototype() -> Scene:
    """The red ball hits the green one, which hits the blue box; without it the red one does that itself."""
    return scene(ball("red", -1.0, velocity=(2.4, 0.0)), ball("green", -0.3), box("blue", 0.4))


def both_at_once(name: str = "one") -> Scene:
    """Two balls hit a wide box at the same time; one is enough to push it over."""
    red, green = (ball(colour, -0.7, y, velocity=(2.2, 0.0)) for colour, y in (("red", -0.17), ("green", 0.17)))
    return scene(red, green, box("blue", 0.0, wide=0.3), name=name)


def busy_scenes() -> dict[str, Scene]:
    """Bodies of every shape tumble and slide, or turn about hinges, or lie on each other and fall into a tray."""
    fixed: dict[str, Any] = {"moves": "not at all", "scenery": True}
    swings: dict[str, Any] = {"moves": "about its hinge"}
    turned: dict[str, Any] = {"turn": [10.0, 20.0, 30.0], "friction": 0.8, "bounce": 0.6}
    lies, across = {"turn": [90.0, 0.0, 0.0]}, Hinge(point=[0.0, 0.0, 0.3], axis="y")
    along = Hinge(point=[1.0, 0.0, 1.2], axis="x")
    scenes = (
        scene(
            body("grey ramp", [0.5, 0.3, 0.02], [0.3, 0.0, 0.3], turn=[0.0, 30.0, 0.0], **fixed),
            body("red box", [0.08, 0.1, 0.12], [0.1, 0.05, 0.8], velocity=[0.6, 0.0, -0.5], **turned),
            body("blue cylinder", [0.08, 0.2], [1.0, 0.05, 0.2], turn=[0.0, 0.0, 30.0], mass=0.2),
            body("green cylinder", [0.1, 0.1], [0.0, -0.6, 0.1], velocity=[0.8, 0.0, 0.0], **lies),
            ball("white", -0.8, 0.4, velocity=(1.2, -0.4)),
            name="tumbling",
            seconds=1.25,
            camera=Camera(place=[0.5, -3.2, 1.5], target=[0.2, 0.0, 0.2], travel=0.6),
        ),
        scene(
            body("orange plank", [0.6, 0.12, 0.02], [0.0, 0.0, 0.3], hinge=across, **swings),
            body("red box", [0.07, 0.07, 0.07], [-0.5, 0.0, 0.39], mass=0.3),
            ball("blue", 0.45, place=[0.45, 0.0, 0.9], radius=0.1, mass=1.5, bounce=0.1),
            ball("green", 1.0, place=[1.0, -0.6, 0.6], hinge=along, **swings),
            body("white cylinder", [0.08, 0.15], [1.0, 0.35, 0.15], mass=0.2),
            name="hinged",
            seconds=1.25,
        ),
        scene(
            body("brown tray", [0.3, 0.3, 0.08], [0.6, 0.0, 0.08], **fixed),
            body("red box", [0.1, 0.1, 0.1], [-0.2, 0.0, 0.1]),
            body("blue plank", [0.25, 0.1, 0.02], [-0.2, 0.02, 0.22]),
            body("green cylinder", [0.06, 0.1], [-0.3, 0.0, 0.34], mass=0.3),
            ball("white", 0.6, place=[0.55, 0.05, 0.7], velocity=(0.2, 0.0), radius=0.08),
            ball("yellow", -1.0, 0.05, velocity=(2.0, 0.0)),
            name="heap",
        ),
    )
    return {one.id: one for one in scenes}


def described(run: Rollout) -> str:
    """What happens in a run, and where everything is, so that a digest does not hang on last bits."""
    ran = [*run.events, run.unclear, run.again, in_millimetres(run.poses), round(run.lost_energy, 6)]
    return "\n".join(map(str, ran))


def in_millimetres(poses: NDArray[np.float64]) -> list[list[int | None]]:
    """Poses of each frame in thousandths, so that a digest does not hang on their last bits; None is no number."""
    return [[None if np.isnan(value) else round(1000 * value) for value in pose] for pose in poses.tolist()]


class Looked(NamedTuple):
    frames: list[Any]
    sights: list[Sight]


Look = Callable[[Sequence[tuple[Scene, Violation | None]]], list[Looked]]


def look_at(asked: tuple[Scene, Violation | None]) -> Looked:
    """Frames and sights of a scene, perhaps of one that breaks a principle; a process that renders runs it."""
    from lmms_eval_worlds.physics.pictures import Filmer
    from lmms_eval_worlds.physics.rollout import roll_out
    from lmms_eval_worlds.physics.violations import broken_poses

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
    write_file(path, encode_frames([np.full((16, 16, 3), 99, np.uint8)] * 2, 12, clip.digest))


class Here:
    """Stands for processes that render: what they are asked is done in this one."""

    def futures(self, work: Any, given: Iterable[Any]) -> Iterator[Future[Any]]:
        for thing in given:
            future: Future[Any] = Future()
            try:
                future.set_result(work(thing))
            except (OSError, ValueError) as error:
                future.set_exception(error)
            yield future


def made(folder: Path) -> list[tuple[int, str]]:
    """The process and the name of each clip that was begun in a folder."""
    lines = (folder / "log").read_text().splitlines() if (folder / "log").exists() else []
    return [(int(process), name) for process, name in map(str.split, lines)]


def wait_until(has_happened: Any) -> None:
    end = time.monotonic() + LONGEST
    while not has_happened():
        assert time.monotonic() < end, "what was waited for has not happened"
        time.sleep(0.01)
