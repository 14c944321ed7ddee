"""What is seen of a scene: frames, and where its bodies are in them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from types import TracebackType
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from lmms_eval_tasks.worlds.engine.facts import Event, Sight
from lmms_eval_tasks.worlds.engine.looks import SIZE, dress
from lmms_eval_tasks.worlds.engine.mechanics import CAMERA, build_model
from lmms_eval_tasks.worlds.engine.rollout import FPS
from lmms_eval_tasks.worlds.engine.scene import Scene

if TYPE_CHECKING:
    from numpy.typing import NDArray

SIGHTS_A_SECOND = 4
SEEN = 0.02
"""The share of a body that must be seen for it to be in view."""
LEAST = 8
"""The fewest pixels of a body that must be seen for it to be in view."""


class Filmer:
    """A scene before a camera; used in a `with` block."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._model = build_model(scene)
        dress(self._model, scene)
        self._data = mujoco.MjData(self._model)
        self._camera = self._model.camera(CAMERA).id
        self._colours, self._shown = self._model.geom_rgba.copy(), self._model.geom_rgba.copy()
        # A rod is a body of its own, below the one that it holds.
        roots = self._model.body_rootid[self._model.geom_bodyid]
        self._held = [roots == self._model.body_rootid[body] for body in self._model.jnt_bodyid]
        width, height = SIZE
        self._renderer = mujoco.Renderer(self._model, height, width)

    def __enter__(self) -> Filmer:
        """Nothing more is opened."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Free the renderer."""
        self._renderer.close()

    def frames(self, poses: NDArray[np.float64]) -> list[NDArray[np.uint8]]:
        """A picture of each pose, (288, 384, 3), red, green and blue from 0 to 255."""
        frames = []
        for number in range(len(poses)):
            self._pose(poses, number)
            frames.append(self._draw())
        return frames

    def sights(self, poses: NDArray[np.float64]) -> list[Sight]:
        """Return the sights of the actors, four times a second, by time and then in the order of the scene's bodies."""
        found = []
        for number in range(0, len(poses), FPS // SIGHTS_A_SECOND):
            self._pose(poses, number)
            seen = self._owners()
            for name in self._scene.actors:
                pixels = seen == self._model.body(name).id
                count = int(pixels.sum())
                if count < LEAST:
                    continue
                visible = count / max(count, int(self._alone(name).sum()))
                if visible >= SEEN:
                    time = number / FPS
                    found.append(Sight(body=name, time=time, box=_box(pixels), visible=round(visible, 3)))
        return found

    def _pose(self, poses: NDArray[np.float64], number: int) -> None:
        """Put the bodies and the camera where they are at a frame; a body whose pose is no number is not there."""
        self._data.qpos[:] = np.nan_to_num(poses[number])
        self._shown[:] = self._colours
        for joint in np.flatnonzero(np.isnan(poses[number][self._model.jnt_qposadr])):
            self._shown[self._held[joint], 3] = 0.0
        self._model.geom_rgba[:] = self._shown
        share = number / (len(poses) - 1) - 0.5 if len(poses) > 1 else 0.0
        place, turned = camera_at(self._scene, share)
        self._model.cam_pos[self._camera] = place
        mujoco.mju_mat2Quat(self._model.cam_quat[self._camera], turned.reshape(-1))
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_camlight(self._model, self._data)

    def _draw(self) -> NDArray[np.uint8]:
        self._renderer.update_scene(self._data, camera=CAMERA)
        drawn: NDArray[np.uint8] = self._renderer.render()
        return drawn

    def _owners(self) -> NDArray[np.int32]:
        """Return the body of each pixel, by its number in the model; 0 is the floor and what lies behind it."""
        self._renderer.enable_segmentation_rendering()
        try:
            labels = self._draw()
        finally:
            self._renderer.disable_segmentation_rendering()
        geoms = np.where(labels[..., 1] == int(mujoco.mjtObj.mjOBJ_GEOM), labels[..., 0], -1)
        # The last one stands for what is no geom.
        owners: NDArray[np.int32] = np.append(self._model.geom_bodyid, 0)[geoms]
        return owners

    def _alone(self, name: str) -> NDArray[np.bool_]:
        """Return the pixels that a body would have if nothing else were there."""
        body = self._model.body(name).id
        others = self._model.geom_bodyid != body
        self._model.geom_rgba[others, 3] = 0.0
        try:
            pixels: NDArray[np.bool_] = self._owners() == body
        finally:
            self._model.geom_rgba[:] = self._shown
        return pixels


def camera_at(scene: Scene, share: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the position of the camera and its rotation, (3, 3), whose columns point right, up and back."""
    middle, target = np.array(scene.camera.place), np.array(scene.camera.target)
    place = middle + share * scene.camera.travel * _right(target - middle)
    back = (place - target) / np.linalg.norm(place - target)
    right = _right(-back)
    return place, np.stack([right, np.cross(back, right), back], axis=1)


def _right(forward: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the unit vector to the right of a forward direction."""
    right = np.array([forward[1], -forward[0], 0.0])
    unit: NDArray[np.float64] = right / np.linalg.norm(right)
    return unit


def events_of_view(sights: Sequence[Sight]) -> list[Event]:
    """Return the events of bodies leaving and entering view, in order of time: the first time unseen, or seen again."""
    times = sorted({sight.time for sight in sights})
    found = []
    for body in dict.fromkeys(sight.body for sight in sights):
        seen = {sight.time for sight in sights if sight.body == body}
        for before, now in pairwise(times):
            if before in seen and now not in seen:
                found.append(Event(kind="leaves view", time=now, body=body))
            if now in seen and before not in seen:
                found.append(Event(kind="comes into view", time=now, body=body))
    return sorted(found, key=lambda event: (event.time, event.kind, event.body))


def _box(pixels: NDArray[np.bool_]) -> list[float]:
    rows, columns = np.flatnonzero(pixels.any(axis=1)), np.flatnonzero(pixels.any(axis=0))
    return [float(edge) for edge in (columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)]
