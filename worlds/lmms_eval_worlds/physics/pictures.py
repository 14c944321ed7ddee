"""Pictures of a scene: floor, sky, light and shadows of its model, which do not change how bodies move, its frames, and
the boxes of its bodies in them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import mujoco
import numpy as np
from numpy.typing import NDArray

from lmms_eval_worlds.physics.mechanics import build_model
from lmms_eval_worlds.physics.rollout import FPS
from lmms_eval_worlds.scenes.scene import Event, Scene, Sight

SIZE = (384, 288)
"""Width and height of a picture in pixels."""
CAMERA, FIELD = "camera", 42.0
"""The camera's name, and the degrees that it sees from top to bottom."""
TILE = 2.0
"""Metres of the floor that its texture covers."""
EXTENT = 3.0
"""Metres around the middle in which shadows are drawn sharply; distances of the camera count in these."""
_PARTED = 0.001
_SKY = (0.90, 0.93, 0.96)


def picture_model(scene: Scene) -> mujoco.MjModel:
    """A scene's model with floor, sky, light and camera, of which pictures of `SIZE` with smooth edges can be made."""
    model = build_model(scene, partial(_add_look, scene))
    look = model.vis
    look.global_.offwidth, look.global_.offheight = SIZE
    look.quality.shadowsize, look.quality.offsamples = 2048, 4
    model.stat.extent, model.stat.center[:] = EXTENT, (0.0, 0.0, 0.2)
    look.map.znear, look.map.zfar = 0.02, 30.0
    look.map.shadowclip = 1.2
    look.map.haze = 0.75
    look.rgba.haze[:] = (*_SKY, 1.0)
    look.headlight.ambient[:], look.headlight.diffuse[:], look.headlight.specular[:] = 0.40, 0.20, 0.0
    _part_faces(model)
    # The sun is parallel, so that every part of the floor is as bright as any other.
    model.light_dir[0] = -np.array(scene.light) / np.linalg.norm(scene.light)
    floor = model.geom("floor").id
    model.geom_size[floor, :2] = 0.0  # without end; a plane has one for the eye alone
    model.geom_matid[floor] = model.material("floor").id
    _paint(model, "floor", _FLOORS[scene.floor])
    _paint(model, "sky", _sky)
    return model


def _add_look(scene: Scene, spec: mujoco.MjSpec) -> None:
    """Add light, camera and surfaces, which are painted, and the camera placed, once the model is there."""
    flat, kinds = mujoco.mjtBuiltin.mjBUILTIN_FLAT, mujoco.mjtTexture
    spec.add_texture(name="floor", type=kinds.mjTEXTURE_2D, builtin=flat, width=256, height=256)
    spec.add_texture(name="sky", type=kinds.mjTEXTURE_SKYBOX, builtin=flat, width=64, height=384)
    material = spec.add_material(
        name="floor", texuniform=True, texrepeat=[1.0 / TILE, 1.0 / TILE], specular=0.1, shininess=0.1, reflectance=0.0
    )
    material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = "floor"
    spec.worldbody.add_camera(name=CAMERA, fovy=FIELD)
    spec.worldbody.add_light(
        type=mujoco.mjtLightType.mjLIGHT_DIRECTIONAL,
        pos=scene.light,
        castshadow=True,
        diffuse=[0.62, 0.60, 0.56],
        specular=[0.45, 0.45, 0.45],
        ambient=[0.0, 0.0, 0.0],
    )


def _part_faces(model: mujoco.MjModel) -> None:
    """Draw the parts of a body each a little larger than the one before: faces in one plane flicker."""
    for body in range(1, model.nbody):  # 0 is the floor's
        first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
        for part in range(count):
            model.geom_size[first + part] -= _PARTED * (count - 1 - part)


def _paint(model: mujoco.MjModel, name: str, paint: Callable[[int, int], NDArray[np.float64]]) -> None:
    texture = model.texture(name).id
    height, width = int(model.tex_height[texture]), int(model.tex_width[texture])
    start, channels = int(model.tex_adr[texture]), int(model.tex_nchannel[texture])
    painted = np.clip(255.0 * paint(height, width), 0.0, 255.0).astype(np.uint8)
    model.tex_data[start : start + height * width * channels] = painted.reshape(-1)


