"""From a clip's pixels to structures that stand still and objects that are tracked."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.colors import rgb_to_hsv
from numpy.typing import NDArray
from scipy import ndimage

from lmms_eval_tasks.sample.world.bodies import Shape
from lmms_eval_tasks.sample.world.scene import HUES
from lmms_eval_tasks.utils.data.frames import PyavFrames

Mask = NDArray[np.bool_]

_HUE_WIDTH = 22.0
_COLOURFUL = 0.42
_BRIGHT = 45
_SMALLEST = 24
_DEVIATION = 42.0
_SQUARE = 0.0057
_RIM = 0.25
_FARTHEST = 34.0


@dataclass(frozen=True)
class Track:
    """One object through T frames: its size, and its centres (T, 2) in px, NaN where it is not seen."""

    colour: str
    shape: Shape
    size: float
    centres: NDArray[np.float64]
    square: Mask

    @property
    def name(self) -> str:
        """Name of the object in questions, as in `red ball`."""
        return f"{self.colour} {self.shape}"

    @property
    def seen(self) -> Mask:
        """Frames in which it is seen, (T,)."""
        return ~np.isnan(self.centres[:, 0])


@dataclass(frozen=True)
class Observation:
    """Contents of a clip: structures (H, W) that stand still, arms (T, H, W) that do not, and objects by name."""

    structures: Mask
    arms: Mask
    tones: Mask
    tracks: Mapping[str, Track]
    fps: float

    @property
    def frames(self) -> int:
        """Number of frames."""
        return len(self.arms)


@dataclass(frozen=True)
class _Blob:
    centre: tuple[float, float]
    area: int
    squareness: float


def decode(clip: Path) -> tuple[NDArray[np.uint8], float]:
    """All frames of a clip as (T, H, W, 3) uint8 RGB, and its frame rate."""
    reader = PyavFrames(clip, threads=1)
    return reader.read(range(reader.count)), reader.fps


def observe(frames: NDArray[np.uint8], fps: float) -> Observation:
    """Segment and track everything in (T, H, W, 3) uint8 RGB frames."""
    red, green, blue = (np.ascontiguousarray(frames[..., k]).astype(np.float32) for k in range(3))
    top, low = np.maximum(np.maximum(red, green), blue), np.minimum(np.minimum(red, green), blue)
    colourful = (top - low > _COLOURFUL * top) & (top - low > _BRIGHT)
    light = (red + green + blue) / 3
    ground = _background(np.median(light, axis=0), colourful.mean(axis=0) < 0.5)
    tones = (np.abs(light - ground) > _DEVIATION) & ~colourful
    structures = standing(tones)
    arms = ndimage.binary_opening(tones & ~structures, np.ones((1, 3, 3)))
    tracks: dict[str, Track] = {}
    hue = 360 * rgb_to_hsv(frames[colourful] / 255)[:, 0] if colourful.any() else np.empty(0)
    places = np.flatnonzero(colourful)
    for colour, centre in HUES.items():
        mask = np.zeros_like(colourful)
        mask.ravel()[places[np.abs((hue - centre + 180) % 360 - 180) < _HUE_WIDTH]] = True
        for track in _tracks(colour, mask):
            tracks.setdefault(track.name, track)
    return Observation(structures, arms, tones, tracks, fps)


def standing(tones: Mask) -> Mask:
    """Return the part of `tones` (T, H, W) that stands still, (H, W)."""
    still: Mask = tones.mean(axis=0) > 0.6
    return still


def _background(light: NDArray[np.float32], grey: Mask) -> NDArray[np.float64]:
    """The even light of the background as a plane, from the pixels that agree with it."""
    height, width = light.shape
    y, x = np.mgrid[0:height, 0:width]
    terms = np.stack([np.ones(light.size), x.ravel() / width - 0.5, y.ravel() / height - 0.5], axis=1)
    values = light.ravel().astype(np.float64)
    plane = np.full(values.shape, np.median(values[grey.ravel()]))
    for width_of_agreement in (30.0, 20.0, 15.0, 15.0):
        agree = grey.ravel() & (np.abs(values - plane) < width_of_agreement)
        if agree.sum() < 100:
            break
        solution = np.linalg.lstsq(terms[agree], values[agree], rcond=None)[0]
        plane = terms @ solution
    result: NDArray[np.float64] = plane.reshape(light.shape)
    return result


def _blobs(mask: Mask) -> list[_Blob]:
    # Objects fill a small part of a frame: the rest is not worth a look.
    occupied = [np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0)]
    first_row, first_column = (int(places[0]) for places in occupied)
    labels, _ = ndimage.label(mask[first_row : occupied[0][-1] + 1, first_column : occupied[1][-1] + 1])
    blobs = []
    for number, window in enumerate(ndimage.find_objects(labels), 1):
        piece = ndimage.binary_fill_holes(labels[window] == number)
        area = int(piece.sum())
        if area < _SMALLEST:
            continue
        rows, columns = np.nonzero(piece)
        top, left = first_row + window[0].start, first_column + window[1].start
        centre = (left + columns.mean() + 0.5, top + rows.mean() + 0.5)
        # Mean of x²y² over area²: 1/144 for an upright square, 1/(24 π²) for a disc.
        dx, dy = columns - columns.mean(), rows - rows.mean()
        squareness = float((dx**2 * dy**2).mean()) / area**2
        blobs.append(_Blob(centre, area, squareness))
    return blobs


def _tracks(colour: str, masks: Mask) -> list[Track]:
    """Link the blobs of one colour from frame to frame, the nearest first."""
    lines: list[dict[int, _Blob]] = []
    for frame, mask in enumerate(masks):
        blobs = _blobs(mask) if mask.any() else []
        links = sorted(
            (float(np.hypot(blob.centre[0] - x, blob.centre[1] - y)), number, k)
            for number, line in enumerate(lines)
            for x, y in [line[max(line)].centre]
            for k, blob in enumerate(blobs)
        )
        unlinked = dict(enumerate(blobs))
        for distance, number, k in links:
            line = lines[number]
            if frame not in line and k in unlinked and distance <= _FARTHEST * (frame - max(line)):
                line[frame] = unlinked.pop(k)
        lines += [{frame: blob} for blob in unlinked.values()]
    longest_first = sorted(lines, key=len, reverse=True)
    return [_as_track(colour, line, len(masks)) for line in longest_first if len(line) >= 3]


def _as_track(colour: str, line: Mapping[int, _Blob], frames: int) -> Track:
    centres, squares = np.full((frames, 2), np.nan), np.zeros(frames, dtype=bool)
    for frame, blob in line.items():
        centres[frame], squares[frame] = blob.centre, blob.squareness > _SQUARE
    square = float(np.median([blob.squareness for blob in line.values()])) > _SQUARE
    area = float(np.median([blob.area for blob in line.values()]))
    # Clips keep colour at half resolution, which paints a rim around every object.
    size = (math.sqrt(area) / 2 if square else math.sqrt(area / math.pi)) - _RIM
    return Track(colour, "block" if square else "ball", size, centres, squares)
