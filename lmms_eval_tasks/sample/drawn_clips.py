"""Clips of a few drawn shapes.

A block code at the foot of each frame names its scene and its number, and bodies may carry a smaller code of their own,
so that pixels alone tell what is covered, missing or out of order."""

from __future__ import annotations

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lmms_eval_tasks.utils.core.work import Progress
from lmms_eval_tasks.utils.data.pictures import h264_file

FPS, WIDTH, HEIGHT = 10, 192, 144
BLOCK, PIP = 8, 5
"""Sides in pixels of a block of a frame's code, and of a block of a body's."""
GROUND = HEIGHT - 2 * BLOCK
"""Where the scene ends and the code begins."""
REACH = 8
"""How far a moving camera gets from where it starts, in pixels to either side."""
RADIUS = 10
EDGE = 2 * RADIUS
COLOURS: Mapping[str, tuple[int, int, int]] = {
    "red": (214, 40, 40),
    "yellow": (232, 200, 30),
    "green": (40, 160, 60),
    "cyan": (40, 190, 200),
    "blue": (45, 80, 215),
    "pink": (230, 90, 190),
}
SHAPES = ("ball", "block")
DARK, LIGHT, GREY = (36, 36, 40), (238, 238, 236), (120, 112, 104)
# Two of four blocks are light: neither a black box nor a white one reads as a body.
_PIPS = ((1, 1, 0, 0), (0, 0, 1, 1), (1, 0, 1, 0), (0, 1, 0, 1), (1, 0, 0, 1), (0, 1, 1, 0))

Picture = NDArray[np.uint8]
"""(H, W, 3) RGB."""
Frames = NDArray[np.uint8]
"""(T, H, W, 3) RGB."""
Rect = tuple[float, float, float, float]
Stop = tuple[float, complex]
"""A second and a place: pixels to the right, and 1j for pixels downwards. Bodies move in straight lines in between."""


@dataclass(frozen=True)
class DrawnBody:
    """A ball, a block, or a hand at the end of an arm that comes from above."""

    colour: str
    shape: str
    stops: tuple[Stop, ...]

    @property
    def name(self) -> str:
        """Name of the body in questions, as in `red ball`."""
        return f"{self.colour} {self.shape}"

    def at(self, second: float) -> complex:
        """Its centre at a second."""
        times, places = zip(*self.stops, strict=True)
        return complex(np.interp(second, times, places))


@dataclass(frozen=True)
class Span:
    """A body of a scene by its place, the whole seconds in which to look at it (both included), and why."""

    body: int
    start: int
    end: int
    rationale: str


@dataclass(frozen=True)
class DrawnQuestion:
    """A question about a scene; `symmetric` says that the clip in reverse has the same answer."""

    text: str
    answer: str
    kind: str = ""
    evidence: tuple[Span, ...] = ()
    symmetric: bool = False


@dataclass(frozen=True)
class DrawnScene:
    """Bodies between what stands behind them and what stands before them, and the truth about them: hits as (second,
    hitter, struck), and moments at which the scene may be joined to its twin because they look the same."""

    bodies: tuple[DrawnBody, ...]
    seconds: float
    behind: tuple[Rect, ...] = ()
    before: tuple[Rect, ...] = ()
    questions: tuple[DrawnQuestion, ...] = ()
    hits: tuple[tuple[float, str, str], ...] = ()
    moments: tuple[float, ...] = ()
    camera_moves: bool = False
    code: int = 0
    ground: tuple[int, int, int] = (200, 196, 188)
    marked: bool = False
    """Whether bodies carry a code of their own."""

    @property
    def frames(self) -> int:
        return round(self.seconds * FPS)

    def _pan(self, frame: int) -> int:
        return round(REACH * math.sin(math.tau * frame / (3 * FPS))) if self.camera_moves else 0

    def box(self, body: DrawnBody, frame: int) -> tuple[int, int, int, int]:
        """Left, top, right and bottom of a body in pixels of a frame."""
        place = body.at(frame / FPS)
        left, top = round(place.real) - RADIUS + self._pan(frame), round(place.imag) - RADIUS
        return left, top, left + 2 * RADIUS, top + 2 * RADIUS

    def film(self) -> Frames:
        """Its frames, cut out of canvases that reach as far beyond them as a body is wide."""
        film = np.empty((self.frames, HEIGHT, WIDTH, 3), dtype=np.uint8)
        blank = np.full((GROUND + 2 * EDGE, WIDTH + 2 * EDGE, 3), self.ground, dtype=np.uint8)
        for frame, picture in enumerate(film):
            canvas = blank.copy()
            self._paint(canvas, self.behind, GREY, frame)
            for number, body in enumerate(self.bodies):
                left, top, right, bottom = (side + EDGE for side in self.box(body, frame))
                if 0 <= left <= WIDTH + EDGE and 0 <= top <= GROUND + EDGE:
                    shown, cover = _sprite(body.colour, body.shape, number if self.marked else None)
                    part = canvas[top:bottom, left:right]
                    part[:] = part * (1 - cover) + shown * cover
                    if body.shape == "hand":
                        canvas[: top + RADIUS, left + RADIUS - 4 : left + RADIUS + 4] = DARK
            self._paint(canvas, self.before, DARK, frame)
            picture[:GROUND] = canvas[EDGE:-EDGE, EDGE:-EDGE]
            picture[GROUND:] = np.where(_stamp(self.code, frame), 225, 30)[..., None]
        return film

    def _paint(self, canvas: Picture, rects: Sequence[Rect], colour: tuple[int, int, int], frame: int) -> None:
        right = EDGE + self._pan(frame)
        for x1, y1, x2, y2 in rects:
            canvas[round(y1) + EDGE : round(y2) + EDGE, max(0, round(x1) + right) : round(x2) + right] = colour