def _wood(height: int, width: int) -> NDArray[np.float64]:
    """Eight boards, each with a tone and a grain of its own."""
    random, boards = np.random.default_rng(1), 8
    grain = _noise(random, height, width, across=1.2, along=40.0)
    board = np.arange(height) * boards // height
    tone = random.normal(0.0, 0.035, boards)[board][:, None]
    light = 0.60 + tone + 0.045 * grain + 0.02 * _noise(random, height, width, across=5.0, along=20.0)
    edge = np.arange(height) % (height // boards) == 0
    light[edge] *= 0.72
    starts = random.integers(0, width, boards)[board]
    light[np.arange(height), starts] *= 0.78
    return _tint(light, 1.10, 0.90, 0.70)


def _checker(height: int, width: int) -> NDArray[np.float64]:
    """Tiles of 25 cm in two tones."""
    random, tiles = np.random.default_rng(2), 8
    row, column = np.indices((height, width))
    light = np.where((row * tiles // height + column * tiles // width) % 2, 0.62, 0.50)
    light = light + 0.012 * _noise(random, height, width, across=2.0, along=2.0)
    light[(row % (height // tiles) == 0) | (column % (width // tiles) == 0)] *= 0.88
    return _tint(light, 0.98, 1.0, 1.03)


def _sand(height: int, width: int) -> NDArray[np.float64]:
    random = np.random.default_rng(3)
    light = 0.70 + 0.03 * _noise(random, height, width, 0.7, 0.7) + 0.02 * _noise(random, height, width, 12.0, 12.0)
    return _tint(light, 1.05, 0.94, 0.74)


def _slate(height: int, width: int) -> NDArray[np.float64]:
    """Slabs of half a metre, each with a tone of its own."""
    random, slabs = np.random.default_rng(4), 4
    row, column = np.indices((height, width))
    slab_row = row * slabs // height
    moved = (column + (slab_row % 2) * width // (2 * slabs)) % width
    tone = random.normal(0.0, 0.02, (slabs, slabs))[slab_row, moved * slabs // width]
    light = 0.47 + tone + 0.02 * _noise(random, height, width, 3.0, 3.0) + 0.02 * _noise(random, height, width, 1, 1)
    light[(row % (height // slabs) < 2) | (moved % (width // slabs) < 2)] *= 0.75
    return _tint(light, 0.92, 1.0, 1.10)


def _tint(light: NDArray[np.float64], red: float, green: float, blue: float) -> NDArray[np.float64]:
    tinted: NDArray[np.float64] = light[..., None] * np.array([red, green, blue])
    return tinted


def _noise(random: np.random.Generator, height: int, width: int, across: float, along: float) -> NDArray[np.float64]:
    """Noise with mean 0 and deviation 1 that repeats without a seam, as wide as this in pixels down and along a row."""
    down, right = np.fft.fftfreq(height)[:, None], np.fft.fftfreq(width)[None, :]
    keep = np.exp(-2.0 * np.pi**2 * ((across * down) ** 2 + (along * right) ** 2) / 4.0)
    soft = np.fft.ifft2(np.fft.fft2(random.normal(size=(height, width))) * keep).real
    spread: NDArray[np.float64] = (soft - soft.mean()) / soft.std()
    return spread


def _sky(height: int, width: int) -> NDArray[np.float64]:
    return np.broadcast_to(np.array(_SKY), (height, width, 3))


_FLOORS = {"wood": _wood, "checker": _checker, "sand": _sand, "slate": _slate}

SIGHTS_A_SECOND = 4
SEEN = 0.02
"""The share of a body that must be seen for it to be in view."""
LEAST = 8
"""The fewest pixels of a body that must be seen for it to be in view."""


class Filmer:
    """A scene before a camera; used in a `with` block."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._model = picture_model(scene)
        self._data = mujoco.MjData(self._model)
        self._camera = self._model.camera(CAMERA).id
        self._colours, self._shown = self._model.geom_rgba.copy(), self._model.geom_rgba.copy()
        # A rod is a body of its own, below the one that it holds.
        roots = self._model.body_rootid[self._model.geom_bodyid]
        self._held = [roots == self._model.body_rootid[body] for body in self._model.jnt_bodyid]
        width, height = SIZE
        self._renderer = mujoco.Renderer(self._model, height, width)

    def __enter__(self) -> Filmer:
        return self

    def __exit__(self, *error: object) -> None:
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
