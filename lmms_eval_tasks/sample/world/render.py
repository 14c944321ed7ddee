"""Scenes to pictures: RGB frames, and which body each pixel shows."""

import colorsys
import math

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from lmms_eval_tasks.sample.world.bodies import FlatBody, Vec
from lmms_eval_tasks.sample.world.physics import FPS
from lmms_eval_tasks.sample.world.scene import HEIGHT, WIDTH, DrawnScene, Rgb, Skin

Picture = NDArray[np.float32]
"""(h, w, 3) of red, green and blue in 0..255, or (h, w) of one number each, such as the covered part of a pixel."""
Window = tuple[slice, slice]

NOTHING = -1


def render(scene: DrawnScene) -> tuple[NDArray[np.uint8], NDArray[np.int8]]:
    """Simulate a scene and paint it."""
    stage = _stage(scene)
    bodies = scene.world.bodies
    frames, labels = [], []
    for frame, positions in enumerate(scene.simulate().positions.tolist()):
        picture = stage.copy()
        label = np.full((HEIGHT, WIDTH), NOTHING, dtype=np.int8)
        for i, (body, at) in enumerate(zip(bodies, positions, strict=True)):
            if body.arm:
                _paint_arm(picture, label, body, at, body.arm, scene.look.arm)
            elif frame / FPS < body.vanishes_at:
                _paint_object(picture, label, i, body, at, scene.skins[body.name])
        for left, top, right, bottom in scene.screens:
            window = (slice(round(top), round(bottom)), slice(round(left), round(right)))
            picture[window] = stage[window] = scene.look.structure
            label[window] = NOTHING
        frames.append(np.clip(np.rint(picture), 0, 255).astype(np.uint8))
        labels.append(label)
    return np.stack(frames), np.stack(labels)


def boxes(labels: NDArray[np.int8], bodies: int) -> NDArray[np.float64]:
    """Boxes of what is seen of each body: (T, N, 4) as x1, y1, x2, y2 in px (outer edges), NaN where unseen."""
    seen = np.full((len(labels), bodies, 4), np.nan)
    for t, label in enumerate(labels):
        for i, window in enumerate(ndimage.find_objects(label + 1, bodies)):
            if window is not None:
                rows, columns = window
                seen[t, i] = columns.start, rows.start, columns.stop, rows.stop
    return seen


def _stage(scene: DrawnScene) -> Picture:
    look = scene.look
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float32)
    light = look.gradient[0] * (x / WIDTH - 0.5) + look.gradient[1] * (y / HEIGHT - 0.5)
    light += look.weave * (((x // 4 + y // 4) % 2) - 0.5)
    picture: Picture = (np.array(look.background, dtype=np.float32) + light[..., None]).astype(np.float32)
    for wall in scene.world.walls:
        window = _window(wall.position, wall.reach)
        _blend(picture, window, _capsule(window, wall.start, wall.end, wall.half_width), look.structure)
    return picture


def _window(at: Vec, reach: Vec) -> Window:
    """The part of the picture around something of half the size `reach`, with a pixel to spare."""

    def span(middle: float, half: float, limit: int) -> slice:
        start = max(0, math.floor(middle - half) - 1)
        return slice(start, max(start, min(limit, math.ceil(middle + half) + 1)))

    return span(at[1], reach[1], HEIGHT), span(at[0], reach[0], WIDTH)


def _grid(window: Window) -> tuple[Picture, Picture]:
    y, x = np.mgrid[window].astype(np.float32) + 0.5
    return x, y


def _blend(picture: Picture, window: Window, coverage: Picture, colour: Rgb | Picture) -> None:
    alpha = coverage[..., None]
    picture[window] = picture[window] * (1 - alpha) + np.asarray(colour, dtype=np.float32) * alpha


def _capsule(window: Window, start: Vec, end: Vec, half_width: float) -> Picture:
    x, y = _grid(window)
    along = (end[0] - start[0], end[1] - start[1])
    length = along[0] ** 2 + along[1] ** 2
    part = np.clip(((x - start[0]) * along[0] + (y - start[1]) * along[1]) / max(length, 1e-9), 0, 1)
    distance = np.sqrt((x - start[0] - part * along[0]) ** 2 + (y - start[1] - part * along[1]) ** 2)
    coverage: Picture = np.clip(half_width - distance + 0.5, 0, 1).astype(np.float32)
    return coverage


def _paint_object(picture: Picture, label: NDArray[np.int8], index: int, body: FlatBody, at: Vec, skin: Skin) -> None:
    window = _window(at, body.reach)
    x, y = _grid(window)
    dx, dy = x - at[0], y - at[1]
    distance = np.sqrt(dx * dx + dy * dy) if body.shape == "ball" else np.maximum(np.abs(dx), np.abs(dy))
    coverage = np.clip(body.size - distance + 0.5, 0, 1).astype(np.float32)
    shade = 1.0 - 0.28 * _pattern(skin, body.size, dx, dy, distance)
    rgb = [255 * part for part in colorsys.hsv_to_rgb(skin.hue % 360 / 360, skin.saturation, skin.value)]
    _blend(picture, window, coverage, np.array(rgb, dtype=np.float32) * shade[..., None])
    label[window][coverage > 0.5] = index


def _pattern(skin: Skin, size: float, dx: Picture, dy: Picture, distance: Picture) -> Picture:
    if skin.texture == "stripes":
        dark = np.floor((dx + dy) / max(3.0, size / 2)) % 2 == 0
    elif skin.texture == "dots":
        dark = (np.abs(np.abs(dx) - size / 2.4) < 1.3) & (np.abs(np.abs(dy) - size / 2.4) < 1.3)
    elif skin.texture == "ring":
        dark = np.abs(distance - size * 0.55) < 1.2
    else:
        dark = np.zeros(dx.shape, dtype=bool)
    pattern: Picture = dark.astype(np.float32)
    return pattern


def _paint_arm(picture: Picture, label: NDArray[np.int8], body: FlatBody, tip: Vec, reach: Vec, colour: Rgb) -> None:
    far = (tip[0] + 300 * reach[0], tip[1] + 300 * reach[1])
    everywhere = (slice(0, HEIGHT), slice(0, WIDTH))
    forearm = _capsule(everywhere, tip, far, max(2.5, body.size * 0.6))
    fist = _capsule(everywhere, tip, tip, body.size)
    coverage = np.maximum(forearm, fist)
    _blend(picture, everywhere, coverage, colour)
    label[coverage > 0.5] = NOTHING