@lru_cache(maxsize=256)
def _sprite(colour: str, shape: str, number: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """A body's picture and how much of each pixel it covers."""
    y, x = np.mgrid[: 2 * RADIUS, : 2 * RADIUS] - RADIUS + 0.5
    far = np.maximum(np.abs(x), np.abs(y)) - 0.5 if shape == "block" else np.sqrt(x * x + y * y)
    picture = np.full((2 * RADIUS, 2 * RADIUS, 3), COLOURS.get(colour, DARK), dtype=float)
    picture[far > RADIUS - 2] *= 0.6
    if number is not None:
        pips, middle = np.reshape(_PIPS[number], (2, 2)), slice(RADIUS - PIP, RADIUS + PIP)
        light = pips.repeat(PIP, 0).repeat(PIP, 1)[..., None]
        picture[middle, middle] = np.where(light, LIGHT, 0.3 * picture[middle, middle])
    return picture, np.clip(RADIUS + 0.5 - far, 0, 1)[..., None]


def _stamp(code: int, frame: int) -> NDArray[np.bool_]:
    """A frame's code as pixels: 24 bits of the scene, 8 of their check, the frame's number and its complement."""
    named = code.to_bytes(3, "big")
    bits = np.unpackbits(np.array([*named, zlib.crc32(named) & 255, frame, 255 - frame], dtype=np.uint8))
    return bits.reshape(2, 24).repeat(BLOCK, 0).repeat(BLOCK, 1).astype(bool)


def read_stamp(picture: Picture) -> tuple[int, int] | None:
    """The scene and the number of a decoded frame; None where it has no code."""
    if picture.shape[:2] != (HEIGHT, WIDTH):
        return None
    blocks = picture[GROUND:].mean(axis=2).reshape(2, BLOCK, 24, BLOCK)[:, 2:-2, :, 2:-2].mean(axis=(1, 3))
    *named, check, frame, complement = np.packbits(blocks.ravel() > 128).tolist()
    if (np.abs(blocks - 128) < 40).any() or frame + complement != 255 or check != zlib.crc32(bytes(named)) & 255:
        return None
    return int.from_bytes(named, "big"), frame


def shows_body(picture: Picture, drawing: DrawnScene, number: int, frame: int) -> bool:
    """Whether a decoded frame has a body's code where the body should be."""
    left, top, *_ = drawing.box(drawing.bodies[number], frame)
    middle = picture[top + RADIUS - PIP : top + RADIUS + PIP, left + RADIUS - PIP : left + RADIUS + PIP].mean(axis=2)
    means = [middle[y : y + 3, x : x + 3].mean() for y in (1, 6) for x in (1, 6)]
    return all(mean > 150 if pip else mean < 110 for mean, pip in zip(means, _PIPS[number], strict=True))


def ride(way: Sequence[complex], speed: float, start: float = 0.0) -> list[Stop]:
    """Stops of what moves along a way at a speed (px/s), having waited at its beginning."""
    stops: list[Stop] = [(0.0, way[0]), (start, way[0])]
    for one, other in pairwise(way):
        stops.append((stops[-1][0] + abs(other - one) / speed, other))
    return stops


def write_clips(scenes: Mapping[Path, DrawnScene], progress: Progress) -> None:
    for done, (path, scene) in enumerate(scenes.items(), 1):
        write_clip(path, scene.film())
        progress("filming clips", done, len(scenes))


def write_clip(path: Path, frames: Frames, fps: int = FPS) -> None:
    """Write frames, of even height and width, as an mp4 with one H.264 stream; the same frames give the same bytes."""
    # Only here: benchmarks are looked up by every command, and few film.
    import av

    # What is not to be seen before it happens must not show in the coding either.
    coding = {"crf": "18", "preset": "superfast", "x264-params": "rc-lookahead=0"}
    path.parent.mkdir(parents=True, exist_ok=True)
    _, height, width, _ = frames.shape
    with h264_file(path, fps, (height, width), coding, movflags="+faststart") as stream:
        stream.codec_context.gop_size, stream.codec_context.max_b_frames = fps, 0
        for array in map(np.ascontiguousarray, frames):
            stream.container.mux(stream.encode(av.VideoFrame.from_ndarray(array, format="rgb24")))
