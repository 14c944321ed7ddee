"""Scenes to pictures: RGB frames, and which body each pixel shows."""

import colorsys
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.sample.world.bodies import Body, Vec, Wall
from lmms_eval_tasks.sample.world.physics import Trajectory
from lmms_eval_tasks.sample.world.scene import HEIGHT, WIDTH, Look, Rgb, Scene, Skin

Picture = NDArray[np.float32]
Coverage = NDArray[np.float32]
Window = tuple[slice, slice]

NOTHING = -1


@dataclass(frozen=True)
class Rendering:
    """frames (T, H, W, 3) uint8 RGB; labels (T, H, W) int8, index of the body shown at a pixel, -1 for none."""

    frames: NDArray[np.uint8]
    labels: NDArray[np.int8]


def render(scene: Scene, trajectory: Trajectory) -> Rendering:
    """Paint every frame of a trajectory."""
    stage = _stage(scene)
    frames, labels = [], []
    for positions, visible in zip(trajectory.positions, trajectory.visible, strict=True):
        picture = stage.copy()
        label = np.full((HEIGHT, WIDTH), NOTHING, dtype=np.int8)
        for i, name in enumerate(trajectory.names):
            if visible[i] and name in scene.skins:
                _paint_object(picture, label, i, scene.world.body(name), positions[i], scene.skins[name])
        for i, name in enumerate(trajectory.names):
            if name in scene.arms:
                _paint_arm(picture, label, scene.world.body(name), positions[i], scene.arms[name], scene.look)
        for left, top, right, bottom in scene.screens:
            window = (slice(round(top), round(bottom)), slice(round(left), round(right)))
            picture[window] = stage[window] = scene.look.structure
            label[window] = NOTHING
        frames.append(np.clip(np.rint(picture), 0, 255).astype(np.uint8))
        labels.append(label)
    return Rendering(np.stack(frames), np.stack(labels))


def film(scene: Scene) -> NDArray[np.uint8]:
    """Simulate a scene and paint it, (T, H, W, 3) uint8 RGB."""
    return render(scene, scene.simulate()).frames


def boxes(labels: NDArray[np.int8], bodies: int) -> NDArray[np.float64]:
    """Boxes of what is seen of each body: (T, N, 4) as x1, y1, x2, y2 in px (outer edges), NaN where unseen."""
    seen = np.full((len(labels), bodies, 4), np.nan)
    for t, label in enumerate(labels):
        for i in range(bodies):
            rows, columns = np.nonzero(label == i)
            if rows.size:
                seen[t, i] = columns.min(), rows.min(), columns.max() + 1, rows.max() + 1
    return seen


def _stage(scene: Scene) -> Picture:
    look = scene.look
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    light = look.gradient[0] * (x / WIDTH - 0.5) + look.gradient[1] * (y / HEIGHT - 0.5)
    light += look.weave * (((x // 4 + y // 4) % 2) - 0.5)
    picture: Picture = (np.array(look.background, dtype=np.float32) + light[..., None]).astype(np.float32)
    for wall in scene.world.walls:
        _paint_wall(picture, wall, look.structure)
    return picture


def _window(left: float, top: float, right: float, bottom: float) -> Window:
    def span(low: float, high: float, limit: int) -> slice:
        start = min(limit, max(0, math.floor(low) - 1))
        return slice(start, max(start, min(limit, math.ceil(high) + 1)))

    return span(top, bottom, HEIGHT), span(left, right, WIDTH)


def _grid(window: Window) -> tuple[Coverage, Coverage]:
    y, x = np.mgrid[window].astype(np.float32) + 0.5
    return x, y


def _blend(picture: Picture, window: Window, coverage: Coverage, colour: Rgb | Picture) -> None:
    alpha = coverage[..., None]
    picture[window] = picture[window] * (1 - alpha) + np.asarray(colour, dtype=np.float32) * alpha


def _capsule(window: Window, start: Vec, end: Vec, half_width: float) -> Coverage:
    x, y = _grid(window)
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    part = np.clip(((x - start[0]) * along[0] + (y - start[1]) * along[1]) / max(length, 1e-9), 0, 1)
    distance = np.sqrt((x - start[0] - part * along[0]) ** 2 + (y - start[1] - part * along[1]) ** 2)
    coverage: Coverage = np.clip(half_width - distance + 0.5, 0, 1).astype(np.float32)
    return coverage


def _paint_wall(picture: Picture, wall: Wall, colour: Rgb) -> None:
    xs, ys = (wall.start[0], wall.end[0]), (wall.start[1], wall.end[1])
    reach = wall.half_width
    window = _window(min(xs) - reach, min(ys) - reach, max(xs) + reach, max(ys) + reach)
    _blend(picture, window, _capsule(window, wall.start, wall.end, wall.half_width), colour)


def _paint_object(
    picture: Picture, label: NDArray[np.int8], index: int, body: Body, at: NDArray[np.float64], skin: Skin
) -> None:
    x0, y0 = float(at[0]), float(at[1])
    window = _window(x0 - body.size, y0 - body.size, x0 + body.size, y0 + body.size)
    x, y = _grid(window)
    if not x.size:
        return
    dx, dy = x - x0, y - y0
    distance = np.sqrt(dx * dx + dy * dy) if body.shape == "ball" else np.maximum(np.abs(dx), np.abs(dy))
    coverage = np.clip(body.size - distance + 0.5, 0, 1).astype(np.float32)
    shade = 1.0 - 0.28 * _pattern(skin, body.size, dx, dy, distance)
    colour = np.array(_rgb(skin), dtype=np.float32) * shade[..., None]
    _blend(picture, window, coverage, colour)
    label[window][coverage > 0.5] = index


def _pattern(skin: Skin, size: float, dx: Coverage, dy: Coverage, distance: Coverage) -> Coverage:
    if skin.texture == "stripes":
        dark = np.floor((dx + dy) / max(3.0, size / 2)) % 2 == 0
    elif skin.texture == "dots":
        dark = (np.abs(np.abs(dx) - size / 2.4) < 1.3) & (np.abs(np.abs(dy) - size / 2.4) < 1.3)
    elif skin.texture == "ring":
        dark = np.abs(distance - size * 0.55) < 1.2
    else:
        dark = np.zeros(dx.shape, dtype=bool)
    pattern: Coverage = dark.astype(np.float32)
    return pattern


def _paint_arm(
    picture: Picture, label: NDArray[np.int8], body: Body, at: NDArray[np.float64], reach: Vec, look: Look
) -> None:
    tip = (float(at[0]), float(at[1]))
    far = (tip[0] + 300 * reach[0], tip[1] + 300 * reach[1])
    everywhere = (slice(0, HEIGHT), slice(0, WIDTH))
    forearm = _capsule(everywhere, tip, far, max(2.5, body.size * 0.6))
    fist = _capsule(everywhere, tip, tip, body.size)
    coverage = np.maximum(forearm, fist)
    _blend(picture, everywhere, coverage, look.arm)
    label[coverage > 0.5] = NOTHING


def _rgb(skin: Skin) -> Rgb:
    """The colour of a skin as red, green and blue in 0..255."""
    red, green, blue = colorsys.hsv_to_rgb(skin.hue % 360 / 360, skin.saturation, skin.value)
    return 255 * red, 255 * green, 255 * blue
